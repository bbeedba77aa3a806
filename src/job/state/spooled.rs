//! The manifest's record of standard input and other streams: the copies that a run made of them.

use crate::formats::input::stream::Stream;
use crate::results::Output;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The streams of a job, as its manifest has them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Spool {
    /// In the order of the input's paths.
    pub(crate) streams: Vec<Spooled>,
    /// True while the copies are in the workdir.
    pub(crate) there: bool,
    /// True if this run copied what the results of a finished job are of.
    #[serde(skip)]
    pub(crate) same: bool,
}

/// The copy of one stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spooled {
    /// The path that named it; one that means the same from any folder.
    pub(crate) path: PathBuf,
    /// Its place among the input's paths.
    pub(crate) place: usize,
    /// The copy, in the folder of copies.
    pub(crate) file: String,
    pub(crate) copy: Output,
}

impl Spool {
    /// Returns true if these are the streams that were copied, as far as their names tell.
    pub(crate) fn is_of(&self, streams: &[(usize, Stream)]) -> bool {
        let is_same = |(spooled, (place, stream)): (&Spooled, &(usize, Stream))| {
            // A shell's `<(…)` has another number each time.
            let anonymous = Stream::known(&spooled.path).is_anonymous() && stream.is_anonymous();
            spooled.place == *place && (anonymous || spooled.path == absolute(stream.path()))
        };
        !streams.is_empty() && self.streams.len() == streams.len() && self.streams.iter().zip(streams).all(is_same)
    }
}

/// Returns the path of a stream by which it is known from any folder.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    if Stream::known(path).is_anonymous() {
        return path.to_owned();
    }
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
