//! Replaces the Parquet reader in builds without it. Files are refused by their name, before anything is read from
//! them.

use super::{Summary, refused};
use crate::error::Result;
use crate::formats::scan::sink::Sink;
use crate::formats::scan::{ScanState, Worked};
use crate::formats::{Part, Visitor};

pub(crate) const BUILT_IN: bool = false;

/// An open file; this build has none.
pub(crate) enum Units {}

impl Units {
    pub fn open(shared: &ScanState<'_>, index: usize) -> Result<Units> {
        Err(refused(shared.parts[index].path()))
    }

    pub fn chunks(&self) -> u64 {
        match *self {}
    }

    pub fn chunk<V: Visitor>(&self, _: &ScanState<'_>, _: usize, _: (u64, u64), _: &mut Sink<'_, V>) -> Worked {
        match *self {}
    }
}

pub(crate) fn summary(part: &Part) -> Result<Summary> {
    Err(refused(part.path()))
}

pub(crate) fn unread(_: &Part) -> Option<(Vec<String>, String)> {
    None
}

pub(crate) fn largest(part: &Part) -> Result<u64> {
    Err(refused(part.path()))
}
