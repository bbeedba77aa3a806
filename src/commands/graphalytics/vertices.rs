//! Vertices of a Graphalytics graph: finds the row of each vertex in the result columns, and writes results as text in
//! the order of the vertex file (`.v`).

use super::algorithm::ResultColumn;
use crate::error::{Error, Result};
use crate::formats::{Edges, Input, Signals, Visitor};
use crate::results::mapped::MappedColumn;
use crate::results::{IDS, ResultFile};
use std::io::Write;
use std::path::Path;

/// Ids of all vertices, in ascending order. The index of an id is the row of the vertex in the result columns.
#[derive(Debug)]
pub struct Vertices {
    ids: MappedColumn<u64>,
    /// First guess for the row of the next vertex: the row after the last vertex found. Most files list vertices in
    /// ascending order.
    next: usize,
}

impl Vertices {
    /// Opens the ids of the graph in `workdir`.
    ///
    /// # Errors
    /// Errors of [`MappedColumn::open`].
    pub fn open(workdir: &Path) -> Result<Vertices> {
        Ok(Vertices { ids: MappedColumn::open(&workdir.join(IDS))?, next: 0 })
    }

    /// Returns the ids of all vertices in ascending order.
    pub fn ids(&self) -> &[u64] {
        self.ids.values()
    }

    /// Returns the row of the vertex `id`; `None` if it is not in the graph.
    pub fn row(&mut self, id: u64) -> Option<usize> {
        let ids = self.ids.values();
        let row = if ids.get(self.next) == Some(&id) { self.next } else { ids.binary_search(&id).ok()? };
        self.next = row + 1;
        Some(row)
    }

    /// Replaces the file `path` by a text file with one line, `id value`, for each vertex of `list`, in the order of
    /// the list.
    ///
    /// # Errors
    /// Errors of the list and of the disk.
    pub fn write(&mut self, list: &Input, column: &ResultColumn, path: &Path) -> Result<()> {
        let mut lines = [ResultLines { vertices: self, column, out: ResultFile::create(path)?, line: Vec::new() }];
        list.scan(&mut lines, &Signals)?;
        let [ResultLines { out, .. }] = lines;
        out.finish(0).map(drop)
    }
}

/// Visitor that writes the result of each vertex. The reader of a vertex list passes each vertex as a self-loop.
struct ResultLines<'a> {
    vertices: &'a mut Vertices,
    column: &'a ResultColumn,
    out: ResultFile,
    line: Vec<u8>,
}

impl Visitor for ResultLines<'_> {
    fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
        edges.try_each(|id, _| {
            let row = self.vertices.row(id);
            let row =
                row.ok_or_else(|| Error::internal("write results", format!("vertex {id} is not in the graph")))?;
            self.line.clear();
            // Writing to memory does not fail.
            let _ = writeln!(self.line, "{id} {}", self.column.get(row));
            self.out.write(&self.line)
        })
    }
}
