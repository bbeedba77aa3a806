//! Reads `.npz` archives: zip files of `.npy` members, stored or deflated. The edges are a sparse matrix as scipy
//! saves it (`csr`, `csc`, `coo`), an `edge_index`, or the only array of the archive.
//!
//! Every member that is read is checked against its size and checksum in the zip directory.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, FileReader, RECOMMENDED_BUFFER_SIZE, RangeReader, ZipArchive};

use super::npy::{Mismatch, NpyArray, WeightColumn, refused};
use super::shape::{ArrayLayout, ArrayPlace, EdgeArrays, ListKind, NpzMember};
use crate::error::{At, Error, Result};

/// Maximum number of members of an archive. An archive with a graph has only a few.
const MOST: usize = 10_000;
/// Size in bytes of the buffer for reading an archive.
const STORED: usize = 64 << 10;
const DAMAGED: &str = "the file is cut short or damaged: fetch or make it again";

/// Finds the edges in the `.npz` archive at `path`.
///
/// # Errors
/// Bad input if the file is not an archive or contains no edges.
pub(super) fn table(path: &Path) -> Result<EdgeArrays> {
    let members = directory(path)?;
    let find = |name: &str| members.iter().find(|member| member.name == name);
    let of = |member: &Arc<NpzMember>, wrong: Mismatch| {
        refused(path, At::File, (wrong.0, format!("{} in the member {}", wrong.1, member.name)))
    };
    let pairs = |member: &Arc<NpzMember>, wide| {
        let (array, _) = array(path, member)?;
        let table = array.pairs(ArrayPlace::Member(member.clone()), wide).map_err(|wrong| of(member, wrong))?;
        check_fills_member(path, member, table.length)?;
        Ok(table)
    };
    let column = |name: &str| {
        let member = find(name).ok_or_else(|| missing(path, name, &members))?;
        let (array, _) = array(path, member)?;
        let (column, count) = array.column(ArrayPlace::Member(member.clone())).map_err(|wrong| of(member, wrong))?;
        check_fills_member(path, member, column.at + count * column.step as u64)?;
        Ok((column, count))
    };
    if let Some(member) = find("edge_index") {
        return pairs(member, true);
    }
    let kind = find("format").map(|member| text(path, member)).transpose()?;
    let Some(kind) = kind else {
        return match members.as_slice() {
            [one] => pairs(one, false),
            _ => Err(missing(path, "edge_index", &members)),
        };
    };
    let shape = find("shape").ok_or_else(|| missing(path, "shape", &members))?;
    let vertices = match numbers(path, shape)?.as_slice() {
        [rows, columns] if rows == columns => *rows,
        shape => {
            let found = format!("the shape {shape:?}");
            return Err(refused(path, At::File, ("a square matrix".into(), found)));
        }
    };
    match kind.as_str() {
        "coo" => {
            let ((from, edges), (to, ends)) = (column("row")?, column("col")?);
            if edges != ends {
                let found = format!("{edges} and {ends}");
                return Err(Error::input(path, At::File, "as many rows as columns", found, DAMAGED));
            }
            Ok(EdgeArrays { shape: ArrayLayout::Columns { from, to }, edges, vertices: Some(vertices), length: 0 })
        }
        "csr" | "csc" => {
            let ((offsets, count), (neighbours, edges)) = (column("indptr")?, column("indices")?);
            // A csc matrix lists the entries of each column; each is an edge to the column's vertex.
            let (rows, lists) = (vertices, if kind == "csr" { ListKind::Outgoing } else { ListKind::Incoming });
            if count != rows.saturating_add(1) {
                let expected = format!("{rows} rows and one offset more");
                return Err(Error::input(path, At::File, expected, format!("{count} offsets"), DAMAGED));
            }
            let shape = ArrayLayout::Adjacency { offsets, rows, neighbours, lists };
            Ok(EdgeArrays { shape, edges, vertices: Some(vertices), length: 0 })
        }
        other => {
            let remedy = "save it as one: scipy.sparse.save_npz(FILE, matrix.tocsr())";
            let found = format!("the format {other:?}");
            Err(Error::input(path, At::File, "a sparse matrix as csr, csc or coo", found, remedy))
        }
    }
}

