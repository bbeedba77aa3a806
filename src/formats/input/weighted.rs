//! Detects from the beginning of a file whether its edges may have weights.

use crate::error::Result;
use crate::formats::pass::layout;
use crate::formats::{Format, Part, arrays, contents};

/// Returns true if the edges of a file may have weights: its header declares weights, its first line contains one, or a
/// weights file is next to it. A malformed file counts as weighted; the scan reports the mistake.
///
/// # Errors
/// Bad input if the file can't be read or decompressed.
pub(crate) fn may_have(part: &Part) -> Result<bool> {
    match part.format {
        Format::Gr | Format::Wsg => Ok(true),
        Format::Graph500 => Ok(part.weights_path().is_some()),
        Format::Npz => Ok(arrays::have_weights(part)),
        Format::Text | Format::Mtx | Format::Metis => {
            let (prefix, _) = contents::prefix_of(part)?;
            Ok(!prefix.is_empty() && layout::head(part, &prefix).map_or(true, |head| head.weighted))
        }
        Format::U32 | Format::U64 | Format::Npy | Format::Sg | Format::Parquet => Ok(false),
    }
}
