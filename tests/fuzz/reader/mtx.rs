//! Matrix Market coordinate files (<https://math.nist.gov/MatrixMarket/formats.html>): square, pattern, integer or
//! real, general or symmetric.

use super::number::{self, id, is_decimal, may_be_number};
use super::{Reading, lines, trim, words};

pub fn read(bytes: &[u8]) -> Option<Reading> {
    let mut open = false;
    let lines = lines(bytes, b' ', &mut open);
    let banner: Vec<String> =
        words(lines.first()?).iter().map(|word| String::from_utf8_lossy(word).to_ascii_lowercase()).collect();
    let [head, object, kind, field, symmetry] = &banner[..] else { return None };
    if [&head[..], object, kind] != ["%%matrixmarket", "matrix", "coordinate"] {
        return None;
    }
    open |= lines[0].first() != Some(&b'%') || !lines[0].starts_with(b"%%MatrixMarket ");
    let columns = match &field[..] {
        "pattern" => 2,
        "integer" | "real" => 3,
        "double" => {
            open = true;
            3
        }
        _ => return None,
    };
    match &symmetry[..] {
        "general" | "symmetric" => {}
        "skew-symmetric" => open = true,
        _ => return None,
    }

    let mut size: Option<[u64; 2]> = None;
    let mut edges = Vec::new();
    for line in lines[1..].iter().map(|line| trim(line)) {
        if line.first() == Some(&b'%') {
            // Comments stand before the size.
            open |= size.is_some();
            continue;
        }
        let words = words(line);
        if words.is_empty() {
            continue;
        }
        let Some([ids, _]) = size else {
            let [rows, columns, entries] = words[..] else { return None };
            let mut take = |word| Some(id(word)?.take(&mut open));
            let (rows, columns, entries) = (take(rows)?, take(columns)?, take(entries)?);
            if rows != columns {
                return None;
            }
            size = Some([rows, entries]);
            continue;
        };
        open |= words.len() != columns;
        if words.len() < columns {
            return None;
        }
        let mut ends = [0; 2];
        for (end, word) in ends.iter_mut().zip(&words) {
            *end = id(word)?.take(&mut open);
            if *end == 0 || *end > ids {
                return None;
            }
        }
        // A symmetric file has its lower triangle only.
        open |= symmetry != "general" && ends[0] < ends[1];
        if let Some(value) = words.get(2) {
            let whole = number::digits(value.strip_prefix(b"-").unwrap_or(value)).is_some();
            open |= !is_decimal(value) || field == "integer" && !whole;
            if columns == 3 && !may_be_number(value) {
                return None;
            }
        }
        edges.push(ends.map(|end| end - 1));
    }
    let [ids, entries] = size?;
    (edges.len() as u64 == entries).then_some(Reading { edges, vertices: Some(ids), open })
}
