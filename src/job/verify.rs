//! `gpugraph verify`.

use super::manifest::Manifest;
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// Whether every file of results is as it was written.
pub fn outputs_are_whole(workdir: &Path, manifest: &Manifest) -> bool {
    manifest
        .outputs
        .iter()
        .all(|(name, output)| checksum(&workdir.join(name)).is_ok_and(|found| found == (output.bytes, output.checksum)))
}

/// Length and xxh3-64 of a file.
fn checksum(path: &Path) -> std::io::Result<(u64, u64)> {
    use std::io::Read;
    let mut file = std::fs::File::open(path)?;
    let (mut hash, mut bytes, mut buffer) = (Xxh3::new(), 0, vec![0; 1 << 20]);
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            return Ok((bytes, hash.digest()));
        }
        hash.update(&buffer[..n]);
        bytes += n as u64;
    }
}
