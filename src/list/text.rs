//! Counts and parses numbers in text, separated by any whitespace. Digits are parsed eight at a time.

use crate::formats::bytes::tokens;

/// Number of padding bytes that must follow a text, so that its digits can be read eight at a time.
pub(super) const PADDING: usize = 32;

/// Maximum length in bytes of a number in text, including leading zeros.
pub(super) const LONGEST: usize = 64;

/// Number of bytes per block in [`count`]. The 8-bit counter of a block can't overflow.
const COUNTED: usize = 255;

/// Counts the numbers that begin in `bytes[1..]`. A number begins at a byte above 0x20 (the space) whose preceding byte
/// is not above 0x20. Other control characters count as blanks here, and are detected when numbers are parsed.
pub(super) fn count(bytes: &[u8]) -> u64 {
    let Some(now) = bytes.get(1..) else { return 0 };
    let blocks = bytes.chunks(COUNTED).zip(now.chunks(COUNTED));
    let starts = |before: &[u8], now: &[u8]| {
        let begins = |(before, now): (&u8, &u8)| u8::from(*before <= b' ') & u8::from(*now > b' ');
        before.iter().zip(now).map(begins).sum::<u8>()
    };
    blocks.map(|(before, now)| u64::from(starts(before, now))).sum()
}

/// Returns true if `byte` is a blank, a tab or a line end.
#[inline]
pub(super) fn is_space(byte: u8) -> bool {
    byte == b' ' || matches!(byte, 9..=13)
}

/// Error: the position of text that should be a number but is not.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotANumber {
    /// Offset of the text in the parsed slice.
    pub at: usize,
}

/// A parser of the numbers that begin in `at..end` of `bytes`. At least [`PADDING`] bytes must follow `end`. Bytes
/// after the end of the text must be spaces.
#[derive(Debug, Clone)]
pub(super) struct TextNumbers<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> TextNumbers<'a> {
    /// Creates a parser of numbers that begins at byte `at`.
    pub fn new(bytes: &'a [u8], at: usize, end: usize) -> TextNumbers<'a> {
        TextNumbers { bytes, at, end }
    }

    /// Skips the rest of a number that began before the first byte of the slice.
    pub fn skip_rest(&mut self) {
        while self.at < self.end && self.bytes[self.at] > b' ' {
            self.at += 1;
        }
    }

    /// Returns the offset of the number that follows the next `skipped` numbers, without advancing the parser.
    pub fn place(&self, skipped: usize) -> usize {
        let mut numbers = self.clone();
        let passed = (0..skipped).all(|_| numbers.fill(&mut [0]) == Ok(1));
        if passed && numbers.find() { numbers.at } else { self.at }
    }

    /// Parses numbers until `out` is full or no more numbers begin before the end. Returns how many numbers it parsed.
    pub fn fill(&mut self, out: &mut [i64]) -> Result<usize, NotANumber> {
        for (filled, value) in out.iter_mut().enumerate() {
            if !self.find() {
                return Ok(filled);
            }
            *value = self.number()?;
        }
        Ok(out.len())
    }

    /// Advances to the next number of the text. Returns false if no number begins before `end`.
    #[inline(always)]
    pub fn find(&mut self) -> bool {
        while self.at < self.end && is_space(self.bytes[self.at]) {
            self.at += 1;
        }
        self.at < self.end
    }

    #[inline(always)]
    fn number(&mut self) -> Result<i64, NotANumber> {
        let negative = self.bytes[self.at] == b'-';
        let number = tokens::number(self.bytes, self.at + usize::from(negative));
        let is_whole = |&(value, end): &(u64, usize)| {
            // Readers of edges refuse -0, too.
            value <= i64::MAX as u64 && !(negative && value == 0) && self.bytes.get(end).copied().is_some_and(is_space)
        };
        let (value, end) = number.filter(is_whole).ok_or(NotANumber { at: self.at })?;
        // The byte after the number is known to be a space.
        self.at = end + 1;
        let value = value as i64;
        Ok(if negative { -value } else { value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(text: &str) -> Vec<u8> {
        [text.as_bytes(), &[b' '; PADDING]].concat()
    }

    fn parsed(text: &str) -> Result<Vec<i64>, NotANumber> {
        let mut out = vec![0; text.len() + 1];
        let bytes = padded(text);
        let count = TextNumbers::new(&bytes, 0, text.len()).fill(&mut out)?;
        out.truncate(count);
        Ok(out)
    }

    #[test]
    fn numbers_of_every_length() {
        for digits in 1..=19 {
            for digit in ["1", "7", "9"] {
                let text = digit.repeat(digits);
                if let Ok(value) = text.parse::<i64>() {
                    assert_eq!(parsed(&text), Ok(vec![value]));
                    assert_eq!(parsed(&format!("{text}\r\n\t-{text}")), Ok(vec![value, -value]));
                    assert_eq!(parsed(&format!("00{text}")), Ok(vec![value]));
                }
            }
        }
        assert_eq!(parsed("9223372036854775807"), Ok(vec![i64::MAX]));
        assert_eq!(parsed(""), Ok(vec![]));
        assert_eq!(parsed(" \n\x0b\x0c"), Ok(vec![]));
    }

    #[test]
    fn invalid_numbers() {
        let texts = [
            "-",
            "--1",
            "-0",
            "-00",
            "+1",
            "1-",
            "1,2",
            "x",
            "1x",
            "9223372036854775808",
            "99999999999999999999",
            "1.0",
            "\u{feff}1",
            "1\0",
        ];
        for text in texts {
            assert_eq!(parsed(&format!("5 {text}")), Err(NotANumber { at: 2 }), "{text:?}");
        }
        assert_eq!(parsed("1 \x01 2"), Err(NotANumber { at: 2 }));
    }

    #[test]
    fn counts_match_the_standard_library() {
        let mut state = 1u64;
        for length in [0, 1, 5, 254, 255, 256, 1000, 5000] {
            let text: Vec<u8> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                    b" \n\t\r17"[(state >> 60) as usize % 6]
                })
                .collect();
            let text = String::from_utf8(text).unwrap();
            let want = text.split_ascii_whitespace().count() as u64;
            assert_eq!(count(&[b" ", text.as_bytes()].concat()), want);
            assert_eq!(parsed(&text).unwrap().len() as u64, want);
        }
    }
}
