//! Numbers as they are written.

/// An id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Id {
    /// Digits.
    Plain(u64),
    /// A whole number in another notation (`+1`, `1.0`, `1e3`): a reader may refuse it.
    Odd(u64),
}

impl Id {
    /// The number; notes in `open` that it may be refused.
    pub fn take(self, open: &mut bool) -> u64 {
        match self {
            Id::Plain(id) => id,
            Id::Odd(id) => {
                *open = true;
                id
            }
        }
    }
}

/// Reads an id of 64 bits.
pub fn id(word: &[u8]) -> Option<Id> {
    if let Some(id) = digits(word) {
        return Some(Id::Plain(id));
    }
    if let Some(id) = word.strip_prefix(b"+").and_then(digits) {
        return Some(Id::Odd(id));
    }
    if word.starts_with(b"-") || !is_decimal(word) {
        return None;
    }
    exact(word).map(Id::Odd)
}

/// The whole number that a decimal fraction stands for, computed digit by digit: a float has not bits enough.
fn exact(word: &[u8]) -> Option<u64> {
    let word = std::str::from_utf8(word.strip_prefix(b"+").unwrap_or(word)).ok()?.to_ascii_lowercase();
    let (mantissa, exponent) = word.split_once('e').unwrap_or((&word, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let point = whole.len() as i64 + exponent;
    if all.bytes().all(|digit| digit == b'0') {
        return Some(0);
    }
    if !(0..40).contains(&point) {
        return None;
    }
    let point = point as usize;
    if all.bytes().skip(point).any(|digit| digit != b'0') {
        return None;
    }
    let mut kept: String = all.chars().take(point).collect();
    kept.extend(std::iter::repeat_n('0', point - kept.len()));
    digits(kept.as_bytes())
}

/// Reads decimal digits alone.
pub fn digits(word: &[u8]) -> Option<u64> {
    let each = |value: Option<u64>, byte: &u8| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value?.checked_mul(10)?.checked_add(digit)
    };
    if word.is_empty() { None } else { word.iter().fold(Some(0), each) }
}

/// True for a decimal number, whole or not, with or without an exponent.
pub fn is_decimal(word: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(word) else { return false };
    text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) && text.parse::<f64>().is_ok()
}

/// True for a decimal number and for those that C calls numbers, too: nan, inf, hexadecimal.
pub fn may_be_number(word: &[u8]) -> bool {
    let text = String::from_utf8_lossy(word).to_ascii_lowercase();
    let text = text.trim_start_matches(['+', '-']);
    is_decimal(word) || ["nan", "inf", "infinity"].contains(&text) || text.starts_with("0x")
}
