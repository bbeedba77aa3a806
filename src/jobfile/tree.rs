//! The job file as a tree of values with their places. Unlike the parser's own tree it is owned, so that values of
//! `--set` can be inserted.

use std::fmt;

use toml::de::{DeTable, DeValue};

use super::diagnostics::TextSpan;

/// A value as written.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A string, with escapes resolved.
    String(String),
    /// An integer. An integer beyond 128 bits becomes the nearest that fits, which every range check refuses, too.
    Integer(i128),
    /// A float.
    Float(f64),
    /// A boolean.
    Boolean(bool),
    /// A date or time, which no key accepts.
    Datetime,
    /// An array.
    Array(Vec<Node>),
    /// A table, inline or not.
    Table(Table),
}

/// Formats the value as TOML on one line. Equal values have the same text, however they are written.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::String(text) => write!(f, "{text:?}"),
            Value::Integer(integer) => integer.fmt(f),
            Value::Float(float) => write!(f, "{float:?}"),
            Value::Boolean(boolean) => boolean.fmt(f),
            Value::Datetime => f.write_str("a time"),
            Value::Array(nodes) => {
                let values: Vec<String> = nodes.iter().map(|node| node.value.to_string()).collect();
                write!(f, "[{}]", values.join(", "))
            }
            Value::Table(table) => {
                let mut entries: Vec<String> =
                    table.entries.iter().map(|entry| format!("{} = {}", entry.key, entry.node.value)).collect();
                entries.sort();
                write!(f, "{{ {} }}", entries.join(", "))
            }
        }
    }
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Place of the value.
    pub place: TextSpan,
    /// The value.
    pub value: Value,
}

/// One `key = value`.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Place of the key.
    pub place: TextSpan,
    /// The value.
    pub node: Node,
}

/// A table, written in any form (`[header]`, inline, dotted keys).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Entries in the order of the file.
    pub entries: Vec<Entry>,
}

impl Table {
    /// Converts the parser's tree of text `source`. The parsed text begins `shift` bytes into that text.
    pub fn new(parsed: &DeTable<'_>, source: usize, shift: usize) -> Self {
        let mut entries: Vec<Entry> = parsed
            .iter()
            .map(|(key, value)| Entry {
                key: key.get_ref().to_string(),
                place: placed(source, shift, key.span()),
                node: Node::new(value.get_ref(), placed(source, shift, value.span()), shift),
            })
            .collect();
        entries.sort_by(|a, b| a.place.cmp(&b.place));
        Table { entries }
    }

    /// Returns the entry of a key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Returns the entry of a key for modification.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.key == key)
    }
}

impl Node {
    /// Converts the parser's value at `place`; places within it are `shift` bytes further than the parser reports.
    pub fn new(parsed: &DeValue<'_>, place: TextSpan, shift: usize) -> Self {
        let source = place.source;
        let value = match parsed {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Integer(integer) => Value::Integer(integer_of(integer.as_str(), integer.radix())),
            DeValue::Float(float) => Value::Float(float.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(boolean) => Value::Boolean(*boolean),
            DeValue::Datetime(_) => Value::Datetime,
            DeValue::Array(array) => Value::Array(
                array
                    .iter()
                    .map(|element| Node::new(element.get_ref(), placed(source, shift, element.span()), shift))
                    .collect(),
            ),
            DeValue::Table(table) => Value::Table(Table::new(table, source, shift)),
        };
        Node { place, value }
    }

    /// Returns the table, if the value is one.
    pub fn as_table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
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
