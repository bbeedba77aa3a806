//! Archives of arrays: a matrix as scipy's `save_npz` writes it, or an `edge_index`.
//! Of the format zip (APPNOTE.TXT of PKWARE) what numpy writes: members stored or deflated, a central directory behind.

use std::collections::BTreeMap;
use std::io::Read;

use super::npy::{self, Array};
use super::{Edge, Reading};

pub fn read(bytes: &[u8]) -> Option<Reading> {
    let mut open = false;
    let members = members(bytes, &mut open)?;
    let array = |name: &str| npy::array(members.get(&format!("{name}.npy"))?);
    if members.contains_key("edge_index.npy") {
        let mut reading = npy::edges(array("edge_index")?, true)?;
        reading.open |= open;
        return Some(reading);
    }
    // Of one array alone there is no doubt which one is meant.
    if let (1, None, Some(one)) = (members.len(), members.get("format.npy"), members.values().next()) {
        let mut reading = npy::edges(npy::array(one)?, false)?;
        reading.open = true;
        return Some(reading);
    }
    let (format, shape) = (array("format")?, array("shape")?);
    let [rows, columns] = shape.values[..] else { return None };
    if rows != columns {
        return None;
    }
    let ids = u64::try_from(rows).ok()?;
    let format: Vec<u8> = format.text.into_iter().filter(|byte| *byte != 0).collect();
    let edges = match &format[..] {
        b"csr" | b"csc" => {
            let entries = compressed(ids, &array("indptr")?, &array("indices")?)?;
            // Lists of columns: an entry is in the row that stands in them.
            entries.into_iter().map(|[u, v]| if format == b"csc" { [v, u] } else { [u, v] }).collect()
        }
        b"coo" => {
            let (row, column) = (array("row")?, array("col")?);
            if row.shape != column.shape || row.shape.len() != 1 {
                return None;
            }
            row.values
                .iter()
                .zip(&column.values)
                .map(|(u, v)| end(ids, *u).zip(end(ids, *v)))
                .map(|edge| edge.map(|(u, v)| [u, v]))
                .collect::<Option<_>>()?
        }
        _ => return None,
    };
    Some(Reading { edges, vertices: Some(ids), open })
}

fn end(ids: u64, value: i128) -> Option<u64> {
    u64::try_from(value).ok().filter(|id| *id < ids)
}

/// The entries of rows that begin and end where `starts` says.
fn compressed(ids: u64, starts: &Array, ends: &Array) -> Option<Vec<Edge>> {
    if starts.values.len() as u64 != ids.checked_add(1)? || starts.values.first() != Some(&0) {
        return None;
    }
    if starts.values.last() != Some(&(ends.values.len() as i128)) {
        return None;
    }
    let mut edges = Vec::new();
    for (row, range) in starts.values.windows(2).enumerate() {
        let from = usize::try_from(range[0]).ok()?;
        for value in ends.values.get(from..usize::try_from(range[1]).ok()?)? {
            edges.push([row as u64, end(ids, *value)?]);
        }
    }
    Some(edges)
}

/// The members of a zip by name, unpacked and checked.
fn members(bytes: &[u8], open: &mut bool) -> Option<BTreeMap<String, Vec<u8>>> {
    let number = |at: usize, size: usize| {
        let bytes = bytes.get(at..at.checked_add(size)?)?;
        Some(bytes.iter().rev().fold(0usize, |value, byte| value << 8 | usize::from(*byte)))
    };
    let end = (0..=bytes.len().checked_sub(22)?).rev().find(|at| bytes[*at..].starts_with(b"PK\x05\x06"))?;
    *open |= end + 22 != bytes.len();
    let (count, size, mut at) = (number(end + 10, 2)?, number(end + 12, 4)?, number(end + 16, 4)?);
    // Where bytes before the directory are missing, it is not where it should be; members that are whole may be read.
    if count > 0 && bytes.get(at..at + 4) != Some(b"PK\x01\x02") {
        *open = true;
        at = end.checked_sub(size)?;
    }
    let mut members = BTreeMap::new();
    for _ in 0..count {
        if bytes.get(at..at + 4)? != b"PK\x01\x02" {
            return None;
        }
        let (method, packed, unpacked) = (number(at + 10, 2)?, number(at + 20, 4)?, number(at + 24, 4)?);
        let (name, extra, comment, local) =
            (number(at + 28, 2)?, number(at + 30, 2)?, number(at + 32, 2)?, number(at + 42, 4)?);
        let (named, sum_said) = (bytes.get(at + 46..at + 46 + name)?, number(at + 16, 4)?);
        let entry = at;
        at += 46 + name + extra + comment;
        // What is wrong with a member that nobody needs, as one of weights, need not be found: it is left out here.
        let data = stored(bytes, local, method, packed).filter(|data| data.len() == unpacked);
        let Some(data) = data else {
            *open = true;
            continue;
        };
        // That its checksum is another's, or that the header before it says otherwise, need not be found either.
        let mut sum = flate2::Crc::new();
        sum.update(&data);
        *open |= sum_said != sum.sum() as usize || bytes[local + 4..local + 30] != bytes[entry + 6..entry + 32];
        members.insert(String::from_utf8_lossy(named).into_owned(), data);
    }
    // Nor need a directory that does not end where its end stands.
    *open |= at != end;
    (at <= end).then_some(members)
}

/// The data of the member whose own header is at `local`, unpacked.
fn stored(bytes: &[u8], local: usize, method: usize, packed: usize) -> Option<Vec<u8>> {
    let header = bytes.get(local..local.checked_add(30)?)?.strip_prefix(b"PK\x03\x04")?;
    let length = |at: usize| usize::from(u16::from_le_bytes([header[at], header[at + 1]]));
    let start = local + 30 + length(22) + length(24);
    let stored = bytes.get(start..start.checked_add(packed)?)?;
    let mut data = Vec::new();
    match method {
        0 => data.extend_from_slice(stored),
        8 => drop(flate2::read::DeflateDecoder::new(stored).take(1 << 24).read_to_end(&mut data)),
        _ => return None,
    }
    Some(data)
}
