//! A type for each numbering of vertices, so that ids of different numberings can't be confused.
//!
//! A reader delivers edges between [`RawId`]s. Ingest maps raw ids to [`DenseId`]s, and the degree order maps dense ids
//! to [`Vertex`]es, which number rows and blocks. Users know a vertex by its [`InputId`], which is the raw id plus the
//! [`FirstId`] of the job, or a string. Results have a row for each dense id, labelled with the input's id. Slices of
//! many ids are slices of plain integers; their docs say which ids they contain.

use parking_lot::Mutex;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;

/// An id as a reader delivers it. Readers of formats that count from 1 subtract 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RawId(pub u64);

/// An id as users write it in a job file and find it in results: a number, or a string if the input has strings. If the
/// input has strings, a number is the place of a string in their sorted list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InputId {
    /// An id that is a number.
    Number(u64),
    /// An id that is a string.
    Name(VertexName),
}

/// A string that a user or a result names. Equal strings share one copy, which stays in memory until the process ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VertexName(&'static str);

/// Setting `first_id` of `[input]`: the id of the vertex whose raw id is 0. It is 0, or 1 if results keep the ids of a
/// file that counts from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FirstId(pub u64);

/// A dense id: the raw id if ids are dense, else the index of the raw id in the sorted list of ids that occur. It is
/// also the index of the vertex's row in results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DenseId(pub u32);

/// Index of a vertex in the order of descending degree; 0 is the largest hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vertex(pub u32);

impl FirstId {
    /// Converts a raw id to the id by which users know the vertex.
    #[inline]
    pub fn input(self, RawId(raw): RawId) -> InputId {
        InputId::Number(raw.wrapping_add(self.0))
    }

    /// Converts the number by which users know a vertex to its raw id. Returns `None` for a number below the first.
    #[inline]
    pub fn raw(self, number: u64) -> Option<RawId> {
        number.checked_sub(self.0).map(RawId)
    }
}

impl VertexName {
    /// Returns the string.
    pub fn text(self) -> &'static str {
        self.0
    }
}

impl InputId {
    /// Returns the id that is the string `name`.
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

    /// Returns the id of vertex number `number`, whose string has the bytes `name`. If the bytes are not valid UTF-8,
    /// the id is the number.
    pub fn of_bytes(name: &[u8], number: u64) -> InputId {
        std::str::from_utf8(name).map_or(InputId::Number(number), InputId::of_name)
    }
}

impl RawId {
    /// Returns the dense id of the vertex with this raw id. `list` has all ids in ascending order if ids are sparse;
    /// the dense id is then the position in it. Returns `None` for an id that the input can't have. The vertex may have
    /// no edge.
    pub fn dense(self, list: Option<&[u64]>) -> Option<DenseId> {
        match list {
            Some(list) => list.binary_search(&self.0).ok().map(|place| DenseId(place as u32)),
            None => u32::try_from(self.0).ok().map(DenseId),
        }
    }
}

impl DenseId {
    /// Returns the index into arrays that have an element for each dense id.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Vertex {
    /// Returns the index into arrays that have an element for each vertex.
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
