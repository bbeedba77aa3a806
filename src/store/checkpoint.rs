//! Checkpoints: arrays that every unit of a stage changes, saved as a whole together with the number of units in them.
//!
//! A journal of units is not enough to resume such a stage. A checkpoint is a sealed file that replaces the previous one:
//!
//! ```text
//! done u64, total u64, sections u64, the bytes of each section u64, then the sections, each up to a multiple of 8 bytes
//! ```
//!
//! Its head holds the progress (`done` of `total`), for any reader; the stage gives the sections their meaning.

use super::file::{Kind, NewFile};
use super::map::{Mapped, as_u64};
use crate::error::{At, Error, Result};
use crate::memory::bytes_of;
use crate::store::replace::make_folder_of;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const KIND: Kind = Kind::new(b"CKPT");
/// Words before the lengths of the sections.
const HEAD: usize = 3;
/// Least time between checkpoints.
const INTERVAL: Duration = Duration::from_secs(30);
/// A checkpoint may take one part in this many of the time.
const SHARE: u32 = 20;

/// Writer of the checkpoints of the stage with a given key.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    key: u64,
    begun: Instant,
    saved: Instant,
    pause: Duration,
}

impl Checkpoint {
    /// Makes a writer of checkpoints at `path` for the stage of this key. It neither reads nor writes yet.
    pub fn new(path: PathBuf, key: u64) -> Checkpoint {
        let now = Instant::now();
        Checkpoint { path, key, begun: now, saved: now, pause: INTERVAL }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the last checkpoint. One of other work, or a damaged one, counts as none and is logged.
    ///
    /// # Errors
    /// [`Error::Io`] if it can't be read.
    pub fn load(&self) -> Result<Option<Saved>> {
        match Saved::open(&self.path, self.key) {
            Ok(saved) => Ok(Some(saved)),
            Err(e) if e.is_missing() => Ok(None),
            Err(e @ Error::Corrupt { .. }) => {
                tracing::warn!("{e}: beginning anew");
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    /// Returns true if the last checkpoint is so old that another is due.
    pub fn is_due(&self) -> bool {
        self.saved.elapsed() > self.pause
    }

    /// Returns true if the work so far took so long that its end is worth a checkpoint: writing results takes time, and a stop during that
    /// must not lose the work.
    pub fn is_worth_it(&self) -> bool {
        self.begun.elapsed() > INTERVAL
    }

    /// Replaces the checkpoint by these `sections`, which contain `done` of `total` units.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`]; the previous checkpoint remains.
    pub fn save(&mut self, done: u64, total: u64, sections: &[&[u8]]) -> Result<()> {
        let begun = Instant::now();
        make_folder_of(&self.path)?;
        let mut file = NewFile::create(&self.path, KIND, self.key)?;
        file.write(bytes_of(&[done, total, sections.len() as u64]))?;
        file.write(bytes_of(&sections.iter().map(|section| section.len() as u64).collect::<Vec<_>>()))?;
        for section in sections {
            file.write(section)?;
            file.write(&[0; 8][..section.len().next_multiple_of(8) - section.len()])?;
        }
        file.finish()?;
        (self.saved, self.pause) = (Instant::now(), INTERVAL.max(begun.elapsed() * SHARE));
        Ok(())
    }
}

/// A checkpoint as it was saved.
#[derive(Debug)]
pub struct Saved {
    file: Mapped,
    done: u64,
    total: u64,
    sections: Vec<Range<usize>>,
}

impl Saved {
    /// Opens the checkpoint of a stage of this key and verifies all of it.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub fn open(path: &Path, key: u64) -> Result<Saved> {
        let file = Mapped::open(path, KIND, key)?;
        file.verify_checksum()?;
        let words = as_u64(file.body()).unwrap_or_default();
        let wrong = || Error::corrupt(path, At::File, format!("{} bytes are no checkpoint", file.body().len()));
        let [done, total, number] = *words.first_chunk::<HEAD>().ok_or_else(wrong)?;
        let lengths = words[HEAD..].get(..number as usize).ok_or_else(wrong)?;
        let mut at = 8 * (HEAD + lengths.len());
        let mut sections = Vec::with_capacity(lengths.len());
        for &length in lengths {
            let end = usize::try_from(length).ok().and_then(|length| at.checked_add(length)).ok_or_else(wrong)?;
            sections.push(at..end);
            at = end.checked_next_multiple_of(8).ok_or_else(wrong)?;
        }
        if at != file.body().len() {
            return Err(wrong());
        }
        Ok(Saved { done, total, sections, file })
    }

    /// Returns the number of units in it.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Returns the number of units of the stage.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns section `number` as 64-bit words.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if there is none, or its length is no multiple of 8 bytes.
    pub fn words(&self, number: usize) -> Result<&[u64]> {
        let section = self.sections.get(number).and_then(|range| as_u64(&self.file.body()[range.clone()]));
        section.ok_or_else(|| self.other("no such section of words"))
    }

    /// Returns an error for a checkpoint that is intact but not as its stage saves one.
    pub fn other(&self, what: &str) -> Error {
        Error::corrupt(self.file.path(), At::File, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_of_any_length_come_back_and_any_flipped_byte_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let mut checkpoint = Checkpoint::new(path.clone(), 7);
        assert!(checkpoint.load().unwrap().is_none());
        for sections in [vec![], vec![0], vec![8, 16], vec![3, 0, 9, 24]] {
            let bytes: Vec<Vec<u8>> = sections.iter().map(|&length| (0..length).collect()).collect();
            checkpoint.save(3, 5, &bytes.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
            let saved = checkpoint.load().unwrap().unwrap();
            assert_eq!((saved.done(), saved.total()), (3, 5));
            for (number, section) in bytes.iter().enumerate() {
                assert_eq!(&saved.file.body()[saved.sections[number].clone()], section);
                assert_eq!(saved.words(number).is_ok(), section.len() % 8 == 0);
            }
            assert!(saved.words(bytes.len()).is_err());
        }
        assert!(Checkpoint::new(path.clone(), 8).load().unwrap().is_none(), "of another key");
        let good = std::fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            std::fs::write(&path, &bad).unwrap();
            assert_eq!(Saved::open(&path, 7).unwrap_err().exit_code(), 4, "byte {at}");
        }
    }

    /// Lengths that no file of this size can have, under checksums that are right.
    #[test]
    fn lengths_that_do_not_fit_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        for words in
            [vec![], vec![1, 1], vec![1, 1, u64::MAX], vec![1, 1, 1], vec![1, 1, 1, u64::MAX], vec![1, 1, 1, 9, 0]]
        {
            let mut file = NewFile::create(&path, KIND, 7).unwrap();
            file.write(bytes_of(&words)).unwrap();
            file.finish().unwrap();
            assert_eq!(Saved::open(&path, 7).unwrap_err().exit_code(), 4, "{words:?}");
        }
    }
}
