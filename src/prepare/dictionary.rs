//! Dictionary of sparse ids (hashes, account numbers): a file of all distinct ids in ascending order. The index of an
//! id in the file is its dense id.

use super::partition::changed;
use super::sorted_list::{self, Listed, SortedList};
use super::weight_list::WeightCodes;
use crate::error::Result;
use crate::formats::weights::bits_of;
use crate::formats::{Edges, Input, Visitor, Watch};
use crate::graph::{DenseId, RawId};
use crate::memory::Budget;
use crate::store::file::{Kind, Seal};
use crate::store::map::Mapped;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const IDS: Listed = Listed {
    kind: Kind::new(b"IDS "),
    are_weights: false,
    purposes: ["sorting sparse ids", "the index of sparse ids"],
    limit: ["under 2^32 - 1 vertices", "split the graph: this version numbers vertices with 32 bits"],
};

/// Returns the path of the dictionary's file in the graph's folder.
pub fn path(folder: &Path) -> PathBuf {
    folder.join("ids")
}

/// Dictionary of sparse ids: the list of all ids in ascending order.
#[derive(Debug)]
pub struct Dictionary {
    list: SortedList,
    /// First id that a visitor read from the input but did not find in the list; empty if all were found.
    unlisted: OnceLock<RawId>,
}

impl Dictionary {
    /// Returns the maximum size in bytes of the index of `ids` ids.
    pub fn index_bytes(ids: u64) -> u64 {
        ids / 2 + 64
    }

    /// Reads the input once and writes its distinct ids to `path`. Also returns the number of edges that it read.
    ///
    /// # Errors
    /// Errors of the input (including more than 2^32 - 2 vertices), of the disk and of the budget.
    pub fn build(
        input: &Input,
        path: &Path,
        key: u64,
        threads: usize,
        budget: &Budget,
        watch: &dyn Watch,
    ) -> Result<(Seal, u64)> {
        sorted_list::build(&IDS, input, (path, key), (threads, budget), watch)
    }

    /// Opens the dictionary that [`Self::build`] wrote.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] if the file differs from what was written; [`crate::Error::Limit`] if the index, half
    /// a byte for each id, does not fit in memory.
    pub fn open(path: &Path, key: u64, budget: &Budget) -> Result<Self> {
        // If ids are evenly distributed, a range of the index contains about eight of them.
        let list = SortedList::open(&IDS, path, key, |ids| ids / 8, budget)?;
        Ok(Dictionary { list, unlisted: OnceLock::new() })
    }

    /// Maps the dictionary's file at `path` to memory. Its body is the ids in ascending order, a u64 each. This builds
    /// no index, so it uses no memory of the budget.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`], [`crate::Error::Io`].
    pub fn list(path: &Path, key: u64) -> Result<Mapped> {
        sorted_list::map(&IDS, path, key)
    }

    /// Returns all ids of the dictionary in ascending order.
    pub fn ids(&self) -> &[u64] {
        self.list.numbers()
    }

    /// Returns an id that a visitor read from the input but did not find in the list; `None` if all were found.
    pub fn unlisted(&self) -> Option<RawId> {
        self.unlisted.get().copied()
    }

    /// Returns the dense id of a raw id (an id of the input); `None` if the input does not contain the raw id.
    pub fn find(&self, RawId(id): RawId) -> Option<DenseId> {
        self.list.position(id).map(DenseId)
    }

    /// Sets `dense` to the edges `edges`, with their raw ids replaced by dense ids. `source` names the input in errors.
    fn look_up<T: Copy + Into<u64>>(&self, edges: &[[T; 2]], source: &str, dense: &mut Vec<[u32; 2]>) -> Result<()> {
        dense.clear();
        for &[u, v] in edges {
            match [u, v].map(|id| self.find(RawId(id.into())).ok_or(RawId(id.into()))) {
                [Ok(DenseId(a)), Ok(DenseId(b))] => dense.push([a, b]),
                [Err(id), _] | [_, Err(id)] => {
                    let _the_first_stays = self.unlisted.set(id);
                    return Err(changed(source));
                }
            }
        }
        Ok(())
    }
}

/// Visitor that replaces sparse ids by dense ids, and 64-bit weights by their codes, and passes the edges to another
/// visitor.
#[derive(Debug)]
pub struct NumberingVisitor<'d, V> {
    ids: Option<&'d Dictionary>,
    weights: Option<&'d WeightCodes>,
    source: &'d str,
    /// Visitor to which the edges are passed.
    pub inner: V,
    dense: Vec<[u32; 2]>,
    codes: Vec<u32>,
}

impl<'d, V> NumberingVisitor<'d, V> {
    /// Makes a visitor that replaces ids by their indices in `ids`, and weights by their codes in `weights`, and passes
    /// the edges to `inner`. With `None` for `ids` or `weights`, these stay unchanged. `source` names the input in
    /// errors.
    pub fn new(ids: Option<&'d Dictionary>, weights: Option<&'d WeightCodes>, source: &'d str, inner: V) -> Self {
        NumberingVisitor { ids, weights, source, inner, dense: Vec::new(), codes: Vec::new() }
    }
}

impl<V: Visitor> Visitor for NumberingVisitor<'_, V> {
    fn visit(&mut self, edges: Edges<'_>, weights: &[u32]) -> Result<()> {
        let weights = match self.weights {
            None => weights,
            Some(WeightCodes(list)) => {
                self.codes.clear();
                for bits in bits_of(weights, 2) {
                    self.codes.push(list.position(bits).ok_or_else(|| changed(self.source))?);
                }
                &self.codes
            }
        };
        let Some(dictionary) = self.ids else { return self.inner.visit(edges, weights) };
        match edges {
            Edges::Narrow(edges) => dictionary.look_up(edges, self.source, &mut self.dense)?,
            Edges::Wide(edges) => dictionary.look_up(edges, self.source, &mut self.dense)?,
        }
        self.inner.visit(Edges::Narrow(&self.dense), weights)
    }

    fn make(&mut self, edges: Range<u64>) -> Result<bool> {
        if self.ids.is_some() || self.weights.is_some() { Ok(false) } else { self.inner.make(edges) }
    }
}
