//! The sorted list of the ids that occur, for inputs with sparse ids. The position of an id in the list replaces the
//! id.

use crate::error::{Error, Result};
use crate::formats::Input;
use crate::job::context::{Context, Watched};
use crate::job::run_record::{Moved, RunRecord};
use crate::prepare::dictionary::{self, Dictionary};
use crate::process::progress::Unit;

/// Runs the stage `dictionary`, which lists the ids that occur in the input, and opens the list. Collective.
///
/// # Errors
/// Errors of the stage.
pub(super) fn number(context: &Context, record: &mut RunRecord, input: &Input, identity: u64) -> Result<Dictionary> {
    let path = dictionary::path(&context.graph_folder());
    record.stage(context, "dictionary", input.bytes(), Unit::Bytes, |progress| {
        // One rank builds the list for all ranks, because it is small compared with the edges.
        if !context.comm.leads() {
            return Ok(((), Moved::default()));
        }
        let seal = Dictionary::build(input, &path, identity, context.threads, &context.budget, &Watched(progress))?;
        Ok(((), Moved { read: input.bytes(), written: seal.bytes }))
    })?;
    open(context, identity)
}

/// Opens the list of sparse ids. The leader may just have written it, so this waits until it is visible.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::Io`].
pub(super) fn open(context: &Context, identity: u64) -> Result<Dictionary> {
    let path = dictionary::path(&context.graph_folder());
    context.retry_until_visible(|| Dictionary::open(&path, identity, &context.budget))
}

/// Rebuilds the list of sparse ids if it is damaged or missing. Collective.
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
