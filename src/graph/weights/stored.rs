//! Files of edge weights. Each file contains the weights of one block of rows, and is stored next to the block's file.
//!
//! The body of a file is eight u64 (index of the block, first row, number of entries, code of the weight type, zeros),
//! followed by a 32-bit weight for each target of the block, in the same order. The type codes are 1 for u32, 2 for
//! f32, 3 for u64 and 4 for f64. A weight of 64 bits is represented by a 32-bit code, an index into the list of weights
//! in `prepare/weight_list`. The salt of the file combines the key of the graph's weights and the block's index.

use crate::error::{At, Error, Result};
use crate::formats::WeightType;
use crate::graph::half::Half;
use crate::graph::layout::Layout;
use crate::graph::stored::salt;
use crate::memory::bytes_of;
use crate::store::file::{Kind, NewFile, Pending};
use crate::store::map::{Mapped, as_u32};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const HEAD: usize = 64;
/// Smallest bit pattern of an f32 that is infinite, NaN or negative. All larger bit patterns represent such values too.
const NOT_FINITE: u32 = 0x7f80_0000;

/// Description of the weights of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphWeights {
    /// Type of the weights.
    pub kind: WeightType,
    /// Checksum of the input files that contain the weights, if these are separate from the edges.
    pub checksum: u64,
    /// Key of the weights files: a hash of everything on which the weights depend.
    pub key: u64,
    /// Key of the file that lists the distinct 64-bit weights; 0 for 32-bit weights.
    #[serde(default)]
    pub list: u64,
}

fn kind(half: Half) -> Kind {
    match half {
        Half::Lower => Kind::new(b"LOWW"),
        Half::Upper => Kind::new(b"UPPW"),
    }
}

fn head(weights: GraphWeights, layout: &Layout, index: usize, entries: u64) -> [u64; HEAD / 8] {
    let type_of_them = match weights.kind {
        WeightType::U32 => 1,
        WeightType::F32 => 2,
        WeightType::U64 => 3,
        WeightType::F64 => 4,
    };
    [index as u64, layout.block(index).rows.start, entries, type_of_them, 0, 0, 0, 0]
}

/// Returns the path, in the graph's folder, of the weights file of block `index` of `half`.
pub fn path(folder: &Path, half: Half, index: usize) -> PathBuf {
    folder.join(format!("{}.{index:06}.weights", half.name()))
}

/// Returns the length in bytes of the body of a weights file with `entries` weights.
pub fn body_bytes(entries: u64) -> u64 {
    HEAD as u64 + 4 * entries
}

/// Writer of the weights file of one block. Weights are appended in any number of calls.
pub struct WeightsWriter {
    file: NewFile,
    path: PathBuf,
    entries: u64,
}

impl WeightsWriter {
    /// Creates the weights file of block `index` of `half`. `layout` is the layout of the half, and `entries` is the
    /// number of entries of the block.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`].
    pub fn create(
        folder: &Path,
        weights: GraphWeights,
        half: Half,
        layout: &Layout,
        index: usize,
        entries: u64,
    ) -> Result<Self> {
        let path = path(folder, half, index);
        let mut file = NewFile::create(&path, kind(half), salt(weights.key, index))?;
        file.write(bytes_of(&head(weights, layout, index, entries)))?;
        Ok(WeightsWriter { file, path, entries })
    }

    /// Appends the weights of the next entries of the block.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`].
    pub fn append(&mut self, weights: &[u32]) -> Result<()> {
        self.file.write(bytes_of(weights))
    }

    /// Completes the file. It is durable when a syncer has waited for the returned [`Pending`].
    ///
    /// # Errors
    /// [`Error::Validation`] if the number of weights is not the `entries` passed to [`Self::create`];
    /// [`Error::DiskFull`], [`Error::Io`].
    pub fn finish(self) -> Result<Pending> {
        if self.file.body_bytes() != body_bytes(self.entries) {
            let what = format!("{} bytes for the weights of {} entries", self.file.body_bytes(), self.entries);
            return Err(Error::Validation(format!("{}: {what}", self.path.display())));
        }
        self.file.finish_deferred()
    }
}

/// The weights of a block, in a memory-mapped file.
#[derive(Debug)]
pub struct StoredWeights {
    /// The memory-mapped file of the weights.
    pub file: Mapped,
    kind: WeightType,
}

