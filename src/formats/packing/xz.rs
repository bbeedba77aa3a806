//! Determines how much memory decompressing an xz file needs, from its first block header (the .xz file format, 3.1).

use std::io::{BufRead, Read};
use std::path::Path;

use liblzma::bufread::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};

/// Smallest memory limit for decompressing an xz file, in bytes; `xz -6` needs 8 MiB.
const USUAL: u64 = 9 << 20;
/// Largest memory limit for decompressing an xz file, in bytes: twice what `xz -9` needs. Files that need more are
/// rejected.
const LARGEST: u64 = 129 << 20;
/// Memory in bytes that an xz decoder needs in addition to the dictionary.
const OVERHEAD: u64 = 1 << 20;

/// Returns the memory limit in bytes for decompressing a file, according to its first block: at least [`USUAL`], at
/// most [`LARGEST`]. Returns [`LARGEST`] if the file can't be read, or does not begin like an xz file.
pub(super) fn memory(path: &Path) -> u64 {
    let mut header = Vec::new();
    // A stream header is 12 bytes long, a block header at most 1024.
    let read = std::fs::File::open(path).and_then(|file| file.take(12 + 1024).read_to_end(&mut header));
    let dictionary = read.ok().and_then(|_| first_dictionary(&header));
    dictionary.map_or(LARGEST, |bytes| (bytes + OVERHEAD).clamp(USUAL, LARGEST))
}

/// Returns a decoder for all streams of a file. The decoder uses no more memory than [`memory`] returns.
pub(super) fn decoder<R: BufRead>(stored: R, path: &Path) -> std::io::Result<XzDecoder<R>> {
    let stream = Stream::new_stream_decoder(memory(path), CONCATENATED)?;
    Ok(XzDecoder::new_stream(stored, stream))
}

/// Returns the dictionary size of the first block, in bytes; `None` if the file is not xz.
fn first_dictionary(file: &[u8]) -> Option<u64> {
    let block = file.strip_prefix(b"\xfd7zXZ\0")?.get(6..)?;
    let length = (usize::from(*block.first()?) + 1) * 4;
    let (flags, mut rest) = block.get(1..length)?.split_first()?;
    // Optional sizes come before the filters, the last of which is LZMA2.
    for _ in 0..(flags >> 6).count_ones() {
        number(&mut rest)?;
    }
    for _ in 0..=flags & 3 {
        let (id, length) = (number(&mut rest)?, number(&mut rest)?);
        let (properties, behind) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        rest = behind;
        if let (0x21, &[bits @ 0..=39]) = (id, properties) {
            return Some((2 | u64::from(bits & 1)) << (bits / 2 + 11));
        }
    }
    None
}

/// Reads an integer of variable length, with seven bits per byte.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use liblzma::stream::{Check, Filters, LzmaOptions};
    use std::io::Write;

    fn packed(contents: &[u8], dictionary: u32) -> Vec<u8> {
        let mut options = LzmaOptions::new_preset(0).unwrap();
        options.dict_size(dictionary);
        let mut filters = Filters::new();
        filters.lzma2(&options);
        let stream = Stream::new_stream_encoder(&filters, Check::Crc64).unwrap();
        let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
        encoder.write_all(contents).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn dictionaries_of_real_files_bound_the_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.xz");
        let contents: Vec<u8> = (0..100_000u32).flat_map(|i| i.wrapping_mul(i).to_le_bytes()).collect();
        for (dictionary, most) in [(1 << 16, USUAL), (64 << 20, 65 << 20), (512 << 20, LARGEST)] {
            let file = packed(&contents, dictionary);
            assert_eq!(first_dictionary(&file), Some(u64::from(dictionary)));
            std::fs::write(&path, &file).unwrap();
            assert_eq!(memory(&path), most);
            let mut found = Vec::new();
            let read = decoder(file.as_slice(), &path).unwrap().read_to_end(&mut found);
            assert_eq!(read.is_ok(), most < LARGEST, "{dictionary}");
            assert!(read.is_err() || found == contents);
        }
        // The second stream needs more memory than the first one declares.
        let both = [packed(&contents, 1 << 16), packed(&contents, 64 << 20)].concat();
        std::fs::write(&path, &both).unwrap();
        let error = decoder(both.as_slice(), &path).unwrap().read_to_end(&mut Vec::new()).unwrap_err();
        assert!(crate::formats::packing::too_large(crate::formats::Packing::Xz, &path, &error).is_some(), "{error}");
        assert_eq!(memory(&folder.path().join("none")), LARGEST);
        std::fs::write(&path, b"something else").unwrap();
        assert_eq!(memory(&path), LARGEST);
    }
}
