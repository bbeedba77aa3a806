//! Decompresses files in every supported compression format, with an amount of memory that is known in advance.
//!
//! Consecutive streams, members or frames are read as one file, as the usual tools do. Any other bytes after the last
//! one are rejected, except zeros after gzip and xz, which are padding.

mod gzip;
mod xz;
mod zstd_window;

use crate::formats::Packing;
use std::io::{BufRead, ErrorKind, Read, Result};
use std::path::Path;

/// Reader that decompresses the bytes that `R` reads.
pub(crate) enum Decoder<R: BufRead> {
    Gzip(Box<gzip::Members<R>>),
    Zstd(Box<zstd::stream::read::Decoder<'static, R>>),
    Bzip2(Box<bzip2::bufread::MultiBzDecoder<R>>),
    Xz(Box<liblzma::bufread::XzDecoder<R>>),
    Plain(R),
}

/// Returns an upper bound on the memory in bytes needed to decompress the file `path`, without the buffers of the
/// reader.
pub(crate) fn memory(packing: Packing, path: &Path) -> u64 {
    match packing {
        Packing::Plain => 0,
        Packing::Gzip | Packing::Zip => 256 << 10,
        Packing::Zstd => (1 << zstd_window::log(path)) + (4 << 20),
        // A block has 900 kB; each of its bytes needs four bytes of memory, in addition to tables.
        Packing::Bzip2 => 5 << 20,
        Packing::Xz => xz::memory(path) + (1 << 20),
    }
}

/// Returns the texts `(expected, remedy)` of an error message, if `error` means that decompression needs too much
/// memory.
pub(super) fn too_large(packing: Packing, path: &Path, error: &std::io::Error) -> Option<(String, &'static str)> {
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
    /// Creates a decoder for the file `path`, whose compressed bytes `stored` reads.
    ///
    /// # Errors
    /// [`std::io::Error`] if the decoder's memory can't be allocated.
    pub fn new(packing: Packing, stored: R, path: &Path) -> Result<Decoder<R>> {
        Ok(match packing {
            // The archive's own reader decompresses the members.
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

    /// Returns the reader of the compressed bytes.
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

/// Returns the compression of a file or a stream that begins with `head`. Binary pairs may begin like a compressed
/// file, so apparent gzip or Zstandard bytes are decompressed as a test.
pub(super) fn of_bytes(head: &[u8]) -> Packing {
    let unpacks = |decoder: &mut dyn Read| decoder.read(&mut [0; 512]).is_ok();
    match head {
        [0x1f, 0x8b, 8, flags, ..] if flags & 0xe0 == 0 && unpacks(&mut flate2::read::GzDecoder::new(head)) => {
            Packing::Gzip
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] if unpacks_zstd(head) => Packing::Zstd,
        [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', b'&', b'S', b'Y', ..] => Packing::Bzip2,
        // A stream that contains no data has no block, only an end mark.
        [b'B', b'Z', b'h', b'1'..=b'9', 0x17, b'r', b'E', b'8', b'P', 0x90, ..] => Packing::Bzip2,
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Packing::Xz,
        _ => Packing::Plain,
    }
}

/// Returns true if `head` is the beginning of Zstandard frames. The last block may be cut off by the end of `head`;
/// the decoder returns no bytes before a block is complete.
fn unpacks_zstd(head: &[u8]) -> bool {
    let Ok(mut decoder) = zstd::stream::read::Decoder::with_buffer(head) else { return false };
    let read = decoder.read(&mut [0; 512]).map_err(|e| e.kind());
    read.is_ok() || read == Err(ErrorKind::UnexpectedEof) && head.first() == Some(&0x28)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn packing_is_detected_by_unpacking() {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gz.write_all(b"0 1\n").unwrap();
        assert_eq!(of_bytes(&gz.finish().unwrap()), Packing::Gzip);
        let packed = zstd::bulk::compress(b"0 1\n", 3).unwrap();
        assert_eq!(of_bytes(&packed), Packing::Zstd);
        // The end of the data cuts off a block.
        assert_eq!(of_bytes(&packed[..packed.len() - 1]), Packing::Zstd);
        let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
        bz2.write_all(b"0 1\n").unwrap();
        assert_eq!(of_bytes(&bz2.finish().unwrap()), Packing::Bzip2);
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
        xz.write_all(b"0 1\n").unwrap();
        assert_eq!(of_bytes(&xz.finish().unwrap()), Packing::Xz);
        // Pairs of u32 that begin like a gzip member: 559,903 and 7.
        let pairs: Vec<u8> = [559_903_u32, 7, 0xffff_ffff, 8, 9].iter().flat_map(|id| id.to_le_bytes()).collect();
        assert_eq!(pairs[..4], [0x1f, 0x8b, 8, 0]);
        for plain in [&pairs[..], b"0 1\n", b"", b"BZh9", &[0x1f, 0x8b, 8, 0]] {
            assert_eq!(of_bytes(plain), Packing::Plain, "{plain:?}");
        }
    }
}
