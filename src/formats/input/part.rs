//! A file of an input: its format, packing and size, and how it is read.

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use crate::error::{At, Error, Result};
use crate::formats::format::ending;
use crate::formats::packing::Decoder;
use crate::formats::{Format, Packing, TextOptions, arrays, contents, graph500, parquet};

/// A file of an input.
#[derive(Debug, Clone)]
pub struct Part {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    pub(crate) packing: Packing,
    pub(crate) bytes: u64,
    /// Offset of the first record and size of a record in bytes, for a plain file of fixed-size records.
    pub(crate) records: Option<(u64, u64)>,
    /// Whether its ids have 32 bits.
    pub(crate) narrow: bool,
    /// Whether the user named the format.
    pub(crate) named: bool,
    pub(crate) use_of_direction: UseOfDirection,
    /// Whether the user was warned that the contents look like another type.
    pub(crate) warned: Arc<AtomicBool>,
    /// How lines are read if the file is text, and which columns are read if it is a table.
    pub(crate) text: Arc<TextOptions>,
    /// The summary of the footer of a Parquet file; set when the footer is read for the first time.
    pub(crate) summary: Arc<OnceLock<Option<parquet::Summary>>>,
}

/// What happens to the direction of edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum UseOfDirection {
    /// The direction is dropped.
    #[default]
    Dropped,
    /// The direction is written, and readers may follow or drop it.
    Written,
    /// The direction is followed.
    Followed,
}

impl Part {
    pub(crate) fn open(path: &Path, format: Option<Format>) -> Result<Part> {
        Part::open_as(path, format, None)
    }

    /// Opens a file with the given packing, or else with the packing that its extension says.
    pub(crate) fn open_as(path: &Path, format: Option<Format>, packing: Option<Packing>) -> Result<Part> {
        let meta = std::fs::metadata(path).map_err(|e| Error::unreadable(path, &e))?;
        if !meta.is_file() {
            let remedy = "name a pipe or device by its own path, not by its folder";
            return Err(Error::input(path, At::File, "a regular file", "something else", remedy));
        }
        // Files of /proc and /sys have length 0 whatever they contain.
        if meta.len() == 0 && std::fs::File::open(path).is_ok_and(|mut file| file.read(&mut [0]).is_ok_and(|n| n > 0)) {
            let remedy = format!("copy its contents to another file: cat {} > edges.txt", path.display());
            return Err(Error::input(
                path,
                At::File,
                "a file of known length",
                "one of length 0 that is not empty",
                remedy,
            ));
        }
        let named = format.is_some();
        let format = match Format::of(path, format)? {
            // NetworkX and others write text to files with this extension.
            Format::U32 if !named && ending(path).as_deref() == Some("edgelist") => {
                let start = contents::start_of(path, packing.unwrap_or_else(|| Packing::of(path)));
                if contents::is_text(&start) { Format::Text } else { Format::U32 }
            }
            format => format,
        };
        let mut part = Part::of(path.to_owned(), format, meta.len(), named, packing);
        if format == Format::Npz && part.packing != Packing::Zip {
            let remedy = "unpack it: the arrays within are packed already";
            return Err(Error::input(path, At::File, "an .npz archive", "a packed one", remedy));
        }
        if format == Format::Parquet && part.packing != Packing::Plain {
            let remedy = "unpack it: the pages within are packed already";
            return Err(Error::input(path, At::File, "a Parquet file", "a packed one", remedy));
        }
        // The scan reports what is wrong with a header.
        if let Some((body, int)) = arrays::rows(&part) {
            part.records = Some((body, 2 * int.bytes as u64));
            part.narrow = int.bytes <= 4;
        }
        Ok(part)
    }

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

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the format, without the packing.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the packing.
    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// Returns the size on disk, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns true if the user named the format.
    pub(crate) fn is_named(&self) -> bool {
        self.named
    }

    /// Returns the flag that is set once the user was warned that the contents look like another type.
    pub(crate) fn warned(&self) -> &AtomicBool {
        &self.warned
    }

    /// Returns true if the edges have weights, judging by the format, the extension and the options.
    pub fn is_weighted(&self) -> bool {
        let text = self.text.columns.has_weight() || ending(&self.path).as_deref() == Some("wel");
        let columns = self.format == Format::Parquet && self.text.columns.has_weight();
        self.format == Format::Gr || columns || (self.format == Format::Text && text)
    }

