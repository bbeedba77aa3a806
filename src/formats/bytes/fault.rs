//! Parse errors, before the caller of a parser adds the file and the line.

use std::borrow::Cow;

use crate::error::{At, Error};

/// A parse error without a file name and a line number, which the caller of the parser adds.
#[derive(Debug)]
pub(crate) struct Fault {
    /// Offset of the error in the bytes that the parser was given.
    pub at: usize,
    pub expected: String,
    pub found: String,
    pub remedy: Cow<'static, str>,
}

/// Reason why a parser ended early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// A parse error, to which the caller of the parser adds the file name and the line number.
    Fault(Box<Fault>),
    /// An error that the visitor or the progress observer (`Watch`) returned.
    Error(Error),
}

impl Fault {
    pub fn new(
        at: usize,
        expected: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Fault {
        Fault { at, expected: expected.into(), found: found.into(), remedy: remedy.into() }
    }

    /// Converts this parse error to the error for position `at` in the file `path`.
    pub fn at(self, path: &std::path::Path, at: At) -> Error {
        Error::input(path, at, self.expected, self.found, self.remedy)
    }
}

impl Stop {
    /// Converts the reason to an error, for callers whose parser never reports a parse error. If it does nevertheless,
    /// the result is an internal error.
    pub fn into_error(self) -> Error {
        match self {
            Stop::Error(error) => error,
            Stop::Fault(fault) => Error::internal("read arrays", fault.found),
        }
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Fault(Box::new(fault))
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}
