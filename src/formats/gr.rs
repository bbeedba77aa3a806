//! Reads DIMACS shortest path files: `c` comments, `p sp NODES ARCS`, then lines `a FROM TO LENGTH` with 1-based ids.
//! The lengths are the weights, so they must be numbers.

use crate::formats::bytes::tokens::{blanks, excerpt, next_line};
use crate::formats::text::decimal_commas;
use crate::formats::text::lines::{Grammar, WeightRule};
use crate::formats::{BodyLayout, Fault, Head};

const REMEDY: &str = "correct the line, or name the format that the file is in";

/// Parses the header of a DIMACS file (comments and the problem line), which begins at offset `start`.
pub(crate) fn head(prefix: &[u8], start: usize) -> Result<Head, Fault> {
    let mut at = start;
    loop {
        let first = blanks(prefix, at);
        match prefix.get(first) {
            None => return Err(Fault::new(prefix.len(), "a line \"p sp NODES ARCS\"", "the end", REMEDY)),
            Some(b'\n') => at = first + 1,
            Some(b'c') if matches!(prefix.get(first + 1), None | Some(b' ' | b'\t' | b'\r' | b'\n')) => {
                at = next_line(prefix, first);
            }
            Some(_) => break,
        }
    }
    let body = next_line(prefix, at);
    let line = String::from_utf8_lossy(&prefix[at..body.min(at + 256)]).into_owned();
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let counts = match words.as_slice() {
        ["p", "sp", nodes, arcs] => nodes.parse::<u64>().ok().zip(arcs.parse::<u64>().ok()),
        _ => None,
    };
    let Some((nodes, arcs)) = counts else {
        return Err(Fault::new(at, "a line \"p sp NODES ARCS\" above the arcs", excerpt(prefix, at), REMEDY));
    };
    let grammar = Grammar {
        tag: Some(b'a'),
        comments: b"c",
        commas: false,
        single_tabs: false,
        base: 1,
        largest: nodes,
        weight: WeightRule::Required,
        attributes: false,
        quoted: None,
        expected: format!("\"a FROM TO LENGTH\" with ids from 1 to {nodes}"),
        remedy: |data| decimal_commas(data).unwrap_or(REMEDY).into(),
    };
    let head = Head::of(BodyLayout::Lines(grammar), body);
    Ok(Head { vertices: Some(nodes), entries: Some(arcs), weighted: true, ..head })
}
