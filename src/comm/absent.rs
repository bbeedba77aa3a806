//! Stub of the MPI module for builds without the feature `mpi`. Such a build supports only one rank, and its error
//! messages say how to build with MPI.

use super::carrier::Carrier;
use super::link_slots::LinkSlots;
use super::{Combine, MessageLimits, RankPosition};
use crate::error::{Error, Result};
use crate::memory::Number;
use std::sync::Arc;
use std::time::Duration;

/// Handle to the other MPI ranks of a job. A build without MPI has none, so the type has no values.
#[derive(Debug)]
pub enum Ranks {}

/// Returns the version of the MPI library; always `None` in a build without MPI.
pub fn version() -> Option<String> {
    None
}

/// Defines methods of [`Ranks`]. They can never be called, because the type has no values.
macro_rules! without_ranks {
    ($($name:ident(&$this:ident $(, $parameter:ident: $type:ty)*) $(-> $result:ty)?;)*) => {
        $(pub(super) fn $name(&$this $(, $parameter: $type)*) $(-> $result)? {
            match *$this {}
        })*
    };
}

impl Ranks {
    pub(super) fn open(expected: Option<usize>) -> Result<Option<Ranks>> {
        match expected {
            // The launcher did not report the number of processes, so the job may have a single rank.
            None => Ok(None),
            Some(ranks) => Err(Error::Usage(format!(
                "started as {ranks} ranks, but this gpugraph was built for one: build it with `cargo build --release \
                 --features mpi`, or start it without mpirun or srun"
            ))),
        }
    }

    pub(super) fn add_shares<T: Number>(&self, _values: &mut [T], _add: impl Fn(T, T) -> T) {
        match *self {}
    }

    pub(super) fn gather_shares<T: Number>(&self, _values: &mut [T], _wants: impl Fn(usize) -> bool) {
        match *self {}
    }

    pub(super) fn windows(self: &Arc<Self>, _link: usize) -> Box<dyn LinkSlots> {
        match **self {}
    }

    without_ranks! {
        position(&self) -> &RankPosition;
        close(&self);
        barrier(&self);
        barrier_within(&self, _at_most: Duration, _meanwhile: &dyn Fn());
        broadcast(&self, _bytes: Vec<u8>) -> Vec<u8>;
        gather_pieces(&self, _mine: &[u8], _size: usize, _take: &mut dyn FnMut(usize, &[u8]));
        taken(&self) -> u64;
        combine(&self, _how: Combine, _values: &mut [u64]);
        pool(&self, _shape: MessageLimits) -> Result<Box<dyn Carrier + '_>>;
        send(&self, _to: usize, _message: &[u8]);
        receive(&self) -> Option<(usize, Vec<u8>)>;
        abort(&self, _code: u8) -> !;
        chunk(&self) -> usize;
        set_chunk(&self, _bytes: usize);
    }
}
