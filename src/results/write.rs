//! Writes result columns: one value for each row, in the order of the input's ids.
//!
//! A `.npy` file is a header followed by numbers. The crate npyz could write both, but it would also write every zero
//! to disk. A graph may have 10^8 ids after the last id with an edge; here, the zeros of these ids take no disk space.

use super::column::{Column, npy_header};
use super::edges::EdgeValues;
use super::file::{Output, ResultFile};
use super::parquet::{self, IdColumn, Layout};
use super::{IDS, NAMES, OutputFormat, Value, csv_field};
use crate::error::{Error, Result};
use crate::graph::ids::{DenseId, InputId, Vertex};
use crate::prepare::names::NameList;
use crate::prepare::order::{self, MappedOrder};
use crate::prepare::prepared::Graph;
use crate::prepare::relabel;
use crate::store::map::{Mapped, as_u64};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

/// Writer of one algorithm's columns to `out/` of a workdir.
pub struct Columns<'a> {
    workdir: &'a Path,
    format: OutputFormat,
    graph: Option<&'a Graph>,
    algorithm: &'static str,
    threads: usize,
    order: Option<MappedOrder>,
    ids: Option<Mapped>,
    names: Option<NameList>,
    table: Option<OpenTable>,
    written: BTreeMap<String, Output>,
}

/// A Parquet table that is being written column by column.
struct OpenTable {
    /// Path of the Parquet file, relative to the workdir.
    path: String,
    file: ResultFile,
    /// Name and type of each column of the table written so far.
    columns: Vec<(String, String)>,
}

