//! Columns of results: one value per vertex of a graph, accessed by vertex id.

use crate::error::{Error, Result};
use crate::graph::ids::{FirstId, InputId};
use crate::prepare::names::NameList;
use crate::prepare::prepared::Graph;
use crate::results::Value;
use crate::results::mapped::MappedColumn;
use crate::store::map::{Mapped, as_u64};
use crate::store::replace::make_folder_of;
use std::io::{BufWriter, Write};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

/// Mapping from the rows of a result column to the vertex ids that they describe.
#[derive(Debug, Clone)]
pub(super) enum RowIds {
    /// Row `i` contains the value of the vertex with id `i`. The rows before `first` (0 or 1) are unused.
    Dense { first: u64 },
    /// Row `i` contains the value of the vertex with id `list[i]`. The list is in ascending order.
    Sparse(Arc<IdList>),
}

/// Storage of the ascending list of vertex ids, for a graph with sparse ids.
#[derive(Debug)]
pub(super) enum IdList {
    /// The list is in a file of the prepared graph.
    Stored(Mapped),
    /// The list is in a result column that a job wrote.
    Column(MappedColumn<u64>),
    /// The list is in memory. It contains the stored ids plus the first vertex id, if that is not 0.
    Owned(Vec<u64>),
}

impl IdList {
    /// Opens the ascending list of the vertex ids of `graph`. `first` (0 or 1) is the first vertex id that the user
    /// chose, and is added to every stored id. Fails if there is no graph or no list.
    pub(super) fn of(graph: Option<&Graph>, first: FirstId) -> Result<IdList> {
        let list = graph.map(Graph::sparse_ids).transpose()?.flatten();
        let list = list.ok_or_else(|| Error::internal("open the list of ids", "there is none"))?;
        match first {
            FirstId(0) => list.body_as_u64().map(drop).map(|()| IdList::Stored(list)),
            first => Ok(IdList::Owned(list.body_as_u64()?.iter().map(|&raw| raw.wrapping_add(first.0)).collect())),
        }
    }

    pub(super) fn ids(&self) -> &[u64] {
        match self {
            IdList::Stored(list) => as_u64(list.body()).unwrap_or_default(),
            IdList::Column(ids) => ids.values(),
            IdList::Owned(ids) => ids,
        }
    }
}

/// Vertex ids of a graph whose ids are sparse, in ascending order. The type derefs to a slice. Clones are cheap.
#[derive(Debug, Clone)]
pub struct Ids(Arc<IdList>);

impl Deref for Ids {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        self.0.ids()
    }
}

impl RowIds {
    /// Returns the vertex id of each row of a column if ids are sparse; `None` if they are dense.
    pub(super) fn sparse(&self) -> Option<Ids> {
        if let RowIds::Sparse(ids) = self { Some(Ids(Arc::clone(ids))) } else { None }
    }

    /// Returns the number of unused rows at the start of a column, before the row of the first vertex: 0 or 1.
    pub(super) fn rows_before(&self) -> u64 {
        if let RowIds::Dense { first } = self { *first } else { 0 }
    }
}

/// The string ids of a graph's vertices, in ascending byte order. The vertex whose string is at index `i` has the
/// numeric id `i`. Clones are cheap.
#[derive(Debug, Clone)]
pub struct Labels(Arc<NameList>);

impl Labels {
    pub(super) fn new(names: NameList) -> Labels {
        Labels(Arc::new(names))
    }

    /// Returns the string id of the vertex with the numeric id `id`; `None` if there is no such vertex.
    pub fn get(&self, id: u64) -> Option<&[u8]> {
        self.0.lines().get(id)
    }

    /// Returns the numeric id of the vertex with the string id `label`; `None` if there is no such vertex.
    pub fn find(&self, label: impl AsRef<[u8]>) -> Option<u64> {
        self.0.lines().find(label.as_ref())
    }

    /// Yields the string ids of all vertices in ascending byte order, which is the order of the numeric ids.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.lines().iter()
    }

    /// Returns the string id of the vertex with numeric id `id`, as a value for a job-file table. Returns an error if
    /// the string is not UTF-8.
    pub(super) fn key(&self, id: u64) -> Result<InputId> {
        let label = self.get(id).unwrap_or_default();
        let text = std::str::from_utf8(label).map_err(|_| {
            let found = String::from_utf8_lossy(label);
            Error::Usage(format!("vertex {id}: expected an id in UTF-8, found {found:?}; number the vertices instead"))
        });
        text.map(InputId::of_name)
    }
}

/// One value per vertex, in a memory-mapped file. The column derefs to a slice of the values.
///
/// If ids are dense (0-based or 1-based), the value of the vertex with id `v` is `column[v]`. If ids are sparse
/// (hashes, account numbers), `column[i]` is the value of the vertex with the `i`-th smallest id. [`Column::get`] and
/// [`Column::iter`] use ids in both cases.
#[derive(Debug, Clone)]
pub struct Column<T> {
    values: Arc<MappedColumn<T>>,
    ids: RowIds,
}

impl<T: Value> Column<T> {
    /// Maps the file at `path`, which contains a column of values.
    pub(super) fn open(path: &Path, ids: &RowIds) -> Result<Column<T>> {
        Ok(Column { values: Arc::new(MappedColumn::open(path)?), ids: ids.clone() })
    }

    /// Returns the value of the vertex with id `id`; `None` if there is no such vertex.
    pub fn get(&self, id: u64) -> Option<T> {
        let row = match &self.ids {
            RowIds::Dense { first } => usize::try_from(id).ok().filter(|_| id >= *first)?,
            RowIds::Sparse(ids) => ids.ids().binary_search(&id).ok()?,
        };
        self.values.values().get(row).copied()
    }

    /// Yields a pair (id, value) for each vertex, in ascending order of ids.
    pub fn iter(&self) -> impl Iterator<Item = (u64, T)> + '_ {
        let first = self.ids.rows_before() as usize;
        let id = move |row: usize| if let RowIds::Sparse(ids) = &self.ids { ids.ids()[row] } else { row as u64 };
        self.values.values().iter().enumerate().skip(first).map(move |(row, &value)| (id(row), value))
    }

    /// Copies the column to a NumPy file at `path`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io), [`ErrorKind::DiskFull`](crate::ErrorKind::DiskFull).
    pub fn write_npy(&self, path: impl AsRef<Path>) -> Result<()> {
        self.write(path.as_ref(), |out| out.write_all(self.values.file()))
    }

    /// Writes a CSV file with two columns: the vertex ids, with the header `id`, and the values, with the header
    /// `name`.
    ///
    /// # Errors
    /// Errors of [`Self::write_npy`].
    pub fn write_csv(&self, path: impl AsRef<Path>, name: &str) -> Result<()> {
        self.write(path.as_ref(), |out| {
            writeln!(out, "id,{name}")?;
            self.iter().try_for_each(|(id, value)| writeln!(out, "{id},{}", value.shown()))
        })
    }

    fn write(&self, path: &Path, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
        make_folder_of(path)?;
        let failed = |e| Error::io("write", path, e);
        let file = std::fs::File::create(path).map_err(failed)?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        write(&mut out).and_then(|()| out.flush()).map_err(failed)
    }
}

impl<T: Value> Deref for Column<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.values.values()
    }
}
