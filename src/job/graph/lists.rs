//! Sorted lists of the ids and of the weights in the input. Ids are listed if they are sparse or strings, and weights
//! if they have 64 bits. Each id or weight is then replaced by its index in the list.

use crate::error::{At, Error, Result};
use crate::formats::{Input, Weights};
use crate::graph::{GraphWeights, RawId};
use crate::job::context::Context;
use crate::job::plan::completed::CompletedWork;
use crate::job::plan::{Plan, limits};
use crate::job::run_record::{IoBytes, RunRecord};
use crate::job::state::lock::Reader;
use crate::prepare::dictionary::{self, Dictionary};
use crate::prepare::names::Names;
use crate::prepare::weight_list::WeightCodes;
use crate::process::progress::{StageProgress, Unit};
use crate::store::replace::make_folder;
use std::sync::Arc;

/// Runs `work` on the leader as the stage `name`, whose progress is measured in bytes of `input`. `work` returns the
/// number of bytes that it wrote. The leader does all the work, because a list is small compared with the edges.
/// Collective.
fn on_leader(
    context: &Context,
    record: &mut RunRecord,
    name: &'static str,
    input: &Input,
    work: impl FnOnce(&StageProgress) -> Result<u64>,
) -> Result<()> {
    record.stage(context, name, input.bytes(), Unit::Bytes, |progress| match context.comm.is_leader() {
        true => Ok(((), IoBytes { read: input.bytes(), written: work(progress)? })),
        false => Ok(((), IoBytes::default())),
    })
}

/// Runs the stage `dictionary`, which writes the sorted list of the ids that occur in the input, or of the ids in the
/// input's list of vertices. Then opens this list. Collective.
///
/// # Errors
/// Errors of the stage.
pub(super) fn list_ids(context: &Context, record: &mut RunRecord, input: &Input, identity: u64) -> Result<Dictionary> {
    let path = dictionary::path(&context.graph_folder());
    let (input, is_list) = input.vertices.as_deref().map_or((input, false), |list| (list, true));
    on_leader(context, record, "dictionary", input, |progress| {
        let (seal, lines) = Dictionary::build(input, &path, identity, context.threads, &context.budget, progress)?;
        let ids = Dictionary::list(&path, identity)?.body().len() as u64 / 8;
        if is_list && lines != ids {
            let found = format!("{lines} lines with {ids} vertices");
            return Err(Error::input(
                input.name(),
                At::File,
                "each vertex once",
                found,
                "remove repeated lines (sort -un)",
            ));
        }
        Ok(seal.bytes)
    })?;
    open_ids(context, identity)
}

/// Returns the error for an edge of `input` whose end `id` is missing in the list of vertices `list`.
pub(super) fn unlisted(input: &Input, list: &Input, RawId(id): RawId) -> Error {
    let place = input.parts().iter().find_map(|part| Some((part.path().to_owned(), At::Line(part.line_of(id)?))));
    let (path, at) = place.unwrap_or_else(|| (input.name().into(), At::File));
    let expected = format!("ids that {} lists", list.name());
    Error::input(path, at, expected, id.to_string(), "add the vertex to the list, or remove its edges")
}

/// Opens the list of sparse ids. The leader may just have written it, so this waits until the file is visible.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::Io`].
pub(super) fn open_ids(context: &Context, identity: u64) -> Result<Dictionary> {
    let path = dictionary::path(&context.graph_folder());
    context.retry_until_visible(|| Dictionary::open(&path, identity, &context.budget))
}

/// Rebuilds the list of sparse ids if it is damaged or missing. Collective.
///
/// # Errors
/// Errors of [`list_ids`].
pub(super) fn ensure_ids(context: &Context, record: &mut RunRecord, input: &Input, identity: u64) -> Result<()> {
    let path = dictionary::path(&context.graph_folder());
    if context.opens("listing sparse ids", || Dictionary::open(&path, identity, &context.budget))? {
        Ok(())
    } else {
        list_ids(context, record, input, identity).map(drop)
    }
}

/// Runs the stage `weights`, which writes the sorted list of the weights that occur in the input. Collective.
///
/// # Errors
/// Errors of the stage.
pub(super) fn list_weights(
    context: &Context,
    record: &mut RunRecord,
    input: &Input,
    weights: GraphWeights,
) -> Result<()> {
    let input = input.clone().with_weights(Weights::Read(weights.kind));
    on_leader(context, record, "weights", &input, |progress| {
        let (folder, threads) = (context.graph_folder(), context.threads);
        Ok(WeightCodes::build(&input, &folder, weights, threads, &context.budget, progress)?.bytes)
    })
}

/// Opens the list of weights. The leader may just have written it, so this waits until the file is visible.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::Io`], [`Error::Limit`].
pub(super) fn open_weights(context: &Context, weights: GraphWeights) -> Result<WeightCodes> {
    context.retry_until_visible(|| WeightCodes::open(&context.graph_folder(), weights, &context.budget))
}

/// Rebuilds the list of weights if it is damaged or missing. Collective.
///
/// # Errors
/// Errors of [`list_weights`].
pub(super) fn ensure_weights(
    context: &Context,
    record: &mut RunRecord,
    input: &Input,
    weights: GraphWeights,
) -> Result<()> {
    if context.opens("listing weights", || WeightCodes::open(&context.graph_folder(), weights, &context.budget))? {
        Ok(())
    } else {
        list_weights(context, record, input, weights)
    }
}

/// Opens the dictionary of the string ids of `input`, or builds it in the stage `number`. Returns the input, whose
/// ids are then mapped to numbers, and the checksum of the input from which the dictionary was built. Collective.
///
/// # Errors
/// Errors of the stage.
pub(super) fn number_strings(
    context: &Context,
    record: &mut RunRecord,
    input: Input,
    identity: u64,
) -> Result<(Input, Option<u64>)> {
    let (folder, name) = (context.graph_folder(), input.name());
    let mut opened = None;
    let is_whole = context.on_leader(|| match Names::open(&folder, identity, name.clone()) {
        Ok(names) => {
            opened = Some(names);
            Ok(true)
        }
        Err(e) if e.is_missing() => Ok(false),
        Err(e @ (Error::Corrupt { .. } | Error::Io { .. })) => {
            tracing::info!("{e}: numbering ids again");
            Ok(false)
        }
        Err(e) => Err(e),
    })?;
    if !is_whole {
        let plan = Plan::before(&context.job, &context.machine(), &input, &CompletedWork::default())?;
        limits::refuse(&plan)?;
        context.on_leader(|| {
            Reader::refuse(&context.job.workdir)?;
            make_folder(&folder)
        })?;
        on_leader(context, record, "number", &input, |progress| {
            let files = Names::build(&input, &folder, identity, context.threads, &context.budget, progress)?;
            Ok(files.into_iter().map(|file| context.syncer.push(file).bytes).sum())
        })
        .map_err(|e| limits::name_limit(&plan, e))?;
    }
    let open = || context.retry_until_visible(|| Names::open(&folder, identity, name.clone()));
    let names = opened.map_or_else(open, Ok)?;
    if !is_whole && context.comm.is_leader() {
        let ids = names.list().lines().count();
        tracing::info!(ids, "ids are strings: results come in the order of out/ids.txt");
    }
    let checksum = names.list().checksum();
    Ok((input.with_numbering(Arc::new(names)), Some(checksum)))
}
