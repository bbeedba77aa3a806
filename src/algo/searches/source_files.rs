//! The files of a source's columns, as they are verified.

use crate::algo::Results;
use crate::error::{Error, Result};
use crate::graph::ids::InputId;
use std::path::PathBuf;

/// The columns that an algorithm wrote of one source.
pub struct SourceFiles<'a> {
    /// The name of the algorithm.
    pub algorithm: &'static str,
    /// Its results.
    pub results: &'a Results<'a>,
    /// The source.
    pub source: InputId,
}

impl SourceFiles<'_> {
    /// Returns the path of a column's file.
    ///
    /// # Errors
    /// [`Error::Validation`] where there is none.
    pub fn path(&self, column: &str) -> Result<PathBuf> {
        let name = self.named(column);
        let name = name.ok_or_else(|| differs(self.source, &format!("no file of its column {column}")))?;
        Ok(self.results.workdir.join(name))
    }

    /// Checks that columns of `rows` rows have one for each vertex.
    ///
    /// # Errors
    /// [`Error::Validation`] if they have not.
    pub fn check_rows(&self, rows: u64) -> Result<()> {
        let expected = self.results.info.rows();
        match rows == expected {
            true => Ok(()),
            false => Err(differs(self.source, &format!("columns of {rows} rows for {expected} vertices"))),
        }
    }

    fn named(&self, column: &str) -> Option<&String> {
        let beginning = format!("out/{}/{}/{column}.", self.algorithm, self.source);
        self.results.outputs.keys().find(|name| name.starts_with(&beginning))
    }
}

/// Returns the error of something that a source tells and that is not so.
pub fn differs(source: InputId, what: &str) -> Error {
    Error::Validation(format!("source {source}: {what}"))
}
