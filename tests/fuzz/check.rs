//! One case: the library reads it in several ways, and all of them agree with one another and with the second reader.

use std::io::Write as _;
use std::path::Path;

use gpugraph::internals::formats::{FileSearch, Format, Input, Unwatched};

use crate::corpus::{self, File};
use crate::gather::Gather;
use crate::mutate;
use crate::reader::{self, Edge};
use crate::support::Dice;
use crate::weights;

/// A file as it is read.
#[derive(Debug, Clone)]
pub struct Case {
    pub file: File,
    /// The ending of a packing, and what is to happen to the packed bytes; "" for none.
    pub packing: &'static str,
    /// The seed of the damage to the packed bytes; 0 for none.
    pub damage: u64,
    /// True if the format is named, rather than found by the ending.
    pub named: bool,
    /// The seed of chunks and threads.
    pub seed: u64,
}

/// How a case ended where all was well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Read as meant.
    Read,
    /// Refused, and had to be.
    Refused,
    /// Refused, but might have been read.
    OpenRefused,
}

type Outcome = Result<(Vec<Edge>, Option<u64>), String>;

impl Case {
    /// Draws case `number` of those that `seed` gives.
    pub fn draw(number: u64, found: &[File]) -> Case {
        let mut dice = Dice(number << 20);
        let mut file = match dice.below(5) {
            0 => found[dice.below(found.len() as u64) as usize].clone(),
            _ => corpus::made(&mut dice),
        };
        // One in eight is as it was written: what is valid must go on being read.
        for _ in 0..[0, 1, 1, 1, 2, 2, 3, 5][dice.below(8) as usize] {
            mutate::mutate(&mut file.bytes, &mut dice);
        }
        let packing = if dice.below(3) == 0 { corpus::one(&mut dice, &[".gz", ".zst", ".bz2", ".xz"]) } else { "" };
        let damage = if dice.below(3) == 0 && !packing.is_empty() { dice.roll() | 1 } else { 0 };
        Case { file, packing, damage, named: dice.below(3) == 0, seed: dice.roll() }
    }

    /// The bytes that lie in the file.
    pub fn packed(&self) -> Vec<u8> {
        let mut dice = Dice(self.seed);
        let mut packed = pack(&self.file.bytes, self.packing, &mut dice);
        if self.damage != 0 {
            let mut dice = Dice(self.damage);
            let ways = [mutate::flip, mutate::flip, mutate::delete, mutate::insert, mutate::truncate, pad];
            ways[dice.below(ways.len() as u64) as usize](&mut packed, &mut dice);
        }
        packed
    }

    /// The file's name, with its packing.
    pub fn name(&self) -> String {
        format!("{}{}", self.file.name, self.packing)
    }

    /// What a person needs to see it again.
    pub fn describe(&self) -> String {
        let bytes = self.file.bytes.escape_ascii();
        let damaged = if self.damage == 0 {
            String::new()
        } else {
            format!(" packed and damaged: {}", self.packed().escape_ascii())
        };
        format!("{}{} \"{bytes}\"{damaged}", self.name(), if self.named { " with its format named" } else { "" })
    }

    /// What the second reader makes of it. What a packing of damaged bytes still holds may be refused, too.
    pub fn wanted(&self) -> Option<reader::Reading> {
        // An archive is packed already, and is not read where it is packed again.
        if self.file.format() == Format::Npz && !self.packing.is_empty() {
            return None;
        }
        let bytes = reader::unpack(&self.name(), &self.packed())?;
        let mut reading = reader::read(&bytes, &self.file.name, self.named)?;
        reading.open |= self.damage != 0;
        Some(reading)
    }

    /// Runs it in `folder`.
    ///
    /// # Errors
    /// Says what is wrong with the library's answer.
    pub fn check(&self, folder: &Path) -> Result<End, String> {
        let path = folder.join(self.name());
        std::fs::write(&path, self.packed()).map_err(|error| error.to_string())?;
        let format = self.named.then(|| self.file.format());
        let found = self.outcomes(&path, format)?;
        if self.damage == 0 && !self.packing.is_empty() && self.file.format() != Format::Npz {
            let plain = folder.join(&self.file.name);
            std::fs::write(&plain, &self.file.bytes).map_err(|error| error.to_string())?;
            let unpacked = self.outcomes(&plain, format)?;
            if !self.same(&found, &unpacked, 1) {
                return Err(format!("packed gives {found:?}, unpacked {unpacked:?}"));
            }
        }
        agree(self.wanted(), found)
    }

    /// Reads `path` in several ways, which must all come to the same.
    fn outcomes(&self, path: &Path, format: Option<Format>) -> Result<Outcome, String> {
        let mut dice = Dice(self.seed);
        let first = outcome(path, format, 8 << 20, 1)?;
        for _ in 0..2 {
            let (chunk, threads) = corpus::one(&mut dice, &[(1, 2), (3, 1), (7, 3), (16, 1), (64, 2), (999, 3)]);
            let again = outcome(path, format, chunk, threads)?;
            if !self.same(&again, &first, threads) {
                return Err(format!("in chunks of {chunk} by {threads} threads {again:?}, as a whole {first:?}"));
            }
        }
        let way = corpus::one(&mut dice, &[(1, 2), (3, 1), (7, 3), (64, 2), (999, 3)]);
        weights::check(path, format, first.as_ref().ok().map(|(edges, _)| edges.as_slice()), way)?;
        Ok(first)
    }

