//! Replaces MPI in a build without the feature `mpi`. There are no other ranks, and errors say how to build with MPI.

use super::reduction::Operation;
use super::round_shape::RoundShape;
use super::rounds::{Line, TakeWords};
use super::{Combine, Exchanged, Outbox, RankPosition, Shape, SharedNumber};
use crate::error::{Error, Result};
use crate::memory::Number;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// The ranks of a job. This build has no other ranks, so the type has no value.
#[derive(Debug)]
pub enum Ranks {}

/// Memory that ranks share. This build has no other ranks, so the type has no value.
pub enum SharedMemory {}

impl SharedMemory {
    pub(super) fn open(ranks: &Ranks, _bytes: u64) -> Option<SharedMemory> {
        match *ranks {}
    }

    /// Never called in this build.
    pub fn numbers<T: SharedNumber>(&self, _at: usize, _len: usize) -> &[T] {
        match *self {}
    }

    /// Never called in this build.
    pub fn counter(&self, _which: usize) -> &AtomicU64 {
        match *self {}
    }
}

/// Numbers that ranks share. This build has no other ranks, so the type has no value.
pub enum SharedCounters {}

impl SharedCounters {
    pub(super) fn open(ranks: &Ranks, _numbers: usize) -> Option<SharedCounters> {
        match *ranks {}
    }

    /// Never called in this build.
    pub fn publish(&self, _which: usize, _number: u64) {
        match *self {}
    }

    /// Never called in this build.
    pub fn read(&self, _rank: usize, _which: usize) -> u64 {
        match *self {}
    }

    /// Never called in this build.
    ///
    /// # Errors
    /// None.
    pub fn wait<E>(
        &self,
        _rank: usize,
        _which: usize,
        _least: u64,
        _go_on: impl FnMut() -> Result<(), E>,
    ) -> Result<u64, E> {
        match *self {}
    }

    /// Never called in this build.
    pub(super) fn word(&self, _rank: usize, _which: usize) -> &AtomicU64 {
        match *self {}
    }
}

/// Links of rounds. This build has no other ranks, so the type has no value.
pub(super) enum Links {}

impl Links {
    pub(super) fn open(ranks: &Arc<Ranks>, _shape: RoundShape) -> Links {
        match **ranks {}
    }

    pub(super) fn stay_awake(&mut self) {
        match *self {}
    }

    pub(super) fn push<T: Number>(&mut self, _to: usize, _words: &[T]) -> usize {
        match *self {}
    }

    pub(super) fn end(&mut self, _to: usize) -> bool {
        match *self {}
    }

    pub(super) fn pull<T: Number>(&mut self, _from: usize, _take: TakeWords<'_, T>) -> Result<(bool, bool)> {
        match *self {}
    }

    pub(super) fn settled(&mut self) -> bool {
        match *self {}
    }

    pub(super) fn wait_unless(&mut self, _moved: bool) {
        match *self {}
    }

    pub(super) fn next_round(&mut self) {
        match *self {}
    }

    pub(super) fn gather_lines(&mut self, _mine: Line) -> Vec<Line> {
        match *self {}
    }

    pub(super) fn reduce<T: Number, O: Operation<T>>(&mut self, _how: O, _values: &mut [T], _everywhere: bool) {
        match *self {}
    }

    pub(super) fn close(&mut self, _failed: bool) {
        match *self {}
    }
}

/// Returns the version of the MPI library; always `None` in this build.
pub fn version() -> Option<String> {
    None
}

impl Ranks {
    pub(super) fn open(expected: Option<usize>) -> Result<Option<Ranks>> {
        match expected {
            // The launcher may have started a single rank.
            None => Ok(None),
            Some(ranks) => Err(Error::Usage(format!(
                "started as {ranks} ranks, but this gpugraph was built for one: build it with `cargo build --release \
                 --features mpi`, or start it without mpirun or srun"
            ))),
        }
    }

    pub(super) fn place(&self) -> &RankPosition {
        match *self {}
    }

    pub(super) fn close(&self) {
        match *self {}
    }

    pub(super) fn barrier(&self) {
        match *self {}
    }

    pub(super) fn meet(&self, _at_most: Duration, _meanwhile: &dyn Fn()) {
        match *self {}
    }

    pub(super) fn broadcast(&self, _bytes: Vec<u8>) -> Vec<u8> {
        match *self {}
    }

    pub(super) fn all_gather(&self, _mine: &[u8]) -> Vec<Vec<u8>> {
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

    pub(super) fn reduce_scatter(&self, _values: &mut [u32]) {
        match *self {}
    }

    pub(super) fn all_gather_shares(&self, _values: &mut [u32]) {
        match *self {}
    }

    pub(super) fn reduce_to_root(&self, _values: &mut [u64]) {
        match *self {}
    }

    pub(super) fn exchange<T: Send>(
        &self,
        _shape: Shape,
        _work: impl FnOnce(&Outbox<'_>) -> Result<T> + Send,
        _take: &(dyn Fn(usize, &[u32]) -> Result<()> + Sync),
    ) -> Result<(T, Exchanged)> {
        match *self {}
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

    pub(super) fn set_chunk(&self, _bytes: usize) {
        match *self {}
    }
}
