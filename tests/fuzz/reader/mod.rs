//! A second reader of every format: small, naive and slow, for the fuzz to hold the library's against.
//!
//! It is written from the README and the formats' own specifications and shares no code with `src/formats`. It has
//! whole files in memory, reads them with one thread, and says of each one of three things: these are the edges; these
//! are the edges, but a reader may as well refuse the file; it is to be refused.

mod gapbs;
mod gr;
mod metis;
mod mtx;
mod npy;
mod npz;
mod number;
mod records;
mod text;

use std::io::Read;
use std::path::Path;

/// An edge as it stands in the file.
pub type Edge = [u64; 2];

/// What a file holds; no such thing where it must be refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// Every edge, loops and repeats included, in the order of the file.
    pub edges: Vec<Edge>,
    /// Vertices that a header declares.
    pub vertices: Option<u64>,
    /// True if the specification leaves open whether a file like this is read at all.
    pub open: bool,
}

/// Reads `bytes`, unpacked, as the ending of `name` says. `named` says that the user named that format.
pub fn read(bytes: &[u8], name: &str, named: bool) -> Option<Reading> {
    let ending = name.rsplit_once('.').expect("an ending").1;
    // Some editors begin text with a mark.
    if let (Some(text), "mtx" | "metis" | "graph" | "gr") = (bytes.strip_prefix("\u{feff}".as_bytes()), ending) {
        return read(text, name, named).map(|reading| Reading { open: true, ..reading });
    }
    match ending {
        "edgelist" if !named && is_text(bytes) => text::read(bytes, false),
        "u32" | "bin" | "edgelist" => records::u32(bytes, named),
        "u64" => records::u64(bytes, named),
        "graph500" => records::graph500(bytes, named),
        "mtx" => mtx::read(bytes),
        "metis" | "graph" => metis::read(bytes),
        "gr" => gr::read(bytes),
        "npy" => npy::read(bytes),
        "npz" => npz::read(bytes),
        "sg" => gapbs::read(bytes, false),
        "wsg" => gapbs::read(bytes, true),
        "txt" | "el" | "e" | "csv" | "tsv" | "wel" | "fuzz" => text::read(bytes, name.ends_with(".wel")),
        other => panic!("no second reader for .{other}"),
    }
}

/// True for printed characters, as pairs of ids of less than a hundred million have not; a few must be of numbers.
fn is_text(bytes: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    let start = start.trim_end_matches('\u{fffd}');
    let few = |c: char| c.is_ascii_digit() || "\t\n\r ,;.-#%{}".contains(c);
    let printed = |c: char| c != '\u{fffd}' && (!c.is_control() || "\t\n\r".contains(c));
    !bytes.is_empty() && if bytes.len() < 24 { start.chars().all(few) } else { start.chars().all(printed) }
}

/// Unpacks `bytes` by the ending of `name`; nothing where they are damaged.
pub fn unpack(name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match Path::new(name).extension()?.to_str()? {
        // Zeros behind the last member pad it to the blocks of a tape, and `gzip -t` accepts them.
        "gz" => out = unpadded(bytes, flate2::read::MultiGzDecoder::new)?,
        "bz2" => out = unpadded(bytes, bzip2::read::MultiBzDecoder::new)?,
        // The library that reads .xz knows the padding that belongs to it.
        "xz" => liblzma::read::XzDecoder::new_multi_decoder(bytes).read_to_end(&mut out).map(|_| ()).ok()?,
        "zst" => zstd::Decoder::new(bytes).ok()?.read_to_end(&mut out).map(|_| ()).ok()?,
        _ => out = bytes.to_vec(),
    }
    Some(out)
}

/// Unpacks `bytes` without the zeros at their end, but for those that the last member ends in itself.
fn unpadded<'a, R: Read>(bytes: &'a [u8], unpack: impl Fn(&'a [u8]) -> R) -> Option<Vec<u8>> {
    let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count();
    let attempt = |own: usize| {
        let mut out = Vec::new();
        unpack(&bytes[..bytes.len() - zeros + own]).read_to_end(&mut out).ok().map(|_| out)
    };
    // A checksum and a length at most.
    (0..=zeros.min(9)).find_map(attempt)
}

/// The lines of a file without their ends; a return that ends no line is `alone`.
fn lines(bytes: &[u8], alone: u8, open: &mut bool) -> Vec<Vec<u8>> {
    let mut lines = vec![Vec::new()];
    let mut bytes = bytes.iter().copied().peekable();
    // True within the attributes that NetworkX writes behind an edge.
    let mut inside = false;
    while let Some(byte) = bytes.next() {
        inside = (inside || byte == b'{') && !matches!(byte, b'}' | b'\n');
        match byte {
            b'\n' => lines.push(Vec::new()),
            b'\r' if bytes.peek().is_none_or(|next| *next == b'\n') => {}
            b'\r' if alone == b'\n' && !inside => {
                *open = true;
                lines.push(Vec::new());
            }
            b'\r' => {
                *open = true;
                lines.last_mut().expect("one").push(alone);
            }
            // What C calls a blank, too.
            0xb | 0xc if alone == b' ' => {
                *open = true;
                lines.last_mut().expect("one").push(b' ');
            }
            other => lines.last_mut().expect("one").push(other),
        }
    }
    lines
}

/// A line without the blanks at its ends.
fn trim(line: &[u8]) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = line.iter().position(|byte| !blank(byte)).unwrap_or(line.len());
    let end = line.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    &line[start..end]
}

/// The words of a line.
fn words(line: &[u8]) -> Vec<&[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty()).collect()
}
