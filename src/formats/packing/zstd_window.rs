//! Determines how much memory decompressing a zstd file needs, from its first frame header (RFC 8878, 3.1.1.1).

use std::io::Read;
use std::path::Path;

/// log2 of the smallest limit on the window size in bytes; `zstd -19` uses such a window.
const USUAL: u32 = 23;
/// log2 of the largest limit on the window size in bytes. `zstd --long` and `--ultra -22` use such windows. Files with
/// larger windows are rejected.
pub(super) const LARGEST: u32 = 27;

/// Returns log2 of the limit on the window size in bytes for a file, according to its first frame: at least [`USUAL`],
/// at most [`LARGEST`]. Returns [`LARGEST`] if the file can't be read, or does not begin like a zstd file.
pub(super) fn log(path: &Path) -> u32 {
    let mut header = [0; 14];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut header));
    match read.ok().and_then(|()| first_frame(&header)) {
        // The window size is rounded up to a power of two.
        Some(window) => (u64::BITS - window.saturating_sub(1).leading_zeros()).clamp(USUAL, LARGEST),
        None => LARGEST,
    }
}

/// Returns the window size in bytes of the frame with this header; `None` if it is not a zstd frame.
fn first_frame(header: &[u8; 14]) -> Option<u64> {
    let (magic, header) = header.split_first_chunk::<4>()?;
    if magic != &[0x28, 0xb5, 0x2f, 0xfd] {
        return None;
    }
    let descriptor = header[0];
    let single_segment = descriptor & 0x20 != 0;
    if !single_segment {
        let base = 1u64 << (10 + (header[1] >> 3));
        return Some(base + base / 8 * u64::from(header[1] & 7));
    }
    // Without a window descriptor, the whole content of the frame is the window; its size follows the dictionary id.
    let id = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let length = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let bytes = header.get(1 + id..1 + id + length)?;
    let size = bytes.iter().rev().fold(0, |size, byte| size << 8 | u64::from(*byte));
    Some(if length == 2 { size + 256 } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_real_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zst");
        let log_of = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            log(&path)
        };
        let contents = vec![1u8; 40 << 20];
        // A single segment, whose known size is stored in one, two or four bytes.
        for length in [100, 1000, 100_000] {
            let frame = zstd::bulk::compress(&contents[..length], 1).unwrap();
            assert_eq!(first_frame(frame.first_chunk().unwrap()), Some(length as u64));
            assert_eq!(log_of(&frame), USUAL);
        }
        // A stream, with the window of its compression level.
        assert_eq!(log_of(&zstd::encode_all(contents.as_slice(), 1).unwrap()), USUAL);
        let mut long = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
        long.window_log(25).unwrap();
        std::io::copy(&mut contents.as_slice(), &mut long).unwrap();
        assert_eq!(log_of(&long.finish().unwrap()), 25);
        assert_eq!(log_of(b"something else, long enough"), LARGEST);
        assert_eq!(log(&folder.path().join("none")), LARGEST);
    }
}
