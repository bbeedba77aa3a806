//! Reads the keys of a job file as values of the right type. Every reader returns `None` after it has reported a
//! mistake. The caller then continues with the next key, to report all mistakes at once, and the job is refused in
//! the end.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::diagnostics::{Diagnostics, TextSpan};
use super::tree::{TomlEntry, TomlNode, TomlTable, TomlValue};
use super::{advice, duration, expand};
use crate::formats::Columns;
use crate::graph::ids::InputId;
use crate::quote::clip;
use crate::size;

const COLUMNS: &str = "columns, such as [2, 3], [2, 3, 4], [\"src\", \"dst\"] or \"auto\"";

const ID: &str = "an id, such as 17 or \"name\"";

/// A table of a job file. The file may lack it.
pub struct Section<'t> {
    name: String,
    table: Option<&'t TomlTable>,
}

/// A key that is present in the job file, with its value and its name in messages, such as `limits.threads`.
pub struct Field<'t> {
    /// Name of the table and of the key, joined by a dot.
    pub name: String,
    /// The key and its value, with their positions in the text.
    pub entry: &'t TomlEntry,
}

impl<'t> Section<'t> {
    /// Returns the table `name` of a job file. A value that is not a table is treated as absent, because it has been
    /// reported before.
    pub fn of(root: &'t TomlTable, name: &str) -> Self {
        Section { name: name.to_owned(), table: root.get(name).and_then(|entry| entry.node.as_table()) }
    }

    /// Returns the key `key` of the table; `None` if the table lacks it.
    pub fn get(&self, key: &str) -> Option<Field<'t>> {
        let entry = self.table?.get(key)?;
        Some(Field { name: format!("{}.{key}", self.name), entry })
    }
}

