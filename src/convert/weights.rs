//! Decides which weights are written, and finds the path of the separate weights file of Graph500.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::counts::{HeaderCounts, count};
use crate::error::{Error, Result};
use crate::formats::part::weights_path;
use crate::formats::{Format, Input, Packing, Watch, WeightType, Weights, WeightsOption};

/// Returns the type of the weights to write, and the counts of the pass that found the type, if such a pass was
/// necessary.
///
/// # Errors
/// [`Error::Usage`] if the options request weights that the input does not have or the format can't store; and errors
/// of the scan.
pub(super) fn decide(
    input: &Input,
    out: &Path,
    (format, weights_option): (Format, WeightsOption),
    threads: usize,
    watch: &dyn Watch,
) -> Result<(Option<WeightType>, Option<HeaderCounts>)> {
    if !format.writes_weights() {
        return match weights_option.named() {
            None => Ok((None, None)),
            Some(_) => {
                let out = out.display();
                Err(Error::Usage(format!(
                    "{out}: {format} can't store weights; choose text, mtx, metis, gr or graph500, or --weights none"
                )))
            }
        };
    }
    let may_have = weights_option != WeightsOption::None && input.may_have_weights()?;
    match weights_option.named() {
        Some(kind) if may_have => Ok((Some(kind), None)),
        Some(_) => Err(input.lacks_weights()),
        None if may_have => {
            let counts = count(&input.clone().with_weights(Weights::Find), threads, watch)?;
            Ok((counts.weights, Some(counts)))
        }
        None => Ok((None, None)),
    }
}

/// Returns the path of the weights file to write next to `out`; `None` if the format has no such file or there are no
/// `weights`.
///
/// # Errors
/// [`Error::Usage`] if the file with that path belongs to the input, or would belong to it in the next run. Also
/// [`Error::Usage`] if there are no weights but a file with that path exists, because readers would use that file as
/// the weights.
pub(super) fn weights_file(input: &Input, out: &Path, format: Format, weights: bool) -> Result<Option<PathBuf>> {
    if format != Format::Graph500 {
        return Ok(None);
    }
    let path = weights_path(out, Packing::of(out));
    let id = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    let there = id(&path);
    let is_read = |sibling: PathBuf| there.is_some() && id(&sibling) == there;
    if input.parts().iter().filter_map(|part| part.weights_path()).any(is_read) {
        return Err(Error::Usage(format!(
            "{}: has the weights of the input; write to a file with another name",
            path.display()
        )));
    }
    super::refuse_overlap(input, &path)?;
    if !weights && there.is_some() {
        return Err(Error::Usage(format!(
            "{}: would be taken for the weights of {}, which has none; remove it, or write to a file of another name",
            path.display(),
            out.display()
        )));
    }
    Ok(weights.then_some(path))
}
