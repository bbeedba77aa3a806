//! The start of a file, line by line: what tells how the rest is to be read.

use crate::formats::layout::HEAD;
use crate::formats::lines::{blanks, has_lone_return, next_line};

/// At most the first [`HEAD`] bytes of a file: the same of a plain file and of a packed one.
pub(super) struct Window<'a> {
    pub bytes: &'a [u8],
    /// True if that is the whole file.
    pub whole: bool,
}

/// What comes next.
pub(super) enum Next {
    /// A line that is no comment, from `start` to behind its newline.
    Line { start: usize, end: usize },
    /// Nothing.
    End,
    /// What is not in the window.
    Beyond,
}

impl<'a> Window<'a> {
    pub fn new(prefix: &'a [u8]) -> Window<'a> {
        Window { bytes: &prefix[..prefix.len().min(HEAD)], whole: prefix.len() < HEAD }
    }

    /// The first line from `at` on that is neither a comment nor blank. A carriage return in a comment may hide edges.
    pub fn next(&self, mut at: usize) -> Next {
        loop {
            let first = blanks(self.bytes, at);
            if first == self.bytes.len() {
                return if self.whole { Next::End } else { Next::Beyond };
            }
            let end = next_line(self.bytes, first);
            if !self.whole && self.bytes[end - 1] != b'\n' {
                return Next::Beyond;
            }
            if self.bytes[first] != b'\n'
                && (!is_comment(&self.bytes[first..end]) || has_lone_return(self.bytes, first))
            {
                return Next::Line { start: at, end };
            }
            at = end;
        }
    }

    /// A line without its end.
    pub fn line(&self, start: usize, end: usize) -> &'a [u8] {
        let line = &self.bytes[start..end];
        let mut line = line.strip_suffix(b"\n").unwrap_or(line);
        while let Some(shorter) = line.strip_suffix(b"\r") {
            line = shorter;
        }
        line
    }
}

/// True for `#`, `%`, `//` and `;`; where a line has more semicolons, its first field is empty.
fn is_comment(line: &[u8]) -> bool {
    match line {
        [b'#' | b'%', ..] | [b'/', b'/', ..] => true,
        [b';', rest @ ..] => !rest.contains(&b';'),
        _ => false,
    }
}
