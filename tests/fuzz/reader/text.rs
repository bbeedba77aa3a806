//! Edge lists: two ids a line, comments, a heading, more columns.

use super::number::{self, Id};
use super::{Edge, Reading, lines, trim};

/// Pairs of names that a heading may have for the two ends.
const ENDS: [[&str; 2]; 4] = [["source", "target"], ["src", "dst"], ["from", "to"], ["u", "v"]];

pub fn read(bytes: &[u8]) -> Option<Reading> {
    let mut open = false;
    let bytes = match bytes.strip_prefix("\u{feff}".as_bytes()) {
        Some(bytes) => {
            open = true;
            bytes
        }
        None => bytes,
    };
    let mut edges: Vec<Edge> = Vec::new();
    let mut at = None;
    let mut alone = false;
    let (mut width, mut separated) = (None, None);
    // A return alone is no blank: old Macs ended lines so, and `1 2<CR>3 4` is not one edge.
    for line in lines(bytes, b'\n', &mut open).iter().map(|line| trim(line)) {
        if line.is_empty() || matches!(line[0], b'#' | b'%') {
            open |= line.starts_with(b"%%MatrixMarket");
            continue;
        }
        if line[0] == b';' || line.starts_with(b"//") {
            open = true;
            continue;
        }
        let mut odd = false;
        let fields = fields(line, &mut odd)?;
        // So are lines of one file with different separators.
        let commas = line.contains(&b',');
        odd |= *separated.get_or_insert(commas) != commas;
        open |= odd;
        let columns = *at.get_or_insert_with(|| heading(&fields, &mut open).map_or(Columns::First, Columns::Named));
        let columns = match columns {
            Columns::First => [0, 1],
            // The heading itself.
            Columns::Named(columns) => {
                // Braces are a name in a heading, and attributes below it.
                at = Some(Columns::Below(columns, fields.len() + usize::from(line.contains(&b'{'))));
                columns?;
                continue;
            }
            // R writes the numbers of its rows without a name above them.
            Columns::Below(columns, names) if fields.len() == names + 1 && names > 1 => {
                open = true;
                columns?.map(|column| column + 1)
            }
            Columns::Below(columns, names) => {
                open |= fields.len() != names;
                columns?
            }
        };
        alone |= edges.is_empty() && fields.len() == 1;
        let mut ends = [0; 2];
        for (end, column) in ends.iter_mut().zip(columns) {
            *end = number::id(fields.get(column)?).map(|id: Id| id.take(&mut open))?;
        }
        // Rows of different lengths are no table: neighbours in a line, for one, of which all but the first would be lost.
        // A weight may be missing.
        let columns = fields.len() - usize::from(fields.last().is_some_and(Vec::is_empty));
        let first = *width.get_or_insert(columns);
        open |= first != columns;
        odd |= fields.iter().any(Vec::is_empty);
        if first != columns && first.max(columns) > 3 && !odd {
            return None;
        }
        // A third column of numbers is a weight; what else may stand there is left open.
        open |= fields.len() > 3 || fields.iter().any(|field| !number::is_decimal(field));
        edges.push(ends);
    }
    // A heading above nothing.
    open |= edges.is_empty() && at.is_some();
    open |= edges.first().is_some_and(|first| first[1] == edges.len() as u64 - 1);
    (!alone).then_some(Reading { edges, vertices: None, open })
}

#[derive(Debug, Clone, Copy)]
enum Columns {
    /// There is no heading.
    First,
    /// This line is the heading; it may fit nothing.
    Named(Option<[usize; 2]>),
    /// These lines are below it, which has so many names.
    Below(Option<[usize; 2]>, usize),
}

/// The columns of the two ends by a heading; None if this line is none.
#[allow(clippy::option_option)] // no heading, and one that fits nothing
fn heading(fields: &[Vec<u8>], open: &mut bool) -> Option<Option<[usize; 2]>> {
    let word =
        |field: &Vec<u8>| field.is_empty() || field[0].is_ascii_alphabetic() || !field.iter().any(u8::is_ascii_digit);
    if !fields.iter().all(word) {
        return None;
    }
    let names: Vec<String> = fields.iter().map(|field| String::from_utf8_lossy(field).to_ascii_lowercase()).collect();
    for ends in ENDS {
        let at = ends.map(|name| names.iter().position(|other| *other == name));
        if let [Some(first), Some(second)] = at {
            let once = ends.iter().all(|name| names.iter().filter(|other| other == name).count() == 1);
            *open |= !once || ENDS.iter().flatten().filter(|name| names.iter().any(|other| other == *name)).count() > 2;
            return Some(Some([first, second]));
        }
    }
    *open = true;
    let names = &names[..names.len() - usize::from(names.len() > 1 && names.last().is_some_and(String::is_empty))];
    let known = |name: &String| ["weight", "value", "w"].contains(&&name[..]) || name.is_empty();
    // One word alone is a title.
    let sensible = names.len() == 1 || !names[..2].iter().any(known);
    Some(sensible.then_some([0, 1]))
}

/// The fields of a line. Blanks around a comma or semicolon belong to it; two of these have an empty field between them.
fn fields(line: &[u8], open: &mut bool) -> Option<Vec<Vec<u8>>> {
    // What NetworkX writes behind an edge.
    let (line, attributes) = match line.iter().position(|byte| *byte == b'{') {
        Some(at) => (trim(&line[..at]), &line[at..]),
        None => (line, &[][..]),
    };
    if !attributes.is_empty() {
        *open = true;
    }
    let mut fields = vec![Vec::new()];
    let mut kinds = std::collections::BTreeSet::new();
    let mut quoted = false;
    // True after blanks that may belong to a comma or be a separator themselves.
    let mut pending = false;
    for &byte in line {
        match byte {
            b'"' => {
                *open = true;
                if pending && !quoted && !fields.last().expect("one").is_empty() {
                    kinds.insert(b' ');
                    fields.push(Vec::new());
                }
                pending = false;
                quoted = !quoted;
            }
            _ if quoted => fields.last_mut().expect("one").push(byte),
            b' ' | b'\t' => pending = !fields.last().expect("one").is_empty() || pending,
            b',' | b';' => {
                kinds.insert(byte);
                pending = false;
                fields.push(Vec::new());
            }
            other => {
                if pending && !fields.last().expect("one").is_empty() {
                    kinds.insert(b' ');
                    fields.push(Vec::new());
                }
                pending = false;
                fields.last_mut().expect("one").push(other);
            }
        }
    }
    // A quote that is not closed is one in a cell that nobody needs, or the file is refused.
    *open |= kinds.len() > 1 || quoted;
    Some(fields)
}
