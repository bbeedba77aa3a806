//! Reads the properties file of an LDBC Graphalytics graph: Java properties whose keys begin with `graph.NAME`.

use crate::error::{At, Error, Result};
use crate::quote::clip;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A graph of LDBC Graphalytics, as its properties file describes it.
#[derive(Debug)]
pub struct GraphProperties {
    file: PathBuf,
    /// Name of the graph.
    pub name: String,
    entries: Vec<Property>,
}

/// A key with its value, and the 1-based number of the line on which it begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Property {
    line: u64,
    key: String,
    pub(super) value: String,
}

impl GraphProperties {
    /// Reads the properties file `file`.
    ///
    /// # Errors
    /// [`Error::Input`] if the file can't be read or describes no graph.
    pub fn read(file: &Path) -> Result<GraphProperties> {
        let bytes = std::fs::read(file).map_err(|e| Error::unreadable(file, &e))?;
        let entries = parse(&String::from_utf8_lossy(&bytes));
        let named = |property: &Property| {
            let name = property.key.strip_prefix("graph.")?.strip_suffix(".vertex-file")?;
            Some(name.to_owned())
        };
        match entries.iter().filter_map(named).collect::<Vec<_>>().as_slice() {
            [name] => Ok(GraphProperties { file: file.to_owned(), name: name.clone(), entries }),
            names => {
                let found = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                let remedy = "add the line graph.NAME.vertex-file = NAME.v, once";
                Err(Error::input(file, At::File, "the key graph.NAME.vertex-file of one graph", found, remedy))
            }
        }
    }

    /// Returns the property `graph.NAME.KEY`; `None` if the file lacks it. If a key occurs more than once, the last
    /// one counts, as in Java.
    fn property(&self, key: &str) -> Option<&Property> {
        let full = format!("graph.{}.{key}", self.name);
        self.entries.iter().rev().find(|property| property.key == full)
    }

    /// Returns the property `graph.NAME.KEY`, which the file must contain.
    ///
    /// # Errors
    /// [`Error::Input`] if the key is missing.
    pub(super) fn required(&self, key: &str) -> Result<&Property> {
        self.property(key).ok_or_else(|| {
            let expected = format!("the key graph.{}.{key}", self.name);
            Error::input(&self.file, At::File, expected, "none", "add it, or leave its algorithm out with --algorithms")
        })
    }

    pub(super) fn wrong(&self, property: &Property, expected: impl Into<String>, remedy: impl Into<String>) -> Error {
        let found = format!("{} = {}", property.key, clip(&property.value));
        Error::input(&self.file, At::Line(property.line), expected, found, remedy)
    }

    /// Parses the value of the key `graph.NAME.KEY`. `expected` describes valid values, for the error message.
    ///
    /// # Errors
    /// [`Error::Input`] if the key is missing or its value is invalid.
    pub fn value<T: FromStr>(&self, key: &str, expected: &str) -> Result<T> {
        let property = self.required(key)?;
        property.value.parse().map_err(|_| self.wrong(property, expected, "correct it"))
    }

    /// Returns the number of vertices or edges that the graph should have; `None` if the file lacks the key
    /// `graph.NAME.meta.KEY`.
    ///
    /// # Errors
    /// [`Error::Input`] if it is not a number.
    pub fn size(&self, key: &str) -> Result<Option<u64>> {
        let key = format!("meta.{key}");
        self.property(&key).map(|_| self.value(&key, "a whole number")).transpose()
    }

    /// Returns the path of the file that a key names. Names are relative to the folder of the properties file.
    ///
    /// # Errors
    /// [`Error::Input`] if the key or the file is missing.
    pub fn path(&self, key: &str) -> Result<PathBuf> {
        let property = self.required(key)?;
        let path = self.file.parent().unwrap_or(Path::new("")).join(&property.value);
        match path.metadata() {
            Ok(_) => Ok(path),
            Err(e) => {
                let expected = format!("a file that exists ({e})");
                Err(self.wrong(property, expected, "correct the name, which is relative to this file"))
            }
        }
    }

    /// Returns the 1-based index of the edge file's column that contains the weights for shortest paths.
    ///
    /// # Errors
    /// [`Error::Input`] if the properties file does not name the column.
    pub fn weight_column(&self) -> Result<i64> {
        let weight = self.required("sssp.weight-property")?;
        let names = self.required("edge-properties.names")?;
        let at = names.value.split(',').position(|name| name.trim() == weight.value);
        let expected = || format!("a property of edges among {}", names.value);
        at.map(|at| at as i64 + 3).ok_or_else(|| self.wrong(weight, expected(), "correct it"))
    }

    /// Returns the error for a property `graph.NAME.KEY` whose value is not a vertex id in the file `list`; `None` if
    /// the properties file lacks the key.
    pub fn not_a_vertex(&self, key: &str, list: &Path) -> Option<Error> {
        let expected = || format!("the id of a vertex in {}", list.display());
        self.property(key).map(|property| self.wrong(property, expected(), "correct it"))
    }
}

/// Parses Java properties. Comments begin with `#` or `!`. A key ends at `=`, `:` or a blank. A backslash at the end
/// of a line continues the property on the next line.
fn parse(text: &str) -> Vec<Property> {
    let mut lines = (1..).zip(text.lines());
    let mut found = Vec::new();
    while let Some((line, first)) = lines.next() {
        let mut logical = first.trim_start().to_owned();
        if logical.is_empty() || logical.starts_with(['#', '!']) {
            continue;
        }
        while logical.bytes().rev().take_while(|&byte| byte == b'\\').count() % 2 == 1 {
            logical.pop();
            logical.push_str(lines.next().map_or("", |(_, next)| next.trim_start()));
        }
        let mut escaped = false;
        let ends = |c: char| {
            let ends = !escaped && matches!(c, '=' | ':' | ' ' | '\t');
            escaped = !escaped && c == '\\';
            ends
        };
        let (key, rest) = logical.split_at(logical.find(ends).unwrap_or(logical.len()));
        let rest = rest.trim_start();
        let value = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim();
        found.push(Property { line, key: unescaped(key), value: unescaped(value) });
    }
    found
}

/// Decodes the escape sequences of Java properties, such as `\t`, `\u0020` and `\:`.
fn unescaped(text: &str) -> String {
    let (mut out, mut characters) = (String::new(), text.chars());
    while let Some(character) = characters.next() {
        match (character, if character == '\\' { characters.next() } else { None }) {
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('r')) => out.push('\r'),
            ('\\', Some('u')) => {
                let digits: String = characters.by_ref().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                out.push(code.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            ('\\', Some(other)) => out.push(other),
            (other, _) => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_read_as_java_reads_them() {
        let text = "# a comment\n! another\n\n graph.a.x = 1 \ngraph.a.y:two words\nz\\=\\u0041  b, \\\n   c\nempty\n";
        let found: Vec<_> = parse(text).into_iter().map(|p| (p.line, p.key, p.value)).collect();
        let expected = [(4, "graph.a.x", "1"), (5, "graph.a.y", "two words"), (6, "z=A", "b, c"), (8, "empty", "")];
        assert_eq!(found, expected.map(|(line, key, value)| (line, key.to_owned(), value.to_owned())));
    }
}
