//! Reads edge weights from arrays: the weight after each neighbour in a `.wsg` file, and the array `data` of a scipy
//! sparse matrix.

use super::npy::WeightColumn;
use super::numbers::ArrayReader;
use super::shape::Column;
use crate::error::{Error, Result};
use crate::formats::weights::{Mistake, Weight};
use crate::formats::{Int, Sink};

/// Sequential reader of an array of edge weights.
pub(super) struct WeightNumbers<'a> {
    pub numbers: ArrayReader<'a>,
    float: bool,
    /// Number of weights in the batch that was read last.
    count: usize,
}

impl<'a> WeightNumbers<'a> {
    /// Reads the weights of the next `count` edges.
    ///
    /// # Errors
    /// Bad input if there are fewer.
    pub fn read(&mut self, count: usize) -> Result<()> {
        self.count = count;
        self.numbers.read_bytes(count)
    }

    /// Passes the edge `(u, v)` to `sink`, with the weight at index `nth` of the batch that was read last.
    ///
    /// # Errors
    /// Bad input if the number is not a valid weight, and any error that the visitor returns.
    pub fn push(&self, nth: usize, (u, v): (u64, u64), sink: &mut Sink<'_>) -> Result<()> {
        let weight = self.weight(nth);
        sink.push_weighted(u, v, weight, |mistake| self.wrong(nth, weight, mistake))
    }

    fn weight(&self, nth: usize) -> Weight<'static> {
        let (int, bytes) = (self.numbers.column.int, self.numbers.bytes_of(nth));
        // The bits of the weight; a float is constructed from them.
        let unsigned = Int { signed: false, ..int }.of(bytes).unwrap_or_default();
        match (self.float, int.bytes) {
            (true, 4) => Weight::Single(f32::from_bits(unsigned as u32)),
            (true, _) => Weight::Float(f64::from_bits(unsigned)),
            (false, _) => int.of(bytes).map_or_else(|| Weight::Signed(int.negative(bytes)), Weight::Whole),
        }
    }

    #[cold]
    fn wrong(&self, nth: usize, weight: Weight<'_>, mistake: Mistake) -> Error {
        let found = match weight {
            Weight::Whole(value) => value.to_string(),
            Weight::Signed(value) => value.to_string(),
            Weight::Single(value) => value.to_string(),
            Weight::Float(value) => value.to_string(),
            Weight::Text(text) => text.escape_ascii().to_string(),
        };
        self.numbers.wrong_for(nth, self.count, mistake.expected().into(), found, mistake.remedy())
    }
}

/// Opens a reader of the weights that begins at edge `from`. Calls `numbers(column, from)`, which must return a reader
/// of the column that begins at index `from`. Returns `None` if there are no weights.
pub(super) fn open<'a>(
    weights: Option<&WeightColumn>,
    from: u64,
    numbers: impl FnOnce(&Column, u64) -> Result<ArrayReader<'a>>,
) -> Result<Option<WeightNumbers<'a>>> {
    let Some(WeightColumn { column, float }) = weights else { return Ok(None) };
    Ok(Some(WeightNumbers { numbers: numbers(column, from)?, float: *float, count: 0 }))
}
