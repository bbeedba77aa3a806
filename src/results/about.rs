//! Descriptions of the columns under `out/`. The report and `docs/reference/results.md` both use these descriptions.

use super::OutputFormat;
use crate::store::regular;
use std::io::Read;
use std::path::Path;

/// Description of a result column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// File name of the column without its extension.
    pub name: &'static str,
    /// Description, for users, of what the column's values mean.
    pub holds: &'static str,
    /// Description, for users, of the value of a vertex without a result.
    pub missing: &'static str,
    is_of_vertices: bool,
}

impl About {
    /// Description of the column with the parent of each vertex in a search tree.
    pub const PARENT: About =
        About::new("parent", "predecessor on the path from the source; a source or root is its own", NOT_REACHED);
    /// Description of the column with the level of each vertex in a breadth-first search.
    pub const LEVEL: About = About::new("level", "edges on the path from the source", NOT_REACHED);
    /// Description of the column with the id of each row, for a graph with sparse ids or string ids.
    pub const IDS: About =
        About::new("ids", "input ids, ascending: row i of every other column belongs to the id in row i", ALWAYS);

    /// Returns the description of the vertex column `name`.
    pub const fn new(name: &'static str, holds: &'static str, missing: &'static str) -> About {
        About { name, holds, missing, is_of_vertices: true }
    }

    /// Returns the description of a column `name` whose rows stand for something other than vertices, such as edges.
    pub const fn of_others(name: &'static str, holds: &'static str) -> About {
        About { name, holds, missing: ALWAYS, is_of_vertices: false }
    }

    /// Returns true if each row of the column stands for a vertex of the graph.
    pub fn is_of_vertices(&self) -> bool {
        self.is_of_vertices
    }
}

/// Text in place of the description of missing values, for a column in which every row has a value.
const ALWAYS: &str = "none";

/// Description of the value that a search writes for an unreached vertex.
pub const NOT_REACHED: &str = "-1: not reached";

/// Type and number of rows of a column, as its file declares them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnShape {
    /// NumPy's name of the type, such as `int64`; `text` for CSV and `table` for Parquet.
    pub kind: String,
    /// Number of rows of the column; `None` for CSV and Parquet.
    pub rows: Option<u64>,
}

impl ColumnShape {
    /// Reads the type and number of rows of the column in the file `path`; `None` if the file is not a column.
    pub fn of(path: &Path) -> Option<ColumnShape> {
        if path.extension()? != OutputFormat::Npy.ending() {
            let kind = if path.extension()? == OutputFormat::Parquet.ending() { "table" } else { "text" };
            return Some(ColumnShape { kind: kind.into(), rows: None });
        }
        let mut head = Vec::new();
        regular::open(path).ok()?.take(256).read_to_end(&mut head).ok()?;
        let text = String::from_utf8_lossy(&head);
        let (kind, bits) = text.split_once("'descr': '<")?.1.split_once('\'')?.0.split_at_checked(1)?;
        let kind = match kind {
            "u" => "uint",
            "i" => "int",
            "f" => "float",
            _ => return None,
        };
        let rows = text.split_once("'shape': (")?.1.split_once(',')?.0.parse().ok()?;
        Some(ColumnShape { kind: format!("{kind}{}", 8 * bits.parse::<u32>().ok()?), rows: Some(rows) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Column;

    #[test]
    fn type_and_rows_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let of = |format: OutputFormat| {
            let to = folder.path().join(format!("level.{}", format.ending()));
            let mut column = Column::<i32>::create("a".into(), &to, format, ["id", "level"], 3).unwrap();
            column.push(3, 1, |rows| rows.map(|row| row as i32)).unwrap();
            column.finish().unwrap();
            ColumnShape::of(&to).unwrap()
        };
        assert_eq!(of(OutputFormat::Npy), ColumnShape { kind: "int32".into(), rows: Some(3) });
        assert_eq!(of(OutputFormat::Csv), ColumnShape { kind: "text".into(), rows: None });
        assert_eq!(of(OutputFormat::Parquet), ColumnShape { kind: "table".into(), rows: None });
        std::fs::write(folder.path().join("bad.npy"), "no array").unwrap();
        assert_eq!(ColumnShape::of(&folder.path().join("bad.npy")), None);
    }
}
