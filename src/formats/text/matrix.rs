//! Recognises an adjacency matrix, whose first columns would be read as edges of another graph.

use super::advice;
use super::fields::{Delimiter, Field, split};
use super::window::{Next, Window};
use crate::formats::scan::sink::Fault;

/// Rows below which nothing can be told.
const FEWEST: usize = 3;

/// Returns the fault of a matrix whose rows begin at `at`; if `named`, a line of names is above them, and one in front of each.
///
/// A matrix is as many lines as columns, all of numbers, with the same number all along the diagonal. Of three rows it must be symmetric, too:
/// three edges with weights may look so. Of a matrix beyond the window the rows in it tell, as these are fewer than its columns.
pub(super) fn check(window: &Window<'_>, at: usize, delimiter: Delimiter, named: bool) -> Option<Fault> {
    let (mut next, mut count) = (at, 0);
    let mut first: Vec<Vec<&[u8]>> = Vec::new();
    let is_whole = loop {
        let (start, end) = match window.next(next) {
            Next::Line { start, end } => (start, end),
            Next::End => break true,
            Next::Beyond => break false,
        };
        let fields = split(window.line(start, end), delimiter)?;
        let fields = &fields[usize::from(named).min(fields.len())..];
        if !fields.iter().all(Field::is_number) {
            return None;
        }
        let row: Vec<&[u8]> = fields.iter().map(|field| field.text).collect();
        let above = first.first().unwrap_or(&row);
        if row.len() < FEWEST || row.len() != above.len() || count >= row.len() || row[count] != above[0] {
            return None;
        }
        if count < FEWEST {
            first.push(row);
        }
        (next, count) = (end, count + 1);
    };
    let columns = first.first()?.len();
    let square = if is_whole { count == columns } else { count > FEWEST };
    let symmetric = (0..first.len()).all(|row| (0..row).all(|column| first[row][column] == first[column][row]));
    (square && (columns > FEWEST || symmetric)).then(|| {
        let found =
            format!("a matrix of {columns} columns and as many rows, with {} along its diagonal", shown(first[0][0]));
        Fault::new(at, "an edge a line", found, advice::of_matrix(delimiter, named))
    })
}

fn shown(number: &[u8]) -> String {
    String::from_utf8_lossy(number).into_owned()
}
