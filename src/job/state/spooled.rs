//! The manifest's record of input streams: the copies that a run made of standard input and other streams.

use crate::formats::input::stream::Stream;
use crate::results::Output;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The copied input streams of a job, as recorded in the manifest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Spool {
    /// The copies of the streams, in the order of the input's paths.
    pub(crate) streams: Vec<Spooled>,
    /// True while the copies exist in the workdir.
    pub(crate) there: bool,
    /// True if this run copied the streams again, and they delivered the same data from which the results of the
    /// finished job were computed.
    #[serde(skip)]
    pub(crate) same: bool,
}

/// Copy of one stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spooled {
    /// Path of the stream. It is absolute unless the stream is anonymous, such as standard input.
    pub(crate) path: PathBuf,
    /// Index of the stream among the input's paths.
    pub(crate) place: usize,
    /// File name of the copy in the folder of copies.
    pub(crate) file: String,
    pub(crate) copy: Output,
}

impl Spool {
    /// Returns true if the copies were made of the streams `streams`, according to their paths.
    pub(crate) fn is_of(&self, streams: &[(usize, Stream)]) -> bool {
        let is_same = |(spooled, (place, stream)): (&Spooled, &(usize, Stream))| {
            // The path of a process substitution `<(…)` changes each time.
            let anonymous = Stream::known(&spooled.path).is_anonymous() && stream.is_anonymous();
            spooled.place == *place && (anonymous || spooled.path == absolute(stream.path()))
        };
        !streams.is_empty() && self.streams.len() == streams.len() && self.streams.iter().zip(streams).all(is_same)
    }
}

/// Returns the absolute path of a stream, or the unchanged name of an anonymous stream.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    if Stream::known(path).is_anonymous() {
        return path.to_owned();
    }
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
