//! A value for each vertex of a graph.

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

/// The ids to which the rows of a column belong.
#[derive(Debug, Clone)]
pub(super) enum RowIds {
    /// Row `i` belongs to the vertex with id `i`. Rows before `first` belong to no vertex.
    Dense { first: u64 },
    /// Row `i` belongs to the vertex whose id is in row `i` of this list, which ascends.
    Sparse(Arc<IdList>),
}

/// The ids of a graph whose ids are sparse, in ascending order.
#[derive(Debug)]
pub(super) enum IdList {
    /// The ids in the file of the graph.
    Stored(Mapped),
    /// The ids in the column that a job wrote.
    Column(MappedColumn<u64>),
    /// The ids in memory, because they count from another first id than the stored ones.
    Owned(Vec<u64>),
}

impl IdList {
    /// Opens the ascending list of the vertex ids of `graph`. `first` is the id from which users count, which is added
    /// to every stored id. Fails if there is no graph or no list.
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

/// The ids of the vertices of a graph whose ids are sparse, in ascending order. It derefs to a slice. Clones are cheap.
#[derive(Debug, Clone)]
pub struct Ids(Arc<IdList>);

impl Deref for Ids {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        self.0.ids()
    }
}

impl RowIds {
    /// Returns the ids if they are sparse.
    pub(super) fn sparse(&self) -> Option<Ids> {
        if let RowIds::Sparse(ids) = self { Some(Ids(Arc::clone(ids))) } else { None }
    }

    /// Returns the number of rows before the row of the first vertex.
    pub(super) fn rows_before(&self) -> u64 {
        if let RowIds::Dense { first } = self { *first } else { 0 }
    }
}

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

    /// Returns the string of the vertex `id` as a value for an algorithm's table; an error if it is not UTF-8.
    pub(super) fn key(&self, id: u64) -> Result<InputId> {
        let label = self.get(id).unwrap_or_default();
        let text = std::str::from_utf8(label).map_err(|_| {
            let found = String::from_utf8_lossy(label);
            Error::Usage(format!("vertex {id}: expected an id in UTF-8, found {found:?}; number the vertices instead"))
        });
        text.map(InputId::of_name)
    }
}

/// A value for each vertex, in a file that is mapped to memory. It derefs to a slice.
///
/// If ids are small, the value of the vertex with id `v` is `column[v]`. If ids are sparse (hashes, account numbers),
/// row `i` belongs to the `i`-th smallest id. [`Column::get`] and [`Column::iter`] use ids in both cases.
#[derive(Debug, Clone)]
pub struct Column<T> {
    values: Arc<MappedColumn<T>>,
    ids: RowIds,
}

impl<T: Value> Column<T> {
    /// Maps the file at `path`.
    pub(super) fn open(path: &Path, ids: &RowIds) -> Result<Column<T>> {
        Ok(Column { values: Arc::new(MappedColumn::open(path)?), ids: ids.clone() })
    }

    /// Returns the value of the vertex with this id in the input; `None` if there is none.
    pub fn get(&self, id: u64) -> Option<T> {
        let row = match &self.ids {
            RowIds::Dense { first } => usize::try_from(id).ok().filter(|_| id >= *first)?,
            RowIds::Sparse(ids) => ids.ids().binary_search(&id).ok()?,
        };
        self.values.values().get(row).copied()
    }

    /// Returns the id and the value of each vertex, by ascending id.
    pub fn iter(&self) -> impl Iterator<Item = (u64, T)> + '_ {
        let first = self.ids.rows_before() as usize;
        let id = move |row: usize| if let RowIds::Sparse(ids) = &self.ids { ids.ids()[row] } else { row as u64 };
        self.values.values().iter().enumerate().skip(first).map(move |(row, &value)| (id(row), value))
    }

    /// Copies the column to a NumPy file.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io), [`ErrorKind::DiskFull`](crate::ErrorKind::DiskFull).
    pub fn write_npy(&self, path: impl AsRef<Path>) -> Result<()> {
        self.write(path.as_ref(), |out| out.write_all(self.values.file()))
    }

    /// Writes the column as text with the columns `id` and `name`.
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
