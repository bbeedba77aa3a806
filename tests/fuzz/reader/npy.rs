//! Arrays as numpy saves them (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>).

use super::{Edge, Reading};

/// An array of whole numbers in one file.
#[derive(Debug)]
pub struct Array {
    pub shape: Vec<u64>,
    /// In the order of C, whatever the file's is.
    pub values: Vec<i128>,
    /// The text of an array of one byte string, as scipy keeps a matrix's format.
    pub text: Vec<u8>,
    /// True if numpy itself would pass over something here.
    pub open: bool,
}

/// Reads edges from an array of shape (E, 2) or (2, E); (2, 2) is two edges, one a row, unless `ends_first`.
pub fn read(bytes: &[u8]) -> Option<Reading> {
    edges(array(bytes)?, false)
}

/// The edges in an array of two rows or two columns.
pub fn edges(array: Array, ends_first: bool) -> Option<Reading> {
    let mut open = array.open;
    let [rows, columns] = array.shape[..] else { return None };
    // Three columns may be two ends and a weight.
    let by_rows = match (rows, columns) {
        (2, 2) => {
            open = true;
            !ends_first
        }
        (_, 2) => true,
        (2, _) => false,
        _ => return None,
    };
    let ids: Option<Vec<u64>> = array.values.iter().map(|value| u64::try_from(*value).ok()).collect();
    let ids = ids?;
    let edges: Vec<Edge> = if by_rows {
        ids.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect()
    } else {
        (0..columns as usize).map(|edge| [ids[edge], ids[columns as usize + edge]]).collect()
    };
    Some(Reading { edges, vertices: None, open })
}

/// Reads a whole file; nothing if it is none of numpy's, or of other things than whole numbers.
pub fn array(bytes: &[u8]) -> Option<Array> {
    let rest = bytes.strip_prefix(b"\x93NUMPY")?;
    let mut open = false;
    let (length, start) = match rest.get(..2)? {
        [1, 0] => (u64::from(u16::from_le_bytes(rest.get(2..4)?.try_into().ok()?)), 4usize),
        [2 | 3, 0] => (u64::from(u32::from_le_bytes(rest.get(2..6)?.try_into().ok()?)), 6),
        _ => return None,
    };
    let header = rest.get(start..start.checked_add(length as usize)?)?;
    let data = &rest[start + length as usize..];
    let header = std::str::from_utf8(header).ok()?;
    let inner = header.trim().strip_prefix('{')?.strip_suffix('}')?;
    // Keys and values of a Python dictionary: a shape has commas of its own.
    let value = |key: &str| {
        let at =
            [format!("'{key}'"), format!("\"{key}\"")].iter().find_map(|key| Some(inner.find(key)? + key.len()))?;
        let value = inner[at..].trim_start().strip_prefix(':')?.trim_start();
        let end = if value.starts_with('(') { value.find(')')? + 1 } else { value.find(',').unwrap_or(value.len()) };
        Some(value[..end].trim())
    };
    let (kind, order, shape) = (value("descr")?, value("fortran_order")?, value("shape")?);
    open |= inner.matches(':').count() != 3;
    let fortran = match order {
        "True" => true,
        "False" => false,
        _ => return None,
    };
    let mut sizes = Vec::new();
    for size in shape.strip_prefix('(')?.strip_suffix(')')?.split(',').map(str::trim).filter(|size| !size.is_empty()) {
        open |= size.starts_with(['+', '0']) && size != "0";
        sizes.push(size.trim_end_matches('L').parse::<u64>().ok()?);
    }
    let kind = kind.trim_matches(['\'', '"']).as_bytes();
    let &[endian, class, ref width @ ..] = kind else { return None };
    let width: u64 = std::str::from_utf8(width).ok()?.parse().ok()?;
    let count = sizes.iter().try_fold(1u64, |count, size| count.checked_mul(*size))?;
    let needed = count.checked_mul(width)?;
    if (data.len() as u64) < needed {
        return None;
    }
    // numpy reads what it needs and leaves the rest.
    open |= data.len() as u64 > needed;
    let data = &data[..needed as usize];
    if class == b'S' {
        return Some(Array { shape: sizes, values: Vec::new(), text: data.to_vec(), open });
    }
    if !matches!((class, width), (b'i' | b'u', 1 | 2 | 4 | 8)) {
        return None;
    }
    let big = match endian {
        b'<' | b'=' => false,
        b'|' if width == 1 => false,
        b'|' => {
            open = true;
            false
        }
        b'>' => true,
        _ => return None,
    };
    let word = |bytes: &[u8]| {
        let mut value = 0i128;
        for index in 0..bytes.len() {
            value = value << 8 | i128::from(bytes[if big { index } else { bytes.len() - 1 - index }]);
        }
        let bits = 8 * width as u32;
        if class == b'i' && value >> (bits - 1) == 1 { value - (1 << bits) } else { value }
    };
    let mut values: Vec<i128> = data.chunks_exact(width as usize).map(word).collect();
    if let (true, &[rows, columns]) = (fortran, &sizes[..]) {
        let at = |index: u64| values[((index % columns) * rows + index / columns) as usize];
        values = (0..rows * columns).map(at).collect();
    }
    Some(Array { shape: sizes, values, text: Vec::new(), open })
}
