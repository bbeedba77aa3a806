//! Replaces MPI in a build without the feature `mpi`. Such a build has a single rank, and its errors say how to build
//! with MPI.

use super::carrier::Carrier;
use super::link_slots::LinkSlots;
use super::{Combine, MessageLimits, RankPosition};
use crate::error::{Error, Result};
use crate::memory::Number;
use std::sync::Arc;
use std::time::Duration;

/// Handle to the other ranks of a job. This build has no other ranks, so the type has no value.
#[derive(Debug)]
pub enum Ranks {}

/// Returns the version of the MPI library; always `None` in this build.
pub fn version() -> Option<String> {
    None
}

impl Ranks {
    pub(super) fn open(expected: Option<usize>) -> Result<Option<Ranks>> {
        match expected {
            // The launcher may have started a job of one rank.
            None => Ok(None),
            Some(ranks) => Err(Error::Usage(format!(
                "started as {ranks} ranks, but this gpugraph was built for one: build it with `cargo build --release \
                 --features mpi`, or start it without mpirun or srun"
            ))),
        }
    }

    pub(super) fn position(&self) -> &RankPosition {
        match *self {}
    }

    pub(super) fn close(&self) {
        match *self {}
    }

    pub(super) fn barrier(&self) {
        match *self {}
    }

    pub(super) fn barrier_within(&self, _at_most: Duration, _meanwhile: &dyn Fn()) {
        match *self {}
    }

    pub(super) fn broadcast(&self, _bytes: Vec<u8>) -> Vec<u8> {
        match *self {}
    }

    pub(super) fn gather_pieces(&self, _mine: &[u8], _size: usize, _take: &mut dyn FnMut(usize, &[u8])) {
        match *self {}
    }

    pub(super) fn taken(&self) -> u64 {
        match *self {}
    }

    pub(super) fn combine(&self, _how: Combine, _values: &mut [u64]) {
        match *self {}
    }

    pub(super) fn add_shares<T: Number>(&self, _values: &mut [T], _add: impl Fn(T, T) -> T) {
        match *self {}
    }

    pub(super) fn gather_shares<T: Number>(&self, _values: &mut [T], _wants: impl Fn(usize) -> bool) {
        match *self {}
    }

    pub(super) fn pool(&self, _shape: MessageLimits) -> Result<Box<dyn Carrier + '_>> {
        match *self {}
    }

    pub(super) fn windows(self: &Arc<Self>, _link: usize) -> Box<dyn LinkSlots> {
        match **self {}
    }

    pub(super) fn send(&self, _to: usize, _message: &[u8]) {
        match *self {}
    }

    pub(super) fn receive(&self) -> Option<(usize, Vec<u8>)> {
        match *self {}
    }

    pub(super) fn abort(&self, _code: u8) -> ! {
        match *self {}
    }

    pub(super) fn chunk(&self) -> usize {
        match *self {}
    }

    pub(super) fn set_chunk(&self, _bytes: usize) {
        match *self {}
    }
}
