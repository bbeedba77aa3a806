//! Between a parser and a visitor: gathers edges into batches and counts them.

use std::borrow::Cow;

use super::{Edges, Visitor};
use crate::error::{At, Error, Result};

/// Edges of a batch of parsed formats: 64 KiB wide and 32 KiB narrow, which stays in the L2 cache.
const BATCH: usize = 4096;

/// Bytes that one sink allocates.
pub(crate) const BYTES: u64 = (BATCH * (16 + 8)) as u64;

/// Hands the edges of one thread to its visitor.
pub(crate) struct Sink<'v, V: Visitor> {
    pub visitor: &'v mut V,
    wide: Vec<[u64; 2]>,
    narrow: Vec<[u32; 2]>,
    edges: u64,
}

impl<'v, V: Visitor> Sink<'v, V> {
    pub fn new(visitor: &'v mut V) -> Self {
        Sink { visitor, wide: Vec::with_capacity(BATCH), narrow: Vec::with_capacity(BATCH), edges: 0 }
    }

    /// Takes one edge.
    #[inline]
    pub fn push(&mut self, u: u64, v: u64) -> Result<()> {
        self.wide.push([u, v]);
        if self.wide.len() == BATCH { self.flush() } else { Ok(()) }
    }

    /// Hands over what is gathered: as 32-bit pairs when all of it fits.
    pub fn flush(&mut self) -> Result<()> {
        if self.wide.is_empty() {
            return Ok(());
        }
        self.edges += self.wide.len() as u64;
        let all = self.wide.iter().fold(0, |all, [u, v]| all | u | v);
        let result = if all <= u64::from(u32::MAX) {
            self.narrow.clear();
            self.narrow.extend(self.wide.iter().map(|[u, v]| [*u as u32, *v as u32]));
            self.visitor.visit(Edges::Narrow(&self.narrow))
        } else {
            self.visitor.visit(Edges::Wide(&self.wide))
        };
        self.wide.clear();
        result
    }

    /// Hands over a batch that needs no gathering.
    pub fn batch(&mut self, edges: Edges<'_>) -> Result<()> {
        self.edges += edges.len() as u64;
        self.visitor.visit(edges)
    }

    /// Edges handed over since the last call.
    pub fn take_count(&mut self) -> u64 {
        std::mem::take(&mut self.edges)
    }
}

/// What is wrong with the bytes that a parser was given.
#[derive(Debug)]
pub(crate) struct Fault {
    /// Where, from the first byte given.
    pub at: usize,
    pub expected: String,
    pub found: String,
    pub remedy: Cow<'static, str>,
}

/// Why a parser stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The bytes are wrong; the caller knows which file and line that is.
    Fault(Box<Fault>),
    /// The visitor did not go on.
    Error(Error),
}

impl Fault {
    pub fn new(
        at: usize,
        expected: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Fault {
        Fault { at, expected: expected.into(), found: found.into(), remedy: remedy.into() }
    }

    /// The error, with the place as the caller counts it.
    pub fn at(self, path: &std::path::Path, at: At) -> Error {
        Error::input(path, at, self.expected, self.found, self.remedy)
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Fault(Box::new(fault))
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}
