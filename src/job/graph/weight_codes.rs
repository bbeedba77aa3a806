//! The sorted list of weights of 64 bits. The position of a weight in the list replaces the weight in rows.

use crate::error::{Error, Result};
use crate::formats::{Input, Weights};
use crate::graph::GraphWeights;
use crate::job::context::{Context, Watched};
use crate::job::run_record::{Moved, RunRecord};
use crate::prepare::weight_list::WeightCodes;
use crate::process::progress::Unit;

/// Runs the stage `weights`, which lists the weights that occur in the input. Collective.
///
/// # Errors
/// Errors of the stage.
pub(super) fn list(context: &Context, record: &mut RunRecord, input: &Input, weights: GraphWeights) -> Result<()> {
    let input = input.clone().with_weights(Weights::Read(weights.kind));
    record.stage(context, "weights", input.bytes(), Unit::Bytes, |progress| {
        // One rank lists them for all, as it does with sparse ids.
        if !context.comm.leads() {
            return Ok(((), Moved::default()));
        }
        let (folder, threads) = (context.graph_folder(), context.threads);
        let seal = WeightCodes::build(&input, &folder, weights, threads, &context.budget, &Watched(progress))?;
        Ok(((), Moved { read: input.bytes(), written: seal.bytes }))
    })
}

/// Opens the list of weights. The leader may just have written it, so this waits until it is visible.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::Io`], [`Error::Limit`].
pub(super) fn open(context: &Context, weights: GraphWeights) -> Result<WeightCodes> {
    context.retry_until_visible(|| WeightCodes::open(&context.graph_folder(), weights, &context.budget))
}

/// Rebuilds the list of weights if it is damaged or missing. Collective.
///
/// # Errors
/// Errors of [`list`].
pub(super) fn ensure(context: &Context, record: &mut RunRecord, input: &Input, weights: GraphWeights) -> Result<()> {
    let open = || WeightCodes::open(&context.graph_folder(), weights, &context.budget);
    let whole = context.agreed(|| match open() {
        Err(e @ (Error::Corrupt { .. } | Error::Io { .. })) => {
            tracing::warn!("{e}: listing weights again");
            Ok(false)
        }
        other => other.map(|_| true),
    })?;
    if whole { Ok(()) } else { list(context, record, input, weights) }
}