impl StoredWeights {
    /// Opens the weights file of block `index` of `half`; `entries` is the number of entries of the block. This checks
    /// only the size and the head of the file; [`Self::verify`] checks the contents.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub fn open(
        folder: &Path,
        weights: GraphWeights,
        half: Half,
        layout: &Layout,
        index: usize,
        entries: u64,
    ) -> Result<Self> {
        let path = path(folder, half, index);
        let file = Mapped::open(&path, kind(half), salt(weights.key, index))?;
        let bytes = file.body().len() as u64;
        if bytes != body_bytes(entries) {
            let what = format!("{bytes} bytes for the weights of {entries} entries");
            return Err(Error::corrupt(&path, At::File, what));
        }
        if file.body()[..HEAD] != *bytes_of(&head(weights, layout, index, entries)) {
            let what = format!("its head does not belong to {} weights of block {index}", weights.kind);
            return Err(Error::corrupt(&path, At::File, what));
        }
        Ok(StoredWeights { file, kind: weights.kind })
    }

    /// Returns the weights in the order of the block's targets: integers, bit patterns of f32, or codes of 64-bit
    /// weights.
    #[inline]
    pub fn weights(&self) -> &[u32] {
        // `open` checked the length, and the body is aligned to 64 bytes, so the conversion can't fail.
        as_u32(&self.file.body()[HEAD..]).unwrap_or_default()
    }

    /// Reads the whole file. Verifies its checksum, and that every f32 is finite and not negative.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn verify(&self) -> Result<()> {
        self.file.verify_checksum()?;
        match self.kind {
            WeightType::F32 if self.weights().iter().any(|&bits| bits >= NOT_FINITE) => {
                Err(Error::corrupt(self.file.path(), At::File, "a weight is negative or not finite"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::order::DegreeRuns;
    use crate::graph::stored::listed;

    fn write(folder: &Path, layout: &Layout, index: usize, weights: &[u32]) {
        let mut file = WeightsWriter::create(folder, F32, Half::Lower, layout, index, weights.len() as u64)
            .expect("a file is made");
        weights.chunks(1).try_for_each(|part| file.append(part)).expect("room");
        let _ = file.finish().expect("written");
    }

    const F32: GraphWeights = GraphWeights { kind: WeightType::F32, checksum: 0, key: 3, list: 0 };

    #[test]
    fn weights_of_another_block_graph_or_type_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let layout = Layout::with_target(&DegreeRuns::new(vec![(3, 100)]), 50);
        assert!(layout.blocks() > 2);
        let bits = [1.5f32, 0.0].map(f32::to_bits);
        write(folder.path(), &layout, 1, &bits);
        let open = |weights: GraphWeights, half, entries| {
            StoredWeights::open(folder.path(), weights, half, &layout, 1, entries).map(|file| file.weights().to_vec())
        };
        assert_eq!(open(F32, Half::Lower, 2).expect("whole"), bits);
        let refused = |found: Result<Vec<u32>>| assert_eq!(found.expect_err("refused").exit_code(), 4);
        refused(open(F32, Half::Lower, 3));
        refused(open(GraphWeights { kind: WeightType::U32, ..F32 }, Half::Lower, 2));
        refused(open(GraphWeights { key: 4, ..F32 }, Half::Lower, 2));
        for (half, index) in [(Half::Upper, 1), (Half::Lower, 0)] {
            std::fs::copy(path(folder.path(), Half::Lower, 1), path(folder.path(), half, index)).expect("a copy");
            refused(StoredWeights::open(folder.path(), F32, half, &layout, index, 2).map(|_| Vec::new()));
        }
        let listed = listed(folder.path(), 3, |b| path(folder.path(), Half::Lower, b));
        assert_eq!(listed, [true, true, false]);
    }

    #[test]
    fn a_weight_that_is_no_number_is_damage() {
        let folder = tempfile::tempdir().expect("a folder");
        let layout = Layout::with_target(&DegreeRuns::new(vec![(3, 100)]), u64::MAX);
        for (weight, holds) in [(f32::MAX, true), (f32::INFINITY, false), (f32::NAN, false), (-1.0, false)] {
            let bits = [1.0, weight].map(f32::to_bits);
            write(folder.path(), &layout, 0, &bits);
            let file = StoredWeights::open(folder.path(), F32, Half::Lower, &layout, 0, 2).expect("whole");
            assert_eq!(file.verify().is_ok(), holds, "{weight}");
        }
        let fewer =
            WeightsWriter::create(folder.path(), F32, Half::Lower, &layout, 0, 2).and_then(WeightsWriter::finish);
        assert_eq!(fewer.map(drop).expect_err("two are missing").exit_code(), 8);
    }
}
