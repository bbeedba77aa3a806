//! Collects the mistakes of a job file, so that all of them are reported at once, each with its line and a caret.
//!
//! Crates that format such messages (annotate-snippets, miette) could only replace `render`. This module also decides
//! which mistakes follow from others and are omitted. A mistake is printed as `FILE:LINE:COLUMN: what` and two more
//! lines, so that editors can jump to it and many fit on a screen. Those crates print at least five lines per
//! mistake.

use crate::quote::{clip, printable};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use toml::de::Error as SyntaxError;

/// Maximum number of mistakes to report. A file with more mistakes is not a job file.
const SHOWN: usize = 100;

/// Maximum number of mistakes to report if the TOML syntax is broken, as in an edge list given instead of the job
/// file.
const SHOWN_OF_BROKEN: usize = 10;

/// End of the parser's message about a duplicate key. Unlike other syntax errors, a duplicate key does not affect how
/// the parser reads later lines.
const TWICE: &str = "is given twice";

/// Maximum number of characters to show of a line of the job file.
const WINDOW: usize = 110;

/// A byte range in the job file or in a `--set` argument.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextSpan {
    /// Index of the text that contains the range: 0 is the job file, n is the n-th `--set`.
    pub source: usize,
    /// Start of the range: a byte offset.
    pub start: usize,
    /// End of the range (exclusive): a byte offset.
    pub end: usize,
}

impl TextSpan {
    /// Returns the byte range `span` in the text with index `source`: 0 is the job file, n is the n-th `--set`.
    pub fn new(source: usize, span: Range<usize>) -> Self {
        TextSpan { source, start: span.start, end: span.end }
    }

    /// Returns true if the range is in a `--set` argument, not in the job file.
    pub fn is_override(&self) -> bool {
        self.source > 0
    }
}

/// A mistake in a job file, with its position if it has one.
struct JobMistake {
    place: Option<TextSpan>,
    message: String,
    /// True for a mistake in the TOML syntax, false for a wrong or missing key or value.
    syntax: bool,
}

/// The job file and `--set` arguments from which a job is read, and the mistakes found in them.
pub struct Diagnostics {
    file: String,
    texts: Vec<String>,
    /// Byte offsets of the starts of the job file's lines, except the first line.
    line_starts: Vec<usize>,
    mistakes: Vec<JobMistake>,
}