impl<'a> Columns<'a> {
    /// Creates a writer for the columns of `algorithm`. The input is `graph`, or a list if `graph` is `None`. The
    /// writer uses up to `threads` threads. It accesses no file until the first column is written.
    pub fn new(
        workdir: &'a Path,
        format: OutputFormat,
        graph: Option<&'a Graph>,
        algorithm: &'static str,
        threads: usize,
    ) -> Columns<'a> {
        Columns {
            workdir,
            format,
            graph,
            algorithm,
            threads,
            order: None,
            ids: None,
            names: None,
            table: None,
            written: BTreeMap::new(),
        }
    }

    /// Writes the column `out/NAME.npy` or `.csv`, or the column `name` of `out/ALGORITHM.parquet`. `of` returns the
    /// value of a vertex. Vertices without an edge have the value `isolated`.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`], [`Error::Stopped`]; [`Error::Corrupt`] if the order of vertices or the list
    /// of ids is corrupt.
    pub fn put<T: Value>(&mut self, name: &str, isolated: T, of: impl Fn(Vertex) -> T + Sync) -> Result<()> {
        self.column(&format!("out/{name}"), name, (isolated, None), of)
    }

    /// Writes `out/ALGORITHM/NAME.npy` or `.csv`, or the column `name` of `out/ALGORITHM.parquet`, like [`Self::put`].
    /// `isolated` returns the value of a vertex without an edge, given its id. Rows of a NumPy array below the job's
    /// `first_id` have the value `missing`.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn put_all<T: Value>(
        &mut self,
        name: &str,
        missing: T,
        isolated: impl Fn(u64) -> T + Sync,
        of: impl Fn(Vertex) -> T + Sync,
    ) -> Result<()> {
        self.column(&format!("out/{}/{name}", self.algorithm), name, (missing, Some(&isolated)), of)
    }

    /// Writes the column `out/ALGORITHM/NAME` like [`Self::put_all`]. Vertices without an edge have the value
    /// `isolated`, with one exception: if the vertex in `own` (vertex, value) has no edge, it has the value in `own`.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn put_with_own<T: Value>(
        &mut self,
        name: &str,
        isolated: T,
        own: Option<(InputId, T)>,
        of: impl Fn(Vertex) -> T + Sync,
    ) -> Result<()> {
        self.column_with_own(&format!("out/{}/{name}", self.algorithm), name, (isolated, own), of)
    }

    /// Writes the column `out/ALGORITHM/SOURCE/NAME.npy` or `.csv` of a search from `source`, or the column `name` of
    /// `out/ALGORITHM/SOURCE.parquet`. Vertices without an edge have the value `isolated`, with one exception: if
    /// `source` has no edge and `own` is given, its value is `own`.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn put_of_source<T: Value>(
        &mut self,
        source: InputId,
        name: &str,
        isolated: T,
        own: Option<T>,
        of: impl Fn(Vertex) -> T + Sync,
    ) -> Result<()> {
        self.open()?;
        let path = format!("{}/{name}", self.folder_of(source));
        self.column_with_own(&path, name, (isolated, own.map(|own| (source, own))), of)
    }

    /// Completes the files with the columns of a search from `source`. Returns these files with their paths relative to
    /// the workdir.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn finish_source(&mut self, source: InputId) -> Result<BTreeMap<String, Output>> {
        self.end_table()?;
        let folder = self.folder_of(source);
        let (files, table) = (format!("{folder}/"), format!("{folder}.parquet"));
        let of_it = self.written.iter().filter(|(path, _)| path.starts_with(&files) || **path == table);
        Ok(of_it.map(|(path, output)| (path.clone(), *output)).collect())
    }

    /// Registers files of an earlier run as if this writer had written them. If any of them has changed, registers
    /// none and returns false.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn take_over(&mut self, files: &BTreeMap<String, Output>) -> Result<bool> {
        if !files.iter().all(|(path, output)| output.is_of(&self.workdir.join(path))) {
            return Ok(false);
        }
        if !files.is_empty() {
            self.open()?;
        }
        self.written.extend(files.iter().map(|(path, output)| (path.clone(), *output)));
        Ok(true)
    }

    /// Returns the folder for the columns of a search from `source`, relative to the workdir. If ids are strings, the
    /// folder is named after the index of `source` in the list of ids, because not every string is a valid file name.
    fn folder_of(&self, source: InputId) -> String {
        format!("out/{}/{}", self.algorithm, self.number_of(source).unwrap_or_default())
    }

    /// Returns the numeric id of a vertex, which for a string is its index in the list of ids; `None` if the input
    /// does not contain the string.
    fn number_of(&self, id: InputId) -> Option<u64> {
        match id {
            InputId::Number(number) => Some(number),
            InputId::Name(name) => self.names.as_ref()?.lines().find(name.text().as_bytes()),
        }
    }

    /// Writes the list of the input's ids, if they are strings. The list is written even if there is no column.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn put_names(&mut self) -> Result<()> {
        if self.graph.is_some_and(|graph| graph.info.names) { self.open().map(drop) } else { Ok(()) }
    }

    /// Creates the column `out/NAME` of a list with `rows` elements. The caller then appends the values in the order
    /// of the elements' indices.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`].
    pub fn begin<T: Value>(&self, name: &str, rows: u64) -> Result<Column<T>> {
        self.begin_at(format!("out/{name}"), ["id", name], rows)
    }

    fn begin_at<T: Value>(&self, path: String, headings: [&str; 2], rows: u64) -> Result<Column<T>> {
        let path = format!("{path}.{}", self.format.ending());
        let to = self.workdir.join(&path);
        Column::create(path, &to, self.format, headings, rows)
    }

    /// Writes the file `out/ALGORITHM/NAME` with `rows` values, whose rows stand for something other than vertices.
    /// `of` must return the value of the row with the given index. In CSV and Parquet, a column `place` contains the
    /// 0-based row index.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn put_list<T: Value>(&mut self, name: &str, rows: u64, of: impl Fn(u64) -> T + Sync) -> Result<()> {
        let mut column = self.begin_at(format!("out/{}/{name}", self.algorithm), ["place", name], rows)?;
        column.push(rows, 1, |part| part.map(&of))?;
        self.end(column)
    }

    /// Writes the edge columns to `out/ALGORITHM`: both ends of each edge, and its value.
    ///
    /// # Errors
    /// The errors of [`Self::put`]; errors of `edges`.
    pub fn put_edges(&mut self, edges: &EdgeValues<'_>) -> Result<()> {
        self.open()?;
        let folder = format!("out/{}", self.algorithm);
        let files = edges.write((self.workdir, &folder), self.format, self.names.as_ref(), self.threads)?;
        self.written.extend(files);
        Ok(())
    }

    /// Completes a column that [`Self::begin`] created.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`], [`Error::Stopped`]; [`Error::Internal`] if values are missing.
    pub fn end<T: Value>(&mut self, column: Column<T>) -> Result<()> {
        let (path, output) = column.finish()?;
        self.written.insert(path, output);
        Ok(())
    }

    /// Completes all files, and returns them with their paths relative to the workdir. They include the list of sparse
    /// or string ids.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn into_written(mut self) -> Result<BTreeMap<String, Output>> {
        self.end_table()?;
        Ok(self.written)
    }

    /// Writes a column with a value for each vertex. Vertices without an edge have the value `isolated`, with one
    /// exception: if the vertex in `own` (vertex, value) has no edge, it has the value in `own`.
    fn column_with_own<T: Value>(
        &mut self,
        path: &str,
        name: &str,
        (isolated, own): (T, Option<(InputId, T)>),
        of: impl Fn(Vertex) -> T + Sync,
    ) -> Result<()> {
        self.open()?;
        let own = own.and_then(|(source, own)| Some((self.number_of(source)?, own)));
        match own {
            Some((source, own)) => {
                let value = |number| if number == source { own } else { isolated };
                self.column(path, name, (isolated, Some(&value)), of)
            }
            None => self.column(path, name, (isolated, None), of),
        }
    }

    /// Writes a column with a value for each vertex. A vertex without an edge has the value that `isolated` returns
    /// for its id, or `missing` if `isolated` is `None`. Rows of a NumPy array below the job's `first_id` have the
    /// value `missing`.
    fn column<T: Value>(
        &mut self,
        path: &str,
        name: &str,
        (missing, isolated): (T, Option<&(dyn Fn(u64) -> T + Sync)>),
        of: impl Fn(Vertex) -> T + Sync,
    ) -> Result<()> {
        let graph = self.open()?;
        let table = if self.format == OutputFormat::Parquet { Some(self.take_table(path)?) } else { None };
        let Some(order) = &self.order else { return Err(Error::internal("write results", "no order of vertices")) };
        let map = order.ids()?;
        let (rows, before) = (graph.info.rows(), graph.info.rows_before());
        // Rows beyond the last id have no vertex.
        let dense = |row: u64| u32::try_from(row).ok().map(DenseId);
        let number = numbers(self.ids.as_ref(), graph);
        let value = |row: u64| match dense(row).and_then(|id| relabel::vertex(map, id)) {
            Some(vertex) => of(vertex),
            None => isolated.map_or(missing, |isolated| isolated(number(row))),
        };
        if let Some(mut table) = table {
            parquet::write_numbers(&mut table.file, rows, self.threads, value)?;
            table.columns.push((name.into(), T::DESCR.into()));
            self.table = Some(table);
            return Ok(());
        }
        let path = format!("{path}.{}", self.format.ending());
        let to = self.workdir.join(&path);
        let output = if self.format == OutputFormat::Npy {
            // A header may declare many more vertices than have edges, so zeros after the last id are not written.
            let zero = is_zero(missing) && isolated.is_none();
            let stored = if zero { rows.min(map.len() as u64) } else { rows };
            let of_row = |row: u64| row.checked_sub(before).map_or(missing, value);
            npy(&to, before + rows, before + stored, self.threads, of_row)?
        } else {
            let mut file = ResultFile::create(&to)?;
            file.write(format!("id,{name}\n").as_bytes())?;
            let names = self.names.as_ref().map(NameList::lines);
            file.write_rows(rows, self.threads, &|range, bytes| {
                let first = range.start;
                let mut names = names.map(|names| names.iter_from(first));
                for row in range {
                    let written = match &mut names {
                        Some(names) => bytes.write_all(&csv_field(names.next().unwrap_or_default())),
                        None => write!(bytes, "{}", number(row)),
                    };
                    let written = written.and_then(|()| writeln!(bytes, ",{}", value(row).shown()));
                    written.map_err(|e| Error::internal("write a number", e))?;
                }
                Ok(())
            })?;
            file.finish(0)?
        };
        self.written.insert(path, output);
        Ok(())
    }

    /// Returns the table that contains the column `path`. If another table is open, completes that one first.
    fn take_table(&mut self, path: &str) -> Result<OpenTable> {
        let path = match path.rsplit_once('/') {
            Some((folder, _)) if folder != "out" => format!("{folder}.parquet"),
            _ => format!("out/{}.parquet", self.algorithm),
        };
        if let Some(table) = self.table.take_if(|table| table.path == path) {
            return Ok(table);
        }
        self.end_table()?;
        let mut file = ResultFile::create(&self.workdir.join(&path))?;
        file.write(parquet::MAGIC)?;
        Ok(OpenTable { path, file, columns: Vec::new() })
    }

    /// Writes the ids and the footer of the table that is being written, if any, and completes it.
    fn end_table(&mut self) -> Result<()> {
        let Some(OpenTable { path, mut file, columns }) = self.table.take() else { return Ok(()) };
        let graph = self.open()?;
        let (rows, key) = (graph.info.rows(), "id".into());
        let ids = match &self.names {
            Some(names) => parquet::write_names(&mut file, names.lines().iter())?,
            None => {
                let id = numbers(self.ids.as_ref(), graph);
                parquet::write_numbers(&mut file, rows, self.threads, &id)?;
                // Other columns contain vertices as signed numbers, so ids are signed too, unless one is too large.
                let is_signed = i64::try_from(rows.checked_sub(1).map_or(0, id)).is_ok();
                IdColumn::Numbers(if is_signed { i64::DESCR } else { u64::DESCR }.into())
            }
        };
        parquet::write_footer(&mut file, &Layout { rows, columns, key, ids })?;
        self.written.insert(path, file.finish(0)?);
        Ok(())
    }

    /// Returns the graph whose results are written. The first call also opens the order of vertices and the list of
    /// sparse or string ids. It writes this list to the results, because it gives the order of rows.
    fn open(&mut self) -> Result<&'a Graph> {
        let graph = self.graph.ok_or_else(|| Error::internal("write results of vertices", "a list has none"))?;
        if self.order.is_some() {
            return Ok(graph);
        }
        let Graph { folder, info, .. } = graph;
        self.order = Some(order::map(folder, info.content)?);
        if let Some(file) = graph.sparse_ids()? {
            let ids = as_u64(file.body()).unwrap_or_default();
            let to = self.workdir.join(IDS);
            let id = |row: u64| ids[row as usize].wrapping_add(info.first_id.0);
            self.written.insert(IDS.into(), npy(&to, info.rows(), ids.len() as u64, self.threads, id)?);
            self.ids = Some(file);
        }
        if let Some(list) = graph.names()? {
            let mut file = ResultFile::create(&self.workdir.join(NAMES))?;
            list.lines().text().chunks(1 << 20).try_for_each(|text| file.write(text))?;
            self.written.insert(NAMES.into(), file.finish(0)?);
            self.names = Some(list);
        }
        Ok(graph)
    }
}