/// Returns the location and type of the weights of an archive with `edges` edges: the array `data` of a sparse matrix.
/// Returns `None` if the edges are not stored as a sparse matrix.
///
/// # Errors
/// Bad input if the array has another length, or a type that can't be a weight.
pub(super) fn weights(path: &Path, edges: u64) -> Result<Option<WeightColumn>> {
    let members = directory(path)?;
    let find = |name: &str| members.iter().find(|member| member.name == name);
    let (None, Some(_), Some(member)) = (find("edge_index"), find("format"), find("data")) else { return Ok(None) };
    let (array, _) = array(path, member)?;
    let weights = WeightColumn::of(&array, ArrayPlace::Member(member.clone()));
    let Some(weights) = weights.filter(|_| array.shape == [edges]) else {
        let expected = format!("{edges} weights, whole numbers or floats of 4 or 8 bytes");
        let found = format!("the type {:?} and the shape {:?} in the member data", array.kind, array.shape);
        let remedy = "save the matrix with such values, or read the edges without weights: [input] weights = \"none\", convert --weights none";
        return Err(Error::input(path, At::File, expected, found, remedy));
    };
    check_fills_member(path, member, weights.column.at + edges * weights.column.step as u64)?;
    Ok(Some(weights))
}

/// Opens a member of an archive. At its end, the reader checks its size and checksum against the zip directory.
pub(super) fn open(path: &Path, member: &NpzMember) -> Result<Box<dyn Read>> {
    let file = File::open(path).map_err(|e| Error::unreadable(path, &e))?;
    let stored = BufReader::with_capacity(STORED, RangeReader::new(FileReader::from(file), member.from..member.to));
    let from: Box<dyn Read> = if member.deflated { Box::new(DeflateDecoder::new(stored)) } else { Box::new(stored) };
    Ok(Box::new(CheckedMember { from, crc: flate2::Crc::new(), member: member.clone(), seen: 0 }))
}

/// Reader that checks the bytes of a member against the size and checksum in the zip directory.
struct CheckedMember {
    from: Box<dyn Read>,
    crc: flate2::Crc,
    member: NpzMember,
    seen: u64,
}

impl Read for CheckedMember {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        let read = self.from.read(into)?;
        self.crc.update(&into[..read]);
        self.seen += read as u64;
        if self.seen > self.member.size || (read == 0 && self.seen < self.member.size) {
            return Err(std::io::Error::other(format!("other than the {} bytes of the directory", self.member.size)));
        }
        if read == 0 && self.crc.sum() != self.member.crc {
            return Err(std::io::Error::other("a wrong checksum"));
        }
        Ok(read)
    }
}

