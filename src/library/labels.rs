//! The strings by which the input knows vertices.

use crate::error::{Error, Result};
use crate::prepare::names::NameList;
use std::sync::Arc;
use toml::Value;

/// The strings that are the ids of a graph's vertices, in ascending order of their bytes. The vertex of the string at
/// position `i` has the id `i`. Clones are cheap.
#[derive(Debug, Clone)]
pub struct Labels(Arc<NameList>);

impl Labels {
    pub(super) fn new(names: NameList) -> Labels {
        Labels(Arc::new(names))
    }

    /// Returns the string of the vertex with this id; `None` if there is no such vertex.
    pub fn get(&self, id: u64) -> Option<&[u8]> {
        self.0.lines().get(id)
    }

    /// Returns the id of the vertex with this string; `None` if there is no such vertex.
    pub fn find(&self, label: impl AsRef<[u8]>) -> Option<u64> {
        self.0.lines().find(label.as_ref())
    }

    /// Returns the strings in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.lines().iter()
    }

    /// Returns the string of a vertex as the table of an algorithm names it.
    pub(super) fn key(&self, id: u64) -> Result<Value> {
        let label = self.get(id).unwrap_or_default();
        let text = std::str::from_utf8(label).map_err(|_| {
            let found = String::from_utf8_lossy(label);
            Error::Usage(format!("vertex {id}: expected an id in UTF-8, found {found:?}; number the vertices instead"))
        });
        text.map(|text| Value::String(text.into()))
    }
}
