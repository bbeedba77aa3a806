//! Results with one value for each edge: columns `source`, `target` and `support`. They are written and read block by
//! block, because they may be larger than memory.
//!
//! Edges are in the order of blocks, rows and entries. The source of an edge is the end with the smaller id. In the
//! NumPy format each column is a file; CSV and Parquet have one file with all columns.

use super::column::npy_header;
use super::file::{Output, ResultFile};
use super::parquet::{self, IdColumn, Layout};
use super::read::{LINE, RowId, column};
use super::{OutputFormat, Value, csv_field};
use crate::error::{Error, Result};
use crate::graph::csr::Block;
use crate::graph::ids::Vertex;
use crate::prepare::input_ids::InputIds;
use crate::prepare::names::NameList;
use crate::store::checkpoint::Saved;
use crate::store::regular;
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::Range;
use std::path::Path;

/// Names of the columns with the results of edges.
const COLUMNS: [&str; 3] = ["source", "target", "support"];
/// Name of the CSV or Parquet file with the results of edges, without its extension.
pub const TABLE: &str = "edges";

/// Returns the names of the files with the results of edges in a format, without extension.
pub fn files(format: OutputFormat) -> &'static [&'static str] {
    if format == OutputFormat::Npy { &COLUMNS } else { &[TABLE] }
}

/// The edges of a graph with their values, ready to be written.
pub struct EdgeValues<'a> {
    /// Number of edges of the graph.
    pub edges: u64,
    /// Number of blocks into which the rows of the graph are divided.
    pub blocks: usize,
    /// Function that is called with the index of a block. It must return the block's rows, and a saved checkpoint whose
    /// first section contains a 32-bit value for each entry (edge) of the block.
    pub block: &'a (dyn Fn(usize) -> Result<(Block<'a>, Saved)> + Sync),
    /// The ids of the vertices in the input.
    pub ids: &'a InputIds,
}

/// An edge as it is written: the ids of its ends, and its value.
struct Edge {
    source: u64,
    target: u64,
    support: u32,
}

