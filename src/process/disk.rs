//! Counter of the bytes that this process has read from disks. The system counts them.

use crate::store::os;

/// Returns the bytes that the system has read from disks for this process, including pages of mapped files. Returns 0
/// if the system does not report them.
pub fn bytes_read() -> u64 {
    os::disk_bytes().0
}
