//! Reads the numbers of an array from first to last.

use std::io::Read;
use std::path::Path;

use super::shape::{ArrayPlace, Column};
use crate::error::{At, Error, Result};

/// Number of edges that are read from arrays at a time.
pub(super) const BATCH: usize = 4096;

/// Sequential reader of a column of numbers in a file.
pub(super) struct ArrayReader<'a> {
    path: &'a Path,
    pub column: Column,
    from: Box<dyn Read + 'a>,
    /// Index in the column of the next number to read.
    next: u64,
    bytes: Vec<u8>,
    /// Number of bytes between the last number that was read and the next one.
    gap: usize,
}

impl<'a> ArrayReader<'a> {
    /// Creates a reader of `column` that begins at index `next`. `from` must be positioned at that number.
    pub fn new(path: &'a Path, column: &Column, next: u64, from: Box<dyn Read + 'a>) -> ArrayReader<'a> {
        ArrayReader { path, column: column.clone(), from, next, bytes: Vec::new(), gap: 0 }
    }

    /// Reads the next `count` numbers of the column into `into`.
    ///
    /// # Errors
    /// Bad input if there are fewer, or if one is negative.
    pub fn read(&mut self, count: usize, into: &mut Vec<u64>) -> Result<()> {
        let (int, step) = (self.column.int, self.column.step);
        into.clear();
        self.read_bytes(count)?;
        let numbers = self.bytes.chunks(step).map(|bytes| int.of(&bytes[..int.bytes]));
        into.extend(numbers.map_while(|number| number));
        if into.len() < count {
            let bytes = &self.bytes[into.len() * step..][..int.bytes];
            let found = int.negative(bytes).to_string();
            return Err(self.wrong(into.len(), count, "whole numbers from 0".into(), found));
        }
        Ok(())
    }

    /// Reads the bytes of the next `count` numbers of the column.
    ///
    /// # Errors
    /// Bad input if there are fewer.
    pub fn read_bytes(&mut self, count: usize) -> Result<()> {
        let bytes = match count {
            0 => 0,
            // The last number of the column may be at the end of the file, so no gap is read after it.
            count => (count - 1) * self.column.step + self.column.int.bytes,
        };
        self.skip_gap()?;
        self.bytes.resize(bytes, 0);
        self.from.read_exact(&mut self.bytes).map_err(|e| self.unreadable(&e))?;
        self.next += count as u64;
        self.gap = if count > 0 { self.column.step - self.column.int.bytes } else { self.gap };
        Ok(())
    }

    /// Skips the bytes between the last number that was read and the next one.
    fn skip_gap(&mut self) -> Result<()> {
        self.bytes.resize(std::mem::take(&mut self.gap), 0);
        self.from.read_exact(&mut self.bytes).map_err(|e| self.unreadable(&e))
    }

    /// Returns the bytes of the number at index `nth` among the numbers that were read last.
    pub fn bytes_of(&self, nth: usize) -> &[u8] {
        &self.bytes[nth * self.column.step..][..self.column.int.bytes]
    }

    /// Returns the error for the number at index `nth` among the `read` numbers that were read last.
    pub fn wrong(&self, nth: usize, read: usize, expected: String, found: String) -> Error {
        self.wrong_for(nth, read, expected, found, "correct the numbers and save them again")
    }

    /// Like [`Self::wrong`], but with the suggested fix `remedy`.
    pub fn wrong_for(&self, nth: usize, read: usize, expected: String, found: String, remedy: &'static str) -> Error {
        let index = self.next - read as u64 + nth as u64;
        match &self.column.place {
            ArrayPlace::File => {
                let at = self.column.at + index * self.column.step as u64;
                Error::input(self.path, At::Byte(at), expected, found, remedy)
            }
            ArrayPlace::Member(member) => {
                let found = format!("{found} as number {index} of {}", member.name);
                Error::input(self.path, At::File, expected, found, remedy)
            }
        }
    }

    /// Reads all bytes after the last number, so that damage anywhere in the stream is detected. If `length` is given,
    /// the stream must have that many bytes. Calls the cancellation check `look` after each read, and returns its
    /// error, if any.
    ///
    /// # Errors
    /// Bad input if the stream is damaged or has another length, and any error that `look` returns.
    pub fn finish(&mut self, length: Option<u64>, look: impl Fn() -> Result<()>) -> Result<()> {
        let mut at = self.column.at + self.next * self.column.step as u64 - self.gap as u64;
        self.bytes.resize(1 << 16, 0);
        loop {
            match self.from.read(&mut self.bytes) {
                Ok(0) => break,
                Ok(n) => at += n as u64,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.unreadable(&e)),
            }
            look()?;
        }
        match length {
            Some(length) if at != length => {
                let remedy = "the file is cut short, or something was appended to it: fetch or make it again";
                let expected = format!("{length} unpacked bytes, as the header says");
                Err(Error::input(self.path, At::File, expected, format!("{at} bytes"), remedy))
            }
            _ => Ok(()),
        }
    }

    fn unreadable(&self, e: &std::io::Error) -> Error {
        let what = match &self.column.place {
            ArrayPlace::File => "the unpacked file".into(),
            ArrayPlace::Member(member) => member.name.clone(),
        };
        let found = match e.kind() {
            std::io::ErrorKind::UnexpectedEof => format!("the end of {what} at number {} or before", self.next),
            _ => format!("{e} in {what}"),
        };
        let remedy = "the file is cut short or damaged: fetch or make it again";
        Error::input(self.path, At::File, "as many numbers as the header says", found, remedy)
    }
}
