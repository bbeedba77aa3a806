//! Splits the start of a file into lines, which decide how the rest is read.

use crate::formats::HEAD;
use crate::formats::bytes::tokens::{blanks, has_lone_return, next_line};

/// The start of a file: at most its first [`HEAD`] unpacked bytes.
pub(super) struct TextWindow<'a> {
    pub bytes: &'a [u8],
    /// Whether the window contains the whole file.
    pub whole: bool,
}

/// The result of a search for the next line of the window.
pub(super) enum NextLine {
    /// A line that is not a comment, from `start` to after its newline.
    Line { start: usize, end: usize },
    /// The end of the file.
    End,
    /// The end of the window.
    Beyond,
}

impl<'a> TextWindow<'a> {
    pub fn new(prefix: &'a [u8]) -> TextWindow<'a> {
        TextWindow { bytes: &prefix[..prefix.len().min(HEAD)], whole: prefix.len() < HEAD }
    }

    /// Returns the first line from `at` on that is neither blank nor a comment. A comment with a lone carriage return,
    /// which may hide edges, is returned, too.
    pub fn next(&self, mut at: usize) -> NextLine {
        loop {
            let first = blanks(self.bytes, at);
            if first == self.bytes.len() {
                return if self.whole { NextLine::End } else { NextLine::Beyond };
            }
            let end = next_line(self.bytes, first);
            if !self.whole && self.bytes[end - 1] != b'\n' {
                return NextLine::Beyond;
            }
            if self.bytes[first] != b'\n'
                && (!is_comment(&self.bytes[first..end]) || has_lone_return(self.bytes, first))
            {
                return NextLine::Line { start: at, end };
            }
            at = end;
        }
    }

    /// Returns a line without its line end.
    pub fn line(&self, start: usize, end: usize) -> &'a [u8] {
        let line = &self.bytes[start..end];
        let mut line = line.strip_suffix(b"\n").unwrap_or(line);
        while let Some(shorter) = line.strip_suffix(b"\r") {
            line = shorter;
        }
        line
    }
}

/// Returns true for lines that begin with `#`, `%`, `//` or `;`. A line that begins with `;` and has more semicolons is
/// a row whose first field is empty, unless a blank and a word follow.
fn is_comment(line: &[u8]) -> bool {
    match line {
        [b'#' | b'%', ..] | [b'/', b'/', ..] => true,
        [b';', b' ', c, ..] if c.is_ascii_alphabetic() => true,
        [b';', rest @ ..] => !rest.contains(&b';'),
        _ => false,
    }
}
