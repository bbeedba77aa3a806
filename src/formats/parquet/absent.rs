//! Replacement for the Parquet reader in builds without it. Such builds reject Parquet files by their names, before
//! reading anything from them.

use crate::error::{Error, Result};
use crate::formats::part::TableSummary;
use crate::formats::pass::state::WorkResult;
use crate::formats::weights::UnreadColumns;
use crate::formats::{Part, ScanState, Sink};

/// Stand-in for an open Parquet file. The type has no values, because this build can't open Parquet files.
pub(crate) enum Units {}

impl Units {
    pub fn open(_: &ScanState<'_>, _: usize) -> Result<Units> {
        Err(refused())
    }

    pub fn chunks(&self) -> u64 {
        match *self {}
    }

    pub fn chunk(&self, _: &ScanState<'_>, _: usize, _: (u64, u64), _: &mut Sink<'_>) -> WorkResult {
        match *self {}
    }
}

fn refused() -> Error {
    Error::internal("read Parquet", "this build does not")
}

pub(crate) fn summary(_: &Part) -> Result<TableSummary> {
    Err(refused())
}

pub(crate) fn summary_of(_: &Part) -> Option<TableSummary> {
    None
}

pub(crate) fn unread(_: &Part) -> Option<UnreadColumns> {
    None
}

pub(crate) fn largest(_: &Part) -> Result<u64> {
    Err(refused())
}
