//! One key of a job file, read as the type that it must have. Every reader returns `None` after it has told what
//! is wrong, so that the caller goes on to the next key with a default that will never be used.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::diagnostics::{Diagnostics, Place};
use super::expand::{self, Environment};
use super::tree::{Entry, Node, Table, Value};
use super::{duration, keys};
use crate::formats::Columns;
use crate::quote::clip;
use crate::size;

const COLUMNS: &str = "columns, such as [2, 3], [2, 3, 4], [\"src\", \"dst\"] or \"auto\"";

/// A table of the job file, there or not.
pub(super) struct Section<'t> {
    name: String,
    table: Option<&'t Table>,
}

/// A key that is there. `name` is how messages call it: `limits.threads`.
pub(super) struct Field<'t> {
    pub(super) name: String,
    pub(super) entry: &'t Entry,
}

impl<'t> Section<'t> {
    /// The table `name` of the root; what is no table was refused before.
    pub(super) fn of(root: &'t Table, name: &str) -> Self {
        Section { name: name.to_owned(), table: root.get(name).and_then(|entry| entry.node.as_table()) }
    }

    /// The key, if the table has it.
    pub(super) fn get(&self, key: &str) -> Option<Field<'t>> {
        let entry = self.table?.get(key)?;
        Some(Field { name: format!("{}.{key}", self.name), entry })
    }
}

