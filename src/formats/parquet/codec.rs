//! Decompresses pages to exactly the size that their header declares, into memory of that size.

use std::io::Read;

use parquet::basic::Compression;

/// Returns an upper bound on the memory in bytes that decompressing a page needs, without the page itself.
pub(super) fn memory(codec: Compression) -> u64 {
    match codec {
        Compression::GZIP(_) => 128 << 10,
        Compression::ZSTD(_) => 512 << 10,
        // Brotli needs a window of at most 16 MiB, and tables.
        Compression::BROTLI(_) => 20 << 20,
        _ => 0,
    }
}

/// Decompresses the bytes `stored`, and appends the result to `out`, which must then have `size` bytes.
///
/// # Errors
/// A description of the damage, or the size that was found.
pub(super) fn unpack(codec: Compression, stored: &[u8], size: usize, out: &mut Vec<u8>) -> Result<(), String> {
    let start = out.len();
    out.resize(size, 0);
    let into = &mut out[start..];
    let wanted = into.len();
    let unpacked = match codec {
        // A page without values may be stored as zero bytes.
        _ if wanted == 0 => return Ok(()),
        Compression::SNAPPY => {
            let length = snap::raw::decompress_len(stored).map_err(|e| e.to_string())?;
            if length != wanted {
                return Err(format!("{length} bytes"));
            }
            snap::raw::Decoder::new().decompress(stored, into).map_err(|e| e.to_string())?
        }
        Compression::GZIP(_) => read(&mut flate2::bufread::MultiGzDecoder::new(stored), into)?,
        Compression::BROTLI(_) => read(&mut brotli_decompressor::Decompressor::new(stored, 4096), into)?,
        Compression::ZSTD(_) => zstd::bulk::decompress_to_buffer(stored, into).map_err(|e| e.to_string())?,
        Compression::LZ4_RAW => lz4_flex::block::decompress_into(stored, into).map_err(|e| e.to_string())?,
        // LZ4 blocks in Hadoop frames. Some writers omit the frames.
        Compression::LZ4 => match hadoop(stored, into) {
            Some(unpacked) => unpacked,
            None => lz4_flex::block::decompress_into(stored, into).map_err(|e| e.to_string())?,
        },
        Compression::UNCOMPRESSED | Compression::LZO => {
            unreachable!("plain pages stay in the mapped file, and the footer refuses LZO")
        }
    };
    if unpacked == wanted { Ok(()) } else { Err(format!("{unpacked} bytes")) }
}

/// Fills `into` from a decompressed stream, and checks that the stream ends there.
fn read(from: &mut impl Read, into: &mut [u8]) -> Result<usize, String> {
    from.read_exact(into).map_err(|e| e.to_string())?;
    match from.read(&mut [0]) {
        Ok(0) => Ok(into.len()),
        Ok(_) => Err("more bytes".into()),
        Err(e) => Err(e.to_string()),
    }
}

/// Decompresses Hadoop frames: uncompressed length and compressed length (4 bytes each, big-endian), then an LZ4 block.
/// Returns the uncompressed size in bytes; `None` if the bytes are malformed.
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
