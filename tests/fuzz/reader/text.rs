//! Edge lists: two ids a line, comments, a heading, more columns.

use super::number::{self, Id};
use super::{Edge, Reading, lines, trim};

/// Pairs of names that a heading may have for the two ends.
const ENDS: [[&str; 2]; 4] = [["source", "target"], ["src", "dst"], ["from", "to"], ["u", "v"]];

/// Reads a list; `weighted` says that the name of the file tells of weights.
pub fn read(bytes: &[u8], weighted: bool) -> Option<Reading> {
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
    let (mut indexed, mut semicolons, mut third_of_first) = (Vec::new(), None, None);
    // A return alone is no blank: old Macs ended lines so, and `1 2<CR>3 4` is not one edge.
    for line in lines(bytes, b'\n', &mut open).iter().map(|line| trim(line)) {
        if line.is_empty() || matches!(line[0], b'#' | b'%') {
            open |= line.starts_with(b"%%MatrixMarket");
            continue;
        }
        // Where semicolons separate, a first one stands behind an empty cell.
        let row = line[0] == b';' && line[1..].contains(&b';') && semicolons.unwrap_or(true);
        if (line[0] == b';' && !row) || line.starts_with(b"//") {
            open = true;
            continue;
        }
        semicolons.get_or_insert(line.contains(&b';'));
        open |= row;
        // Empty cells between tabs are cells, or the tabs are wide.
        let mut odd = line.windows(2).any(|pair| pair == b"\t\t");
        let mut fields = fields(line, &mut odd)?;
        // So are lines of one file with different separators.
        let commas = line.contains(&b',');
        odd |= *separated.get_or_insert(commas) != commas;
        open |= odd;
        let cells = (commas && !line.contains(&b'{')).then(|| cells(line));
        let columns = *at.get_or_insert_with(|| {
            // Blanks between commas are part of a name, or they separate.
            open |= cells.as_ref().is_some_and(|cells| *cells != fields);
            let word = |cell: &Vec<u8>| cell.first().is_none_or(u8::is_ascii_alphabetic);
            let named = cells.as_ref().filter(|cells| word(&cells[0])).and_then(|cells| heading(cells, &mut open));
            let named = named.or_else(|| heading(&fields, &mut open));
            named.map_or(Columns::First, Columns::Named)
        });
        let columns = match columns {
            Columns::First => [0, 1],
            // The heading itself.
            Columns::Named(columns) => {
                // Braces are a name in a heading, and attributes below it.
                let names = cells.map_or(fields.len(), |cells| cells.len());
                at = Some(Columns::Below(columns, names + usize::from(line.contains(&b'{'))));
                columns?;
                continue;
            }
            // R writes the numbers of its rows without a name above them. A comma behind the last cell is one too many.
            Columns::Below(columns, names)
                if fields.len() == names + 1
                    && names > 1
                    && !odd
                    && fields.last().is_some_and(|last| !last.is_empty())
                    && columns
                        .is_none_or(|ends| ends.iter().all(|end| fields[end + 1].iter().all(u8::is_ascii_digit))) =>
            {
                open = true;
                columns?.map(|column| column + 1)
            }
            Columns::Below(columns, names) => {
                // Blanks in a cell separate nothing where there are as many cells as names.
                let fits = |cells: &Vec<_>| separated == Some(true) && cells.len() == names && fields.len() != names;
                if let Some(cells) = cells.filter(fits) {
                    open = true;
                    fields = cells;
                }
                open |= fields.len() != names;
                columns?
            }
        };
        alone |= edges.is_empty() && fields.len() == 1;
        let mut ends = [0; 2];
        // Behind a semicolon words are a comment where no ids stand.
        let is_number =
            |column: &usize| fields.get(*column).is_some_and(|id| id.first().is_some_and(u8::is_ascii_digit));
        if row
            && line.iter().any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii())
            && !columns.iter().any(is_number)
        {
            continue;
        }
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
        let third =
            fields.get(2).filter(|third| matches!(at, Some(Columns::First)) && third.iter().all(u8::is_ascii_digit));
        indexed.push(third.and_then(|third| Some((ends[0], std::str::from_utf8(third).ok()?.parse().ok()?))));
        if edges.is_empty() {
            third_of_first = fields.get(2).and_then(|third| std::str::from_utf8(third).ok()?.parse::<u64>().ok());
        }
        edges.push(ends);
    }
    // A first column that counts the lines beside two more of whole numbers is an index, unless the third are all the same.
    // Of a few lines nobody can say.
    if !weighted && is_index(&indexed) {
        if indexed.len() >= 8 && !open {
            return None;
        }
        open = true;
    }
    // A heading above nothing.
    open |= edges.is_empty() && at.is_some();
    let below = edges.len() as u64 - u64::from(!edges.is_empty());
    let counts = |number: u64| {
        [Some(below), below.checked_mul(2), below.is_multiple_of(2).then_some(below / 2)].contains(&Some(number))
    };
    open |= edges.first().is_some_and(|first| counts(first[1])) || third_of_first.is_some_and(counts);
    (!alone).then_some(Reading { edges, vertices: None, open })
}

