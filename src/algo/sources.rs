//! The key `sources` of an algorithm's table: the input ids of the vertices at which the algorithm begins.

use crate::error::{At, Error, Result};
use crate::graph::ids::{DenseId, FirstId, InputId, RawId, Vertex};
use crate::jobfile::{Diagnostics, Field, Key};
use crate::prepare::dictionary::{self, Dictionary};
use crate::prepare::names::NameList;
use crate::prepare::order;
use crate::prepare::prepared::{Graph, InputInfo};
use crate::prepare::relabel;
use crate::store::map::as_u64;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Maximum number of vertices that an algorithm's table may name. It is limited because each source gets a folder of
/// results.
const MOST: usize = 1 << 16;

/// The source vertices that an algorithm's table names, in the order of the table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sources(pub Vec<InputId>);

/// The key `sources`, which the tables of several algorithms have.
pub const SOURCES: Key<Sources> = Key::new(
    "sources",
    ("an id, or a list such as [1, 5] or [\"one\", \"two\"]", "none"),
    "input ids of the sources, in place of `roots`",
    Sources::default,
    Sources::read,
);

impl Sources {
    fn read(field: &Field<'_>, diagnostics: &mut Diagnostics) -> Option<Sources> {
        distinct_ids(field, ("a vertex to begin at", "sources"), diagnostics).map(Sources)
    }

    /// Returns the source vertices as [`NamedVertex`] values.
    pub fn named_vertices(&self) -> Vec<NamedVertex> {
        self.0.iter().map(|&id| ("source", id)).collect()
    }

    /// Returns the vertex of each source, or `None` for a source without edges.
    ///
    /// # Errors
    /// Errors of [`vertices`].
    pub fn vertices(&self, graph: &Graph) -> Result<Vec<Option<Vertex>>> {
        vertices(&self.0, "source", graph)
    }
}

/// Parses a list of at most [`MOST`] vertex ids, and rejects an id that occurs twice. `one` and `many` are the nouns
/// that error messages use for one id and for several ids.
pub fn distinct_ids(
    field: &Field<'_>,
    (one, many): (&str, &str),
    diagnostics: &mut Diagnostics,
) -> Option<Vec<InputId>> {
    let ids = field.ids(diagnostics)?;
    if ids.is_empty() {
        field.error(&format!("expected {one}, such as [1], found none"), diagnostics);
        return None;
    }
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|two| two[0] == two[1]) {
        field.error(&format!("{} occurs twice", twice[0]), diagnostics);
        return None;
    }
    if ids.len() > MOST {
        field.error(&format!("{} {many}, but at most {MOST} are allowed", ids.len()), diagnostics);
        return None;
    }
    Some(ids)
}

/// A vertex that an algorithm's table names: its role, such as `source`, and its id.
pub type NamedVertex = (&'static str, InputId);

/// Returns the vertex of each of `ids`, or `None` for an id without edges. `what` is the role of the ids, such as
/// `source`, for error messages. Sparse ids are looked up in the list of all ids of the input.
///
/// # Errors
/// [`Error::Input`] for an id that the graph does not have; [`Error::Corrupt`] and [`Error::Io`] from reading the order
/// of vertices and the list of ids.
pub fn vertices(ids: &[InputId], what: &'static str, graph: &Graph) -> Result<Vec<Option<Vertex>>> {
    let Graph { folder, info, .. } = graph;
    let order = order::map(folder, info.content)?;
    let map = order.ids()?;
    let named: Vec<NamedVertex> = ids.iter().map(|&id| (what, id)).collect();
    let vertex = |dense: DenseId| relabel::vertex(map, dense);
    Ok(dense(&named, folder, info)?.into_iter().map(vertex).collect())
}

/// Returns the dense id of each named vertex, which may have no edges. If ids are sparse or strings, the dense id is
/// the index in the sorted list of all ids of the input. Otherwise it is the raw id.
///
/// # Errors
/// [`Error::Input`] for an id that the graph does not have; [`Error::Corrupt`] and [`Error::Io`] from reading the list
/// of sparse ids.
pub fn dense(named: &[NamedVertex], folder: &Path, info: &InputInfo) -> Result<Vec<DenseId>> {
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let list = info.sparse.then(|| Dictionary::list(&dictionary::path(folder), info.identity)).transpose()?;
    let list = list.as_ref().map(|list| as_u64(list.body()).unwrap_or_default());
    let dense = |RawId(id)| match list {
        Some(list) => list.binary_search(&id).ok().map(|place| DenseId(place as u32)),
        // A header may declare more vertices than fit 32-bit ids. The vertices with larger ids have no edges.
        None => (id < info.vertices).then(|| DenseId(u32::try_from(id).unwrap_or(u32::MAX))),
    };
    let names = match info.names {
        true => Some(NameList::open(folder, info.identity)?),
        false => None,
    };
    let find = |id: InputId| match (id, &names) {
        (InputId::Number(number), None) => info.first_id.raw(number).and_then(dense),
        (InputId::Name(name), Some(names)) => names.lines().find(name.text().as_bytes()).map(|row| DenseId(row as u32)),
        _ => None,
    };
    let found = |&named: &NamedVertex| find(named.1).ok_or_else(|| unknown(named, "", info));
    named.iter().map(found).collect()
}

/// Returns the error for a named vertex that the input does not have. `why` is empty, or is appended to a text such as
/// "the source 3".
pub fn unknown((what, id): NamedVertex, why: &str, info: &InputInfo) -> Error {
    let expected = match info.largest_id().filter(|_| !info.sparse && !info.names) {
        Some(largest) => format!("a vertex of {}, whose ids are {} to {largest}", info.source, info.first_id.0),
        None => format!("a vertex of {}", info.source),
    };
    let remedy = match (info.counts_from_one, info.first_id) {
        _ if info.names && matches!(id, InputId::Number(_)) => {
            format!("ids are strings here: write \"{id}\" with quotes")
        }
        _ if !info.names && matches!(id, InputId::Name(_)) => "ids are numbers here: write them without quotes".into(),
        (false, _) => "ids are those of the input".to_owned(),
        (true, FirstId(0)) if let InputId::Number(number @ 1..) = id => format!(
            "ids count from 0 here: node {id} of the file is {}; or set first_id = 1 in [input] to keep the ids of the file",
            number - 1
        ),
        (true, FirstId(0)) => "ids count from 0 here".to_owned(),
        (true, _) => "ids count from 1 here, as in the file (first_id = 1 in [input])".to_owned(),
    };
    Error::input(&info.source, At::File, expected, format!("the {what} {id}{why}"), remedy)
}
