// SPDX-License-Identifier: MIT
//! The secret that a request must know: who can open a connection to the loopback address is any
//! user of the machine, and any page in a browser.
//!
//! Place in the flow: `server` makes one for its life; `guard` compares.

use subtle::ConstantTimeEq;

const TOKEN_BYTES: usize = 16;

/// 128 random bits, as 32 hexadecimal digits.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    pub fn new() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self::of(bytes))
    }

    /// The one of these bits.
    pub fn of(bytes: [u8; TOKEN_BYTES]) -> Self {
        Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether these are its digits. The time does not depend on how many of them are right.
    pub fn is(&self, digits: &str) -> bool {
        self.0.as_bytes().ct_eq(digits.as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_tokens_are_equal_and_each_is_only_itself() {
        let (one, two) = (Token::new().unwrap(), Token::new().unwrap());
        assert_eq!(one.text().len(), 2 * TOKEN_BYTES);
        assert!(one.is(one.text()) && !one.is(two.text()));
        assert!(!one.is("") && !one.is(&one.text()[1..]) && !one.is(&format!("{}0", one.text())));
    }
}