    /// Returns the file next to this one with the weights of its edges, if the format has such files and there is one.
    pub fn weights_path(&self) -> Option<PathBuf> {
        let path = graph500::weights_path(&self.path, self.packing);
        (self.format == Format::Graph500 && path.exists()).then_some(path)
    }

    /// Returns true if these files list each edge from both ends; see [`super::Input::lists_both_ends`].
    ///
    /// # Errors
    /// The errors of [`super::Input::lists_both_ends`].
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

    /// Returns true if the format lists each edge from both ends: METIS, and an undirected GAP graph.
    ///
    /// # Errors
    /// Bad input if the file can't be read or unpacked.
    pub(super) fn lists_both_ends(&self) -> Result<bool> {
        match self.format {
            Format::Metis => Ok(true),
            Format::Sg | Format::Wsg => {
                let unreadable = |e| Error::unreadable(&self.path, &e);
                let file = BufReader::with_capacity(4096, std::fs::File::open(&self.path).map_err(unreadable)?);
                let mut is_directed = [1];
                let mut start = Decoder::new(self.packing, file, &self.path).map_err(unreadable)?;
                start.read_exact(&mut is_directed).map_err(unreadable)?;
                Ok(is_directed == [0])
            }
            _ => Ok(false),
        }
    }

    /// Returns how the lines are read if the file is text.
    pub(crate) fn text(&self) -> &TextOptions {
        &self.text
    }

    /// Returns true if the file is plain and has fixed-size records.
    pub(crate) fn is_records(&self) -> bool {
        self.records.is_some()
    }

    /// Returns true if the file is mapped into memory to be read, as plain lines and tables are.
    pub(super) fn is_mapped(&self) -> bool {
        let lines = matches!(self.format, Format::Text | Format::Mtx | Format::Metis | Format::Gr);
        self.packing == Packing::Plain && (lines || self.format == Format::Parquet)
    }

    /// Returns the largest id in a sample of a plain file of arrays or of Parquet, plus one.
    ///
    /// # Errors
    /// Bad input if the file can't be read.
    pub fn largest_of_arrays(&self) -> Result<u64> {
        if self.format == Format::Parquet { parquet::largest(self) } else { arrays::largest(self) }
    }

    /// Returns the summary of a Parquet file's footer, which is read once; `None` if it can't be read, which the scan
    /// reports.
    pub(crate) fn summary(&self) -> Option<parquet::Summary> {
        *self.summary.get_or_init(|| parquet::summary(self).ok())
    }

    /// Returns true if its ids have 32 bits.
    pub(crate) fn is_narrow(&self) -> bool {
        match self.format {
            Format::Parquet => self.summary().is_some_and(|summary| summary.narrow),
            _ => self.narrow,
        }
    }

    /// Returns an upper bound of the number of edges, computed from the size of the file; `u64::MAX` if the size gives
    /// no bound.
    pub(crate) fn most_edges(&self) -> u64 {
        // The shortest line is two digits, a blank and a line end, which the last line may lack; in METIS a neighbour
        // is a digit and a blank.
        let fewest = match (self.packing, self.format) {
            (Packing::Plain, Format::U32) => 8,
            (Packing::Plain, Format::U64) => 16,
            (Packing::Plain, Format::Graph500) => 12,
            (Packing::Plain, Format::Text | Format::Gr | Format::Sg | Format::Wsg) => 4,
            (Packing::Plain, Format::Mtx | Format::Metis | Format::Npy) => 2,
            _ => return u64::MAX,
        };
        self.bytes.div_ceil(fewest)
    }

    /// Refuses a file whose length has changed since the input was opened.
    pub(crate) fn unchanged(&self, length: u64) -> Result<()> {
        if length == self.bytes {
            return Ok(());
        }
        let expected = format!("{} bytes, as when the input was opened", self.bytes);
        let remedy = "leave the file alone while the job runs, and run again";
        Err(Error::input(&self.path, At::File, expected, format!("{length} bytes"), remedy))
    }

    /// Returns how the bytes are read. Results depend on it, because the same bytes read differently are other edges.
    pub fn reading(&self) -> String {
        let name = self.format().name();
        if self.format() == Format::Parquet {
            return format!("{name} columns {}", self.text().columns);
        }
        // The numbers are versions: 2 of npz reads csc by columns, 3 of text reads triples.
        match self.format() {
            Format::Npz => format!("{name} 2"),
            Format::Text => {
                let skip = self.text().skip_lines.unwrap_or(0);
                format!("{name} 3 columns {} skip_lines {skip}", self.text().columns)
            }
            _ => name.into(),
        }
    }
}
