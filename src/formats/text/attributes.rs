//! Parses the attributes that NetworkX writes after an edge: a Python dictionary, `{}` or `{'weight': 3}`.

use crate::formats::bytes::tokens::weight_end;
use std::ops::Range;

/// Returns the offset after the dictionary at `at`, and the byte range of the value of `'weight'`, which is empty if
/// there is no such key. Returns `None` if the dictionary does not end on its line, or if the value is not a number.
pub(crate) fn read(data: &[u8], at: usize) -> Option<(usize, Range<usize>)> {
    if data.get(at + 1) == Some(&b'}') {
        return Some((at + 2, 0..0));
    }
    let (mut at, mut depth, mut found) = (at, 0usize, 0..0);
    loop {
        match *data.get(at)? {
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => {
                depth -= 1;
                if depth == 0 {
                    return Some((at + 1, found));
                }
            }
            quote @ (b'\'' | b'"') => {
                let end = string(data, at, quote)?;
                if depth == 1 && &data[at + 1..end] == b"weight" {
                    (at, found) = weight(data, end + 1)?;
                    continue;
                }
                at = end;
            }
            b'\n' | b'\r' => return None,
            _ => {}
        }
        at += 1;
    }
}

/// Returns the offset of the closing quote of the string that begins with `quote` at `at`.
fn string(data: &[u8], at: usize, quote: u8) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match *data.get(at)? {
            b'\n' | b'\r' => return None,
            b'\\' if data.get(at + 1) != Some(&b'\n') => at += 2,
            c if c == quote => return Some(at),
            _ => at += 1,
        }
    }
}

/// Returns the offset after the value of `'weight'`, and the byte range of the value. `at` is the offset after the
/// string `'weight'`; if the string is not a key, returns `at` itself and an empty range.
fn weight(data: &[u8], at: usize) -> Option<(usize, Range<usize>)> {
    let blanks = |mut at: usize| {
        while data.get(at) == Some(&b' ') {
            at += 1;
        }
        at
    };
    let colon = blanks(at);
    if data.get(colon) != Some(&b':') {
        return Some((at, 0..0));
    }
    let start = blanks(colon + 1);
    let rest = &data[start..];
    let length = rest.iter().position(|c| matches!(c, b',' | b'}' | b'\n' | b' ' | b'\r')).unwrap_or(rest.len());
    let (mut value, mut from) = (&rest[..length], start);
    // numpy writes its numbers in this form: np.float64(0.5).
    if let (Some(open), true) = (value.iter().position(|c| *c == b'('), value.starts_with(b"np.")) {
        value = value[open + 1..].strip_suffix(b")")?;
        from += open + 1;
    }
    (weight_end(value, 0) == Some(value.len())).then_some((start + length, from..from + value.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionaries() {
        for (good, weight) in [
            ("{}", ""),
            ("{'weight': 3}", "3"),
            ("{'weight': -0.5e3, 'label': 'a}b', \"x\": [1, {2: (3, 4)}]}", "-0.5e3"),
            ("{'label': 'it\\'s', 'weight':nan}", "nan"),
            ("{'weight': np.float64(0.5)}", "0.5"),
            ("{'x': {'weight': 'heavy'}}", ""),
            ("{'x': 'weight'}", ""),
            ("{'weights': 'heavy'}", ""),
        ] {
            for behind in ["", "\n", " \n1 2", "}"] {
                let line = format!("  {good}{behind}");
                let (end, place) = read(line.as_bytes(), 2).expect("a dictionary");
                assert_eq!((end, &line[place]), (2 + good.len(), weight), "{line}");
            }
        }
        for bad in [
            "{",
            "{'",
            "{'a",
            "{'a\n'}",
            "{'weight': 'x'}",
            "{'weight': }",
            "{'weight': None}",
            "{\n}",
            "{'a\\",
            "{[}",
            "{\r}",
            "{'\r'}",
        ] {
            assert_eq!(read(bad.as_bytes(), 0), None, "{bad}");
        }
    }
}
