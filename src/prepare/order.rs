//! The file of the vertex order. It contains the degrees of all vertices, as runs of vertices of equal degree, and the
//! map from dense ids to vertices.

use super::relabel::Relabelled;
use crate::error::{At, Error, Result};
use crate::graph::DegreeRuns;
use crate::memory::{Budget, Buffer, bytes_of};
use crate::store::file::{Kind, NewFile, Pending};
use crate::store::map::Mapped;
use std::path::{Path, PathBuf};

const ORDER: Kind = Kind::new(b"ORDR");

/// Returns the path of the file of the vertex order in the graph's folder.
pub fn path(folder: &Path) -> PathBuf {
    folder.join("order")
}

/// Returns the size in bytes of the file's body for `ids` dense ids and `runs` distinct degrees.
pub fn body_bytes(ids: u64, runs: u64) -> u64 {
    16 + 8 * runs + 4 * ids
}

/// Writes the file of the vertex order: two u64 (number of runs, number of ids), then each run as two u32 (degree,
/// number of vertices), then a u32 for each id (its vertex). Stops as soon as `keep_going` returns false.
///
/// # Errors
/// [`Error::DiskFull`], [`Error::Io`]; [`Error::Stopped`] if `keep_going` returned false.
pub fn write(folder: &Path, key: u64, order: &Relabelled, keep_going: &dyn Fn() -> bool) -> Result<Pending> {
    let mut file = NewFile::create(&path(folder), ORDER, key)?;
    let runs: Vec<u32> = order.runs.iter().flat_map(|(degree, first, end)| [degree, (end - first) as u32]).collect();
    file.write(bytes_of(&[runs.len() as u64 / 2, order.map.len() as u64]))?;
    file.write(bytes_of(&runs))?;
    for part in order.map.chunks(4 << 20) {
        if !keep_going() {
            return Err(Error::Stopped("the end of the job"));
        }
        file.write(bytes_of(part))?;
    }
    file.finish_deferred()
}

/// Reads the file of the vertex order. The map from ids to vertices needs 4 bytes of memory for each id.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::Io`], [`Error::Limit`].
pub fn read(folder: &Path, key: u64, budget: &Budget) -> Result<Relabelled> {
    let order = map(folder, key)?;
    let ids = order.ids()?;
    let mut buffer: Buffer<u32> = budget.zeroed(ids.len(), "the map from input ids (4 bytes for each)")?;
    buffer.copy_from_slice(ids);
    Ok(Relabelled { map: buffer, runs: DegreeRuns::new(order.runs), whole: true })
}

/// Verifies the whole file of the vertex order, and returns only the degrees, as runs of vertices of equal degree.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::Io`].
pub fn read_runs(folder: &Path, key: u64) -> Result<DegreeRuns> {
    map(folder, key).map(|order| DegreeRuns::new(order.runs))
}

/// The memory-mapped file of the vertex order.
#[derive(Debug)]
pub struct MappedOrder {
    file: Mapped,
    /// Runs of vertices of equal degree, as (degree, number of vertices).
    runs: Vec<(u32, u32)>,
}

impl MappedOrder {
    /// Returns the vertex of every dense id, in the encoding of [`Relabelled::map`]; see [`super::relabel::vertex`].
    ///
    /// # Errors
    /// None in practice, because [`map`] has checked the body already.
    pub fn ids(&self) -> Result<&[u32]> {
        Ok(&self.file.body_as_u32()?[4 + 2 * self.runs.len()..])
    }
}

/// Maps the file of the vertex order to memory, so that its ids use no memory of the budget.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::Io`].
pub fn map(folder: &Path, key: u64) -> Result<MappedOrder> {
    let path = path(folder);
    let file = Mapped::open(&path, ORDER, key)?;
    file.verify_checksum()?;
    let words = file.body_as_u32()?;
    let wrong = || Error::corrupt(&path, At::File, format!("{} bytes are not a valid vertex order", file.body().len()));
    let &[runs, runs_high, ids, ids_high, ..] = words else { return Err(wrong()) };
    if runs_high != 0 || ids_high != 0 || body_bytes(ids.into(), runs.into()) != file.body().len() as u64 {
        return Err(wrong());
    }
    let runs: Vec<(u32, u32)> = words[4..4 + 2 * runs as usize].chunks_exact(2).map(|run| (run[0], run[1])).collect();
    let vertices: u64 = runs.iter().map(|&(_, count)| u64::from(count)).sum();
    if !runs.is_sorted_by(|a, b| a.0 > b.0) || vertices > u64::from(ids) {
        return Err(wrong());
    }
    Ok(MappedOrder { file, runs })
}
