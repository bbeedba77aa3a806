//! Passes over packed (compressed) files, with one thread in fixed memory.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek};
use std::path::Path;

use crate::error::{At, Error, Result};
use crate::formats::packing::{self, Decoder};
use crate::formats::{Packing, Watch, contents};
use crate::list::ListFormat;
use crate::list::binary::widen;
use crate::list::plain::PIECE;
use crate::list::refusals;
use crate::list::text::{LONGEST, PADDING, TextNumbers};

/// Number of packed (compressed) bytes to read at once.
const STORED: usize = 256 << 10;

/// Number of bytes to unpack at once.
const UNPACKED: usize = 256 << 10;

/// Returns the memory in bytes that a pass over the file `path` needs.
pub(super) fn bytes(packing: Packing, path: &Path) -> u64 {
    packing::memory(packing, path) + (STORED + UNPACKED + LONGEST + PADDING + 8 * PIECE) as u64
}

pub(super) struct PackedFile<'a> {
    path: &'a Path,
    packing: Packing,
    decoder: Decoder<BufReader<File>>,
    /// Number of packed bytes of the file that were reported to `watch` as progress.
    reported: u64,
    watch: &'a dyn Watch,
}

impl<'a> PackedFile<'a> {
    /// Opens the packed file at `path`.
    pub fn open(path: &'a Path, packing: Packing, watch: &'a dyn Watch) -> Result<PackedFile<'a>> {
        let unreadable = |e| Error::unreadable(path, &e);
        let file = File::open(path).map_err(unreadable)?;
        if file.metadata().map_err(unreadable)?.len() == 0 {
            let expected = format!("a {} stream", packing.name());
            let remedy = "the file is cut short: fetch or make it again";
            return Err(Error::input(path, At::Byte(0), expected, "an empty file", remedy));
        }
        let decoder = Decoder::new(packing, BufReader::with_capacity(STORED, file), path).map_err(unreadable)?;
        Ok(PackedFile { path, packing, decoder, reported: 0, watch })
    }

    /// Returns the number of packed bytes of the file that were unpacked so far.
    fn taken(&self) -> u64 {
        let stored = self.decoder.stored();
        let read = stored.get_ref().stream_position().unwrap_or(0);
        read.saturating_sub(stored.buffer().len() as u64)
    }

    /// Unpacks until `into` is full or the file ends. Returns the number of unpacked bytes.
    fn fill(&mut self, into: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < into.len() {
            match self.decoder.read(&mut into[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(contents::not_unpacked(self.packing, self.path, self.taken(), &e)),
            }
        }
        let taken = self.taken();
        self.watch.advance(taken.saturating_sub(self.reported))?;
        self.reported = taken.max(self.reported);
        Ok(filled)
    }

    /// Passes all numbers of the file to `each` in order, until it returns false. In text, the first number is the
    /// length. A binary array does not store its length.
    pub fn numbers(&mut self, format: ListFormat, each: impl FnMut(&[i64]) -> Result<bool>) -> Result<()> {
        match format.width() {
            Some(width) => self.array(format, width as usize, each),
            None => self.text(each),
        }
    }

    fn array(&mut self, format: ListFormat, width: usize, mut each: impl FnMut(&[i64]) -> Result<bool>) -> Result<()> {
        let (mut bytes, mut values) = (vec![0; UNPACKED], [0; PIECE]);
        let mut unpacked = 0;
        loop {
            let filled = self.fill(&mut bytes)?;
            unpacked += filled as u64;
            if !filled.is_multiple_of(width) {
                return Err(refusals::not_whole(self.path, unpacked, format));
            }
            for piece in bytes[..filled].chunks(PIECE * width) {
                let values = &mut values[..piece.len() / width];
                // The caller knows the length and checks the bounds.
                widen(format, piece, 0, values);
                if !each(values)? {
                    return Ok(());
                }
            }
            if filled < bytes.len() {
                return Ok(());
            }
        }
    }

    fn text(&mut self, mut each: impl FnMut(&[i64]) -> Result<bool>) -> Result<()> {
        let (mut bytes, mut values) = (vec![b' '; UNPACKED + LONGEST + PADDING], [0; PIECE]);
        // `carried` is the number of bytes of an incomplete number at the end of the last read, which are now at the
        // start of `bytes`; `offset` is the file offset of `bytes[0]` after unpacking.
        let (mut carried, mut offset) = (0, 0);
        loop {
            let filled = carried + self.fill(&mut bytes[carried..carried + UNPACKED])?;
            let is_last = filled < carried + UNPACKED;
            if offset == 0 && carried == 0 && bytes.starts_with(contents::MARK) {
                bytes[..contents::MARK.len()].fill(b' ');
            }
            bytes[filled..filled + PADDING].fill(b' ');
            let behind = bytes[..filled].iter().rposition(|byte| *byte <= b' ').map_or(0, |space| space + 1);
            let end = if is_last { filled } else { behind };
            if filled - end > LONGEST {
                return Err(refusals::no_number(self.path, offset + end as u64, &bytes[end..]));
            }
            let mut numbers = TextNumbers::new(&bytes, 0, end);
            loop {
                let found = numbers
                    .fill(&mut values)
                    .map_err(|bad| refusals::no_number(self.path, offset + bad.at as u64, &bytes[bad.at..]))?;
                if found > 0 && !each(&values[..found])? {
                    return Ok(());
                }
                if found < PIECE {
                    break;
                }
            }
            if is_last {
                return Ok(());
            }
            bytes.copy_within(end..filled, 0);
            carried = filled - end;
            offset += end as u64;
        }
    }
}