    /// True if two ways of reading came to the same. What is unpacked as it is read may lack the end of a line that a
    /// message shows; and binary files are refused for what is seen first: their length, or the numbers in them.
    fn same(&self, one: &Outcome, other: &Outcome, threads: usize) -> bool {
        let text = |message: &str| message.split(", found ").next().map(str::to_owned);
        match (one, other) {
            (Err(_), Err(_)) if BINARY.contains(&self.ending()) || self.file.bytes.is_empty() => true,
            // Of two lines that are wrong, threads that take blocks of a packed file may come to either first.
            (Err(_), Err(_)) if !self.packing.is_empty() && threads > 1 => true,
            (Err(one), Err(other)) if !self.packing.is_empty() => text(one) == text(other),
            _ => one == other,
        }
    }

    fn ending(&self) -> &str {
        self.file.name.rsplit('.').next().expect("an ending")
    }
}

/// Endings of files that are no text.
const BINARY: [&str; 9] = ["u32", "bin", "edgelist", "u64", "graph500", "npy", "npz", "sg", "wsg"];

/// Compares the library's answer with the second reader's.
fn agree(wanted: Option<reader::Reading>, found: Outcome) -> Result<End, String> {
    let (wanted, (edges, vertices)) = match (wanted, found) {
        (None, Err(_)) => return Ok(End::Refused),
        (Some(wanted), Err(_)) if wanted.open => return Ok(End::OpenRefused),
        (Some(_), Err(message)) => return Err(format!("valid, but refused: {message}")),
        (None, Ok((edges, _))) => return Err(format!("to be refused, but read as {edges:?}")),
        (Some(wanted), Ok(found)) => (wanted, found),
    };
    let mut sorted = wanted.edges;
    sorted.sort_unstable();
    if sorted != edges {
        return Err(format!("holds {sorted:?}, but read as {edges:?}"));
    }
    if vertices != wanted.vertices {
        return Err(format!("declares {:?} vertices, but read as {vertices:?}", wanted.vertices));
    }
    Ok(End::Read)
}

/// Edges in order and declared vertices, or the message without the name of the file; an error if it is not as messages are to be.
fn outcome(path: &Path, format: Option<Format>, chunk: usize, threads: usize) -> Result<Outcome, String> {
    let mut visitors: Vec<Gather> = (0..threads).map(|_| Gather(vec![])).collect();
    let scanned = Input::find(&[path.to_owned()], format, FileSearch::default()).and_then(|input| {
        let input = input.with_chunk(chunk);
        input.estimate_edges()?;
        input.scan(&mut visitors, &Unwatched)
    });
    match scanned {
        Ok(scan) => {
            let mut edges: Vec<Edge> = visitors.into_iter().flat_map(|visitor| visitor.0).collect();
            edges.sort_unstable();
            if scan.edges != edges.len() as u64 {
                return Err(format!("{} edges are said to be {}", edges.len(), scan.edges));
            }
            Ok(Ok((edges, scan.declared_vertices)))
        }
        Err(error) => {
            let message = error.to_string();
            if error.exit_code() != 3 {
                return Err(format!("exit code {}: {message}", error.exit_code()));
            }
            let behind = path.to_str().and_then(|path| message.strip_prefix(path));
            let whole = |behind: &&str| {
                let place = [": ", " at byte "].iter().any(|start| behind.starts_with(start))
                    || behind.starts_with(':') && behind[1..].starts_with(|digit: char| digit.is_ascii_digit());
                let parts = [": expected ", ", found ", "; "].iter().all(|part| behind.contains(part));
                let printable = behind.chars().all(|letter| !letter.is_control());
                place && parts && printable && behind.len() < 1000
            };
            match behind.filter(whole) {
                Some(behind) => Ok(Err(behind.to_owned())),
                None => Err(format!("the message lacks path, place, cause or remedy: {message:?}")),
            }
        }
    }
}

/// Packs `bytes`, now and then as two members or frames behind each other.
fn pack(bytes: &[u8], packing: &str, dice: &mut Dice) -> Vec<u8> {
    let cut = if dice.below(3) == 0 { dice.below(bytes.len() as u64 + 1) as usize } else { bytes.len() };
    let parts = if cut == bytes.len() { vec![bytes] } else { vec![&bytes[..cut], &bytes[cut..]] };
    let each = |part: &&[u8]| match packing {
        ".gz" => std::io::Read::bytes(flate2::read::GzEncoder::new(*part, flate2::Compression::fast()))
            .collect::<Result<Vec<u8>, _>>()
            .expect("packed"),
        ".zst" => zstd::encode_all(*part, 1).expect("packed"),
        ".bz2" => {
            let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            packer.write_all(part).and_then(|()| packer.finish()).expect("packed")
        }
        ".xz" => {
            let mut packer = liblzma::write::XzEncoder::new(Vec::new(), 1);
            packer.write_all(part).and_then(|()| packer.finish()).expect("packed")
        }
        _ => part.to_vec(),
    };
    parts.iter().flat_map(each).collect()
}

/// Adds zeros behind the packed bytes.
fn pad(bytes: &mut Vec<u8>, dice: &mut Dice) {
    bytes.extend(std::iter::repeat_n(0, 1 + dice.below(600) as usize));
}

/// A smaller case that fails as well: bytes are left out as long as it goes on failing.
pub fn shrink(case: &Case, fails: &dyn Fn(&Case) -> bool) -> Case {
    let mut small = case.clone();
    let mut tries = 600;
    let mut size = small.file.bytes.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < small.file.bytes.len() && tries > 0 {
            let mut shorter = small.clone();
            shorter.file.bytes.drain(at..(at + size).min(small.file.bytes.len()));
            tries -= 1;
            if fails(&shorter) {
                small = shorter;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    small
}
