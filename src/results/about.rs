//! Descriptions of the columns under `out/`. The report and `docs/reference/results.md` describe each column in the same words.

use super::OutputFormat;
use crate::store::regular;
use std::io::Read;
use std::path::Path;

/// A column, by the name of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Name of the file without its extension.
    pub name: &'static str,
    /// The meaning of a row's value.
    pub holds: &'static str,
    /// The value of a vertex that has none.
    pub missing: &'static str,
}

/// All columns.
pub const COLUMNS: [About; 16] = [
    about("triangles", "triangles that the vertex is in", "0"),
    about("clustering", "share of pairs of neighbours that are joined, from 0 to 1", "0"),
    about("degree", "neighbours in the simple graph without direction", "0"),
    about(
        "parent",
        "vertex before this one on the way from the source; a source or root is its own",
        "-1: not reached",
    ),
    about("level", "edges on the way from the source", "-1: not reached"),
    about("distance", "sum of weights on the shortest path from the source", "2^64 - 1, or inf: not reached"),
    about("preorder", "number in the order in which the search reaches vertices, from 0", "-1: not reached"),
    about("postorder", "number in the order in which the search leaves vertices, from 0", "-1: not reached"),
    about("depth", "edges on the way from the root of the tree", "-1: not reached"),
    about("articulation", "1 if the graph falls apart without the vertex", "-1: not reached"),
    about("bridge", "1 if the graph falls apart without the edge from the parent", "-1: not reached"),
    about("component", "first vertex of the strongly connected component", "-1: not reached"),
    about("topological", "place in an order in which every edge leads forward, from 0", "-1: not reached"),
    about("cycle", "vertices of a cycle in its order, a row for each", "none"),
    about("rank", "elements between this one and the end of the list that ranks are counted from", "none"),
    about("ids", "id in the input, sorted: row i of every other column is of the id in row i", "none"),
];

const fn about(name: &'static str, holds: &'static str, missing: &'static str) -> About {
    About { name, holds, missing }
}

/// Returns the description of the column in a file.
pub fn about_file(path: &Path) -> Option<&'static About> {
    let stem = path.file_stem()?;
    COLUMNS.iter().find(|column| stem == column.name)
}

/// Type and number of rows of a column, read from its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Name of the type in numpy, such as `int64`; `text` for CSV.
    pub kind: String,
    /// Number of rows; unknown for text.
    pub rows: Option<u64>,
}

impl Shape {
    /// Reads the header of a file in `out/`; `None` if the file is not a column.
    pub fn of(path: &Path) -> Option<Shape> {
        if path.extension()? != OutputFormat::Npy.ending() {
            return Some(Shape { kind: "text".into(), rows: None });
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
        Some(Shape { kind: format!("{kind}{}", 8 * bits.parse::<u32>().ok()?), rows: Some(rows) })
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
            assert_eq!(about_file(&to).unwrap().name, "level");
            Shape::of(&to).unwrap()
        };
        assert_eq!(of(OutputFormat::Npy), Shape { kind: "int32".into(), rows: Some(3) });
        assert_eq!(of(OutputFormat::Csv), Shape { kind: "text".into(), rows: None });
        std::fs::write(folder.path().join("bad.npy"), "no array").unwrap();
        assert_eq!(Shape::of(&folder.path().join("bad.npy")), None);
    }

    #[test]
    fn the_page_about_results_has_every_column() {
        let page =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/results.md")).unwrap();
        for About { name, holds, missing } in COLUMNS {
            let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
            let row = row.unwrap_or_else(|| panic!("docs/reference/results.md has no row for {name}"));
            assert!(row.contains(holds) && row.contains(missing), "{name}: {row}");
        }
    }
}
