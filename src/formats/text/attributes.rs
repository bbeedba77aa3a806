//! Reads the attributes that NetworkX writes after an edge: a Python dictionary, `{}` or `{'weight': 3}`.

use crate::formats::lines::weight_end;

/// Returns the first byte after the dictionary at `at`; `None` if it does not end in its line, or its weight is not a number.
pub(crate) fn end(data: &[u8], at: usize) -> Option<usize> {
    if data.get(at + 1) == Some(&b'}') {
        return Some(at + 2);
    }
    let (mut at, mut depth) = (at, 0usize);
    loop {
        match *data.get(at)? {
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            quote @ (b'\'' | b'"') => {
                let end = string(data, at, quote)?;
                if depth == 1 && &data[at + 1..end] == b"weight" {
                    at = weight(data, end + 1)?;
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

/// Returns the end of the string that begins with `quote` at `at`.
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

/// Returns the first byte after the number of `'weight'`; `at` itself if the key is another.
fn weight(data: &[u8], at: usize) -> Option<usize> {
    let blanks = |mut at: usize| {
        while data.get(at) == Some(&b' ') {
            at += 1;
        }
        at
    };
    let colon = blanks(at);
    if data.get(colon) != Some(&b':') {
        return Some(at);
    }
    let start = blanks(colon + 1);
    let rest = &data[start..];
    let length = rest.iter().position(|c| matches!(c, b',' | b'}' | b'\n' | b' ' | b'\r')).unwrap_or(rest.len());
    let mut value = &rest[..length];
    // Numbers of numpy are written so: np.float64(0.5).
    if let (Some(open), true) = (value.iter().position(|c| *c == b'('), value.starts_with(b"np.")) {
        value = value[open + 1..].strip_suffix(b")")?;
    }
    (weight_end(value, 0) == Some(value.len())).then_some(start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionaries() {
        for good in [
            "{}",
            "{'weight': 3}",
            "{'weight': -0.5e3, 'label': 'a}b', \"x\": [1, {2: (3, 4)}]}",
            "{'label': 'it\\'s', 'weight':nan}",
            "{'weight': np.float64(0.5)}",
            "{'x': {'weight': 'heavy'}}",
            "{'x': 'weight'}",
            "{'weights': 'heavy'}",
        ] {
            for behind in ["", "\n", " \n1 2", "}"] {
                assert_eq!(end(format!("  {good}{behind}").as_bytes(), 2), Some(2 + good.len()), "{good}{behind}");
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
            assert_eq!(end(bad.as_bytes(), 0), None, "{bad}");
        }
    }
}
