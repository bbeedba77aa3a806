//! The job file as a tree of values that each know where they were written. Unlike the parser's own tree it is
//! owned, so that values of `--set` can be hung into it.

use toml::de::{DeTable, DeValue};

use super::diagnostics::Place;

/// A value as written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// A string, escapes resolved.
    String(String),
    /// An integer; beyond 128 bits the nearest that fits, which is out of every range just as well.
    Integer(i128),
    /// A float.
    Float(f64),
    /// A boolean.
    Boolean(bool),
    /// A date or time. No key takes one.
    Datetime,
    /// An array.
    Array(Vec<Node>),
    /// A table, inline or not.
    Table(Table),
}

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
}

/// One `key = value`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    /// Where the key stands.
    pub(super) place: Place,
    pub(super) node: Node,
}

/// A table. However it is written (`[header]`, inline, dotted keys) it looks the same here.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Table {
    /// In the order of the file.
    pub(super) entries: Vec<Entry>,
}

impl Table {
    /// From the parser's tree of text `source`, which begins `shift` bytes into that text.
    pub(super) fn new(parsed: &DeTable<'_>, source: usize, shift: usize) -> Self {
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

    /// The entry of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The entry of a key, to change it.
    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.key == key)
    }
}

impl Node {
    /// From the parser's value, which stands at `place`; places within it are `shift` bytes further than it says.
    pub(super) fn new(parsed: &DeValue<'_>, place: Place, shift: usize) -> Self {
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

    /// The table that this is, if it is one.
    pub(super) fn as_table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }
}

fn placed(source: usize, shift: usize, span: std::ops::Range<usize>) -> Place {
    Place::new(source, span.start + shift..span.end + shift)
}

fn integer_of(digits: &str, radix: u32) -> i128 {
    let overflow = if digits.starts_with('-') { i128::MIN } else { i128::MAX };
    i128::from_str_radix(digits, radix).unwrap_or(overflow)
}