impl<'t> Field<'t> {
    /// Returns the position of the value in the job file. For a table it is the position of the key, because the
    /// lines of a table may be scattered over the file.
    pub fn place(&self) -> &'t TextSpan {
        match self.entry.node.value {
            TomlValue::Table(_) => &self.entry.place,
            _ => &self.entry.node.place,
        }
    }

    /// Reports a mistake in the value, as `NAME: MESSAGE`.
    pub fn error(&self, message: &str, diagnostics: &mut Diagnostics) {
        diagnostics.error(self.place(), format!("{}: {message}", self.name));
    }

    /// Reports a mistake in the use of the key, as `NAME MESSAGE`.
    pub fn refuse(&self, message: &str, diagnostics: &mut Diagnostics) {
        diagnostics.error(&self.entry.place, format!("{} {message}", self.name));
    }

    fn expected<T>(&self, what: &str, diagnostics: &mut Diagnostics) -> Option<T> {
        let found = found(&self.entry.node, diagnostics);
        self.error(&format!("expected {what}, found {found}"), diagnostics);
        None
    }

    /// Reads `true` or `false`.
    pub fn boolean(&self, diagnostics: &mut Diagnostics) -> Option<bool> {
        match self.entry.node.value {
            TomlValue::Boolean(boolean) => Some(boolean),
            _ => self.expected("true or false", diagnostics),
        }
    }

    /// Reads an integer in `range`.
    pub fn integer<T>(&self, range: RangeInclusive<T>, diagnostics: &mut Diagnostics) -> Option<T>
    where
        T: TryFrom<i128> + PartialOrd + std::fmt::Display,
    {
        if let TomlValue::Integer(integer) = self.entry.node.value
            && let Ok(integer) = T::try_from(integer)
            && range.contains(&integer)
        {
            return Some(integer);
        }
        self.expected(&format!("a whole number from {} to {}", range.start(), range.end()), diagnostics)
    }

    /// Reads the id of a vertex: a non-negative integer or a string.
    pub fn id(&self, diagnostics: &mut Diagnostics) -> Option<InputId> {
        id(&self.entry.node).or_else(|| self.expected(ID, diagnostics))
    }

    /// Reads an array of ids, or a single id as an array of one.
    pub fn ids(&self, diagnostics: &mut Diagnostics) -> Option<Vec<InputId>> {
        let nodes = match &self.entry.node.value {
            TomlValue::Array(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(&self.entry.node),
        };
        let one = |node: &TomlNode| {
            let id = id(node);
            if id.is_none() {
                let found = found(node, diagnostics);
                diagnostics.error(&node.place, format!("{}: expected {ID}, found {found}", self.name));
            }
            id
        };
        // Every mistake is reported, so the list is read to its end.
        let ids: Vec<Option<InputId>> = nodes.iter().map(one).collect();
        ids.into_iter().collect()
    }

    /// Returns true if the value is a table.
    pub fn is_table(&self) -> bool {
        self.entry.node.as_table().is_some()
    }

    /// Returns true if the value is a string.
    pub fn is_string(&self) -> bool {
        string(&self.entry.node).is_some()
    }

    /// Reads an array of two numbers. Returns each number with a flag that is true if it is written as an integer.
    pub fn pair(&self, diagnostics: &mut Diagnostics) -> Option<[(f64, bool); 2]> {
        if let TomlValue::Array(nodes) = &self.entry.node.value
            && let [first, second] = nodes.as_slice()
            && let (Some(first), Some(second)) = (number(first), number(second))
        {
            return Some([first, second]);
        }
        self.expected("two numbers, such as [1, 1000] or [0.0, 1.0]", diagnostics)
    }

    /// Reads a number for which `is_allowed` is true. `what` describes the allowed numbers in messages.
    fn number(&self, what: &str, is_allowed: impl Fn(&f64) -> bool, diagnostics: &mut Diagnostics) -> Option<f64> {
        let number = number(&self.entry.node).map(|(number, _)| number);
        number.filter(is_allowed).or_else(|| self.expected(what, diagnostics))
    }

    /// Reads a number greater than 0 and at most `most`.
    pub fn positive(&self, most: u32, diagnostics: &mut Diagnostics) -> Option<f64> {
        let what = format!("a number above 0 and at most {most}");
        self.number(&what, |&number| number > 0.0 && number <= f64::from(most), diagnostics)
    }

    /// Reads a number from 0 to 1.
    pub fn probability(&self, diagnostics: &mut Diagnostics) -> Option<f64> {
        self.number("a number from 0 to 1", |number| (0.0..=1.0).contains(number), diagnostics)
    }

    /// Reads a number that is at least 0 and less than 1.
    pub fn fraction(&self, diagnostics: &mut Diagnostics) -> Option<f64> {
        self.number("a number from 0 to below 1", |number| (0.0..1.0).contains(number), diagnostics)
    }

    /// Reads a string that must be one of the names in `known`, and returns the value that is paired with it.
    pub fn choice<T: Clone>(&self, known: &[(&str, T)], diagnostics: &mut Diagnostics) -> Option<T> {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let Some(word) = string(&self.entry.node) else {
            let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            return self.expected(&format!("one of {}", quoted.join(", ")), diagnostics);
        };
        let choice = known.iter().find(|(name, _)| *name == word).map(|(_, choice)| choice.clone());
        if choice.is_none() {
            let advice = advice::advice(word, &names, |name| format!("\"{name}\""));
            self.error(&format!("unknown value \"{}\"; {advice}", clip(word)), diagnostics);
        }
        choice
    }

    /// Reads a size, such as `"16GiB"` or a number of bytes, and returns it in bytes. It must be greater than 0.
    pub fn size(&self, diagnostics: &mut Diagnostics) -> Option<u64> {
        let size = match &self.entry.node.value {
            TomlValue::Integer(integer) => u64::try_from(*integer).map_err(|_| None),
            TomlValue::String(text) => size::parse(text).map_err(Some),
            _ => Err(None),
        };
        match size {
            Ok(0) => self.error("expected a size above 0; leave the key out for what is free", diagnostics),
            Ok(size) => return Some(size),
            Err(Some(why)) => self.error(&format!("expected a size such as \"16GiB\", {why}"), diagnostics),
            Err(None) => return self.expected("a size such as \"16GiB\"", diagnostics),
        }
        None
    }

    /// Reads the columns of an input file: "auto", an array of column numbers or names, or such an array as one
    /// string.
    pub fn columns(&self, diagnostics: &mut Diagnostics) -> Option<Columns> {
        let columns = match &self.entry.node.value {
            TomlValue::String(text) => text.parse(),
            TomlValue::Array(elements) => {
                let number = |element: &TomlNode| match element.value {
                    TomlValue::Integer(number) => Some(u64::try_from(number).unwrap_or(0)),
                    _ => None,
                };
                let name = |element| string(element).map(str::to_owned);
                match (elements.iter().map(number).collect(), elements.iter().map(name).collect()) {
                    (Some(numbers), _) => Columns::numbers(numbers),
                    (None, Some(names)) => Columns::names(names),
                    (None, None) => return self.expected(COLUMNS, diagnostics),
                }
            }
            _ => return self.expected(COLUMNS, diagnostics),
        };
        columns.map_err(|why| self.error(&why, diagnostics)).ok()
    }

    /// Reads a duration in `range`.
    pub fn duration(&self, range: RangeInclusive<Duration>, diagnostics: &mut Diagnostics) -> Option<Duration> {
        let TomlValue::String(text) = &self.entry.node.value else {
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

    /// Reads a string.
    pub fn string(&self, diagnostics: &mut Diagnostics) -> Option<&'t str> {
        string(&self.entry.node).or_else(|| self.expected("a string", diagnostics))
    }

    /// Reads a table. Returns its tree of values and a section that reads its keys.
    pub fn section(&self, diagnostics: &mut Diagnostics) -> Option<(&'t TomlTable, Section<'t>)> {
        match self.entry.node.as_table() {
            Some(table) => Some((table, Section { name: self.name.clone(), table: Some(table) })),
            None => self.expected("a table", diagnostics),
        }
    }

    /// Reads a path, and expands environment variables in it.
    pub fn path(&self, diagnostics: &mut Diagnostics) -> Option<PathBuf> {
        let text = self.string(diagnostics)?;
        self.expand(text, self.place(), diagnostics)
    }

    /// Reads one path or a non-empty array of paths, and expands environment variables in them.
    pub fn paths(&self, diagnostics: &mut Diagnostics) -> Option<Vec<PathBuf>> {
        let elements = match &self.entry.node.value {
            TomlValue::Array(elements) => elements.as_slice(),
            TomlValue::String(_) => std::slice::from_ref(&self.entry.node),
            _ => return self.expected("a string or an array of strings", diagnostics),
        };
        if elements.is_empty() {
            self.error("expected at least one path, found an empty array", diagnostics);
            return None;
        }
        let path = |element: &TomlNode| {
            let Some(text) = string(element) else {
                let message =
                    format!("{}: expected strings in the array, found {}", self.name, found(element, diagnostics));
                diagnostics.error(&element.place, message);
                return None;
            };
            self.expand(text, &element.place, diagnostics)
        };
        // All elements are read, so that every mistake is reported.
        let paths: Vec<Option<PathBuf>> = elements.iter().map(path).collect();
        paths.into_iter().collect()
    }

    fn expand(&self, text: &str, place: &TextSpan, diagnostics: &mut Diagnostics) -> Option<PathBuf> {
        let refused = if text.is_empty() {
            Some("expected a path, found an empty string")
        } else if text.contains('\0') {
            Some("a path can't contain a NUL character")
        } else if text == "~" || text.starts_with("~/") {
            Some("'~' is not expanded: write $HOME")
        } else {
            None
        };
        if let Some(message) = refused {
            diagnostics.error(place, format!("{}: {message}", self.name));
            return None;
        }
        match expand::path(text, &|name| std::env::var_os(name)) {
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

/// Returns (number, whether it is written as an integer) for a value of the job file; `None` if it is not a number.
fn number(node: &TomlNode) -> Option<(f64, bool)> {
    match node.value {
        TomlValue::Integer(integer) => Some((integer as f64, true)),
        TomlValue::Float(float) => Some((float, false)),
        _ => None,
    }
}

/// Returns a value of the job file as a vertex id, if it is a non-negative integer or a string; `None` for any other
/// value.
fn id(node: &TomlNode) -> Option<InputId> {
    match &node.value {
        TomlValue::Integer(number) => u64::try_from(*number).ok().map(InputId::Number),
        TomlValue::String(name) => Some(InputId::of_name(name)),
        _ => None,
    }
}

fn string(node: &TomlNode) -> Option<&str> {
    match &node.value {
        TomlValue::String(text) => Some(text),
        _ => None,
    }
}

/// Describes a value of the job file, for messages of the form "expected …, found …".
fn found(node: &TomlNode, diagnostics: &Diagnostics) -> String {
    let written = clip(diagnostics.slice(&node.place));
    match &node.value {
        TomlValue::String(text) => format!("the string \"{}\"", clip(text)),
        TomlValue::Integer(_) | TomlValue::Float(_) | TomlValue::Boolean(_) => written,
        TomlValue::Datetime => format!("the date or time {written}"),
        TomlValue::Array(_) => "an array".to_owned(),
        TomlValue::Table(_) => "a table".to_owned(),
    }
}

/// Returns the position of `piece` within the string at `place` in the job file. If the piece does not occur there
/// literally, because of escapes, returns the position of the whole string.
fn within(place: &TextSpan, piece: &str, diagnostics: &Diagnostics) -> TextSpan {
    match diagnostics.slice(place).find(piece) {
        Some(at) => TextSpan::new(place.source, place.start + at..place.start + at + piece.len()),
        None => place.clone(),
    }
}
