//! Detects text that begins like another format, and rejects it with an error that names that format.

use crate::formats::Fault;

/// Returns a parse error if the file begins like another format. `named` is true if the user named the format.
pub(super) fn check(start: &[u8], named: bool) -> Result<(), Fault> {
    // If the user named the format, the file is read in that format.
    if !named && start.starts_with(b"%%MatrixMarket") {
        let remedy =
            "name the format mtx, or text if the line is a comment above a plain list: [input] format, convert --from";
        return Err(Fault::new(0, "an edge list", "a Matrix Market header", remedy));
    }
    if !named && start.starts_with(b"% bip") {
        let remedy = "add the size of the first set to the ids of the second, or name the format text if that is done";
        return Err(Fault::new(0, "ids of one set", "KONECT's header of two sets, each with ids from 1", remedy));
    }
    if !named && is_dimacs(start) {
        let remedy = "name the format gr: [input] format, convert --from";
        return Err(Fault::new(0, "an edge list", "DIMACS's header of shortest paths", remedy));
    }
    Ok(())
}

/// Returns true if `start` contains the header of a DIMACS shortest path file, perhaps after comments.
fn is_dimacs(start: &[u8]) -> bool {
    let mut lines = start.split(|c| *c == b'\n').map(<[u8]>::trim_ascii);
    lines
        .find(|line| !(line.is_empty() || *line == b"c" || line.starts_with(b"c ")))
        .is_some_and(|line| line.starts_with(b"p sp "))
}