impl EdgeValues<'_> {
    /// Calls `write` with the rows and the edge values of each block.
    fn each_block(&self, mut write: impl FnMut(Block<'_>, &[u32]) -> Result<()>) -> Result<()> {
        (0..self.blocks).try_for_each(|block| {
            let (rows, values) = (self.block)(block)?;
            write(rows, values.words_u32(0)?)
        })
    }

    /// Calls `take` with the edges at the indices `entries` of a block, in order. `values` contains the values of all
    /// edges of the block.
    fn each_edge(&self, rows: Block<'_>, values: &[u32], entries: Range<u64>, mut take: impl FnMut(Edge)) {
        let (mut at, end) = (entries.start as usize, entries.end as usize);
        let mut local = rows.offsets.partition_point(|&start| start as usize <= at) - 1;
        while at < end {
            let v = self.ids.number(Vertex(rows.first_row + local as u32));
            let row = at..end.min(rows.entries(local).end);
            for (&u, &support) in rows.targets[row.clone()].iter().zip(&values[row.clone()]) {
                let u = self.ids.number(Vertex(u));
                take(Edge { source: u.min(v), target: u.max(v), support });
            }
            (at, local) = (row.end, local + 1);
        }
    }

    /// Appends the values of one column for the edges of a block to `file`, which already contains the column's values
    /// for the `written` edges of earlier blocks. `of` must return the column's value for an edge.
    fn column<T: Value>(
        &self,
        (file, format, threads): (&mut ResultFile, OutputFormat, usize),
        (rows, values): (Block<'_>, &[u32]),
        written: u64,
        of: impl Fn(Edge) -> T + Sync,
    ) -> Result<()> {
        file.write_rows(values.len() as u64, threads, &|range, bytes| {
            let mut row = written + range.start;
            self.each_edge(rows, values, range, |edge| {
                if format == OutputFormat::Parquet {
                    parquet::append_numbers(bytes, row, self.edges, std::iter::once(of(edge)));
                } else {
                    of(edge).append(bytes);
                }
                row += 1;
            });
            Ok(())
        })
    }

    /// Appends the column with index `number` of a block to `file`: 0 is the source, 1 the target and 2 the support.
    fn numbered(
        &self,
        number: usize,
        file: (&mut ResultFile, OutputFormat, usize),
        block: (Block<'_>, &[u32]),
        written: u64,
    ) -> Result<()> {
        match number {
            0 => self.column(file, block, written, |edge| edge.source as i64),
            1 => self.column(file, block, written, |edge| edge.target as i64),
            _ => self.column(file, block, written, |edge| edge.support),
        }
    }

    /// Writes the columns to files in `folder` of `workdir` with up to `threads` threads. `names` is the dictionary of
    /// string ids, if the graph has string ids. Returns the files with their paths relative to the workdir.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`], [`Error::Stopped`]; errors of `block`.
    pub(super) fn write(
        &self,
        (workdir, folder): (&Path, &str),
        format: OutputFormat,
        names: Option<&NameList>,
        threads: usize,
    ) -> Result<Vec<(String, Output)>> {
        let paths: Vec<String> =
            files(format).iter().map(|name| format!("{folder}/{name}.{}", format.ending())).collect();
        let mut files = Vec::new();
        for path in &paths {
            files.push(ResultFile::create(&workdir.join(path))?);
        }
        match (format, &mut *files) {
            (OutputFormat::Npy, [source, target, support]) => {
                for ends in [&mut *source, target] {
                    ends.write(&npy_header::<i64>(self.edges))?;
                }
                support.write(&npy_header::<u32>(self.edges))?;
                for (number, file) in files.iter_mut().enumerate() {
                    self.each_block(|rows, values| self.numbered(number, (file, format, threads), (rows, values), 0))?;
                }
            }
            (OutputFormat::Csv, [file]) => {
                file.write(format!("{}\n", COLUMNS.join(",")).as_bytes())?;
                let names = names.map(NameList::lines);
                self.each_block(|rows, values| {
                    file.write_rows(values.len() as u64, threads, &|range, bytes| {
                        self.each_edge(rows, values, range, |Edge { source, target, support }| {
                            for id in [source, target] {
                                match names {
                                    Some(names) => {
                                        bytes.extend_from_slice(&csv_field(names.get(id).unwrap_or_default()))
                                    }
                                    // Writing to memory does not fail.
                                    None => _ = write!(bytes, "{id}"),
                                }
                                bytes.push(b',');
                            }
                            let _ = writeln!(bytes, "{support}");
                        });
                        Ok(())
                    })
                })?;
            }
            (_, [file]) => {
                file.write(parquet::MAGIC)?;
                let types = [i64::DESCR, i64::DESCR, u32::DESCR];
                for number in 0..COLUMNS.len() {
                    let mut written = 0;
                    self.each_block(|rows, values| {
                        self.numbered(number, (file, format, threads), (rows, values), written)?;
                        written += values.len() as u64;
                        Ok(())
                    })?;
                }
                let columns = COLUMNS.iter().zip(types).map(|(name, descr)| ((*name).into(), descr.into())).collect();
                let layout = Layout { rows: self.edges, columns, key: String::new(), ids: IdColumn::Nothing };
                parquet::write_footer(file, &layout)?;
            }
            _ => return Err(Error::internal("write edges", format!("{} files", paths.len()))),
        }
        let finish = |(path, file): (String, ResultFile)| file.finish(0).map(|output| (path, output));
        paths.into_iter().zip(files).map(finish).collect()
    }
}

/// Iterator over edges: the two ends of each edge, and its value.
pub type EdgeIter<'p> = Box<dyn Iterator<Item = Result<([u64; 2], u32)>> + 'p>;

/// Opens the edge files in `folder`, which contain `edges` edges, and returns the edges in order. `end` converts the
/// id of an end to the caller's id for that vertex, or returns `None` if there is no such vertex. CSV files contain
/// string ids if `are_names` is true.
///
/// # Errors
/// [`Error::Io`]; [`Error::Validation`] if a file has another header or another number of edges, or if an end is not a
/// vertex.
pub fn read<'p>(
    folder: &Path,
    format: OutputFormat,
    (edges, are_names): (u64, bool),
    end: impl Fn(RowId<'_>) -> Option<u64> + 'p,
) -> Result<EdgeIter<'p>> {
    let path = |name: &str| folder.join(format!("{name}.{}", format.ending()));
    if format == OutputFormat::Csv {
        return read_text(&path(TABLE), (edges, are_names), end);
    }
    let file = |number: usize| path(if format == OutputFormat::Npy { COLUMNS[number] } else { TABLE });
    let ends = |number: usize| column::<i64>(&file(number), ["", COLUMNS[number]], edges, RowId::Number);
    let supports = column::<u32>(&file(2), ["", COLUMNS[2]], edges, RowId::Number)?;
    let wrong = move |row: usize| Error::Validation(format!("{}: row {row} has no vertex", TABLE));
    let of = move |row: usize, number: Result<i64>| end(RowId::Number(number? as u64)).ok_or_else(|| wrong(row));
    let all = ends(0)?.zip(ends(1)?).zip(supports).enumerate();
    Ok(Box::new(
        all.map(move |(row, ((source, target), support))| Ok(([of(row, source)?, of(row, target)?], support?))),
    ))
}

fn read_text<'p>(
    path: &Path,
    (edges, are_names): (u64, bool),
    end: impl Fn(RowId<'_>) -> Option<u64> + 'p,
) -> Result<EdgeIter<'p>> {
    let file = regular::open(path).map_err(|e| Error::io("read", path, e))?;
    let (mut file, path, mut line, mut row) = (BufReader::new(file), path.to_owned(), Vec::new(), 0);
    let mut next = move || -> Result<Option<([u64; 2], u32)>> {
        line.clear();
        file.by_ref().take(2 * LINE).read_until(b'\n', &mut line).map_err(|e| Error::io("read", &path, e))?;
        row += 1;
        let wrong = || {
            let text = String::from_utf8_lossy(&line);
            Error::Validation(format!("{}: line {row} is {:?}", path.display(), text.trim_end()))
        };
        if row == 1 {
            let is_header = line == format!("{}\n", COLUMNS.join(",")).as_bytes();
            return if is_header { Ok(Some(([0; 2], 0))) } else { Err(wrong()) };
        }
        if row == edges + 2 {
            return if line.is_empty() { Ok(None) } else { Err(wrong()) };
        }
        let edge = || {
            let mut rest = line.strip_suffix(b"\n")?;
            let mut ends = [0; 2];
            for to in &mut ends {
                let field = field(&mut rest)?;
                let id = if are_names { RowId::Name(&field) } else { RowId::Number(number(&field)?) };
                *to = end(id)?;
            }
            Some((ends, number(rest)?))
        };
        edge().map(Some).ok_or_else(wrong)
    };
    next()?;
    Ok(Box::new(std::iter::from_fn(move || next().transpose()).fuse()))
}

