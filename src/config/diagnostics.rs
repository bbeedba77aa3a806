//! Mistakes in a job file, collected so that all of them are told at once, each with its line and a caret.

use crate::quote::{clip, printable};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use toml::de::Error as SyntaxError;

/// Most mistakes that are told. A file with more is no job file.
const SHOWN: usize = 100;

/// The same where the TOML itself is broken, as in an edge list given in place of the job file.
const SHOWN_OF_BROKEN: usize = 10;

/// How a mistake ends that leaves no doubt about the lines that follow it.
const TWICE: &str = "is given twice";

/// Longest part of a line that is shown, in characters.
const WINDOW: usize = 110;

/// A stretch of one of the texts that a job is read from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// 0 is the job file, n the n-th `--set`.
    pub(super) source: usize,
    /// First byte.
    pub(super) start: usize,
    /// One past the last byte.
    pub(super) end: usize,
}

impl Place {
    /// The stretch `span` of text `source`.
    pub(super) fn new(source: usize, span: Range<usize>) -> Self {
        Place { source, start: span.start, end: span.end }
    }

    /// Whether this stands in a `--set`, not in the job file.
    pub(super) fn is_override(&self) -> bool {
        self.source > 0
    }
}

/// What is wrong, and where if it is at a place.
struct Mistake {
    place: Option<Place>,
    message: String,
    /// A mistake of TOML itself, not of its meaning.
    syntax: bool,
}

/// The texts that the job is read from, and what is wrong with them.
pub(super) struct Diagnostics {
    file: String,
    texts: Vec<String>,
    /// Where the lines of the job file begin, the first left out.
    line_starts: Vec<usize>,
    mistakes: Vec<Mistake>,
}

impl Diagnostics {
    /// For the job file called `file` with this `text`, under these overrides.
    pub(super) fn new(file: String, text: String, overrides: &[String]) -> Self {
        let line_starts = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at + 1).collect();
        let texts = std::iter::once(text).chain(overrides.iter().cloned()).collect();
        Diagnostics { file, texts, line_starts, mistakes: Vec::new() }
    }

    /// The whole text of a source.
    pub(super) fn text(&self, source: usize) -> &str {
        self.texts.get(source).map_or("", String::as_str)
    }

    /// What is written at a place.
    pub(super) fn slice(&self, place: &Place) -> &str {
        self.text(place.source).get(place.start..place.end).unwrap_or("")
    }

    /// Adds a mistake at a place.
    pub(super) fn error(&mut self, place: &Place, message: impl Into<String>) {
        self.mistakes.push(Mistake { place: Some(place.clone()), message: message.into(), syntax: false });
    }

    /// Adds a mistake that is the lack of something in the file as a whole.
    pub(super) fn missing(&mut self, message: impl Into<String>) {
        self.mistakes.push(Mistake { place: None, message: message.into(), syntax: false });
    }

    /// Adds what the TOML parser did not like in the job file.
    pub(super) fn syntax(&mut self, error: &SyntaxError) {
        let place = Place::new(0, error.span().unwrap_or(0..0));
        let message = match error.message() {
            "duplicate key" => format!("'{}' {TWICE}", clip(self.slice(&place))),
            // The parser's guess wherever no value is recognised.
            other if other.starts_with("string values must be quoted") => match self.slice(&place) {
                "" => "a value is missing after the '='".to_owned(),
                _ => "this is no value of TOML; text stands in quotes, as in \"16GiB\"".to_owned(),
            },
            other => format!("not TOML: {other}"),
        };
        self.mistakes.push(Mistake { place: Some(place), message, syntax: true });
    }

    /// How to name a place from another: `line 5`, or the override.
    pub(super) fn describe(&self, place: &Place) -> String {
        if place.is_override() {
            format!("--set {}", clip(self.text(place.source)))
        } else {
            format!("line {}", self.line_number(place.start))
        }
    }

    /// All mistakes as one text, in the order of the file, or `None` where there are none.
    pub(super) fn report(&mut self) -> Option<String> {
        self.drop_consequences();
        if self.mistakes.is_empty() {
            return None;
        }
        // Stable, and `None` placed last: what is missing is told after what is there.
        self.mistakes.sort_by_key(|mistake| (mistake.place.is_none(), mistake.place.clone()));
        let most = if self.mistakes.iter().any(|mistake| mistake.syntax) { SHOWN_OF_BROKEN } else { SHOWN };
        let mut report: Vec<String> = self.mistakes.iter().take(most).map(|mistake| self.render(mistake)).collect();
        if self.mistakes.len() > most {
            report.push(format!("{}: and {} more", self.file, self.mistakes.len() - most));
        }
        Some(report.join("\n"))
    }

    /// Where the TOML itself is broken, drops what may only follow from that: a second complaint about the same
    /// line, anything said to be missing, and all after a line that may have thrown the parser off its tracks.
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
        let mut told = BTreeSet::new();
        let mut mistakes = std::mem::take(&mut self.mistakes);
        mistakes.retain(|mistake| match &mistake.place {
            None => false,
            // Whether a table of the file that an override belongs to was lost can't be known.
            Some(place) if place.is_override() => derailed == usize::MAX,
            Some(place) => {
                let line = self.line_number(place.start);
                if mistake.syntax { told.insert(line) } else { line < derailed && !broken.contains(&line) }
            }
        });
        self.mistakes = mistakes;
    }

    /// The line of the job file, from 1, that holds byte `at`.
    fn line_number(&self, at: usize) -> usize {
        1 + self.line_starts.partition_point(|&start| start <= at)
    }

    fn render(&self, mistake: &Mistake) -> String {
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

/// The part of a long line around the character `column`, and where that character is in it.
fn window(line: &str, column: usize) -> (String, usize) {
    let from = if column > WINDOW * 2 / 3 { column - WINDOW / 3 } else { 0 };
    let mut shown: String = line.chars().skip(from).take(WINDOW).map(printable).collect();
    if line.chars().nth(from + WINDOW).is_some() {
        shown.push('…');
    }
    if from == 0 { (shown, column) } else { (format!("…{shown}"), column - from + 1) }
}

/// Whether a broken line may also change the meaning of what follows it.
fn derails(line: &str) -> bool {
    let line = line.trim();
    !line.contains('=') || ["[", "{", "\"\"\"", "'''"].iter().any(|opening| line.contains(opening))
}

/// The line that holds byte `at`, without its end, and where it begins.
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