/// Returns a function that maps a row index to the id of the row's vertex, or, if ids are strings, to the index of the
/// vertex's string. `ids` is the list of ids if they are sparse.
fn numbers<'i>(ids: Option<&'i Mapped>, graph: &Graph) -> impl Fn(u64) -> u64 + Sync + use<'i> {
    let sparse = ids.map(|file| as_u64(file.body()).unwrap_or_default());
    let first_id = graph.info.first_id.0;
    move |row| sparse.and_then(|ids| ids.get(row as usize)).copied().unwrap_or(row).wrapping_add(first_id)
}

fn is_zero<T: Value>(value: T) -> bool {
    let mut bytes = Vec::new();
    value.append(&mut bytes);
    bytes.iter().all(|&byte| byte == 0)
}

/// Writes a NumPy array of `rows` numbers with up to `threads` threads: the values of the first `stored` rows,
/// followed by zeros.
fn npy<T: Value>(to: &Path, rows: u64, stored: u64, threads: usize, of: impl Fn(u64) -> T + Sync) -> Result<Output> {
    let mut file = ResultFile::create(to)?;
    file.write(&npy_header::<T>(rows))?;
    file.write_rows(stored, threads, &|range, bytes| {
        range.for_each(|row| of(row).append(bytes));
        Ok(())
    })?;
    file.finish(size_of::<T>() as u64 * (rows - stored))
}
