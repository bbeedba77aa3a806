//! Unpacks files of every packing, in memory that is known in advance.
//!
//! Consecutive streams, members or frames are one file, as for the tools of each packing. Anything else after the last is refused, except
//! zeros after gzip and xz, which are padding.

mod gzip;
mod stored;
mod xz;
mod zstd_window;

use std::io::{BufRead, Read, Result};
use std::path::Path;

pub(super) use stored::Stored;

use crate::formats::Packing;

/// Unpacks the bytes that `R` reads.
pub(crate) enum Decoder<R: BufRead> {
    Gzip(Box<gzip::Members<R>>),
    Zstd(Box<zstd::stream::read::Decoder<'static, R>>),
    Bzip2(Box<bzip2::bufread::MultiBzDecoder<R>>),
    Xz(Box<liblzma::bufread::XzDecoder<R>>),
    Plain(R),
}

/// Returns the most bytes that unpacking the file `path` takes, beside the reader's buffers.
pub(crate) fn memory(packing: Packing, path: &Path) -> u64 {
    match packing {
        Packing::Plain => 0,
        Packing::Gzip | Packing::Zip => 256 << 10,
        Packing::Zstd => (1 << zstd_window::log(path)) + (4 << 20),
        // A block of 900 kB takes four bytes for each of its own, and tables.
        Packing::Bzip2 => 5 << 20,
        Packing::Xz => xz::memory(path) + (1 << 20),
    }
}

/// Returns the expectation and the remedy if the error means that a packed file takes too much memory.
pub(crate) fn too_large(packing: Packing, path: &Path, error: &std::io::Error) -> Option<(String, &'static str)> {
    let (error, mib) = (error.to_string(), |bytes: u64| bytes >> 20);
    match packing {
        Packing::Zstd if error.contains("too much memory") => {
            let most = mib(1 << zstd_window::log(path));
            let remedy = "pack the file again without --long or --ultra";
            Some((format!("zstd frames of windows of at most {most} MiB"), remedy))
        }
        Packing::Xz if error.contains("memory") => {
            let most = mib(xz::memory(path));
            Some((format!("xz blocks that take at most {most} MiB"), "pack the file again by xz -9 at most"))
        }
        _ => None,
    }
}

impl<R: BufRead> Decoder<R> {
    /// Returns a decoder of the file `path`, whose bytes `stored` reads.
    ///
    /// # Errors
    /// [`std::io::Error`] if there is no memory for it.
    pub fn new(packing: Packing, stored: R, path: &Path) -> Result<Decoder<R>> {
        Ok(match packing {
            // The members of an archive are unpacked by its own reader.
            Packing::Plain | Packing::Zip => Decoder::Plain(stored),
            Packing::Gzip => Decoder::Gzip(Box::new(gzip::Members::new(stored))),
            Packing::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(stored)?;
                decoder.window_log_max(zstd_window::log(path))?;
                Decoder::Zstd(Box::new(decoder))
            }
            Packing::Bzip2 => Decoder::Bzip2(Box::new(bzip2::bufread::MultiBzDecoder::new(stored))),
            Packing::Xz => Decoder::Xz(Box::new(xz::decoder(stored, path)?)),
        })
    }

    /// Returns the reader of the packed bytes.
    pub fn stored(&self) -> &R {
        match self {
            Decoder::Gzip(decoder) => decoder.get_ref(),
            Decoder::Zstd(decoder) => decoder.get_ref(),
            Decoder::Bzip2(decoder) => decoder.get_ref(),
            Decoder::Xz(decoder) => decoder.get_ref(),
            Decoder::Plain(stored) => stored,
        }
    }
}

impl<R: BufRead> Read for Decoder<R> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        match self {
            Decoder::Gzip(decoder) => decoder.read(into),
            Decoder::Zstd(decoder) => decoder.read(into),
            Decoder::Bzip2(decoder) => decoder.read(into),
            Decoder::Xz(decoder) => decoder.read(into),
            Decoder::Plain(stored) => stored.read(into),
        }
    }
}