fn number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Removes a CSV field and the comma after it from the start of `rest`, and returns the field without quotes: the
/// inverse of [`csv_field`]. Returns `None` if the field is malformed or no comma follows.
fn field(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let Some(mut quoted) = rest.strip_prefix(b"\"") else {
        let comma = rest.iter().position(|&c| c == b',')?;
        let (plain, behind) = rest.split_at(comma);
        *rest = &behind[1..];
        return Some(plain.to_vec());
    };
    let mut text = Vec::new();
    loop {
        let (&c, behind) = quoted.split_first()?;
        quoted = behind;
        match (c, behind.first()) {
            (b'"', Some(b',')) => break,
            (b'"', Some(b'"')) => quoted = &behind[1..],
            (b'"', _) => return None,
            _ => {}
        }
        text.push(c);
    }
    *rest = &quoted[1..];
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_read_back() {
        for name in [&b"a"[..], b"", b"a,b", b"\"", b"a\"\",\"b", b" x", b"\","] {
            let line = [&csv_field(name), &b",7"[..]].concat();
            let mut rest = line.as_slice();
            assert_eq!((field(&mut rest).as_deref(), rest), (Some(name), &b"7"[..]));
        }
        for wrong in ["a", "\"a", "\"a\"b,c", ""] {
            assert_eq!(field(&mut wrong.as_bytes()), None, "{wrong}");
        }
    }
}
