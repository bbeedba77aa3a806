//! `sources`: the vertices that an algorithm begins at, as the input names them.

use crate::error::{At, Error, Result};
use crate::graph::ids::{DenseId, InputId, Vertex};
use crate::jobfile::{Diagnostics, Section};
use crate::prepare::dictionary::{self, Dictionary};
use crate::prepare::order;
use crate::prepare::prepared::{Graph, InputInfo};
use crate::prepare::relabel;
use crate::store::map::as_u64;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Most sources of a table: each has a folder of results.
const MOST: usize = 1 << 16;

/// The sources of a table, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sources(pub Vec<InputId>);

impl Sources {
    /// Reads the key `sources` of a table: a list of ids, none of which is there twice. An absent one is empty; `None` is returned
    /// where something is wrong, which `diagnostics` then has.
    pub fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Sources> {
        let Some(field) = table.get("sources") else { return Some(Sources::default()) };
        let ids: Vec<InputId> = field.integers::<u64>(0..=u64::MAX, diagnostics)?.into_iter().map(InputId).collect();
        if ids.is_empty() {
            field.error("expected a vertex to begin at, such as [1], found none", diagnostics);
            return None;
        }
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|two| two[0] == two[1]) {
            field.error(&format!("{} is there twice", twice[0]), diagnostics);
            return None;
        }
        if ids.len() > MOST {
            field.error(&format!("{} sources, where {MOST} are the most", ids.len()), diagnostics);
            return None;
        }
        Some(Sources(ids))
    }

    /// Returns the sources as vertices that a table names.
    pub fn named(&self) -> Vec<Named> {
        self.0.iter().map(|&id| ("source", id)).collect()
    }

    /// Returns the vertex of each source, as [`vertices`] does.
    ///
    /// # Errors
    /// Those of [`vertices`].
    pub fn vertices(&self, graph: &Graph) -> Result<Vec<Option<Vertex>>> {
        vertices(&self.0, "source", graph)
    }
}

/// A vertex that a table names: what it is there, such as a source, and its id.
pub type Named = (&'static str, InputId);

/// Makes sure that the input has all vertices that a table names, as soon as its ids are known.
///
/// # Errors
/// [`Error::Input`] for an id that it does not have; [`Error::Corrupt`], [`Error::Io`] of the list of sparse ids.
pub fn check(named: &[Named], folder: &Path, info: &InputInfo) -> Result<()> {
    if named.is_empty() { Ok(()) } else { dense(named, folder, info).map(drop) }
}

/// Returns the vertex of each id that a table names as a `what`; `None` for one without an edge. On a sparse graph an id is looked
/// up in the list of those that occur.
///
/// # Errors
/// [`Error::Input`] for an id that the graph does not have; [`Error::Corrupt`], [`Error::Io`] of the order and the list.
pub fn vertices(ids: &[InputId], what: &'static str, graph: &Graph) -> Result<Vec<Option<Vertex>>> {
    let Graph { folder, info, .. } = graph;
    let order = order::map(folder, info.content)?;
    let map = order.ids()?;
    let named: Vec<Named> = ids.iter().map(|&id| (what, id)).collect();
    let vertex = |dense: DenseId| relabel::vertex(map, dense);
    Ok(dense(&named, folder, info)?.into_iter().map(vertex).collect())
}

/// Returns the dense id of each vertex that is named.
fn dense(named: &[Named], folder: &Path, info: &InputInfo) -> Result<Vec<DenseId>> {
    let list = info.sparse.then(|| Dictionary::list(&dictionary::path(folder), info.identity)).transpose()?;
    let list = list.as_ref().map(|list| as_u64(list.body()).unwrap_or_default());
    let dense = |InputId(id)| match list {
        Some(list) => list.binary_search(&id).ok().map(|place| DenseId(place as u32)),
        // A header may declare more vertices than ids: those have no edge.
        None => (id < info.vertices).then(|| DenseId(u32::try_from(id).unwrap_or(u32::MAX))),
    };
    let found = |&(what, id): &Named| {
        dense(id).ok_or_else(|| {
            let (expected, found) = (format!("a vertex of {}", info.source), format!("the {what} {id}"));
            let remedy = format!("{what}s are ids as the input has them");
            Error::input(&info.source, At::File, expected, found, remedy)
        })
    };
    named.iter().map(found).collect()
}
