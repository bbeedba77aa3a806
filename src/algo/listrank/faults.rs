//! Errors for input that is not a list, each with an element that shows the fault.

use crate::error::{At, Error, Result};
use crate::formats::Signals;
use crate::list::List;
use std::sync::{Mutex, PoisonError};

fn refused(list: &List, expected: &str, found: String) -> Error {
    let remedy = "repair the file: every element but the last must have one successor, and no two the same";
    Error::input(list.source.name(), At::File, expected, found, remedy)
}

/// Returns the error for an element whose successor is not an element.
pub(super) fn range(list: &List, element: u64) -> Error {
    refused(list, &format!("-1, or elements under {}", list.length), format!("another successor of element {element}"))
}

/// Returns the error for two elements with the same successor. A pass over the list finds the two.
///
/// # Errors
/// Read errors.
pub(super) fn twice(list: &List, successor: u64, threads: usize) -> Result<Error> {
    let both = Mutex::new(Vec::new());
    list.source.scan(0..list.length, threads, &Signals, &|first, values| {
        let here = (first..).zip(values).filter(|(_, value)| u64::try_from(**value) == Ok(successor));
        both.lock().unwrap_or_else(PoisonError::into_inner).extend(here.map(|(element, _)| element));
        Ok(())
    })?;
    let mut both = both.into_inner().unwrap_or_else(PoisonError::into_inner);
    both.sort_unstable();
    Ok(shared(list, successor, [0, 1].map(|which| both.get(which).copied().unwrap_or(0))))
}

/// Returns the error for two elements with the same successor.
pub(super) fn shared(list: &List, successor: u64, [a, b]: [u64; 2]) -> Error {
    refused(list, "successors that differ", format!("{successor} as that of element {a} and of element {b}"))
}

/// Returns the error for `count` elements without a successor, one of which is `element`.
pub(super) fn tails(list: &List, count: u64, element: Option<u64>) -> Error {
    let found = match element {
        None => "none, so there is a cycle".into(),
        Some(element) => format!("{count}, the first is element {element}"),
    };
    refused(list, "one element without a successor (-1)", found)
}

/// Returns the error for a list with a cycle that contains `element`.
pub(super) fn cycle(list: &List, element: Option<u64>) -> Error {
    let found = element.map_or("a cycle".into(), |element| format!("a cycle, on which element {element} is"));
    refused(list, "one path through all elements", found)
}
