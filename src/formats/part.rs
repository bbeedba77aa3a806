//! A file of an input: its format, compression and size, and how it is read.

use std::cmp::Reverse;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use crate::error::{At, Error, Result};
use crate::formats::format::ending;
use crate::formats::packing::Decoder;
use crate::formats::{Columns, Format, IdKind, Packing, TextOptions};

/// Size in bytes of the buffer through which a file is read and decompressed.
const STORED: usize = 4096;

/// One file of an input.
#[derive(Debug, Clone)]
pub struct Part {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    pub(crate) packing: Packing,
    pub(crate) bytes: u64,
    /// Offset of the first record, and size of a record in bytes, for an uncompressed file of fixed-size records.
    pub(crate) records: Option<(u64, u64)>,
    /// Whether all ids of the file fit in 32 bits.
    pub(crate) narrow: bool,
    /// Whether the user specified the format. Otherwise it follows from the file's extension.
    pub(crate) named: bool,
    pub(crate) use_of_direction: UseOfDirection,
    /// Whether a message about doubtful contents of the file was already logged, so that it is logged only once.
    pub(crate) warned: Arc<AtomicBool>,
    /// How lines are read if the file is text, and which columns are read if it is a table.
    pub(crate) text: Arc<TextOptions>,
    /// Summary of the footer of a Parquet file; set when the footer is read for the first time.
    pub(crate) summary: Arc<OnceLock<Option<TableSummary>>>,
}

/// Treatment of the direction of edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum UseOfDirection {
    /// Reads the edges as undirected.
    #[default]
    Dropped,
    /// Writes the edges to a file with their direction. Readers of that file may use or ignore it.
    Written,
    /// Reads the edges as directed.
    Followed,
}

