//! Reads Matrix Market coordinate files (<https://math.nist.gov/MatrixMarket/formats.html>): square matrices whose
//! field is pattern, integer or real and whose symmetry is general or symmetric, with 1-based ids. Each stored entry
//! is an edge. A symmetric matrix stores only one direction of each undirected edge. Values are the weights, so they
//! must be numbers. If weights are skipped, a value may be `nan`.

use crate::formats::bytes::tokens::{blanks, excerpt, next_line, number};
use crate::formats::text::decimal_commas;
use crate::formats::text::lines::{Grammar, WeightRule};
use crate::formats::{BodyLayout, Directions, Fault, Head};

const REMEDY: &str = "only square coordinate matrices (pattern, integer or real; general or symmetric) are graphs";
const CORRECT: &str = "correct the line, or the header";

/// Parses the banner, the comments and the size line, which begin at offset `start`. If direction is kept, rejects a
/// symmetric matrix, because the file contains only one half of it.
pub(crate) fn head(prefix: &[u8], start: usize, keeps_direction: bool) -> Result<Head, Fault> {
    let end = next_line(prefix, start).min(1024);
    let banner = String::from_utf8_lossy(&prefix[start..end]).to_ascii_lowercase();
    let words: Vec<&str> = banner.split_ascii_whitespace().collect();
    let bad = |expected: &str| Fault::new(start, expected, excerpt(prefix, start), REMEDY);
    let &["%%matrixmarket", object, format, field, symmetry] = words.as_slice() else {
        return Err(bad("the header \"%%MatrixMarket matrix coordinate FIELD SYMMETRY\""));
    };
    if object != "matrix" {
        return Err(bad("\"matrix\" as the second word"));
    }
    if format != "coordinate" {
        return Err(bad("\"coordinate\" as the third word"));
    }
    let weight = match field {
        "pattern" => WeightRule::Never,
        "integer" | "real" | "double" => WeightRule::Required,
        _ => return Err(bad("pattern, integer or real values")),
    };
    if symmetry != "general" && symmetry != "symmetric" {
        return Err(bad("general or symmetric as the last word"));
    }
    if keeps_direction && symmetry == "symmetric" {
        let remedy = "write both halves of the matrix as general, or leave direction out (directed = false in [input])";
        let expected = "general as the last word, because direction is kept";
        return Err(Fault::new(0, expected, excerpt(prefix, start), remedy));
    }

    let mut at = next_line(prefix, start);
    loop {
        match prefix.get(blanks(prefix, at)) {
            None => return Err(Fault::new(prefix.len(), "a line of rows, columns and entries", "the end", CORRECT)),
            Some(b'%' | b'\n') => at = next_line(prefix, at),
            Some(_) => break,
        }
    }
    let sizes = || {
        let mut next = blanks(prefix, at);
        let mut sizes = [0; 3];
        for size in &mut sizes {
            let (value, end) = number(prefix, next)?;
            let blank = blanks(prefix, end);
            (blank > end || matches!(prefix.get(end), None | Some(b'\n'))).then_some(())?;
            (*size, next) = (value, blank);
        }
        matches!(prefix.get(next), None | Some(b'\n')).then_some(sizes)
    };
    let Some([rows, columns, entries]) = sizes() else {
        return Err(Fault::new(at, "three whole numbers: rows, columns and entries", excerpt(prefix, at), CORRECT));
    };
    if rows != columns {
        return Err(Fault::new(at, "as many rows as columns", format!("{rows} rows, {columns} columns"), REMEDY));
    }
    let value = if weight == WeightRule::Never { "nothing" } else { "a number" };
    let grammar = Grammar {
        tag: None,
        comments: b"%",
        commas: false,
        single_tabs: false,
        base: 1,
        largest: rows,
        weight,
        attributes: false,
        quoted: None,
        expected: format!("row and column from 1 to {rows} and {value} behind them"),
        remedy: |data| decimal_commas(data).unwrap_or(CORRECT).into(),
    };
    let (body, weighted) = (next_line(prefix, at), weight != WeightRule::Never);
    let directions = if symmetry == "symmetric" { Directions::Half } else { Directions::Listed };
    let head = Head::of(BodyLayout::Lines(grammar), body);
    Ok(Head { vertices: Some(rows), entries: Some(entries), weighted, directions, ..head })
}
