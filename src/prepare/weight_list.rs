//! Weights of 64 bits (u64 and f64) in a graph. A file lists all distinct weights in ascending order. Next to the rows,
//! the graph stores the 32-bit *code* of each weight, which is its index in the list.
//!
//! Codes sort like the weights. So all steps between reading the input and computing on the graph treat codes like
//! weights of 32 bits, and move half as many bytes.

use super::sorted_list::{self, Listed, SortedList};
use crate::error::{At, Error, Result};
use crate::formats::{Input, Watch, WeightType};
use crate::graph::GraphWeights;
use crate::memory::Budget;
use crate::store::file::{Kind, Seal};
use crate::store::map::{Mapped, as_u64};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const WEIGHTS: Listed = Listed {
    kind: Kind::new(b"WGTS"),
    are_weights: true,
    purposes: ["sorting weights of 64 bits", "the index of weights of 64 bits"],
    limit: ["under 2^32 - 1 different weights", "round them, or read them as f32: [input] weights = \"f32\""],
};

/// Maximum number of ranges of values in the index of the weight list. At 4 bytes a range the index takes about 64 KiB
/// for any input, so it fits the processor's cache.
const RANGES: u64 = 1 << 14;

/// Bit pattern of infinity as an f64. The bit patterns of positive NaNs and of all negative numbers are larger.
const INFINITE: u64 = f64::INFINITY.to_bits();

/// Returns the path of the weight list in the graph's folder.
fn path(folder: &Path) -> PathBuf {
    folder.join("weights")
}

/// The list of distinct weights, with an index for finding the code of a weight.
#[derive(Debug)]
pub struct WeightCodes(pub(super) SortedList);

impl WeightCodes {
    /// Maximum size in bytes of the index of a weight list.
    pub const INDEX_BYTES: u64 = 4 * (2 * RANGES + 2);

    /// Reads the input once, with weights of 64 bits, and writes the list of distinct weights to the graph's folder.
    ///
    /// # Errors
    /// Errors of the input (including more than 2^32 - 2 distinct weights), of the disk and of the budget.
    pub fn build(
        input: &Input,
        folder: &Path,
        weights: GraphWeights,
        threads: usize,
        budget: &Budget,
        watch: &dyn Watch,
    ) -> Result<Seal> {
        sorted_list::build(&WEIGHTS, input, (&path(folder), weights.list), (threads, budget), watch)
            .map(|(seal, _)| seal)
    }

    /// Opens the list of distinct weights in the graph's folder.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the file differs from what was written; [`Error::Io`]; [`Error::Limit`] if the index does
    /// not fit in memory.
    pub fn open(folder: &Path, weights: GraphWeights, budget: &Budget) -> Result<WeightCodes> {
        let path = path(folder);
        let list = SortedList::open(&WEIGHTS, &path, weights.list, |_| RANGES, budget)?;
        if weights.kind == WeightType::F64 && list.numbers().last().is_some_and(|&last| last >= INFINITE) {
            return Err(Error::corrupt(&path, At::File, "a weight is negative or not finite"));
        }
        Ok(WeightCodes(list))
    }

    /// Returns the number of distinct weights.
    pub fn count(&self) -> usize {
        self.0.numbers().len()
    }
}

/// The 64-bit weights of a graph, indexed by the codes that the graph stores. Empty if weights have 32 bits, because
/// these need no codes.
#[derive(Debug, Clone, Default)]
pub struct WeightValues(Option<Arc<Mapped>>);

impl WeightValues {
    /// Maps the list of distinct weights in the graph's folder to memory. This uses no memory of the budget.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub fn open(folder: &Path, weights: Option<GraphWeights>) -> Result<WeightValues> {
        let wide = weights.filter(|weights| weights.kind.is_wide());
        let open = |weights: GraphWeights| sorted_list::map(&WEIGHTS, &path(folder), weights.list).map(Arc::new);
        wide.map(open).transpose().map(WeightValues)
    }

    /// Returns the bit patterns of all weights, indexed by their codes.
    pub fn bits(&self) -> &[u64] {
        self.0.as_ref().and_then(|file| as_u64(file.body())).unwrap_or_default()
    }
}
