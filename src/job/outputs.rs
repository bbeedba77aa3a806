//! Results per vertex, in the order of the input's ids: `out/*.npy` or `out/*.csv`.

use super::graph::Graph;
use super::manifest::Output;
use super::session::Session;
use crate::config::OutputFormat;
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::degrees;
use crate::prepare::dictionary::{self, Dictionary};
use crate::prepare::order;
use crate::prepare::relabel::ISOLATED;
use crate::process::signals;
use crate::store::map::{Mapped, as_u64};
use crate::store::replace::{sync_folder, temp_path};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use xxhash_rust::xxh3::Xxh3;

/// A type of numpy arrays and how its values look as text.
trait Value: Copy + std::fmt::Display {
    const DESCR: &'static str;
    fn to_le(self) -> [u8; 8];
}

impl Value for u64 {
    const DESCR: &'static str = "<u8";
    fn to_le(self) -> [u8; 8] {
        self.to_le_bytes()
    }
}

impl Value for f64 {
    const DESCR: &'static str = "<f8";
    fn to_le(self) -> [u8; 8] {
        self.to_le_bytes()
    }
}

/// Writes `triangles` and `clustering` of every vertex, and `ids` where they were sparse. `counts` is in the order of
/// vertices; they are checked to sum to three times `total`.
///
/// # Errors
/// [`Error::Validation`], and those of reading the order and degrees and of the disk.
pub fn write_triangles(
    session: &Session,
    graph: &Graph,
    counts: &[AtomicU64],
    total: u128,
) -> Result<BTreeMap<String, Output>> {
    let sum: u128 = counts.iter().map(|c| u128::from(c.load(Ordering::Relaxed))).sum();
    if sum != 3 * total {
        return Err(Error::Validation(format!(
            "the vertices have {sum} corners of {total} triangles, not three times as many"
        )));
    }
    let file = degrees::open(&graph.folder, graph.facts.content)?;
    let degrees = file.body_as_u32()?;
    let folder = session.job.workdir.join("out");
    std::fs::create_dir_all(&folder).map_err(|e| Error::io("create the folder", &folder, e))?;
    let out = Out::open(session, graph)?;
    let count = |v: u32| counts[v as usize].load(Ordering::Relaxed);
    let clustering = |v: u32| {
        let d = f64::from(degrees[v as usize]);
        if d < 2.0 { 0.0 } else { 2.0 * count(v) as f64 / (d * (d - 1.0)) }
    };
    let mut written = BTreeMap::new();
    written.extend([out.column("triangles", 0, count)?, out.column("clustering", 0.0, clustering)?]);
    written.extend(out.sparse_ids()?);
    Ok(written)
}

/// The files of results that a job leaves, by their names in the manifest.
pub fn names(format: OutputFormat, sparse: bool) -> Vec<String> {
    let ending = match format {
        OutputFormat::Npy => "npy",
        OutputFormat::Csv => "csv",
    };
    let columns = ["triangles", "clustering"].map(|name| format!("out/{name}.{ending}"));
    columns.into_iter().chain(sparse.then(|| "out/ids.npy".to_owned())).collect()
}

/// What every column needs.
struct Out<'a> {
    workdir: &'a Path,
    format: OutputFormat,
    order: order::MappedOrder,
    /// Rows of a column: the different sparse ids, or all vertices, also those beyond the largest id that has an edge.
    rows: u64,
    /// The sparse ids.
    ids: Option<Mapped>,
}

impl<'a> Out<'a> {
    fn open(session: &'a Session, graph: &Graph) -> Result<Self> {
        let facts = &graph.facts;
        let path = dictionary::path(&graph.folder);
        Ok(Out {
            workdir: &session.job.workdir,
            format: session.job.output.format,
            order: order::map(&graph.folder, facts.content)?,
            rows: facts.rows(),
            ids: facts.sparse.then(|| Dictionary::list(&path, facts.identity)).transpose()?,
        })
    }

    fn ids(&self) -> Option<&[u64]> {
        self.ids.as_ref().map(|file| as_u64(file.body()).unwrap_or_default())
    }

