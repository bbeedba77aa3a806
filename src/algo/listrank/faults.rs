//! Faults of an input that is not a list. Each fault names an element that shows it.

use crate::error::{At, Error, Result};
use crate::formats::Signals;
use crate::list::List;
use parking_lot::Mutex;

/// The reason why successors do not form a list. The fault names the smallest element that shows it, regardless of the
/// order in which elements are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListFault {
    /// A successor is neither an element nor the end of the list.
    Range {
        /// The smallest element whose successor is out of range.
        element: u64,
    },
    /// Two elements have the same successor.
    Twice {
        /// The smallest element that is the successor of two elements.
        successor: u64,
    },
    /// The number of elements without a successor is not one.
    Tails {
        /// Number of elements without a successor.
        count: u64,
        /// The smallest element without a successor, if any.
        element: Option<u64>,
    },
    /// Some elements form cycles apart from the list.
    Cycle {
        /// An element on a cycle, if one is known.
        element: Option<u64>,
    },
}

impl ListFault {
    /// Converts the fault to an error for the input `list`. If two elements have the same successor, reads the list
    /// with `threads` threads to find these elements.
    ///
    /// # Errors
    /// Read errors.
    pub(super) fn error(self, list: &List, threads: usize) -> Result<Error> {
        let (expected, found) = match self {
            ListFault::Range { element } => {
                (format!("-1, or elements under {}", list.length), format!("another successor of element {element}"))
            }
            ListFault::Twice { successor } => {
                let [a, b] = elements_before(list, successor, threads)?;
                let found = format!("{successor} as that of element {a} and of element {b}");
                ("successors that differ".into(), found)
            }
            ListFault::Tails { count, element } => {
                let found = match element {
                    None => "none, so there is a cycle".into(),
                    Some(element) => format!("{count}, the first is element {element}"),
                };
                ("one element without a successor (-1)".into(), found)
            }
            ListFault::Cycle { element } => {
                let on_it = element.map(|element| format!(", on which element {element} is")).unwrap_or_default();
                ("one path through all elements".into(), format!("a cycle{on_it}"))
            }
        };
        let remedy = "repair the file: every element but the last must have one successor, and no two the same";
        Ok(Error::input(list.source.name(), At::File, expected, found, remedy))
    }
}

/// Returns the smallest two elements whose successor is `successor`.
fn elements_before(list: &List, successor: u64, threads: usize) -> Result<[u64; 2]> {
    let both = Mutex::new(Vec::new());
    list.source.scan(0..list.length, threads, &Signals, &|first, values| {
        let here = (first..).zip(values).filter(|(_, value)| u64::try_from(**value) == Ok(successor));
        let mut both = both.lock();
        // `both` never contains more elements than one chunk of the scan plus two.
        both.extend(here.map(|(element, _)| element));
        both.sort_unstable();
        both.truncate(2);
        Ok(())
    })?;
    match *both.into_inner() {
        [a, b] => Ok([a, b]),
        _ => Err(Error::internal("rank a list", "the input changed while it was read")),
    }
}
