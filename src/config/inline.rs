//! Inline tables within `[input]`, such as `kronecker = { scale = 20 }`.

use super::tables;
use crate::jobfile::diagnostics::Diagnostics;
use crate::jobfile::field::{Field, Section};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Reads the values of one inline table, and reports mistakes to `diagnostics`.
pub(super) struct InlineTable<'a, 'f> {
    field: &'a Field<'f>,
    section: Section<'f>,
    diagnostics: &'a mut Diagnostics,
}

impl<'a, 'f> InlineTable<'a, 'f> {
    /// Opens the inline table that is the value of `field`, and reports keys that are not in `known`. Returns `None`
    /// if the value is not a table.
    pub fn of(field: &'a Field<'f>, known: &[&str], diagnostics: &'a mut Diagnostics) -> Option<Self> {
        let (table, section) = field.section(diagnostics)?;
        tables::check_keys(table, &field.name, known, diagnostics);
        Some(InlineTable { field, section, diagnostics })
    }

    /// Reads the integer value of `key`. If the key is absent, returns `default`, or, if `default` is an error, reports
    /// that the key is missing and suggests the text of the error as the fix.
    pub fn number<T>(&mut self, key: &str, range: RangeInclusive<T>, default: Result<T, &str>) -> Option<T>
    where
        T: TryFrom<i128> + PartialOrd + Display,
    {
        match self.section.get(key) {
            Some(field) => field.integer(range, self.diagnostics),
            None => default.map_err(|remedy| self.error(&format!("{key} is missing: {remedy}"))).ok(),
        }
    }

    /// Reads the value of `key` with the function `read`, or returns `default` if the key is absent.
    pub fn other<T>(
        &mut self,
        key: &str,
        default: T,
        read: impl FnOnce(&Field<'f>, &mut Diagnostics) -> Option<T>,
    ) -> Option<T> {
        self.section.get(key).map_or(Some(default), |field| read(&field, self.diagnostics))
    }

    /// Reports a mistake that concerns the table as a whole.
    pub fn error(&mut self, message: &str) {
        self.field.error(message, self.diagnostics);
    }
}
