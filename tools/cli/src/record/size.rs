// SPDX-License-Identifier: MIT
//! Sizes as people write them: `4096`, `64K`, `1M`, `2G`; powers of 1024.

/// For clap: the error completes "invalid value".
pub fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let shift = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return Err("write a number with K, M or G behind it, like 512K".into()),
    };
    let value: u64 =
        digits.parse().map_err(|_| "write a number with K, M or G behind it, like 512K")?;
    value.checked_mul(1 << shift).filter(|bytes| *bytes > 0).ok_or("it is out of range".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_powers_of_1024_in_either_case() {
        assert_eq!(parse("4096"), Ok(4096));
        assert_eq!(parse("64k"), Ok(64 << 10));
        assert_eq!(parse("2MiB"), Ok(2 << 20));
        assert_eq!(parse("3G"), Ok(3 << 30));
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "K", "-1", "1.5M", "5X", "0", "99999999999T"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
