//! The sorted list of the ids that occur, if they are sparse. Positions in it number the ids densely.

use crate::error::{Error, Result};
use crate::formats::Input;
use crate::job::session::{Moved, Session, Watched};
use crate::prepare::dictionary::{self, Dictionary};
use crate::process::progress::Unit;

/// Runs the stage `dictionary` and opens the list. Collective.
///
/// # Errors
/// Errors of the stage.
pub(super) fn number(session: &mut Session, input: &Input, identity: u64) -> Result<Dictionary> {
    let path = dictionary::path(&session.graph_folder());
    session.stage("dictionary", input.bytes(), Unit::Bytes, |s, progress| {
        // One rank builds it for all, because the list is small compared with the edges.
        if !s.comm.leads() {
            return Ok(((), Moved::default()));
        }
        let seal = Dictionary::build(input, &path, identity, s.threads, &s.budget, &Watched(progress))?;
        Ok(((), Moved { read: input.bytes(), written: seal.bytes }))
    })?;
    open(session, identity)
}

/// Opens the list, which the leader may just have written.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::Io`].
pub(super) fn open(session: &Session, identity: u64) -> Result<Dictionary> {
    session
        .retry_until_visible(|| Dictionary::open(&dictionary::path(&session.graph_folder()), identity, &session.budget))
}

/// Rebuilds the list if it is damaged. Collective.
///
/// # Errors
/// Errors of [`number`].
pub(super) fn ensure(session: &mut Session, input: &Input, identity: u64) -> Result<()> {
    let open = || Dictionary::open(&dictionary::path(&session.graph_folder()), identity, &session.budget);
    let whole = session.agreed(|| match open() {
        Err(e @ (Error::Corrupt { .. } | Error::Io { .. })) => {
            tracing::warn!("{e}: listing sparse ids again");
            Ok(false)
        }
        other => other.map(|_| true),
    })?;
    if whole { Ok(()) } else { number(session, input, identity).map(drop) }
}