    /// Writes one value for each id; `of` gives it for a place in the order of vertices.
    fn column<T: Value>(&self, name: &str, isolated: T, of: impl Fn(u32) -> T) -> Result<(String, Output)> {
        let map = self.order.ids()?;
        let value = |id: u64| match map.get(id as usize) {
            Some(&v) if v != ISOLATED => of(v),
            _ => isolated,
        };
        match self.format {
            OutputFormat::Npy => {
                let (occur, values) = (map.len() as u64, |rows| (0..rows).map(value));
                self.npy(name, values(self.rows.min(occur)), self.rows.saturating_sub(occur))
            }
            OutputFormat::Csv => {
                let sparse = self.ids();
                self.file(&format!("{name}.csv"), 0, |out| {
                    writeln!(out, "id,{name}")?;
                    (0..self.rows).try_for_each(|id| {
                        let shown = sparse.and_then(|ids| ids.get(id as usize)).copied().unwrap_or(id);
                        writeln!(out, "{shown},{}", value(id))
                    })
                })
            }
        }
    }

    fn sparse_ids(&self) -> Result<Option<(String, Output)>> {
        self.ids().map(|ids| self.npy("ids", ids.iter().copied(), 0)).transpose()
    }

    /// Writes an array of `values` and behind them as many `zeros`, which take no room on the disk: a header may declare
    /// many more vertices than have edges.
    fn npy<T: Value>(&self, name: &str, values: impl Iterator<Item = T>, zeros: u64) -> Result<(String, Output)> {
        self.file(&format!("{name}.npy"), 8 * zeros, |out| {
            let shape = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", T::DESCR, self.rows);
            // Magic, version and length take 10 bytes; the whole header is a multiple of 64, ending in a newline.
            let length = (shape.len() + 11).next_multiple_of(64) - 10;
            out.write_all(b"\x93NUMPY\x01\x00")?;
            out.write_all(&(length as u16).to_le_bytes())?;
            writeln!(out, "{shape:<width$}", width = length - 1)?;
            values.into_iter().try_for_each(|value| out.write_all(&value.to_le()))
        })
    }

    /// Makes a file under `out/` that is complete or absent: what `write` writes, and a hole of `zeros` bytes.
    fn file(
        &self,
        name: &str,
        zeros: u64,
        write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> Result<(String, Output)> {
        let name = format!("out/{name}");
        let path = self.workdir.join(&name);
        let part = temp_path(&path);
        let mut out = Hashed { file: BufWriter::with_capacity(1 << 20, create(&part)?), hash: Xxh3::new(), bytes: 0 };
        let done = write(&mut out).and_then(|()| out.flush()).and_then(|()| out.hole(zeros)).and_then(|()| {
            failpoint::hit("out.fsync")?;
            out.file.get_ref().sync_all()?;
            failpoint::hit("out.rename")?;
            std::fs::rename(&part, &path)
        });
        done.map_err(|e| {
            let _ = std::fs::remove_file(&part);
            // A signal ends the writing as an error does.
            signals::check().err().unwrap_or_else(|| Error::io("write results", &path, e))
        })?;
        sync_folder(&path)?;
        Ok((name, Output { bytes: out.bytes, checksum: out.hash.digest() }))
    }
}

fn create(path: &Path) -> Result<File> {
    File::create(path).map_err(|e| Error::io("create the file", path, e))
}

/// Hashes and counts what it passes on.
struct Hashed {
    file: BufWriter<File>,
    hash: Xxh3,
    bytes: u64,
}

impl Hashed {
    /// Lengthens the file by `bytes` zeros without writing them.
    fn hole(&mut self, bytes: u64) -> std::io::Result<()> {
        static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
        if bytes == 0 {
            return Ok(());
        }
        let mut left = bytes;
        while left > 0 {
            let now = left.min(ZEROS.len() as u64);
            self.hash.update(&ZEROS[..now as usize]);
            left -= now;
            if signals::stop_requested().is_some() {
                return Err(std::io::Error::other("a signal"));
            }
        }
        self.bytes += bytes;
        self.file.get_ref().set_len(self.bytes)
    }
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        failpoint::hit("out.write")?;
        self.file.write_all(bytes)?;
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        if signals::stop_requested().is_some() {
            return Err(std::io::Error::other("a signal"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
