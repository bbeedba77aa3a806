//! Checks whether the first bytes of a file match the format that its name implies, and if not, what the file
//! contains.

use std::io::{BufReader, Read, Seek};
use std::path::Path;

use crate::error::{At, Error};
use crate::formats::bytes::tokens::{excerpt, has_lone_return, lone_return};
use crate::formats::format::packed_ending;
use crate::formats::packing::{self, Decoder};
pub(crate) use crate::formats::unsupported::MARK;
use crate::formats::unsupported::{UnsupportedFormat, parquet_remedy};
use crate::formats::{Fault, Format, HEAD, Packing, Part, typed};

/// Magic bytes at the start and the end of a Parquet file.
pub(super) const PARQUET: &[u8] = b"PAR1";

/// Magic bytes of a numpy array.
const NUMPY: &[u8] = b"\x93NUMPY";

/// Number of bytes that are read to identify a file.
const START: usize = 4096;

/// Length in bytes below which printable text counts as text only if it consists of digits and separators.
const SHORT: usize = 24;

/// Returns the offset at which the text of a file begins: after the byte order mark, if any. `prefix` contains the
/// first bytes of the file.
///
/// # Errors
/// A parse error if the text uses two or four bytes per character, or if its lines don't end with a line feed.
pub(super) fn text_start(prefix: &[u8], format: Format) -> Result<usize, Fault> {
    if let Some(encoding) = wide_encoding(prefix) {
        return Err(Fault::new(0, "text of one byte a character", encoding, in_utf_8(encoding)));
    }
    let start = if prefix.starts_with(MARK) { MARK.len() } else { 0 };
    let window = &prefix[..prefix.len().min(HEAD)];
    // In the format `text` the user may skip the first lines, and skipped lines may contain anything. So a file with
    // several lines is accepted here.
    if has_lone_return(window, start)
        && is_printed(&window[start..])
        && (format != Format::Text || !window.contains(&b'\n'))
    {
        return Err(lone_return(window, start));
    }
    Ok(start)
}

/// Returns iconv's name of the encoding if the text has two or four bytes per character, otherwise `None`.
pub(crate) fn wide_encoding(start: &[u8]) -> Option<&'static str> {
    let is_ascii = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    match start {
        [0xff, 0xfe, 0, 0, a, ..] | [0, 0, 0xfe, 0xff, 0, 0, 0, a, ..] if is_ascii(a) => Some("UTF-32"),
        [0xff, 0xfe, a, 0, ..] | [0xfe, 0xff, 0, a, ..] if is_ascii(a) => Some("UTF-16"),
        [a, 0, b, 0, ..] if is_ascii(a) && is_ascii(b) => Some("UTF-16LE"),
        [0, a, 0, b, ..] if is_ascii(a) && is_ascii(b) => Some("UTF-16BE"),
        _ => None,
    }
}

/// Returns true if a file with these first bytes is text. Binary pairs can pass this test only if every id is above
/// 150 million, and no graph has only such ids in its first kilobytes.
pub(crate) fn is_text(start: &[u8]) -> bool {
    let start = start.strip_prefix(MARK).unwrap_or(start);
    let of_edges = |c: &u8| c.is_ascii_digit() || b"\t\n\r ,;.-#%{}".contains(c);
    is_printed(start) && (start.len() >= SHORT || start.iter().all(of_edges))
}

