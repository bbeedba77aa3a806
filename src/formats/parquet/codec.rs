//! Unpacks pages to exactly the size that their header declares, into memory of that size.

use std::io::Read;

use parquet::basic::Compression;

/// The compression of a column's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    Plain,
    Snappy,
    Gzip,
    Brotli,
    Zstd,
    /// Raw LZ4 blocks.
    Lz4,
    /// LZ4 blocks in Hadoop frames. Some writers left out the frames.
    Lz4Hadoop,
}

impl Codec {
    /// Returns the codec of a column; the error is the name of a codec that is not supported.
    pub fn of(compression: Compression) -> Result<Codec, String> {
        Ok(match compression {
            Compression::UNCOMPRESSED => Codec::Plain,
            Compression::SNAPPY => Codec::Snappy,
            Compression::GZIP(_) => Codec::Gzip,
            Compression::BROTLI(_) => Codec::Brotli,
            Compression::ZSTD(_) => Codec::Zstd,
            Compression::LZ4_RAW => Codec::Lz4,
            Compression::LZ4 => Codec::Lz4Hadoop,
            Compression::LZO => return Err("LZO".into()),
        })
    }

    /// Returns an upper bound in bytes of the memory for unpacking, without the page itself.
    pub fn memory(self) -> u64 {
        match self {
            Codec::Plain | Codec::Snappy | Codec::Lz4 | Codec::Lz4Hadoop => 0,
            Codec::Gzip => 128 << 10,
            Codec::Zstd => 512 << 10,
            // Brotli needs a window of at most 16 MiB, and tables.
            Codec::Brotli => 20 << 20,
        }
    }

    /// Unpacks `stored`, and appends the result to `out`, which must then have `size` bytes.
    ///
    /// # Errors
    /// A sentence that says what is damaged, or which size was found.
    pub fn unpack(self, stored: &[u8], size: usize, out: &mut Vec<u8>) -> Result<(), String> {
        let start = out.len();
        out.resize(size, 0);
        let into = &mut out[start..];
        let wanted = into.len();
        let unpacked = match self {
            Codec::Plain => {
                return if stored.len() == wanted {
                    into.copy_from_slice(stored);
                    Ok(())
                } else {
                    Err(format!("{} bytes", stored.len()))
                };
            }
            // A page without values may be stored as zero bytes.
            _ if wanted == 0 => return Ok(()),
            Codec::Snappy => {
                let length = snap::raw::decompress_len(stored).map_err(|e| e.to_string())?;
                if length != wanted {
                    return Err(format!("{length} bytes"));
                }
                snap::raw::Decoder::new().decompress(stored, into).map_err(|e| e.to_string())?
            }
            Codec::Gzip => read(&mut flate2::bufread::MultiGzDecoder::new(stored), into)?,
            Codec::Brotli => read(&mut brotli_decompressor::Decompressor::new(stored, 4096), into)?,
            Codec::Zstd => zstd::bulk::decompress_to_buffer(stored, into).map_err(|e| e.to_string())?,
            Codec::Lz4 => lz4_flex::block::decompress_into(stored, into).map_err(|e| e.to_string())?,
            Codec::Lz4Hadoop => match hadoop(stored, into) {
                Some(unpacked) => unpacked,
                None => lz4_flex::block::decompress_into(stored, into).map_err(|e| e.to_string())?,
            },
        };
        if unpacked == wanted { Ok(()) } else { Err(format!("{unpacked} bytes")) }
    }
}

/// Fills `into` from a stream, and checks that the stream ends there.
fn read(from: &mut impl Read, into: &mut [u8]) -> Result<usize, String> {
    from.read_exact(into).map_err(|e| e.to_string())?;
    match from.read(&mut [0]) {
        Ok(0) => Ok(into.len()),
        Ok(_) => Err("more bytes".into()),
        Err(e) => Err(e.to_string()),
    }
}

/// Unpacks Hadoop frames: unpacked length and packed length (4 bytes each, big-endian), then an LZ4 block.
fn hadoop(mut stored: &[u8], into: &mut [u8]) -> Option<usize> {
    let mut filled = 0usize;
    while !stored.is_empty() {
        let (unpacked, rest) = stored.split_first_chunk::<4>()?;
        let (packed, rest) = rest.split_first_chunk::<4>()?;
        let (unpacked, packed) = (u32::from_be_bytes(*unpacked) as usize, u32::from_be_bytes(*packed) as usize);
        let block = rest.get(..packed)?;
        let room = into.get_mut(filled..filled.checked_add(unpacked)?)?;
        if lz4_flex::block::decompress_into(block, room).ok()? != unpacked {
            return None;
        }
        filled += unpacked;
        stored = &rest[packed..];
    }
    Some(filled)
}
