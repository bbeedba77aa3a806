//! Splits a line into fields, to detect the layout of a file's lines. The lines themselves are parsed elsewhere.

/// The delimiter of the fields of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delimiter {
    Comma,
    Semicolon,
    /// Each tab is a delimiter, so that fields may be empty.
    Tab,
    /// Each run of blanks and tabs is one delimiter.
    Blanks,
}

/// A field of a line, without its quotes and the blanks around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineField<'l> {
    pub text: &'l [u8],
    pub quoted: bool,
}

impl Delimiter {
    /// Returns the delimiter of a line, ignoring quoted text and attributes. If several delimiters occur, tabs have
    /// the highest priority in a `.tsv` file and the lowest elsewhere.
    pub fn of(line: &[u8], tsv: bool) -> Delimiter {
        let (outside, edge) = outside_quotes(trim(line, false), b" ,;\t");
        let has = |byte: u8| outside[..edge].contains(&byte);
        match (has(b','), has(b';'), has(b'\t')) {
            (_, _, true) if tsv => Delimiter::Tab,
            (true, ..) => Delimiter::Comma,
            (_, true, _) => Delimiter::Semicolon,
            // A tab at the start means an empty first field.
            (_, _, true) => Delimiter::Tab,
            _ if line.first() == Some(&b'\t') && tsv => Delimiter::Tab,
            _ => Delimiter::Blanks,
        }
    }

    /// Returns the byte of the delimiter; `None` for blanks.
    pub fn byte(self) -> Option<u8> {
        match self {
            Delimiter::Comma => Some(b','),
            Delimiter::Semicolon => Some(b';'),
            Delimiter::Tab => Some(b'\t'),
            Delimiter::Blanks => None,
        }
    }
}

impl LineField<'_> {
    /// Returns true if the field consists of digits, so that it is an unsigned integer.
    pub fn is_id(&self) -> bool {
        !self.text.is_empty() && self.text.iter().all(u8::is_ascii_digit)
    }

    /// Returns true if the field is a number of any kind, including `nan`.
    pub fn is_number(&self) -> bool {
        std::str::from_utf8(self.text).is_ok_and(|text| text.parse::<f64>().is_ok())
    }

    /// Returns true if the field is a nonnegative number without a fraction, such as `3`, `3.0` and `3e0`.
    pub fn is_whole(&self) -> bool {
        let value = std::str::from_utf8(self.text).ok().and_then(|text| text.parse::<f64>().ok());
        value.is_some_and(|value| value.fract() == 0.0 && value.is_sign_positive())
    }

    /// Returns the value of the field if it is an id that fits in 64 bits.
    pub fn id(&self) -> Option<u64> {
        std::str::from_utf8(self.text).ok().filter(|_| self.is_id())?.parse().ok()
    }

    /// Returns the field as a column name, without quotes.
    pub fn name(&self) -> String {
        String::from_utf8_lossy(self.text).trim_matches(['"', '\'', ' ']).replace("\"\"", "\"")
    }
}

/// Splits a line into fields. A delimiter at the end does not add an empty field. Returns `None` if a quote is not
/// closed, or occurs within a field that does not begin with a quote.
pub(super) fn split(line: &[u8], delimiter: Delimiter) -> Option<Vec<LineField<'_>>> {
    let fields = split_words(line, delimiter)?;
    let has_attributes = |at: usize, field: &LineField<'_>| at >= 2 && field.text.first() == Some(&b'{');
    let is_stray = |(at, field): (usize, &LineField<'_>)| {
        !field.quoted && !has_attributes(at, field) && field.text.contains(&b'"')
    };
    (!fields.iter().enumerate().any(is_stray)).then_some(fields)
}

/// Like [`split`], but in a field that does not begin with a quote, quotes are ordinary text.
pub(super) fn split_words(line: &[u8], delimiter: Delimiter) -> Option<Vec<LineField<'_>>> {
    let mut fields = Vec::new();
    let tabs = delimiter == Delimiter::Tab;
    let mut rest = trim(line, tabs);
    loop {
        let quoted = rest.first() == Some(&b'"');
        let length = match rest.first() {
            Some(b'"') => 1 + closing(&rest[1..])? + 1,
            Some(b'{') if fields.len() >= 2 => rest.len(),
            _ => rest.iter().position(|c| ends(*c, delimiter)).unwrap_or(rest.len()),
        };
        let (field, behind) = rest.split_at(length);
        let text = if quoted { &field[1..length - 1] } else { field };
        fields.push(LineField { text: trim(text, false), quoted });
        rest = trim(behind, tabs);
        match (rest.first(), delimiter.byte()) {
            (None, _) => break,
            (Some(_), None) if rest.len() < behind.len() => {}
            (Some(c), Some(byte)) if *c == byte => rest = trim(&rest[1..], tabs),
            _ => return None,
        }
        if rest.is_empty() {
            break;
        }
    }
    Some(fields)
}

