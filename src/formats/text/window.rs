//! Splits the start of a file into lines, which determine how the rest is read.

use crate::formats::bytes::tokens::{blanks, has_lone_return, next_line};
use crate::formats::{Fault, HEAD, IdKind};

/// The start of a file: at most its first [`HEAD`] decompressed bytes.
pub(super) struct TextWindow<'a> {
    pub bytes: &'a [u8],
    /// Whether the window contains the whole file.
    pub whole: bool,
    /// The kind of the ids, which determines which lines are comments.
    ids: IdKind,
}

/// Result of a search for the next line of the window.
pub(super) enum NextLine {
    /// A line that is not a comment. `end` is the offset after its newline.
    Line { start: usize, end: usize },
    /// There is no further line, because the file ends.
    End,
    /// The next line is beyond the window, the start of the file that is examined.
    Beyond,
}

impl<'a> TextWindow<'a> {
    pub fn new(prefix: &'a [u8], ids: IdKind) -> TextWindow<'a> {
        TextWindow { bytes: &prefix[..prefix.len().min(HEAD)], whole: prefix.len() < HEAD, ids }
    }

    /// Returns the start and the end of the line that [`Self::next`] finds; `None` at the end of the file.
    ///
    /// # Errors
    /// A parse error if the line is beyond the window, because the columns can't be detected without it.
    pub fn line_from(&self, at: usize) -> Result<Option<(usize, usize)>, Fault> {
        match self.next(at) {
            NextLine::Line { start, end } => Ok(Some((start, end))),
            NextLine::End => Ok(None),
            NextLine::Beyond => {
                let expected =
                    format!("a line of edges that ends within the first {HEAD} bytes, to detect the columns");
                Err(Fault::new(at, expected, "comments, or a longer line", "shorten what is above the edges"))
            }
        }
    }

    /// Returns the first line, at or after offset `at`, that is neither blank nor a comment. A comment with a lone
    /// carriage return, which may hide edges, is returned, too.
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
            let line = &self.bytes[first..end];
            let is_comment = match self.ids {
                IdKind::Number => is_comment(line),
                IdKind::String => matches!(line[0], b'#' | b'%'),
            };
            if line[0] != b'\n' && (!is_comment || has_lone_return(self.bytes, first)) {
                return NextLine::Line { start: at, end };
            }
            at = end;
        }
    }

    /// Returns the text of a line without its line end.
    pub fn line(&self, start: usize, end: usize) -> &'a [u8] {
        let line = &self.bytes[start..end];
        let mut line = line.strip_suffix(b"\n").unwrap_or(line);
        while let Some(shorter) = line.strip_suffix(b"\r") {
            line = shorter;
        }
        line
    }
}

/// Returns true for a comment in a file with numeric ids: a line that begins with `#`, `%`, `//` or `;`. A line that
/// begins with `;` and contains more semicolons is a row whose first field is empty, unless a blank and a word follow.
fn is_comment(line: &[u8]) -> bool {
    match line {
        [b'#' | b'%', ..] | [b'/', b'/', ..] => true,
        [b';', b' ', c, ..] if c.is_ascii_alphabetic() => true,
        [b';', rest @ ..] => !rest.contains(&b';'),
        _ => false,
    }
}
