//! Splits a line of text into fields.

use super::advice::ANOTHER;
use super::fields::{Delimiter, LineField, split};
use super::window::TextWindow;
use crate::formats::Fault;
use crate::formats::bytes::tokens::{excerpt, lone_return};
use std::borrow::Cow;

/// A line at the start of the file, split into fields.
pub(super) struct TextLine<'a> {
    pub(super) at: usize,
    /// Offset of the start of the next line.
    pub(super) behind: usize,
    pub(super) text: &'a [u8],
    pub(super) shown: String,
    pub(super) delimiter: Delimiter,
    pub(super) fields: Vec<LineField<'a>>,
    /// Whether a delimiter follows the last field.
    pub(super) open: bool,
}

impl<'a> TextLine<'a> {
    pub(super) fn of(window: &TextWindow<'a>, at: usize, end: usize, tsv: bool) -> Result<TextLine<'a>, Fault> {
        let line = window.line(at, end);
        if line.contains(&b'\r') {
            return Err(lone_return(window.bytes, at));
        }
        let (delimiter, shown) = (Delimiter::of(line, tsv), excerpt(window.bytes, at));
        let last = line.iter().rev().find(|c| **c != b' ');
        let open = last.is_some_and(|c| delimiter.byte() == Some(*c));
        let Some(fields) = split(line, delimiter) else {
            return Err(Fault::new(at, "quotes that end in their line, and a comma behind them", shown, ANOTHER));
        };
        Ok(TextLine { at, behind: end, text: line, shown, delimiter, fields, open })
    }

    /// Returns the line split by blanks and tabs, if it then consists of exactly two ids. Each id may follow any number
    /// of tabs.
    pub(super) fn aligned(&self, window: &TextWindow<'a>) -> Option<TextLine<'a>> {
        self.by_blanks(window).filter(|line| line.fields.len() == 2 && line.fields.iter().all(LineField::is_id))
    }

    /// Returns true if blanks separate the ids and tabs separate other columns, as in `1 2<TAB>3`.
    pub(super) fn is_mixed(&self) -> bool {
        let full = self.fields.iter().all(|field| !field.text.is_empty());
        self.delimiter == Delimiter::Tab && full && self.fields.iter().take(2).any(|field| field.text.contains(&b' '))
    }

    /// Returns the line split by both blanks and tabs.
    pub(super) fn by_blanks(&self, window: &TextWindow<'a>) -> Option<TextLine<'a>> {
        let fields = split(window.line(self.at, self.behind), Delimiter::Blanks)?;
        Some(TextLine { shown: self.shown.clone(), delimiter: Delimiter::Blanks, fields, open: false, ..*self })
    }

    pub(super) fn fault(&self, expected: &str, remedy: impl Into<Cow<'static, str>>) -> Fault {
        Fault::new(self.at, expected, self.shown.clone(), remedy)
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.fields.iter().map(LineField::name).collect()
    }

    pub(super) fn is_id(&self, column: usize) -> bool {
        self.fields.get(column).is_some_and(LineField::is_id)
    }

    /// Returns true if the line contains words, but neither numbers nor control characters.
    pub(super) fn is_words(&self) -> bool {
        let words = self.fields.iter().any(|field| field.name().chars().any(char::is_alphabetic));
        words && self.is_printed() && !self.fields.iter().any(LineField::is_number)
    }

    pub(super) fn is_printed(&self) -> bool {
        self.fields.iter().all(|field| field.text.iter().all(|c| *c >= b' ' || *c == b'\t'))
    }
}
