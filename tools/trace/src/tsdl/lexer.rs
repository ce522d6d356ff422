// SPDX-License-Identifier: MIT
//! Tokens of TSDL text (CTF 1.8, appendix C): words, numbers, strings, punctuation.
//!
//! Place in the flow: pulled one token at a time by `parser`, so that memory stays bounded by the
//! tree and not by the text.

use crate::error::MetadataError;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    Word(String),
    Number(i128),
    Text(String),
    /// One of `{ } ( ) [ ] < > ; : , . = * + - ` or any byte the grammar has no use for.
    Mark(u8),
    /// `:=`
    Becomes,
    /// `...`
    Ellipsis,
    /// `->`
    Arrow,
    End,
}

pub(crate) struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    pub line: u32,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), at: 0, line: 1 }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn error<T>(&self, what: impl Into<String>) -> Result<T, MetadataError> {
        Err(MetadataError::new(self.line, what))
    }

    /// The next token; `End` for ever once the text is used up.
    pub fn next(&mut self) -> Result<Token, MetadataError> {
        self.skip_blank()?;
        if self.at >= self.bytes.len() {
            return Ok(Token::End);
        }
        match self.peek(0) {
            b'"' => Ok(Token::Text(self.quoted(b'"')?)),
            b'\'' => self.character(),
            b'L' if self.peek(1) == b'"' => {
                self.at += 1;
                Ok(Token::Text(self.quoted(b'"')?))
            }
            b'0'..=b'9' => self.number(),
            b'_' | b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => Ok(self.word()),
            _ => Ok(self.mark()),
        }
    }

    fn skip_blank(&mut self) -> Result<(), MetadataError> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (b'\n', _) => {
                    self.line += 1;
                    self.at += 1;
                }
                (b' ' | b'\t' | b'\r' | 0x0b | 0x0c, _) => self.at += 1,
                (b'/', b'/') => {
                    while self.at < self.bytes.len() && self.peek(0) != b'\n' {
                        self.at += 1;
                    }
                }
                (b'/', b'*') => self.skip_comment()?,
                (b'\\', b'\n') => self.at += 1,
                _ => return Ok(()),
            }
        }
    }

    fn skip_comment(&mut self) -> Result<(), MetadataError> {
        let begin_line = self.line;
        self.at += 2;
        while self.at < self.bytes.len() {
            if self.peek(0) == b'*' && self.peek(1) == b'/' {
                self.at += 2;
                return Ok(());
            }
            self.line += u32::from(self.peek(0) == b'\n');
            self.at += 1;
        }
        Err(MetadataError::new(begin_line, "a comment has no end"))
    }

    fn word(&mut self) -> Token {
        let begin = self.at;
        while matches!(self.peek(0), b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | 0x80..) {
            self.at += 1;
        }
        Token::Word(String::from_utf8_lossy(&self.bytes[begin..self.at]).into_owned())
    }

    fn number(&mut self) -> Result<Token, MetadataError> {
        let begin = self.at;
        while self.peek(0).is_ascii_alphanumeric() {
            self.at += 1;
        }
        let text = String::from_utf8_lossy(&self.bytes[begin..self.at]).to_ascii_lowercase();
        let digits = text.trim_end_matches(['u', 'l']);
        let (digits, radix) = match digits.as_bytes() {
            [b'0', b'x', ..] => (&digits[2..], 16),
            [b'0', b'b', ..] => (&digits[2..], 2),
            [b'0', _, ..] => (&digits[1..], 8),
            _ => (digits, 10),
        };
        match u64::from_str_radix(digits, radix) {
            Ok(value) => Ok(Token::Number(i128::from(value))),
            Err(_) => self.error(format!("`{text}` is not a number of at most 64 bits")),
        }
    }

    fn character(&mut self) -> Result<Token, MetadataError> {
        let text = self.quoted(b'\'')?;
        match text.as_bytes() {
            [one] => Ok(Token::Number(i128::from(*one))),
            _ => self.error("a character constant needs exactly one character"),
        }
    }

    fn quoted(&mut self, quote: u8) -> Result<String, MetadataError> {
        let begin_line = self.line;
        let mut text = Vec::new();
        self.at += 1;
        while self.at < self.bytes.len() {
            let byte = self.peek(0);
            self.at += 1;
            match byte {
                b'\\' => text.push(self.escape()),
                0 => return self.error("a string holds a byte of zero"),
                _ if byte == quote => return Ok(String::from_utf8_lossy(&text).into_owned()),
                _ => {
                    self.line += u32::from(byte == b'\n');
                    text.push(byte);
                }
            }
        }
        Err(MetadataError::new(begin_line, "a string has no end"))
    }

    fn escape(&mut self) -> u8 {
        let byte = self.peek(0);
        self.at += 1;
        match byte {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'v' => 11,
            b'x' => self.digits(16, 2, 0),
            b'0'..=b'7' => self.digits(8, 2, byte - b'0'),
            other => other,
        }
    }

    fn digits(&mut self, radix: u32, most: u32, first: u8) -> u8 {
        let mut value = u32::from(first);
        for _ in 0..most {
            let Some(digit) = char::from(self.peek(0)).to_digit(radix) else { break };
            value = value * radix + digit;
            self.at += 1;
        }
        value as u8
    }

    fn mark(&mut self) -> Token {
        let (token, length) = match (self.peek(0), self.peek(1), self.peek(2)) {
            (b'.', b'.', b'.') => (Token::Ellipsis, 3),
            (b':', b'=', _) => (Token::Becomes, 2),
            (b'-', b'>', _) => (Token::Arrow, 2),
            (byte, _, _) => (Token::Mark(byte), 1),
        };
        self.at += length;
        token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<Token>, MetadataError> {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        loop {
            match lexer.next()? {
                Token::End => return Ok(tokens),
                token => tokens.push(token),
            }
        }
    }

    #[test]
    fn numbers_come_in_four_bases_with_suffixes() {
        let tokens = all("10 0x1F 017 0b11 18446744073709551615ULL 'A' 0").unwrap();
        let want = [10, 31, 15, 3, i128::from(u64::MAX), 65, 0].map(Token::Number);
        assert_eq!(tokens, want);
    }

    #[test]
    fn comments_are_blank_and_lines_are_counted_through_them() {
        let mut lexer = Lexer::new("// one\n/* two\nthree */ word");
        assert_eq!(lexer.next().unwrap(), Token::Word("word".into()));
        assert_eq!(lexer.line, 3);
    }

    #[test]
    fn strings_know_the_escapes_of_c() {
        let tokens = all(r#""a\"b\\\n\x41\102""#).unwrap();
        assert_eq!(tokens, [Token::Text("a\"b\\\nAB".into())]);
        let tokens = all(r#""\a\b\f\v\t\r\n\7\12\0x\x4y\x414\1014\q""#).unwrap();
        let want = "\x07\x08\x0c\x0b\t\r\n\x07\n\0x\x04yA4A4q";
        assert_eq!(tokens, [Token::Text(want.into())]);
    }

    #[test]
    fn wide_strings_begin_with_a_letter_that_words_may_begin_with() {
        let want = [Token::Text("x".into()), Token::Word("Lx".into()), Token::Word("L".into())];
        assert_eq!(all(r#"L"x" Lx L"#).unwrap(), want);
    }

    #[test]
    fn unended_strings_comments_and_oversized_numbers_are_errors() {
        for text in ["\"abc", "/* abc", "99999999999999999999", "0x", "'ab'", "12abc", "\"a\\"] {
            assert!(all(text).is_err(), "{text}");
        }
    }
}
