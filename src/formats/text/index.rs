//! Detects tables without a header line whose first column is a row index, as pandas and R write them.

use super::fields::Delimiter;
use super::window::{NextLine, TextWindow};
use crate::formats::Fault;
use crate::formats::bytes::tokens::number;

/// Number of lines from which consecutive numbers in the first column suffice to recognise it as a row index. A shorter
/// table must also have other properties of tables that pandas or R write.
const FEW: usize = 8;
/// Minimum number of lines of a table whose first column can be recognised as a row index.
const FEWEST: usize = 3;

/// Rejects a table whose first column is a row index from 0 or 1 and is followed by two more integer columns. If the
/// index were read as an id, the graph would be a different one. `at` is the offset of the first line.
///
/// The index must be consecutive in all lines of the window. If the third column is constant or has fractions, it is a
/// weight, and the table is accepted. In a short table, only commas and connected ids are evidence of an index,
/// because `0 1 5`, `1 2 3`, `2 0 7` is a triangle with weights.
pub(super) fn check(window: &TextWindow<'_>, at: usize, delimiter: Delimiter) -> Result<(), Fault> {
    let (mut next, mut lines) = (at, Vec::new());
    let mut counted = 0;
    let (mut base, mut third, mut differ) = (0, 0, false);
    while let NextLine::Line { start, end } = window.next(next) {
        let Some([count, v, w]) = three_ids(window.line(start, end)) else { return Ok(()) };
        if counted == 0 {
            (base, third) = (count, w);
        }
        if base > 1 || count.wrapping_sub(base) != counted {
            return Ok(());
        }
        differ |= w != third;
        counted += 1;
        if lines.len() < FEW {
            lines.push([v, w]);
        }
        next = end;
    }
    let is_few = window.whole && lines.len() < FEW;
    let looks_so = delimiter != Delimiter::Blanks && lines.len() >= FEWEST && may_be_connected(&lines);
    if !differ || (is_few && !looks_so) {
        return Ok(());
    }
    let shown =
        format!("a first column that counts the lines ({base}, {}, {}, ...) as an index does", base + 1, base + 2);
    let remedy = "say which columns are the ids: [input] columns = [2, 3], convert --columns 2,3; or columns = [1, 2, 3] (--columns 1,2,3) \
                  if the first is an id, too, and the third a weight";
    Err(Fault::new(at, "two ids in the first two columns of a file without a header line", shown, remedy))
}

/// Returns the first three fields of a line, separated in any way, if all three are ids.
fn three_ids(line: &[u8]) -> Option<[u64; 3]> {
    let fields = line.split(|c| matches!(c, b' ' | b'\t' | b',' | b';')).filter(|field| !field.is_empty());
    let id = |field: &[u8]| {
        let field = field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")).unwrap_or(field);
        number(field, 0).filter(|(_, end)| *end == field.len()).map(|(id, _)| id)
    };
    let mut ids = fields.map(id);
    Some([ids.next()??, ids.next()??, ids.next()??])
}

/// Returns true if `edges` may form a connected graph: the number of ids exceeds that of edges by at most one.
fn may_be_connected(edges: &[[u64; 2]]) -> bool {
    let mut ids = edges.concat();
    ids.sort_unstable();
    ids.dedup();
    ids.len() <= edges.len() + 1
}