impl Part {
    /// Creates the description of a file of `bytes` bytes without opening it.
    pub(crate) fn of(path: PathBuf, format: Format, bytes: u64, named: bool, packing: Option<Packing>) -> Part {
        let packing = match (format, packing.unwrap_or_else(|| Packing::of(&path))) {
            (Format::Npz, Packing::Plain) => Packing::Zip,
            (_, packing) => packing,
        };
        let records = format.record().filter(|_| packing == Packing::Plain).map(|record| (0, record));
        let narrow = matches!(format, Format::U32 | Format::Sg | Format::Wsg);
        Part {
            path,
            format,
            packing,
            bytes,
            records,
            narrow,
            named,
            use_of_direction: UseOfDirection::default(),
            warned: Arc::default(),
            text: Arc::default(),
            summary: Arc::default(),
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the size of the file on disk, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the format of the file's contents, regardless of compression.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns how the file is compressed.
    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// Returns true if the edges have weights, judging by the format, the file name extension and the options.
    pub fn is_weighted(&self) -> bool {
        let text = self.text.columns.has_weight() || ending(&self.path).as_deref() == Some("wel");
        let columns = self.format == Format::Parquet && self.text.columns.has_weight();
        self.format == Format::Gr || columns || (self.format == Format::Text && text)
    }

    /// Returns the path of the separate weights file; `None` if there is none.
    pub fn weights_path(&self) -> Option<PathBuf> {
        let path = weights_path(&self.path, self.packing);
        (self.format == Format::Graph500 && path.exists()).then_some(path)
    }

    /// Returns true if all of `parts` list each edge at both ends; see [`crate::formats::Input::lists_both_ends`].
    ///
    /// # Errors
    /// The errors of [`crate::formats::Input::lists_both_ends`].
    pub(crate) fn all_list_both_ends(parts: &[Part]) -> Result<bool> {
        let all: Vec<bool> = parts.iter().map(Part::lists_both_ends).collect::<Result<_>>()?;
        if let Some(at) = all.windows(2).position(|two| two[0] != two[1]) {
            let [one, other] = [at, at + 1].map(|at| parts[at].path.display());
            return Err(Error::Usage(format!(
                "{one} and {other}: one lists each edge from both ends and one does not, so repeats can't be counted; convert all to one format"
            )));
        }
        Ok(all.first() == Some(&true))
    }

    /// Returns true if the format lists each edge at both ends: METIS, and an undirected GAP graph.
    ///
    /// # Errors
    /// Bad input if the file can't be read or decompressed.
    fn lists_both_ends(&self) -> Result<bool> {
        match self.format {
            Format::Metis => Ok(true),
            Format::Sg | Format::Wsg => {
                let mut is_directed = [1];
                self.unpacked()?.read_exact(&mut is_directed).map_err(|e| Error::unreadable(&self.path, &e))?;
                Ok(is_directed == [0])
            }
            _ => Ok(false),
        }
    }

    /// Opens the file, and returns a reader of its decompressed bytes.
    ///
    /// # Errors
    /// Bad input if the file can't be read.
    pub(crate) fn unpacked(&self) -> Result<Decoder<BufReader<File>>> {
        let unreadable = |e| Error::unreadable(&self.path, &e);
        let stored = BufReader::with_capacity(STORED, File::open(&self.path).map_err(unreadable)?);
        Decoder::new(self.packing, stored, &self.path).map_err(unreadable)
    }

    /// Returns true if the file is mapped into memory for reading: an uncompressed text file or Parquet table.
    pub(crate) fn is_mapped(&self) -> bool {
        self.packing == Packing::Plain && (self.format.is_lines() || self.format == Format::Parquet)
    }

    /// Returns an upper bound on the number of edges, computed from the size of the file; `u64::MAX` if the size
    /// implies no bound.
    pub(crate) fn most_edges(&self) -> u64 {
        // An edge needs at least a line with two digits, a blank and a line end, and in METIS at least a digit and a
        // blank. The quotient is rounded up, because the last line may lack its line end.
        let fewest = match (self.packing, self.format) {
            (Packing::Plain, format) if let Some(record) = format.record() => record,
            (Packing::Plain, Format::Text | Format::Gr | Format::Sg | Format::Wsg) => 4,
            (Packing::Plain, Format::Mtx | Format::Metis | Format::Npy) => 2,
            _ => return u64::MAX,
        };
        self.bytes.div_ceil(fewest)
    }

    /// Returns the 1-based number of the first line of a text file that contains the id `id`. Returns `None` for other
    /// formats, and if columns are chosen by name.
    pub(crate) fn line_of(&self, id: u64) -> Option<u64> {
        let ends = match &self.text.columns {
            Columns::Auto => [0, 1],
            Columns::Numbers(numbers) => [*numbers.first()? as usize - 1, *numbers.get(1)? as usize - 1],
            Columns::Names(_) => return None,
        };
        let lines = BufReader::new(self.unpacked().ok().filter(|_| self.format == Format::Text)?).split(b'\n');
        let has_id = |line: &[u8]| {
            let fields: Vec<_> =
                line.split(|byte| b" \t,;\r".contains(byte)).filter(|field| !field.is_empty()).collect();
            ends.iter().any(|&column| {
                fields.get(column).and_then(|field| str::from_utf8(field).ok()?.parse().ok()) == Some(id)
            })
        };
        let mut numbered = lines.map_while(std::io::Result::ok).zip(1..);
        numbered.find(|(line, _)| has_id(line)).map(|(_, number)| number)
    }

    /// Returns an error if the length of the file has changed since the input was opened.
    pub(crate) fn unchanged(&self, length: u64) -> Result<()> {
        if length == self.bytes {
            return Ok(());
        }
        let expected = format!("{} bytes, as when the input was opened", self.bytes);
        let remedy = "leave the file alone while the job runs, and run again";
        Err(Error::input(&self.path, At::File, expected, format!("{length} bytes"), remedy))
    }

    /// Returns a text that describes how the bytes are read: the format with the version of its reader, and the
    /// options. Results depend on it, because the same bytes yield other edges if they are read in another way.
    pub fn reading(&self) -> String {
        let name = self.format.name();
        let is_string = self.text.ids == IdKind::String;
        if self.format == Format::Parquet {
            return format!("{name} columns {}{}", self.text.columns, if is_string { " ids string" } else { "" });
        }
        // The numbers are versions of the reader. Version 2 of npz reads csc matrices by columns; version 3 of text
        // reads triples, and version 2 of strings reads first lines like `v1,v2` as edges.
        match self.format {
            Format::Npz => format!("{name} 2"),
            Format::Text => {
                let skip = self.text.skip_lines.unwrap_or(0);
                let ids = match (is_string, self.text.skip_lines) {
                    (false, _) => "",
                    (true, None) => " ids string 2",
                    // With `skip_lines`, the first line of strings is never taken for a header line.
                    (true, Some(_)) => " ids string 2 skipped",
                };
                format!("{name} 3 columns {} skip_lines {skip}{ids}", self.text.columns)
            }
            _ => name.into(),
        }
    }
}

/// Returns the path of the weights file for the edge file `path`, which has the compression `packing`.
pub(crate) fn weights_path(path: &Path, packing: Packing) -> PathBuf {
    let mut path = if packing == Packing::of(path) && packing != Packing::Plain {
        path.with_extension("")
    } else {
        path.to_owned()
    };
    path.as_mut_os_string().push(".weights");
    path
}

/// Properties of a Parquet file that are known before its pages are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableSummary {
    /// Number of rows in all row groups of the Parquet file.
    pub edges: u64,
    /// Whether both id columns have 32 bits.
    pub narrow: bool,
    /// Maximum number of threads that can read the file at the same time.
    pub readers: u64,
    /// Memory in bytes that each thread needs to read the file.
    pub memory: u64,
    /// Memory in bytes that is needed while the file is opened.
    pub opening: u64,
    /// Memory in bytes that the file occupies while it is open.
    pub open: u64,
}

impl TableSummary {
    /// Returns an upper bound on the memory in bytes for reading the Parquet files `tables` with `threads` threads that
    /// keep up to `open` files open.
    pub fn scratch_bytes(mut tables: Vec<TableSummary>, threads: usize, open: usize) -> u64 {
        let opening = tables.iter().map(|table| table.opening).max().unwrap_or(0);
        tables.sort_unstable_by_key(|table| Reverse(table.open));
        let open: u64 = tables.iter().take(open.max(threads)).map(|table| table.open).sum();
        tables.sort_unstable_by_key(|table| Reverse(table.memory));
        let (mut left, mut reading) = (threads as u64, 0);
        for table in tables {
            let readers = table.readers.min(left);
            reading += readers * table.memory;
            left -= readers;
        }
        opening + open + reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_next_to_the_edges() {
        let of = |path: &str| weights_path(Path::new(path), Packing::of(Path::new(path))).display().to_string();
        assert_eq!(of("a/b.graph500"), "a/b.graph500.weights");
        assert_eq!(of("a/b.graph500.zst"), "a/b.graph500.weights");
        assert_eq!(of("edges"), "edges.weights");
        assert_eq!(weights_path(Path::new("a.part"), Packing::Gzip), Path::new("a.part.weights"));
    }
}
