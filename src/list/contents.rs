//! Identifies the contents of a file by its first bytes, if the file is not a list in the format that its name implies.

use std::path::Path;

use crate::error::{At, Error};
use crate::formats::{Packing, contents, typed};
use crate::list::ListFormat;

/// The possible types of a file's numbers, as (format, whether big-endian, type code in Python's module `array`).
const KINDS: [(ListFormat, bool, char); 4] = [
    (ListFormat::I32, false, 'i'),
    (ListFormat::I64, false, 'q'),
    (ListFormat::I32, true, 'i'),
    (ListFormat::I64, true, 'q'),
];

/// Returns the error for a file of `bytes` bytes that can't be read in `format`. Returns `None` if the first bytes of
/// the file do not indicate another format.
pub(super) fn wrong_format_error(path: &Path, format: ListFormat, packing: Packing, bytes: u64) -> Option<Error> {
    let start = contents::start_of(path, packing);
    let expected = format!("a list ({format})");
    if let Some((found, remedy)) = contents::of_another_kind(path, packing, &start) {
        return Some(Error::input(path, At::File, expected, found, remedy));
    }
    let error = |found: &str, remedy: &str| Some(Error::input(path, At::File, &expected, found, remedy));
    if format == ListFormat::List {
        // Only the first bytes are tested, because the parser reports later errors with their offset.
        let is_text = start.iter().take(4).all(|byte| *byte >= b' ' || matches!(byte, 9..=13));
        let remedy = "name the format, i32 or i64: [input] format, convert --from";
        return if is_text { None } else { error("bytes that are not text", remedy) };
    }
    if contents::is_text(&start) {
        return error("text", "name the format of the text: [input] format = \"list\", convert --from list");
    }
    let (kind, big, letter) =
        KINDS.into_iter().find(|(kind, big, _)| are_successors(&start, *kind, *big, most(packing, bytes)).is_some())?;
    match big {
        false if kind == format => None,
        false => Some(of_kind(path, &expected, kind)),
        true => {
            let (name, end) = (typed(path), kind.name());
            let remedy = format!(
                "swap the bytes: python3 -c \"import array; a = array.array('{letter}', open('{name}', 'rb').read()); a.byteswap(); \
                 a.tofile(open('OUT.{end}', 'wb'))\""
            );
            error("big-endian numbers", &remedy)
        }
    }
}

/// Returns the error for a file that is to be read as 32-bit numbers but contains 64-bit numbers; `None` for other
/// files. Without this error, the file would be read as twice as many elements.
pub(super) fn of_64_bits(path: &Path, packing: Packing, bytes: u64) -> Option<Error> {
    let start = contents::start_of(path, packing);
    // In a list, at most one element has the successor 0. If 64-bit numbers are read as 32-bit numbers, every second
    // number is 0.
    let zeros = are_successors(&start, ListFormat::I64, false, most(packing, bytes))?;
    (zeros > 1).then(|| of_kind(path, "a list (i32)", ListFormat::I64))
}

fn of_kind(path: &Path, expected: &str, kind: ListFormat) -> Error {
    let bits = 8 * kind.width().unwrap_or(1);
    let remedy = format!("name the format: [input] format = \"{kind}\", convert --from {kind}");
    Error::input(path, At::File, expected, format!("what looks like numbers of {bits} bits"), remedy)
}

/// Returns an upper bound on the unpacked size in bytes of a file of `bytes` bytes: no compression format shrinks a
/// file to much less than a thousandth.
fn most(packing: Packing, bytes: u64) -> u64 {
    if packing == Packing::Plain { bytes } else { bytes.saturating_mul(1040) }
}

/// Returns the number of elements whose successor in `start`, the first bytes of a file, is not -1. Returns `None` if
/// any number in `start` is not a possible successor: -1, or another element of a list of at most `most` bytes.
fn are_successors(start: &[u8], kind: ListFormat, big: bool, most: u64) -> Option<u64> {
    let width = kind.width()? as usize;
    let mut with = 0;
    for (element, word) in start.chunks_exact(width).enumerate() {
        let mut word = word.to_vec();
        if big {
            word.reverse();
        }
        let is_negative = word.last().is_some_and(|byte| *byte > 0x7f);
        word.resize(8, if is_negative { 0xff } else { 0 });
        let successor = i64::from_le_bytes(*word.first_chunk()?);
        let beyond = successor >= 0 && successor as u64 >= most / width as u64;
        if successor < -1 || successor == element as i64 || beyond {
            return None;
        }
        with += u64::from(successor >= 0);
    }
    (start.len() >= 2 * width).then_some(with)
}