/// Returns a copy of the line in which every quoted text is replaced by one quote. Also returns the length of the copy
/// up to the attributes that follow both ids, or its whole length if there are none. A quote opens only at the start of
/// a column, and closes only at its end. The bytes `between` may separate columns.
pub(super) fn outside_quotes(line: &[u8], between: &[u8]) -> (Vec<u8>, usize) {
    let (mut outside, mut edge, mut at, mut columns) = (Vec::new(), None, 0, 0);
    let is_between = |c: &u8| *c == b' ' || between.contains(c);
    while at < line.len() {
        let start = at;
        at += line[at..].iter().take_while(|c| is_between(c)).count();
        outside.extend(&line[start..at]);
        let Some(&c) = line.get(at) else { break };
        if c == b'{' && columns >= 2 {
            edge.get_or_insert(outside.len());
        }
        columns += 1;
        let length = if c == b'"' { closing(&line[at + 1..]).map_or(0, |length| length + 2) } else { 0 };
        if length > 0 && line.get(at + length).is_none_or(is_between) {
            outside.push(c);
            at += length;
        } else {
            let start = at;
            at += line[at..].iter().take_while(|c| !between.contains(c)).count();
            outside.extend(&line[start..at]);
        }
    }
    let edge = edge.unwrap_or(outside.len());
    (outside, edge)
}

/// Returns the offset in `text` of the quote that closes a quoted text; `text` begins after the opening quote. A
/// doubled quote stands for one quote within the text.
pub(super) fn closing(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text[at..].iter().position(|c| *c == b'"')?;
        if text.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

fn ends(c: u8, delimiter: Delimiter) -> bool {
    match delimiter.byte() {
        Some(byte) => c == byte,
        None => matches!(c, b' ' | b'\t' | b'\r'),
    }
}

/// Trims blanks and carriage returns at both ends, and tabs unless `tabs` is true (tabs are delimiters).
fn trim(mut text: &[u8], tabs: bool) -> &[u8] {
    let blank = |c: &u8| matches!(c, b' ' | b'\r') || (*c == b'\t' && !tabs);
    while let Some((_, rest)) = text.split_first().filter(|(c, _)| blank(c)) {
        text = rest;
    }
    while let Some((_, rest)) = text.split_last().filter(|(c, _)| blank(c)) {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, delimiter: Delimiter, want: &[&str]) {
        let line = line.as_bytes();
        assert_eq!(Delimiter::of(line, false), delimiter);
        let fields = split(line, delimiter).unwrap();
        let texts: Vec<&str> = fields.iter().map(|field| std::str::from_utf8(field.text).unwrap()).collect();
        assert_eq!(texts, want);
    }

    #[test]
    fn lines_of_every_kind() {
        check(" 1  2\t\t3 \r", Delimiter::Tab, &["1  2", "", "3"]);
        check(" 1  2 3 \r", Delimiter::Blanks, &["1", "2", "3"]);
        check("1, 2,,\" 3, \"\"x\"\" \",", Delimiter::Comma, &["1", "2", "", "3, \"\"x\"\""]);
        check(",a,b", Delimiter::Comma, &["", "a", "b"]);
        check("1;2; x y", Delimiter::Semicolon, &["1", "2", "x y"]);
        check("1 2 {'a': 1, 'b': 2}", Delimiter::Blanks, &["1", "2", "{'a': 1, 'b': 2}"]);
        check("1,2,{'a': 1, 'b': 2}", Delimiter::Comma, &["1", "2", "{'a': 1, 'b': 2}"]);
        check("a{1},5,6", Delimiter::Comma, &["a{1}", "5", "6"]);
        check("5\t6\t{'a': \"x,y\"}", Delimiter::Tab, &["5", "6", "{'a': \"x,y\"}"]);
        check("a\tb, c\td", Delimiter::Comma, &["a\tb", "c\td"]);
        assert_eq!(Delimiter::of(b"a\tb, c\td", true), Delimiter::Tab);
        for bad in ["\"1,2", "1\",2", "\"1\"x,2", "1,\"2\"\"", "\""] {
            assert_eq!(split(bad.as_bytes(), Delimiter::Comma), None, "{bad}");
        }
    }

    #[test]
    fn quotes_within_a_field() {
        let line = b"\"a b\",c\"d, e\",";
        assert_eq!(split(line, Delimiter::Comma), None);
        let fields = split_words(line, Delimiter::Comma).unwrap();
        let texts: Vec<(&[u8], bool)> = fields.iter().map(|field| (field.text, field.quoted)).collect();
        assert_eq!(texts, [(&b"a b"[..], true), (b"c\"d", false), (b"e\"", false)]);
        assert_eq!(split_words(b"c\"d,\"a", Delimiter::Comma), None);
    }
}
