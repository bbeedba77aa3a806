//! Keys of job files. Each key has one definition, which is used for parsing, suggestions, `gpugraph help` and the
//! tests of the documentation.

use super::diagnostics::Diagnostics;
use super::field::{Field, Section};

/// Definition of a key of a job file, whose value is read as `T`.
pub struct Key<T: 'static> {
    name: &'static str,
    meaning: &'static str,
    kind: KeyKind<T>,
}

/// How the value of a key is read, and which values it accepts.
enum KeyKind<T: 'static> {
    /// The value is one of these words. The first is the default.
    Choice(&'static [(&'static str, T)]),
    /// The value is whatever the function `read` accepts.
    Other {
        /// The values that the key accepts, in words.
        values: &'static str,
        /// The default, as TOML or in words.
        default: &'static str,
        /// Function that returns the default, for a key that is absent.
        absent: fn() -> T,
        /// Function that reads a value; it returns `None` after a mistake.
        read: fn(&Field<'_>, &mut Diagnostics) -> Option<T>,
    },
}

/// Documentation of a key: its name, meaning, values and default. It does not depend on the type of the value.
pub trait AnyKey: Sync {
    /// Returns the name of the key.
    fn name(&self) -> &'static str;
    /// Returns a description of what the key does.
    fn meaning(&self) -> &'static str;
    /// Returns a description of the values that the key accepts.
    fn values(&self) -> String;
    /// Returns the default of the key, as TOML or in words.
    fn default(&self) -> String;
}

impl<T: Clone> Key<T> {
    /// Defines a key whose value is one of `words`, of which the first is the default.
    pub const fn choice(name: &'static str, words: &'static [(&'static str, T)], meaning: &'static str) -> Key<T> {
        Key { name, meaning, kind: KeyKind::Choice(words) }
    }

    /// Defines a key. `values` and `default` describe its values and its default, in words or as TOML. `absent`
    /// returns the default, and `read` reads a value.
    pub const fn new(
        name: &'static str,
        (values, default): (&'static str, &'static str),
        meaning: &'static str,
        absent: fn() -> T,
        read: fn(&Field<'_>, &mut Diagnostics) -> Option<T>,
    ) -> Key<T> {
        Key { name, meaning, kind: KeyKind::Other { values, default, absent, read } }
    }

    /// Returns the key with its value in `table`; `None` if the table lacks the key.
    pub fn field<'t>(&self, table: &Section<'t>) -> Option<Field<'t>> {
        table.get(self.name)
    }

    /// Reads the value of the key in `table`, or returns the default if the key is absent. Returns `None` after a
    /// mistake.
    pub fn read(&self, table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<T> {
        match (self.field(table), &self.kind) {
            (Some(field), KeyKind::Choice(words)) => field.choice(words, diagnostics),
            (Some(field), KeyKind::Other { read, .. }) => read(&field, diagnostics),
            (None, _) => Some(self.absent()),
        }
    }

    /// Reads the value of the key in `table`. After a mistake it returns the default, which nothing uses, because the
    /// job is refused.
    pub fn read_or_default(&self, table: &Section<'_>, diagnostics: &mut Diagnostics) -> T {
        self.read(table, diagnostics).unwrap_or_else(|| self.absent())
    }

    fn absent(&self) -> T {
        match &self.kind {
            KeyKind::Choice(words) => words[0].1.clone(),
            KeyKind::Other { absent, .. } => absent(),
        }
    }
}

impl Key<bool> {
    /// Defines a key that is `true` or `false`, with the default `false`.
    pub const fn flag(name: &'static str, meaning: &'static str) -> Key<bool> {
        Key::new(name, (BOOLEAN, "false"), meaning, || false, |field, diagnostics| field.boolean(diagnostics))
    }

    /// Defines a key that is `true` or `false`, with the default `true`.
    pub const fn flag_on(name: &'static str, meaning: &'static str) -> Key<bool> {
        Key::new(name, (BOOLEAN, "true"), meaning, || true, |field, diagnostics| field.boolean(diagnostics))
    }
}

impl Key<()> {
    /// Defines a key whose value the caller reads itself, from the result of [`Self::field`]. `about` describes its
    /// values and its default, in words or as TOML.
    pub const fn of_field(name: &'static str, about: (&'static str, &'static str), meaning: &'static str) -> Key<()> {
        Key::new(name, about, meaning, || (), |_, _| Some(()))
    }
}

const BOOLEAN: &str = "true | false";

impl<T: Sync> AnyKey for Key<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn meaning(&self) -> &'static str {
        self.meaning
    }

    fn values(&self) -> String {
        match self.kind {
            KeyKind::Choice(words) => words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(" | "),
            KeyKind::Other { values, .. } => values.to_owned(),
        }
    }

    fn default(&self) -> String {
        match self.kind {
            KeyKind::Choice(words) => words.first().map_or_else(String::new, |(word, _)| format!("\"{word}\"")),
            KeyKind::Other { default, .. } => default.to_owned(),
        }
    }
}
