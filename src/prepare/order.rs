//! The file of the vertex order: the runs of equal degree, and the map from dense ids to vertices.

use super::relabel::Relabelled;
use crate::error::{At, Error, Result};
use crate::graph::order::DegreeRuns;
use crate::memory::{Budget, Buffer, bytes_of};
use crate::store::file::{Kind, NewFile, Pending};
use crate::store::map::Mapped;
use std::path::{Path, PathBuf};

const ORDER: Kind = Kind::new(b"ORDR");

/// Returns its path under the graph's folder.
pub fn path(folder: &Path) -> PathBuf {
    folder.join("order")
}

/// Returns the bytes of its body for `ids` dense ids and `runs` different degrees.
pub fn body_bytes(ids: u64, runs: u64) -> u64 {
    16 + 8 * runs + 4 * ids
}

/// Writes runs and map: two u64 with their numbers, then (degree, vertices) as u32, then the map as u32. Gives up as soon as `go_on`
/// returns false.
///
/// # Errors
/// [`Error::DiskFull`], [`Error::Io`]; [`Error::Stopped`] if it gave up.
pub fn write(folder: &Path, key: u64, order: &Relabelled, go_on: &dyn Fn() -> bool) -> Result<Pending> {
    let mut file = NewFile::create(&path(folder), ORDER, key)?;
    let runs: Vec<u32> = order.runs.iter().flat_map(|(degree, first, end)| [degree, (end - first) as u32]).collect();
    file.write(bytes_of(&[runs.len() as u64 / 2, order.map.len() as u64]))?;
    file.write(bytes_of(&runs))?;
    for part in order.map.chunks(4 << 20) {
        if !go_on() {
            return Err(Error::Stopped("the end of the job"));
        }
        file.write(bytes_of(part))?;
    }
    file.finish_deferred()
}

/// Reads runs and map. The map takes 4 bytes of memory for each id.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::Io`], [`Error::Limit`].
pub fn read(folder: &Path, key: u64, budget: &Budget) -> Result<Relabelled> {
    let (file, runs, ids) = open(folder, key)?;
    let map = &file.body_as_u32()?[4 + 2 * runs.len()..];
    let mut buffer: Buffer<u32> = budget.zeroed(ids, "the map from input ids (4 bytes for each)")?;
    buffer.copy_from_slice(map);
    Ok(Relabelled { map: buffer, runs: DegreeRuns::new(runs), whole: true })
}

/// Reads the runs alone, after checking all of the file.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::Io`].
pub fn read_runs(folder: &Path, key: u64) -> Result<DegreeRuns> {
    open(folder, key).map(|(_, runs, _)| DegreeRuns::new(runs))
}

/// The map as it lies in the file, mapped into memory.
#[derive(Debug)]
pub struct MappedOrder {
    file: Mapped,
    start: usize,
}

impl MappedOrder {
    /// Returns the vertex of every dense id, as [`Relabelled::map`] does; see [`super::relabel::vertex`].
    ///
    /// # Errors
    /// None in practice: [`map`] has read the body as numbers already.
    pub fn ids(&self) -> Result<&[u32]> {
        Ok(&self.file.body_as_u32()?[self.start..])
    }
}

/// Opens the map without reading it into memory.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::Io`].
pub fn map(folder: &Path, key: u64) -> Result<MappedOrder> {
    let (file, runs, _) = open(folder, key)?;
    Ok(MappedOrder { file, start: 4 + 2 * runs.len() })
}

type Parts = (Mapped, Vec<(u32, u32)>, usize);

fn open(folder: &Path, key: u64) -> Result<Parts> {
    let path = path(folder);
    let file = Mapped::open(&path, ORDER, key)?;
    file.verify_checksum()?;
    let words = file.body_as_u32()?;
    let wrong = || Error::corrupt(&path, At::File, format!("{} bytes are no order of vertices", file.body().len()));
    let &[runs, runs_high, ids, ids_high, ..] = words else { return Err(wrong()) };
    if runs_high != 0 || ids_high != 0 || body_bytes(ids.into(), runs.into()) != file.body().len() as u64 {
        return Err(wrong());
    }
    let runs: Vec<(u32, u32)> = words[4..4 + 2 * runs as usize].chunks_exact(2).map(|run| (run[0], run[1])).collect();
    let vertices: u64 = runs.iter().map(|&(_, count)| u64::from(count)).sum();
    if !runs.is_sorted_by(|a, b| a.0 > b.0) || vertices > u64::from(ids) {
        return Err(wrong());
    }
    Ok((file, runs, ids as usize))
}
