//! Numbers for ids that are sparse, and for ids that are strings: their places in the sorted list of those that occur.

use crate::error::{Error, Result};
use crate::formats::Input;
use crate::job::context::{Context, Watched};
use crate::job::plan::done::Done;
use crate::job::plan::{Plan, limits};
use crate::job::run_record::{Moved, RunRecord};
use crate::job::state::lock::Reader;
use crate::prepare::dictionary::{self, Dictionary};
use crate::prepare::names::Names;
use crate::process::progress::Unit;
use std::sync::Arc;

/// Runs the stage `dictionary` and opens the list. Collective.
///
/// # Errors
/// Errors of the stage.
pub(super) fn number(context: &Context, record: &mut RunRecord, input: &Input, identity: u64) -> Result<Dictionary> {
    let path = dictionary::path(&context.graph_folder());
    record.stage(context, "dictionary", input.bytes(), Unit::Bytes, |progress| {
        // One rank builds it for all, because the list is small compared with the edges.
        if !context.comm.leads() {
            return Ok(((), Moved::default()));
        }
        let seal = Dictionary::build(input, &path, identity, context.threads, &context.budget, &Watched(progress))?;
        Ok(((), Moved { read: input.bytes(), written: seal.bytes }))
    })?;
    open(context, identity)
}

/// Opens the list, which the leader may just have written.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::Io`].
pub(super) fn open(context: &Context, identity: u64) -> Result<Dictionary> {
    let path = dictionary::path(&context.graph_folder());
    context.retry_until_visible(|| Dictionary::open(&path, identity, &context.budget))
}

/// Rebuilds the list if it is damaged. Collective.
///
/// # Errors
/// Errors of [`number`].
pub(super) fn ensure(context: &Context, record: &mut RunRecord, input: &Input, identity: u64) -> Result<()> {
    let path = dictionary::path(&context.graph_folder());
    let whole = context.agreed(|| match Dictionary::open(&path, identity, &context.budget) {
        Err(e @ (Error::Corrupt { .. } | Error::Io { .. })) => {
            tracing::warn!("{e}: listing sparse ids again");
            Ok(false)
        }
        other => other.map(|_| true),
    })?;
    if whole { Ok(()) } else { number(context, record, input, identity).map(drop) }
}

/// Opens the numbers of the strings of `input`, or makes them in the stage `number`. Returns the input with numbers as
/// ids, and the numbers. Collective.
///
/// # Errors
/// Errors of the stage.
pub(super) fn number_strings(
    context: &Context,
    record: &mut RunRecord,
    input: Input,
    identity: u64,
) -> Result<(Input, Arc<Names>)> {
    let (folder, name) = (context.graph_folder(), input.name());
    let mut opened = None;
    let is_whole = context.agreed(|| match Names::open(&folder, identity, name.clone()) {
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
        let plan = Plan::before(&context.job, &context.machine(), &input, &Done::default())?;
        limits::refuse(&plan)?;
        context.agreed(|| {
            Reader::refuse(&context.job.workdir)?;
            std::fs::create_dir_all(&folder).map_err(|e| Error::io("create the folder", &folder, e))
        })?;
        record
            .stage(context, "number", input.bytes(), Unit::Bytes, |progress| {
                // One rank numbers for all, because the strings that differ are few compared with the edges.
                if !context.comm.leads() {
                    return Ok(((), Moved::default()));
                }
                let (threads, budget) = (context.threads, &context.budget);
                let written = Names::build(&input, &folder, identity, threads, budget, &Watched(progress))?;
                Ok(((), Moved { read: input.bytes(), written }))
            })
            .map_err(|e| limits::name_limit(&plan, e))?;
    }
    let open = || context.retry_until_visible(|| Names::open(&folder, identity, name.clone()));
    let names = Arc::new(opened.map_or_else(open, Ok)?);
    if !is_whole && context.comm.leads() {
        let ids = names.list().lines().count();
        tracing::info!(ids, "ids are strings: results come in the order of out/ids.txt");
    }
    Ok((input.with_numbering(names.clone()), names))
}
