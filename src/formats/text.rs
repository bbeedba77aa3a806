//! SNAP style edge lists: two ids a line, blanks, tabs, commas or semicolons between, `#` and `%` comments.
//!
//! A third column is a weight: it must be a number and is not read yet. More columns are refused, as they are
//! another format (or another meaning) than edges. The first line that is no comment may be a heading (column
//! names of a csv file, a link): it is skipped where it starts with a letter, a quote or an underscore; outside
//! .csv and .tsv files an edge or a comment must follow it, so that a text of another kind is not a graph.

use std::path::Path;

use super::format::ending;
use super::layout::{Head, Layout};
use super::lines::{Grammar, Weight, blanks, excerpt, has_lone_return, lone_return, next_line};
use super::sink::Fault;

const REMEDY: &str = "correct the line, or name the format that the file is in";

fn grammar() -> Grammar {
    Grammar {
        tag: None,
        comments: *b"#%",
        commas: true,
        base: 0,
        largest: u64::MAX,
        weight: Weight::Optional,
        expected: "two ids (whole numbers from 0 to 2^64-1), perhaps a weight behind them".into(),
        remedy: REMEDY,
    }
}

/// Whether any field of a line is a number, quoted or not (`nan` is one): it is no heading then, which would be left out.
fn has_numbers(line: &[u8]) -> bool {
    let line = String::from_utf8_lossy(line);
    let fields = line.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
    fields.map(|field| field.trim_matches(['"', '\''])).any(|field| field.parse::<f64>().is_ok())
}

/// Finds the first line of edges in `prefix`, the first bytes of the file.
pub(crate) fn head(prefix: &[u8], path: &Path) -> Result<Head, Fault> {
    let grammar = grammar();
    // a byte order mark, as some spreadsheets write
    let mut at = if prefix.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let whole = Head { layout: Layout::Lines(grammar), body: at, vertices: None, entries: None };
    if prefix.starts_with(b"%%MatrixMarket") {
        let remedy = "name the format mtx";
        return Err(Fault::new(0, "an edge list", "a Matrix Market header", remedy));
    }
    while let Some(first) = prefix.get(blanks(prefix, at)) {
        match first {
            b'#' | b'%' if has_lone_return(prefix, at) => return Err(lone_return(prefix, at)),
            b'\n' | b'#' | b'%' => at = next_line(prefix, at),
            b'a'..=b'z' | b'A'..=b'Z' | b'"' | b'_' | b'\'' => {
                let next = next_line(prefix, at);
                let table = matches!(ending(path).as_deref(), Some("csv" | "tsv"));
                let line = &prefix[at..next];
                let text = line.iter().all(|c| *c >= b' ' || c.is_ascii_whitespace()) && !has_numbers(line);
                let follows = prefix.get(blanks(prefix, next));
                let edges = follows.is_some_and(|c| c.is_ascii_digit() || matches!(c, b'#' | b'%'));
                if text && (edges || table && follows.is_none()) {
                    return Ok(Head { body: next, ..whole });
                }
                return Err(Fault::new(
                    at,
                    "edges, or one heading without numbers above them",
                    excerpt(prefix, at),
                    REMEDY,
                ));
            }
            _ => break,
        }
    }
    Ok(whole)
}