/// Lists the arrays (`.npy` members) of the archive at `path`.
fn directory(path: &Path) -> Result<Vec<Arc<NpzMember>>> {
    let damaged = |e: rawzip::Error| Error::input(path, At::File, "a whole .npz archive", e.to_string(), DAMAGED);
    let refuse = |found: String| {
        let remedy = "save it again: numpy.savez(FILE, edge_index=...) or scipy.sparse.save_npz";
        Error::input(path, At::File, "arrays that are stored or deflated, each of another name", found, remedy)
    };
    let file = File::open(path).map_err(|e| Error::unreadable(path, &e))?;
    let length = file.metadata().map_err(|e| Error::unreadable(path, &e))?.len();
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive = ZipArchive::from_file(file, &mut buffer).map_err(damaged)?;
    let mut found = Vec::new();
    let mut first = u64::MAX;
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries.next_entry().map_err(damaged)? {
        first = first.min(entry.local_header_offset());
        let name = String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned();
        let Some(name) = name.strip_suffix(".npy") else { continue };
        // Messages print the name, perhaps on a terminal, so control characters are replaced.
        let name = name.replace(char::is_control, "?");
        if found.len() == MOST {
            return Err(refuse(format!("more than {MOST} members")));
        }
        found.push((name, entry.compression_method(), entry.wayfinder(), entry.crc32()));
    }
    if first != 0 && !found.is_empty() {
        // numpy rejects such an archive, too.
        return Err(refuse(format!("{first} bytes before the first")));
    }
    let mut members: Vec<Arc<NpzMember>> = Vec::new();
    for (name, method, wayfinder, crc) in found {
        let entry = archive.get_entry(wayfinder).map_err(damaged)?;
        let (from, to) = entry.compressed_data_range();
        let size = wayfinder.uncompressed_size_hint();
        let deflated = match method {
            CompressionMethod::STORE => false,
            CompressionMethod::DEFLATE => true,
            other => return Err(refuse(format!("{name} packed by method {}", other.as_u16()))),
        };
        if from > to || to > length {
            let found = format!("the member {name} at bytes {from} to {to} of a file of {length}");
            return Err(Error::input(path, At::File, "a whole .npz archive", found, DAMAGED));
        }
        // Deflate shrinks data at most about a thousandfold, so a larger declared size is false.
        let most = if deflated { (to - from).saturating_mul(1040).saturating_add(1024) } else { to - from };
        if size > most {
            let expected = format!("{most} bytes at most in the member {name}");
            return Err(Error::input(path, At::File, expected, format!("{size} by the directory"), DAMAGED));
        }
        if members.iter().any(|member| member.name == name) {
            return Err(refuse(format!("two called {name}")));
        }
        members.push(Arc::new(NpzMember { name, deflated, from, to, size, crc }));
    }
    Ok(members)
}

/// Reads the header of an array in an archive. Returns the header, and a reader of the numbers that follow it.
fn array(path: &Path, member: &Arc<NpzMember>) -> Result<(NpyArray, Box<dyn Read>)> {
    let mut from = open(path, member)?;
    let array = NpyArray::read(&mut from).map_err(|(expected, found)| {
        Error::input(path, At::File, expected, format!("{found} in the member {}", member.name), DAMAGED)
    })?;
    Ok((array, from))
}

/// Returns an error unless the array's `bytes` bytes fill its archive member exactly.
fn check_fills_member(path: &Path, member: &NpzMember, bytes: u64) -> Result<()> {
    if bytes == member.size {
        return Ok(());
    }
    let found = format!("{} in the directory", member.size);
    Err(Error::input(path, At::File, format!("{bytes} bytes of the member {}", member.name), found, DAMAGED))
}

/// Returns the text of an archive member that contains one short word.
fn text(path: &Path, member: &Arc<NpzMember>) -> Result<String> {
    let (_, from) = array(path, member)?;
    let mut bytes = Vec::new();
    from.take(64).read_to_end(&mut bytes).map_err(|e| Error::unreadable(path, &e))?;
    // numpy stores strings as bytes or as 32-bit characters, so zero bytes are dropped.
    Ok(bytes.iter().filter(|byte| **byte != 0).map(|byte| char::from(*byte)).collect())
}

/// Returns the numbers in a small archive member. Reads only their first 64 bytes.
fn numbers(path: &Path, member: &Arc<NpzMember>) -> Result<Vec<u64>> {
    let (array, from) = array(path, member)?;
    let int = array.int().map_err(|wrong| refused(path, At::File, wrong))?;
    let mut bytes = Vec::new();
    from.take(64).read_to_end(&mut bytes).map_err(|e| Error::unreadable(path, &e))?;
    let numbers: Option<Vec<u64>> = bytes.chunks_exact(int.bytes).map(|bytes| int.of(bytes)).collect();
    numbers.ok_or_else(|| Error::input(path, At::File, "a shape", "numbers below 0", DAMAGED))
}

fn missing(path: &Path, name: &str, members: &[Arc<NpzMember>]) -> Error {
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).take(8).collect();
    let remedy = "save the edges: numpy.savez(FILE, edge_index=...) of shape (2, E), or scipy.sparse.save_npz";
    let found = if names.is_empty() { "no array".into() } else { format!("arrays named {}", names.join(", ")) };
    Error::input(path, At::File, format!("an array named {name}"), found, remedy)
}
