//! Bytes that this process has read from disks, as counted by the system.

use crate::store::os;

/// Returns the bytes that the system has read from disks for this process, pages of mapped files included. Returns 0 if
/// the system does not report them.
pub fn bytes_read() -> u64 {
    os::disk_bytes().0
}
