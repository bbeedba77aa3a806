//! Edges in every format: read, made, written and converted.

#[path = "../support/gather.rs"]
mod gather;
#[path = "../support/mod.rs"]
mod support;

mod arrays;
mod convert;
mod edge_lists;
mod foreign;
mod generate;
mod kept;
mod lists;
mod packing;
mod parquet;
mod reading;
mod remedies;
mod shares;
mod speed;
mod string_ids;
mod suspect;
mod text;
mod weighted;
mod weights;

use std::path::{Path, PathBuf};

/// Returns the path of a file or folder of `tests/data`.
fn own(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}
