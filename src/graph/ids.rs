//! A type for each kind of vertex id, so that ids of different kinds can't be confused.
//!
//! A reader delivers edges between [`RawId`]s. Ingest maps raw ids to [`DenseId`]s, and the degree order maps dense ids
//! to [`Vertex`]es, which are the ids in rows and blocks. Users know a vertex by its [`InputId`]: the raw id plus the
//! [`FirstId`] of the job, or a string. Results have a row for each dense id, labelled with the input's id. Long lists
//! of ids are slices of plain integers; their docs say which kind of id they contain.

use parking_lot::Mutex;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;

/// An id as a reader delivers it, 0-based. Readers of formats with 1-based ids subtract 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RawId(pub u64);

/// An id as users write it in a job file and find it in results: a number, or a string if the input has string ids. In
/// that case a number is the index of the string in the sorted list of all strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InputId {
    /// An id that is a number.
    Number(u64),
    /// An id that is a string.
    Name(VertexName),
}

/// A string id that occurs in a job file or a result. Equal strings share one copy, which stays in memory until the
/// process ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VertexName(&'static str);

/// Setting `first_id` of `[input]`: the id of the vertex whose raw id is 0. It is 0, or 1 if results contain the
/// 1-based ids of the input file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FirstId(pub u64);

/// A dense id: the raw id if ids are dense, else the index of the raw id in the sorted list of all raw ids in the
/// input. It is also the index of the vertex's row in results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DenseId(pub u32);

/// Index of a vertex in the order of descending degree; 0 is the vertex with the highest degree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vertex(pub u32);

impl FirstId {
    /// Converts a raw id to the numeric id that users see: the raw id plus this first id.
    #[inline]
    pub fn input(self, RawId(raw): RawId) -> InputId {
        InputId::Number(raw.wrapping_add(self.0))
    }

    /// Converts the numeric id that users write to the raw id. Returns `None` for a number below the first id.
    #[inline]
    pub fn raw(self, number: u64) -> Option<RawId> {
        number.checked_sub(self.0).map(RawId)
    }
}

impl VertexName {
    /// Returns the string of the id.
    pub fn text(self) -> &'static str {
        self.0
    }
}

impl InputId {
    /// Returns the string id `name`.
    pub fn of_name(name: &str) -> InputId {
        static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut names = NAMES.lock();
        let known = names.get(name).copied();
        let name = known.unwrap_or_else(|| {
            let name: &'static str = name.to_owned().leak();
            names.insert(name);
            name
        });
        InputId::Name(VertexName(name))
    }

    /// Returns the string id with the bytes `name`, or the id `number` if the bytes are not valid UTF-8. `number` is
    /// the index of the string in the sorted list.
    pub fn of_bytes(name: &[u8], number: u64) -> InputId {
        std::str::from_utf8(name).map_or(InputId::Number(number), InputId::of_name)
    }
}

impl RawId {
    /// Returns the dense id of the vertex with this raw id. If ids are sparse, `list` contains all ids in ascending
    /// order, and the dense id is the index in it. Returns `None` for an id that the input can't contain. The vertex
    /// may have no edge.
    pub fn dense(self, list: Option<&[u64]>) -> Option<DenseId> {
        match list {
            Some(list) => list.binary_search(&self.0).ok().map(|place| DenseId(place as u32)),
            None => u32::try_from(self.0).ok().map(DenseId),
        }
    }
}

impl DenseId {
    /// Returns the id as an index into arrays with an element for each dense id.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Vertex {
    /// Returns the id as an index into arrays with an element for each vertex.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for InputId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InputId::Number(number) => number.fmt(f),
            InputId::Name(name) => name.0.fmt(f),
        }
    }
}

impl fmt::Debug for VertexName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for InputId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            InputId::Number(number) => number.serialize(serializer),
            InputId::Name(name) => name.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for InputId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let number = || value.as_u64().map(InputId::Number);
        let id = value.as_str().map(InputId::of_name).or_else(number);
        id.ok_or_else(|| D::Error::custom(format!("expected an id, found {value}")))
    }
}
