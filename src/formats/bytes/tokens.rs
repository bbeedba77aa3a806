//! Finds numbers, blanks and line ends in text.
//!
//! Eight digits at a time are converted to a number with three multiplications of a 64-bit word.

use crate::formats::Fault;

/// Parses the number at offset `at`. Returns the number and the offset after it; `None` if there is no digit or the
/// number is 2^64 or more.
#[inline(always)]
pub(crate) fn number(data: &[u8], at: usize) -> Option<(u64, usize)> {
    let Some(word) = data.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes) else {
        return more_digits(data, at, at, 0);
    };
    let digits = word ^ 0x3030_3030_3030_3030;
    // Bit 7 of a byte is set if the byte is above 9. Carries only reach bytes after the first such byte.
    let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
    let count = others.trailing_zeros() as usize / 8;
    match count {
        0 => None,
        8 => more_digits(data, at, at + 8, eight_digits(digits)),
        // The shift moves leading zeros in at the low end, where the first digits are.
        _ => Some((eight_digits(digits << (64 - 8 * count)), at + count)),
    }
}

/// Converts eight digits, one per byte; the first digit is in the lowest byte.
#[inline(always)]
fn eight_digits(digits: u64) -> u64 {
    let pairs = (digits.wrapping_mul(10 * 256 + 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100 * 65536 + 1) >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000 * (1 << 32) + 1) >> 32
}

#[inline]
fn more_digits(data: &[u8], start: usize, mut at: usize, mut value: u64) -> Option<(u64, usize)> {
    while let Some(digit) = data.get(at).map(|c| c.wrapping_sub(b'0')).filter(|d| *d <= 9) {
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        at += 1;
    }
    (at > start).then_some((value, at))
}

/// Returns the offset of the first byte, at or after `at`, that is not a blank, a tab, or a carriage return at the end
/// of a line.
#[inline]
pub(crate) fn blanks(data: &[u8], mut at: usize) -> usize {
    loop {
        match data.get(at) {
            Some(b' ' | b'\t') => {}
            Some(b'\r') if ends_line(data, at) => {}
            _ => return at,
        }
        at += 1;
    }
}

/// Returns true if the carriage return at `at` is part of a line end. A lone carriage return is not a blank: old Macs
/// ended lines with it, so `1 2<CR>3 4` is not one edge.
fn ends_line(data: &[u8], at: usize) -> bool {
    matches!(data.get(at + 1), None | Some(b'\n' | b'\r'))
}

pub(crate) fn is_blank_or_end(data: &[u8], at: usize) -> bool {
    matches!(data.get(at), None | Some(b' ' | b'\t' | b'\r' | b'\n'))
}

/// Returns the start of the line after the one that contains `at`, or the end of `data`.
pub(crate) fn next_line(data: &[u8], at: usize) -> usize {
    data[at..].iter().position(|c| *c == b'\n').map_or(data.len(), |n| at + n + 1)
}

/// Counts the newlines in `data`.
pub(crate) fn newlines(data: &[u8]) -> u64 {
    // The newline count of a run fits in a byte, so that the compiler can use vectors of byte counters.
    data.chunks(192).map(|run| u64::from(run.iter().map(|c| u8::from(*c == b'\n')).sum::<u8>())).sum()
}

/// Returns true if the line that starts at `line` contains a lone carriage return, which could hide edges in a
/// comment.
pub(crate) fn has_lone_return(data: &[u8], line: usize) -> bool {
    let end = next_line(data, line);
    (line..end).any(|at| data[at] == b'\r' && !ends_line(data, at))
}

/// Returns the parse error for the line that starts at `line` and contains a lone carriage return.
pub(crate) fn lone_return(data: &[u8], line: usize) -> Fault {
    let remedy = "write line feeds: tr '\\r' '\\n' < IN > OUT";
    let found = format!("a carriage return inside {}", excerpt(data, line));
    Fault::new(line, "lines that end with a line feed", found, remedy)
}

/// Returns the end of the number at offset `at` (integer, decimal, with an exponent, `nan` or `inf`); `None` if there
/// is no number.
pub(crate) fn weight_end(data: &[u8], at: usize) -> Option<usize> {
    let length = data[at..].iter().position(|c| matches!(c, b' ' | b'\t' | b'\r' | b'\n' | b',' | b';'));
    let token = &data[at..length.map_or(data.len(), |n| at + n)];
    let body = token.strip_prefix(b"-").unwrap_or(token);
    let (mut digits, mut points) = (0, 0);
    let plain = body.iter().all(|c| match c {
        b'0'..=b'9' => {
            digits += 1;
            true
        }
        b'.' => {
            points += 1;
            true
        }
        _ => false,
    });
    if plain && digits > 0 && points < 2 {
        return Some(at + token.len());
    }
    let text = std::str::from_utf8(token).ok()?;
    text.parse::<f64>().ok()?;
    Some(at + token.len())
}

/// Returns the line that starts at offset `line`, for an error message: in quotes, escaped, and cut after 60 bytes.
pub(crate) fn excerpt(data: &[u8], line: usize) -> String {
    const SHOWN: usize = 60;
    let window = &data[line..data.len().min(line + SHOWN + 1)];
    let end = window.iter().position(|c| *c == b'\n').unwrap_or(window.len());
    let text = window[..end].strip_suffix(b"\r").unwrap_or(&window[..end]);
    if text.is_empty() {
        return if line == data.len() { "the end of the file".into() } else { "an empty line".into() };
    }
    let dots = if text.len() > SHOWN { "..." } else { "" };
    format!("\"{}{dots}\"", text[..text.len().min(SHOWN)].escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length() {
        for text in ["0", "7", "12", "1234567", "12345678", "123456789", "4294967295", "18446744073709551615", "007"] {
            for tail in ["", "\n", " 1", "/", ":", "\u{80}", ",,,,,,,,,,"] {
                let data = format!("x{text}{tail}");
                assert_eq!(number(data.as_bytes(), 1), Some((text.parse().unwrap(), 1 + text.len())), "{data:?}");
            }
        }
        for text in ["", "-1", "x", " 1", "18446744073709551616", "99999999999999999999999"] {
            assert_eq!(number(text.as_bytes(), 0), None, "{text:?}");
            assert_eq!(number(format!("{text}        ").as_bytes(), 0), None, "{text:?}");
        }
    }

    #[test]
    fn weights() {
        for good in ["1", "-1", "1.5", ".5", "5.", "+3", "1e5", "-2.5E-3", "nan", "inf", "NaN"] {
            assert_eq!(weight_end(format!("{good} ").as_bytes(), 0), Some(good.len()), "{good}");
        }
        for bad in ["", ".", "-", "pi", "1.2.3", "1x", "0x10", "\u{e9}"] {
            assert_eq!(weight_end(bad.as_bytes(), 0), None, "{bad}");
        }
    }

    #[test]
    fn newlines_are_counted() {
        let data: Vec<u8> = (0..10_000u32).map(|i| if i % 7 == 0 { b'\n' } else { b'1' }).collect();
        assert_eq!(newlines(&data), data.iter().filter(|c| **c == b'\n').count() as u64);
        assert_eq!(newlines(&[b'\n'; 1000]), 1000);
    }
}