impl Diagnostics {
    /// Creates an empty list of mistakes for the job file `file` with this `text` and these overrides.
    pub fn new(file: String, text: String, overrides: &[String]) -> Self {
        let line_starts = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at + 1).collect();
        let texts = std::iter::once(text).chain(overrides.iter().cloned()).collect();
        Diagnostics { file, texts, line_starts, mistakes: Vec::new() }
    }

    /// Returns the whole text with index `source`: 0 is the job file, n is the n-th `--set`.
    pub fn text(&self, source: usize) -> &str {
        self.texts.get(source).map_or("", String::as_str)
    }

    /// Returns the text in the range `place`.
    pub fn slice(&self, place: &TextSpan) -> &str {
        self.text(place.source).get(place.start..place.end).unwrap_or("")
    }

    /// Adds a mistake at `place`, a range in the job file or in a `--set`.
    pub fn error(&mut self, place: &TextSpan, message: impl Into<String>) {
        self.mistakes.push(JobMistake { place: Some(place.clone()), message: message.into(), syntax: false });
    }

    /// Adds a mistake that has no position, such as a missing table.
    pub fn missing(&mut self, message: impl Into<String>) {
        self.mistakes.push(JobMistake { place: None, message: message.into(), syntax: false });
    }

    /// Adds a syntax error of the TOML parser in the job file.
    pub fn syntax(&mut self, error: &SyntaxError) {
        let place = TextSpan::new(0, error.span().unwrap_or(0..0));
        let message = match error.message() {
            "duplicate key" => format!("'{}' {TWICE}", clip(self.slice(&place))),
            // The parser returns this message whenever it does not recognise a value.
            other if other.starts_with("string values must be quoted") => match self.slice(&place) {
                "" => "a value is missing after the '='".to_owned(),
                _ => "this is not a TOML value; text needs quotes, as in \"16GiB\"".to_owned(),
            },
            other => format!("not TOML: {other}"),
        };
        self.mistakes.push(JobMistake { place: Some(place), message, syntax: true });
    }

    /// Returns a short description of `place`, for messages about another position: `line 5`, or the text of the
    /// `--set`.
    pub fn describe(&self, place: &TextSpan) -> String {
        if place.is_override() {
            format!("--set {}", clip(self.text(place.source)))
        } else {
            format!("line {}", self.line_number(place.start))
        }
    }

    /// Formats all mistakes as one text, in file order. Returns `None` if there are none.
    pub fn report(&mut self) -> Option<String> {
        self.drop_consequences();
        if self.mistakes.is_empty() {
            return None;
        }
        // The sort is stable, and mistakes without a position come last.
        self.mistakes.sort_by_key(|mistake| (mistake.place.is_none(), mistake.place.clone()));
        let most = if self.mistakes.iter().any(|mistake| mistake.syntax) { SHOWN_OF_BROKEN } else { SHOWN };
        let mut report: Vec<String> = self.mistakes.iter().take(most).map(|mistake| self.render(mistake)).collect();
        if self.mistakes.len() > most {
            report.push(format!("{}: and {} more", self.file, self.mistakes.len() - most));
        }
        Some(report.join("\n"))
    }

    /// Drops mistakes that may only be consequences of broken TOML syntax: further mistakes on the same line, all
    /// mistakes about something missing, and all mistakes after a line that may have confused the parser.
    fn drop_consequences(&mut self) {
        let mut broken = BTreeSet::new();
        let mut derailed = usize::MAX;
        for mistake in self.mistakes.iter().filter(|mistake| mistake.syntax) {
            let Some(place) = &mistake.place else { continue };
            let line = self.line_number(place.start);
            broken.insert(line);
            let (_, text) = line_at(self.text(0), place.start);
            if !mistake.message.ends_with(TWICE) && derails(text) {
                derailed = derailed.min(line);
            }
        }
        if broken.is_empty() {
            return;
        }
        let mut reported = BTreeSet::new();
        let mut mistakes = std::mem::take(&mut self.mistakes);
        mistakes.retain(|mistake| match &mistake.place {
            None => false,
            // The parser may have lost the table of the file that an override modifies.
            Some(place) if place.is_override() => derailed == usize::MAX,
            Some(place) => {
                let line = self.line_number(place.start);
                if mistake.syntax { reported.insert(line) } else { line < derailed && !broken.contains(&line) }
            }
        });
        self.mistakes = mistakes;
    }

    /// Returns the 1-based number of the job file's line that contains byte `at`.
    fn line_number(&self, at: usize) -> usize {
        1 + self.line_starts.partition_point(|&start| start <= at)
    }

    fn render(&self, mistake: &JobMistake) -> String {
        let Some(place) = &mistake.place else {
            return format!("{}: {}", self.file, mistake.message);
        };
        let text = self.text(place.source);
        let (line_start, line) = line_at(text, place.start);
        let line_end = line_start + line.len();
        let column = chars(text, line_start, place.start.min(line_end));
        let width = chars(text, place.start.min(line_end), place.end.clamp(place.start, line_end.max(place.start)));
        let (head, gutter) = if place.is_override() {
            (format!("--set {}", clip(text)), String::from(" "))
        } else {
            let number = self.line_number(place.start).to_string();
            (format!("{}:{number}:{}", self.file, column + 1), number)
        };
        let (shown, column) = window(line, column);
        let room = shown.chars().count().saturating_sub(column).max(1);
        let mut out = format!("{head}: {}\n", mistake.message);
        let blank = " ".repeat(gutter.len());
        let (indent, carets) = (" ".repeat(column), "^".repeat(width.clamp(1, room)));
        // Writing to a string can't fail.
        let _ = write!(out, "{gutter} | {}\n{blank} | {indent}{carets}", shown.trim_end());
        out
    }
}

/// Returns an excerpt of a long line around the character at index `column`, and the index of that character within the
/// excerpt.
fn window(line: &str, column: usize) -> (String, usize) {
    let from = if column > WINDOW * 2 / 3 { column - WINDOW / 3 } else { 0 };
    let mut shown: String = line.chars().skip(from).take(WINDOW).map(printable).collect();
    if line.chars().nth(from + WINDOW).is_some() {
        shown.push('…');
    }
    if from == 0 { (shown, column) } else { (format!("…{shown}"), column - from + 1) }
}

/// Returns true if this line, which has a syntax error, may also change how the parser reads later lines.
fn derails(line: &str) -> bool {
    let line = line.trim();
    !line.contains('=') || ["[", "{", "\"\"\"", "'''"].iter().any(|opening| line.contains(opening))
}

/// Returns the byte offset at which the line that contains byte `at` starts, and the line without its line
/// terminator.
fn line_at(text: &str, at: usize) -> (usize, &str) {
    let bytes = text.as_bytes();
    let at = at.min(bytes.len());
    let start = bytes[..at].iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
    let end = bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |i| at + i);
    let line = text.get(start..end).unwrap_or("");
    (start, line.strip_suffix('\r').unwrap_or(line))
}

fn chars(text: &str, from: usize, to: usize) -> usize {
    text.get(from..to).map_or(0, |part| part.chars().count())
}
