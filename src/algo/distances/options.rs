//! The options of distances from many sources, from the job-file table `[distances]`.

use crate::algo::searches::Origins;
use crate::algo::searches::options::{DRAWN, SEED};
use crate::algo::sources::SOURCES;
use crate::jobfile::AnyKey;
use serde::{Deserialize, Serialize};

/// All keys of the table `[distances]`.
pub(super) const KEYS: &[&dyn AnyKey] = &[&DRAWN, &SEED, &SOURCES];

/// Options of distances from many sources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Distances {
    /// The sources: how they are chosen.
    #[serde(flatten)]
    pub origins: Origins,
}