/// Returns true if the bytes are printable UTF-8 text; the last character may be incomplete.
fn is_printed(start: &[u8]) -> bool {
    let printed = |text: &str| !text.contains(|c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r'));
    let whole = match std::str::from_utf8(start) {
        Ok(text) => text,
        Err(e) if e.error_len().is_none() => std::str::from_utf8(&start[..e.valid_up_to()]).unwrap_or_default(),
        Err(_) => return false,
    };
    !whole.is_empty() && printed(whole)
}

/// Returns the first bytes of a file, decompressed if necessary. Returns no bytes if the file can't be read.
pub(crate) fn start_of(path: &Path, packing: Packing) -> Vec<u8> {
    let mut start = Vec::new();
    if let Ok(file) = std::fs::File::open(path)
        && let Ok(decoder) = Decoder::new(packing, BufReader::with_capacity(START, file), path)
    {
        // The scan reports any error of the file.
        let _ = decoder.take(START as u64).read_to_end(&mut start);
    }
    start
}

/// Returns the first [`HEAD`] bytes of a file, decompressed, and the number of bytes that were read from the file for
/// them. Of a damaged compressed file, returns the bytes that can be decompressed; the scan reports the damage.
///
/// # Errors
/// Bad input if the file can't be read.
pub(super) fn prefix_of(part: &Part) -> Result<(Vec<u8>, u64), Error> {
    let unreadable = |e| Error::unreadable(&part.path, &e);
    let mut decoder = part.unpacked()?;
    let mut prefix = Vec::new();
    let read = (&mut decoder).take(HEAD as u64).read_to_end(&mut prefix);
    if part.packing == Packing::Plain {
        read.map_err(unreadable)?;
    }
    let (mut file, ahead) = (decoder.stored().get_ref(), decoder.stored().buffer().len() as u64);
    Ok((prefix, file.stream_position().map_err(unreadable)? - ahead))
}

/// Returns a description of a file's contents, and a suggested fix, if its first bytes show that it is not a list of
/// numbers.
pub(crate) fn of_another_kind(path: &Path, packing: Packing, start: &[u8]) -> Option<(String, String)> {
    if let Some(encoding) = wide_encoding(start) {
        return Some((encoding.into(), in_utf_8(encoding)));
    }
    if start.starts_with(NUMPY) {
        let name = typed(path);
        let remedy = format!(
            "write its numbers alone: python3 -c \"import numpy as n; n.load('{name}').astype('<i8').tofile('{name}.i64')\""
        );
        return Some(("an array of numpy".into(), remedy));
    }
    UnsupportedFormat::of(start)
        .filter(|kind| kind.distinctive)
        .map(|kind| (kind.name.into(), kind.remedy(path, packing)))
}

fn in_utf_8(encoding: &str) -> String {
    format!("convert it: iconv -f {encoding} -t UTF-8 IN > OUT")
}

/// Returns the error for a file whose first bytes contradict its format or its compression; `None` if they match.
pub(super) fn wrong_format_error(part: &Part) -> Option<Error> {
    let (path, packing) = (&part.path, part.packing);
    let another = || another(part, &start_of(path, packing)).map(|fault| fault.at(path, At::File));
    not_packed(path, packing).or_else(another)
}

/// Returns the error for a file whose first bytes contradict the compression that its extension names; `None` if they
/// agree.
pub(crate) fn not_packed(path: &Path, packing: Packing) -> Option<Error> {
    let start = start_of(path, Packing::Plain);
    if packing.may_begin(&start) {
        return None;
    }
    let (end, whole) = (packed_ending(path).unwrap_or(packing.ending()), typed(path));
    let bare = whole.strip_suffix(end).unwrap_or("OUT");
    let plain = || format!("take {end} off its name: mv {whole} {bare}");
    let (found, remedy) = match packing::of_bytes(&start) {
        Packing::Plain => match UnsupportedFormat::of(&start) {
            Some(kind) => (kind.name.into(), kind.remedy(path, Packing::Plain)),
            None if wide_encoding(&start).is_some() || is_printed(&start) => {
                ("text that is not packed".into(), plain())
            }
            None if start.starts_with(NUMPY) => ("an array of numpy that is not packed".into(), plain()),
            None => {
                let remedy = format!("fetch or make it again; or if it is not packed {}", plain());
                ("other bytes at its start".to_owned(), remedy)
            }
        },
        other => (stream(other), renamed(path, other)),
    };
    Some(Error::input(path, At::File, stream(packing), found, remedy))
}

/// Returns the error for the compressed file `path`, whose decompression failed at byte offset `at`.
pub(crate) fn not_unpacked(packing: Packing, path: &Path, at: u64, error: &std::io::Error) -> Error {
    let damaged = || {
        let remedy = "the file is cut short or damaged: fetch or make it again";
        (format!("a whole {} stream", packing.name()), remedy)
    };
    not_packed(path, packing).unwrap_or_else(|| {
        let (expected, remedy) = packing::too_large(packing, path, error).unwrap_or_else(damaged);
        Error::input(path, At::Byte(at), expected, error.to_string(), remedy)
    })
}

/// Returns the name of a compressed stream for messages, such as "a gzip stream".
fn stream(packing: Packing) -> String {
    let article = if packing == Packing::Xz { "an" } else { "a" };
    format!("{article} {} stream", packing.name())
}

/// Returns the advice to rename a file so that its extension matches its compression.
fn renamed(path: &Path, packing: Packing) -> String {
    let (whole, end) = (typed(path), packing.ending());
    let bare = packed_ending(path).and_then(|end| whole.strip_suffix(end)).unwrap_or(&whole);
    format!("give the file the ending {end}: mv {whole} {bare}{end}")
}

/// Returns the parse error for a file that begins with compressed bytes, with another format, or with text instead of
/// binary numbers. Returns `None` if the first bytes match the file's format.
pub(super) fn another(part: &Part, prefix: &[u8]) -> Option<Fault> {
    let (format, start) = (part.format, &prefix[..prefix.len().min(START)]);
    let fault = |found: &str, remedy: String| Some(Fault::new(0, format!("{format}"), found, remedy));
    // Binary pairs may start with any bytes. So if the user named a format of pairs, magic bytes prove nothing.
    let believed = part.named && format.record().is_some();
    if start.starts_with(NUMPY) && format != Format::Npy {
        return fault("an array of numpy", "give the file the ending .npy, or name the format npy".into());
    }
    if start.starts_with(PARQUET) && format != Format::Parquet && !believed {
        return fault("a Parquet file", parquet_remedy(&part.path));
    }
    let packing = packing::of_bytes(start);
    if packing != Packing::Plain && !believed {
        return fault(&stream(packing), renamed(&part.path, packing));
    }
    if let Some(kind) = UnsupportedFormat::by_bytes(part, start) {
        return fault(kind.name, kind.remedy(&part.path, part.packing));
    }
    (!format.is_lines() && is_text(start)).then(|| {
        let found = format!("text: {}", excerpt(start, 0));
        let remedy = "name the format of the text, as in [input] format = \"text\", convert --from text";
        Fault::new(0, format!("binary edges ({format})"), found, remedy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_distinguished_from_pairs() {
        let numbers = |ids: &[u32]| ids.iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>();
        for text in ["0 1", "0 1\n1 2\n", "# Z\u{fc}rich\n0 1 {'a': 'b'}\n1 2 {}\n", "12345678"] {
            assert!(is_text(text.as_bytes()), "{text}");
        }
        let cut = "0 1 {'name': 'a long one'}\n\u{fc}".as_bytes();
        assert!(is_text(&cut[..cut.len() - 1]));
        let large: Vec<u32> = (0..100).map(|i| 0x3030_3030 + 7919 * i).collect();
        for ids in [&[][..], &[0, 1, 1, 2], &[0x6161_6161, 0x6262_6262], &[1 << 31; 8], &large] {
            assert!(!is_text(&numbers(ids)), "{ids:?}");
        }
    }
}
