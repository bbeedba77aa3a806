//! The file formats of lists, with their names and file name extensions.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{At, Error, Result};
use crate::formats::ending;

/// A file format of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ListFormat {
    /// Text, separated by any whitespace: the number of elements, then the successor of each element. -1 marks the last
    /// element of the list.
    List,
    /// Array of little-endian `i32`: the successor of each element. -1 marks the last element of the list.
    I32,
    /// Array of little-endian `i64`: the successor of each element. -1 marks the last element of the list.
    I64,
}

impl ListFormat {
    /// All list formats, in the order of the documentation.
    pub const ALL: [ListFormat; 3] = [ListFormat::List, ListFormat::I32, ListFormat::I64];

    /// Returns the name of the format in job files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ListFormat::List => "list",
            ListFormat::I32 => "i32",
            ListFormat::I64 => "i64",
        }
    }

    /// Returns the format that the extension of `path` implies; `None` if files other than lists may have that
    /// extension. A compression extension, such as `.gz`, is ignored.
    pub fn by_ending(path: &Path) -> Option<ListFormat> {
        match ending(path)?.as_str() {
            "list" | "lst" => Some(ListFormat::List),
            "i32" => Some(ListFormat::I32),
            "i64" => Some(ListFormat::I64),
            _ => None,
        }
    }

    /// Returns the format `named` by the user, or else the format that the extension implies. Here `.txt` also means
    /// [`ListFormat::List`].
    ///
    /// # Errors
    /// [`Error::Input`] if no format is named and no list format has this extension.
    pub fn of(path: &Path, named: Option<ListFormat>) -> Result<ListFormat> {
        let text = || ending(path).filter(|ending| ending == "txt").map(|_| ListFormat::List);
        named.or_else(|| ListFormat::by_ending(path)).or_else(text).ok_or_else(|| {
            Error::input(
                path,
                At::File,
                "a name that says its format as a list (.list .lst .txt .i32 .i64, also with .gz, .zst, .bz2 or .xz behind)",
                match ending(path) {
                    Some(end) => format!("the ending .{end}"),
                    None => "no ending".into(),
                },
                "name the format: list, i32 or i64 (in a job [input] format, for convert --from or --to)",
            )
        })
    }

    /// Returns the size in bytes of an element in a file of this format; `None` for text, where it varies.
    pub fn width(self) -> Option<u64> {
        match self {
            ListFormat::List => None,
            ListFormat::I32 => Some(4),
            ListFormat::I64 => Some(8),
        }
    }
}

impl std::fmt::Display for ListFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for ListFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        ListFormat::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| format!("unknown format of lists {name:?}: one of list, i32, i64"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_endings() {
        for format in ListFormat::ALL {
            assert_eq!(format.name().parse(), Ok(format));
            for packing in ["", ".gz", ".zst", ".bz2", ".xz"] {
                let name = format!("a/b.{format}{packing}");
                assert_eq!(ListFormat::by_ending(Path::new(&name)), Some(format));
            }
        }
        assert_eq!(ListFormat::by_ending(Path::new("x.LST.gz")), Some(ListFormat::List));
        assert_eq!(ListFormat::by_ending(Path::new("x.txt")), None);
        assert_eq!(ListFormat::of(Path::new("x.txt.zst"), None).unwrap(), ListFormat::List);
        assert_eq!(ListFormat::of(Path::new("x.u32"), Some(ListFormat::I32)).unwrap(), ListFormat::I32);
        for name in ["x.u32", "x", "list", "x.csv.gz"] {
            let error = ListFormat::of(Path::new(name), None).unwrap_err();
            assert_eq!(error.exit_code(), 3);
            assert!(error.to_string().contains("name the format"), "{error}");
        }
        assert!("I32".parse::<ListFormat>().is_err());
    }
}
