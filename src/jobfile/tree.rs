//! The job file as a tree of values with their positions. Unlike the parser's own tree, this tree owns its values, so
//! that the values of `--set` can be inserted.

use std::fmt;

use toml::de::{DeTable, DeValue};

use super::diagnostics::TextSpan;

/// A TOML value of a job file.
#[derive(Debug, Clone, PartialEq)]
pub enum TomlValue {
    /// A string, with escapes resolved.
    String(String),
    /// An integer. An integer that does not fit in 128 bits is replaced by the nearest one that does, which every
    /// range check refuses.
    Integer(i128),
    /// A floating-point number.
    Float(f64),
    /// A boolean.
    Boolean(bool),
    /// A date or time, which no key accepts.
    Datetime,
    /// An array of values.
    Array(Vec<TomlNode>),
    /// A table, inline or not.
    Table(TomlTable),
}

/// Formats the value as TOML on one line. Equal values have the same text, even if they are written differently.
impl fmt::Display for TomlValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TomlValue::String(text) => write!(f, "{text:?}"),
            TomlValue::Integer(integer) => integer.fmt(f),
            TomlValue::Float(float) => write!(f, "{float:?}"),
            TomlValue::Boolean(boolean) => boolean.fmt(f),
            TomlValue::Datetime => f.write_str("a time"),
            TomlValue::Array(nodes) => {
                let values: Vec<String> = nodes.iter().map(|node| node.value.to_string()).collect();
                write!(f, "[{}]", values.join(", "))
            }
            TomlValue::Table(table) => {
                let mut entries: Vec<String> =
                    table.entries.iter().map(|entry| format!("{} = {}", entry.key, entry.node.value)).collect();
                entries.sort();
                write!(f, "{{ {} }}", entries.join(", "))
            }
        }
    }
}

/// A value and its position in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct TomlNode {
    /// Position of the value.
    pub place: TextSpan,
    /// The value.
    pub value: TomlValue,
}

/// An entry `key = value` of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TomlEntry {
    /// Name of the key.
    pub key: String,
    /// Position of the key.
    pub place: TextSpan,
    /// The value.
    pub node: TomlNode,
}

/// A table of a job file, whatever its syntax (`[header]`, inline, dotted keys).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TomlTable {
    /// Entries of the table in the order of the file.
    pub entries: Vec<TomlEntry>,
}

impl TomlTable {
    /// Converts a table that the TOML parser returned. The parsed text is the part of text `source` that starts at
    /// byte `shift`.
    pub fn new(parsed: &DeTable<'_>, source: usize, shift: usize) -> Self {
        let mut entries: Vec<TomlEntry> = parsed
            .iter()
            .map(|(key, value)| TomlEntry {
                key: key.get_ref().to_string(),
                place: placed(source, shift, key.span()),
                node: TomlNode::new(value.get_ref(), placed(source, shift, value.span()), shift),
            })
            .collect();
        entries.sort_by(|a, b| a.place.cmp(&b.place));
        TomlTable { entries }
    }

    /// Returns the entry of a key; `None` if the table lacks it.
    pub fn get(&self, key: &str) -> Option<&TomlEntry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Returns the entry of a key for modification; `None` if the table lacks it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut TomlEntry> {
        self.entries.iter_mut().find(|entry| entry.key == key)
    }
}

impl TomlNode {
    /// Converts a value that the TOML parser returned. `place` is its position. The positions of nested values are
    /// those that the parser reports plus `shift` bytes.
    pub fn new(parsed: &DeValue<'_>, place: TextSpan, shift: usize) -> Self {
        let source = place.source;
        let value = match parsed {
            DeValue::String(text) => TomlValue::String(text.to_string()),
            DeValue::Integer(integer) => TomlValue::Integer(integer_of(integer.as_str(), integer.radix())),
            DeValue::Float(float) => TomlValue::Float(float.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(boolean) => TomlValue::Boolean(*boolean),
            DeValue::Datetime(_) => TomlValue::Datetime,
            DeValue::Array(array) => TomlValue::Array(
                array
                    .iter()
                    .map(|element| TomlNode::new(element.get_ref(), placed(source, shift, element.span()), shift))
                    .collect(),
            ),
            DeValue::Table(table) => TomlValue::Table(TomlTable::new(table, source, shift)),
        };
        TomlNode { place, value }
    }

    /// Returns the value as a table; `None` if it is not a table.
    pub fn as_table(&self) -> Option<&TomlTable> {
        match &self.value {
            TomlValue::Table(table) => Some(table),
            _ => None,
        }
    }
}

fn placed(source: usize, shift: usize, span: std::ops::Range<usize>) -> TextSpan {
    TextSpan::new(source, span.start + shift..span.end + shift)
}

fn integer_of(digits: &str, radix: u32) -> i128 {
    let overflow = if digits.starts_with('-') { i128::MIN } else { i128::MAX };
    i128::from_str_radix(digits, radix).unwrap_or(overflow)
}