impl<'t> Field<'t> {
    /// Where the value stands. A table may stand at several places: its key is one of them.
    pub(super) fn place(&self) -> &'t Place {
        match self.entry.node.value {
            Value::Table(_) => &self.entry.place,
            _ => &self.entry.node.place,
        }
    }

    /// Tells what is wrong with the value: `NAME: MESSAGE`.
    pub(super) fn error(&self, message: &str, diagnostics: &mut Diagnostics) {
        diagnostics.error(self.place(), format!("{}: {message}", self.name));
    }

    fn expected<T>(&self, what: &str, diagnostics: &mut Diagnostics) -> Option<T> {
        let found = found(&self.entry.node, diagnostics);
        self.error(&format!("expected {what}, found {found}"), diagnostics);
        None
    }

    /// `true` or `false`.
    pub(super) fn boolean(&self, diagnostics: &mut Diagnostics) -> Option<bool> {
        match self.entry.node.value {
            Value::Boolean(boolean) => Some(boolean),
            _ => self.expected("true or false", diagnostics),
        }
    }

    /// A whole number in `range`.
    pub(super) fn integer<T>(&self, range: RangeInclusive<T>, diagnostics: &mut Diagnostics) -> Option<T>
    where
        T: TryFrom<i128> + PartialOrd + std::fmt::Display,
    {
        if let Value::Integer(integer) = self.entry.node.value
            && let Ok(integer) = T::try_from(integer)
            && range.contains(&integer)
        {
            return Some(integer);
        }
        self.expected(&format!("a whole number from {} to {}", range.start(), range.end()), diagnostics)
    }

    /// A number above 0 and at most `most`.
    pub(super) fn positive(&self, most: u32, diagnostics: &mut Diagnostics) -> Option<f64> {
        let number = match self.entry.node.value {
            Value::Integer(integer) => integer as f64,
            Value::Float(float) => float,
            _ => f64::NAN,
        };
        if number > 0.0 && number <= f64::from(most) {
            return Some(number);
        }
        self.expected(&format!("a number above 0 and at most {most}"), diagnostics)
    }

    /// One of the words of `known`, with what it stands for.
    pub(super) fn choice<T: Clone>(&self, known: &[(&str, T)], diagnostics: &mut Diagnostics) -> Option<T> {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let Some(word) = string(&self.entry.node) else {
            let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            return self.expected(&format!("one of {}", quoted.join(", ")), diagnostics);
        };
        let choice = known.iter().find(|(name, _)| *name == word).map(|(_, choice)| choice.clone());
        if choice.is_none() {
            let advice = keys::advice(word, &names, |name| format!("\"{name}\""));
            self.error(&format!("unknown value \"{}\"; {advice}", clip(word)), diagnostics);
        }
        choice
    }

    /// A size in bytes, above 0.
    pub(super) fn size(&self, diagnostics: &mut Diagnostics) -> Option<u64> {
        let size = match &self.entry.node.value {
            Value::Integer(integer) => u64::try_from(*integer).ok(),
            Value::String(text) => match size::parse(text) {
                Ok(size) => Some(size),
                Err(why) => {
                    self.error(&format!("expected a size such as \"16GiB\", {why}"), diagnostics);
                    return None;
                }
            },
            _ => None,
        };
        match size {
            Some(0) => {
                self.error("expected a size above 0; leave the key out for what is free", diagnostics);
                None
            }
            Some(size) => Some(size),
            None => self.expected("a size such as \"16GiB\"", diagnostics),
        }
    }

    /// The columns of text: "auto", an array of numbers or an array of names, or such a list as one string.
    pub(super) fn columns(&self, diagnostics: &mut Diagnostics) -> Option<Columns> {
        let columns = match &self.entry.node.value {
            Value::String(text) => text.parse(),
            Value::Array(elements) => {
                let numbers: Option<Vec<u64>> = elements
                    .iter()
                    .map(|element| match element.value {
                        Value::Integer(number) => Some(u64::try_from(number).unwrap_or(0)),
                        _ => None,
                    })
                    .collect();
                let names: Option<Vec<String>> =
                    elements.iter().map(|element| string(element).map(str::to_owned)).collect();
                match (numbers, names) {
                    (Some(numbers), _) => Columns::numbers(numbers),
                    (None, Some(names)) => Columns::names(names),
                    _ => return self.expected(COLUMNS, diagnostics),
                }
            }
            _ => return self.expected(COLUMNS, diagnostics),
        };
        columns.map_err(|why| self.error(&why, diagnostics)).ok()
    }

    /// A duration in `range`.
    pub(super) fn duration(&self, range: RangeInclusive<Duration>, diagnostics: &mut Diagnostics) -> Option<Duration> {
        let Value::String(text) = &self.entry.node.value else {
            return self.expected("a duration such as \"30s\"", diagnostics);
        };
        match duration::parse(text) {
            Ok(duration) if range.contains(&duration) => Some(duration),
            Ok(_) => {
                let (least, most) = (duration::show(*range.start()), duration::show(*range.end()));
                self.expected(&format!("a duration from {least} to {most}"), diagnostics)
            }
            Err(why) => {
                self.error(&format!("expected a duration such as \"30s\", {why}"), diagnostics);
                None
            }
        }
    }

    /// A string.
    pub(super) fn string(&self, diagnostics: &mut Diagnostics) -> Option<&'t str> {
        string(&self.entry.node).or_else(|| self.expected("a string", diagnostics))
    }

    /// The value's table, and the section that it is.
    pub(super) fn section(&self, diagnostics: &mut Diagnostics) -> Option<(&'t Table, Section<'t>)> {
        match self.entry.node.as_table() {
            Some(table) => Some((table, Section { name: self.name.clone(), table: Some(table) })),
            None => self.expected("a table", diagnostics),
        }
    }

    /// A path, variables expanded.
    pub(super) fn path(&self, environment: Environment<'_>, diagnostics: &mut Diagnostics) -> Option<PathBuf> {
        let text = self.string(diagnostics)?;
        self.expand(text, self.place(), environment, diagnostics)
    }

    /// A path, or an array of at least one.
    pub(super) fn paths(&self, environment: Environment<'_>, diagnostics: &mut Diagnostics) -> Option<Vec<PathBuf>> {
        let Value::Array(elements) = &self.entry.node.value else {
            let Some(text) = string(&self.entry.node) else {
                return self.expected("a string or an array of strings", diagnostics);
            };
            return self.expand(text, self.place(), environment, diagnostics).map(|path| vec![path]);
        };
        if elements.is_empty() {
            self.error("expected at least one path, found an empty array", diagnostics);
            return None;
        }
        // All elements are looked at before any failure counts.
        let paths: Vec<Option<PathBuf>> = elements
            .iter()
            .map(|element| match string(element) {
                Some(text) => self.expand(text, &element.place, environment, diagnostics),
                None => {
                    let found = found(element, diagnostics);
                    let message = format!("{}: expected strings in the array, found {found}", self.name);
                    diagnostics.error(&element.place, message);
                    None
                }
            })
            .collect();
        paths.into_iter().collect()
    }

    fn expand(
        &self,
        text: &str,
        place: &Place,
        environment: Environment<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<PathBuf> {
        let refused = if text.is_empty() {
            Some("expected a path, found an empty string")
        } else if text.contains('\0') {
            Some("a path can't hold a NUL character")
        } else if text == "~" || text.starts_with("~/") {
            Some("'~' is not expanded: write $HOME")
        } else {
            None
        };
        if let Some(message) = refused {
            diagnostics.error(place, format!("{}: {message}", self.name));
            return None;
        }
        match expand::path(text, environment) {
            Ok(path) => Some(path),
            Err(wrong) => {
                for piece in wrong {
                    let place = within(place, piece.piece, diagnostics);
                    diagnostics.error(&place, format!("{}: {}", self.name, piece.reason));
                }
                None
            }
        }
    }
}

/// The string of a node.
fn string(node: &Node) -> Option<&str> {
    match &node.value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// What a value is, for "expected …, found …".
fn found(node: &Node, diagnostics: &Diagnostics) -> String {
    let written = clip(diagnostics.slice(&node.place));
    match &node.value {
        Value::String(text) => format!("the string \"{}\"", clip(text)),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => written,
        Value::Datetime => format!("the date or time {written}"),
        Value::Array(_) => "an array".to_owned(),
        Value::Table(_) => "a table".to_owned(),
    }
}

/// Where `piece` of a string stands in the text that the string was written as, else the whole string: escapes
/// may hide it.
fn within(place: &Place, piece: &str, diagnostics: &Diagnostics) -> Place {
    match diagnostics.slice(place).find(piece) {
        Some(at) => Place::new(place.source, place.start + at..place.start + at + piece.len()),
        None => place.clone(),
    }
}