/// True for rows of which the first columns count from 0 or 1 and the third ones are numbers that differ.
fn is_index(rows: &[Option<(u64, u64)>]) -> bool {
    let counts = |base: u64| {
        let number = |row: usize| rows[row].as_ref().is_some_and(|(count, _)| *count == base + row as u64);
        (0..rows.len()).all(number)
    };
    (counts(0) || counts(1)) && rows.iter().flatten().any(|(_, third)| *third != rows[0].map_or(0, |row| row.1))
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
    let word = |field: &Vec<u8>| {
        let number = field.iter().any(u8::is_ascii_digit) && !field.contains(&b' ');
        field.is_empty() || field[0].is_ascii_alphabetic() || !number
    };
    if !fields.iter().all(word) {
        return None;
    }
    *open |= fields.iter().flatten().any(u8::is_ascii_control);
    let letters = |field: &Vec<u8>| {
        let name = String::from_utf8_lossy(field).to_ascii_lowercase();
        let letters: String = name.chars().filter(|letter| letter.is_alphanumeric()).collect();
        if letters.is_empty() { name } else { letters }
    };
    // What is no letter may be part of a name, or not.
    *open |= fields.iter().any(|field| !field.iter().all(u8::is_ascii_alphanumeric));
    let names: Vec<String> = fields.iter().map(letters).collect();
    for ends in ENDS {
        let at = ends.map(|name| names.iter().position(|other| *other == name));
        if let [Some(first), Some(second)] = at {
            let once = ends.iter().all(|name| names.iter().filter(|other| other == name).count() == 1);
            *open |= !once || ENDS.iter().flatten().filter(|name| names.iter().any(|other| other == *name)).count() > 2;
            return Some(Some([first, second]));
        }
    }
    *open = true;
    // One name of each of two such pairs.
    let of = |end: usize| names.iter().position(|name| ENDS.iter().any(|ends| ends[end] == name));
    if let [Some(first), Some(second)] = [of(0), of(1)] {
        return Some(Some([first, second]));
    }
    let names = &names[..names.len() - usize::from(names.len() > 1 && names.last().is_some_and(String::is_empty))];
    let known = |name: &String| ["weight", "value", "w"].contains(&&name[..]) || name.is_empty();
    // One word alone is a title.
    let sensible = names.len() == 1 || !names[..2].iter().any(known);
    Some(sensible.then_some([0, 1]))
}

/// What stands between the commas of a line, without the blanks around it.
fn cells(line: &[u8]) -> Vec<Vec<u8>> {
    let mut quoted = false;
    let cells = line.split(|byte| {
        quoted ^= *byte == b'"';
        *byte == b',' && !quoted
    });
    cells.map(|cell| trim(cell).iter().copied().filter(|byte| *byte != b'"').collect()).collect()
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
    // True of an empty field in quotes.
    let mut empty = false;
    // True after blanks that may belong to a comma or be a separator themselves.
    let mut pending = false;
    for &byte in line {
        match byte {
            b'"' => {
                *open = true;
                if pending && !quoted && (empty || !fields.last().expect("one").is_empty()) {
                    kinds.insert(b' ');
                    fields.push(Vec::new());
                }
                pending = false;
                quoted = !quoted;
                empty = !quoted && fields.last().expect("one").is_empty();
            }
            _ if quoted => fields.last_mut().expect("one").push(byte),
            b' ' | b'\t' => pending = empty || !fields.last().expect("one").is_empty() || pending,
            b',' | b';' => {
                kinds.insert(byte);
                (pending, empty) = (false, false);
                fields.push(Vec::new());
            }
            other => {
                if pending && (empty || !fields.last().expect("one").is_empty()) {
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
