//! List ranking: finds the number of elements between each element of a linked list and one end of the list.
//!
//! ```
//! use gpugraph::{Context, listrank};
//!
//! let context = Context::new()?;
//! // 2 -> 0 -> 1
//! let ranks = listrank::rank(vec![1, -1, 0], &listrank::Options::default(), &context)?;
//! assert_eq!((&ranks.ranks()[..], ranks.head()), (&[1, 0, 2][..], Some(2)));
//! # Ok::<(), gpugraph::Error>(())
//! ```

use crate::algo::listrank::ListRankOutput;
pub use crate::algo::listrank::{Method, RankOrder as Order};
use crate::config::{self, InputSpec};
use crate::error::Result;
use crate::job::results::report::median;
use crate::job::session::Session;
use crate::library::builder::Keys;
use crate::library::column::{Column, RowIds};
use crate::library::context::Context;
use crate::library::graph::table_text;
use crate::list::MemoryList;
use crate::list::memory::SuccessorList;
use crate::store::durable::TemporaryFolder;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options of list ranking.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Options {
    /// The algorithm that ranks the list.
    pub method: Method,
    /// The end of the list from which ranks are counted.
    pub order: Order,
}

/// The list ranks of all elements of a linked list.
#[derive(Debug)]
pub struct Ranks {
    output: ListRankOutput,
    seconds: f64,
    ranks: Column<i64>,
    _folder: TemporaryFolder,
}

impl Ranks {
    /// Returns the list rank of each element: the number of elements after it, or before it.
    pub fn ranks(&self) -> &Column<i64> {
        &self.ranks
    }

    /// Returns the index of the first element of the list; `None` for an empty list.
    pub fn head(&self) -> Option<u64> {
        self.output.head
    }

    /// Returns a checksum of the list ranks: the sum of `rank(i) * (i mod 1000003 + 1)` over all elements `i`, modulo
    /// 2^64.
    pub fn checksum(&self) -> u64 {
        self.output.checksum
    }

    /// Returns the time of the list ranking in seconds.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }
}

/// Ranks a linked list in memory: `successors[i]` is the element after element `i`, or -1 for the last element.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::ErrorKind::Usage) for a successor that is not an element,
/// [`ErrorKind::Input`](crate::ErrorKind::Input) if the elements do not form one list, and errors of a job.
pub fn rank(successors: Vec<i64>, options: &Options, context: &Context) -> Result<Ranks> {
    rank_list(Arc::new(Successors(successors)), options, context)
}

/// Ranks a linked list in memory, which may have any layout. The list is read through [`SuccessorList`].
///
/// # Errors
/// Errors of [`rank`].
pub fn rank_list(list: Arc<dyn SuccessorList>, options: &Options, context: &Context) -> Result<Ranks> {
    run(InputSpec::MemoryList(MemoryList::new(list)?), options, context)
}

/// Ranks the linked list in a file. The extension of the file selects its format.
///
/// # Errors
/// Errors of [`rank`]; [`ErrorKind::Input`](crate::ErrorKind::Input) if the file is not a list.
pub fn rank_file(path: impl AsRef<Path>, options: &Options, context: &Context) -> Result<Ranks> {
    let path: PathBuf = std::path::absolute(path.as_ref()).unwrap_or_else(|_| path.as_ref().to_owned());
    run(InputSpec::ListFile { path, format: None }, options, context)
}

fn run(list: InputSpec, options: &Options, context: &Context) -> Result<Ranks> {
    let folder = TemporaryFolder::new(context.folder())?;
    let job = context.job("list", folder.path(), Keys::new(), Some(list))?;
    let task = config::task("listrank", table_text("listrank", options)?)?;
    let (output, seconds) = context.call(|gpu| {
        let mut session = Session::open(job, gpu, context.observer())?;
        let record = session.compute(task, gpu)?;
        Ok((record.output()?, median(&record.seconds)))
    })?;
    let ranks = Column::open(&folder.path().join("out/rank.npy"), &RowIds::Dense { first: 0 })?;
    Ok(Ranks { output, seconds, ranks, _folder: folder })
}

/// Linked list in memory: the successor of each element, or -1 for the last element.
struct Successors(Vec<i64>);

impl SuccessorList for Successors {
    fn elements(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, first: u64, out: &mut [i64]) {
        out.copy_from_slice(&self.0[first as usize..][..out.len()]);
    }
}
