//! One file of an input: its format, its packing, its size, and how it is to be read.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::format::ending;
use super::{Format, Packing, TextOptions, arrays};
use crate::error::{At, Error, Result};

/// One file of an input.
#[derive(Debug, Clone)]
pub struct Part {
    pub(super) path: PathBuf,
    pub(super) format: Format,
    pub(super) packing: Packing,
    pub(super) bytes: u64,
    /// Where the first record is and how long each is, of a plain file of fixed records.
    pub(super) records: Option<(u64, u64)>,
    /// True if its ids are of 32 bits.
    pub(super) narrow: bool,
    /// True if the user named the format.
    pub(super) named: bool,
    /// True once the user was warned of what the file looks like.
    pub(super) warned: Arc<AtomicBool>,
    /// How its lines are read if it is text.
    pub(super) text: Arc<TextOptions>,
}

impl Part {
    pub(super) fn open(path: &Path, format: Option<Format>) -> Result<Part> {
        Part::open_as(path, format, None)
    }

    /// Opens a file in the packing that is told, else in that of its ending.
    pub(super) fn open_as(path: &Path, format: Option<Format>, packing: Option<Packing>) -> Result<Part> {
        let meta = std::fs::metadata(path).map_err(|e| Error::unreadable(path, &e))?;
        if !meta.is_file() {
            let remedy = "name a pipe or device by its own path, not by its folder";
            return Err(Error::input(path, At::File, "a regular file", "something else", remedy));
        }
        // As those of /proc and /sys, which say so whatever they hold.
        if meta.len() == 0 && std::fs::File::open(path).is_ok_and(|mut file| file.read(&mut [0]).is_ok_and(|n| n > 0)) {
            let remedy = format!("copy what it holds to a file of its own: cat {} > edges.txt", path.display());
            return Err(Error::input(
                path,
                At::File,
                "a file that says how long it is",
                "one of 0 bytes that holds some",
                remedy,
            ));
        }
        let named = format.is_some();
        let format = Format::of(path, format)?;
        let mut part = Part::of(path.to_owned(), format, meta.len(), named, packing);
        if format == Format::Npz && part.packing != Packing::Zip {
            let remedy = "unpack it: the arrays within are packed already";
            return Err(Error::input(path, At::File, "an .npz archive", "a packed one", remedy));
        }
        // What is wrong with a header is said by who reads it.
        if let Some((body, int)) = arrays::rows(&part) {
            part.records = Some((body, 2 * int.bytes as u64));
            part.narrow = int.bytes <= 4;
        }
        Ok(part)
    }

    pub(super) fn of(path: PathBuf, format: Format, bytes: u64, named: bool, packing: Option<Packing>) -> Part {
        let packing = match (format, packing.unwrap_or_else(|| Packing::of(&path))) {
            (Format::Npz, Packing::Plain) => Packing::Zip,
            (_, packing) => packing,
        };
        let records = format.record().filter(|_| packing == Packing::Plain).map(|record| (0, record));
        let narrow = matches!(format, Format::U32 | Format::Sg | Format::Wsg);
        Part { path, format, packing, bytes, records, narrow, named, warned: Arc::default(), text: Arc::default() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its format, inside of any packing.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether and how it is packed.
    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// Its size on disk.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// True if the user named its format.
    pub(super) fn is_named(&self) -> bool {
        self.named
    }

    /// True once the user was warned of what it looks like.
    pub(super) fn warned(&self) -> &AtomicBool {
        &self.warned
    }

    /// Whether its edges have weights, as far as its format or ending says.
    pub fn is_weighted(&self) -> bool {
        let text = self.text.columns.has_weight() || ending(&self.path).as_deref() == Some("wel");
        self.format == Format::Gr || (self.format == Format::Text && text)
    }

    /// How its lines are read if it is text.
    pub(crate) fn text(&self) -> &TextOptions {
        &self.text
    }

    /// Whether it is plain and of fixed records.
    pub(super) fn is_records(&self) -> bool {
        self.records.is_some()
    }

    /// The largest id that some places of a plain file of arrays show, and one.
    ///
    /// # Errors
    /// Bad input for a file that can't be read.
    pub fn largest_of_arrays(&self) -> Result<u64> {
        arrays::largest(self)
    }

    /// Refuses the file if it is no longer as long as when the input was opened.
    pub(super) fn unchanged(&self, length: u64) -> Result<()> {
        if length == self.bytes {
            return Ok(());
        }
        let expected = format!("{} bytes, as when the input was opened", self.bytes);
        let remedy = "leave the file alone while the job runs, and run again";
        Err(Error::input(&self.path, At::File, expected, format!("{length} bytes"), remedy))
    }
}
