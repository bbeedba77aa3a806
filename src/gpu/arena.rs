//! The single allocation of GPU memory that a job makes, and slices of it.
#![allow(unsafe_code)] // calls into the CUDA driver

use super::device::Device;
use crate::error::{Error, Result};
use crate::process::gpu_use;
use crate::size;
use cudarc::driver::{DriverError, result};
use std::marker::PhantomData;
use std::ops::Range;

/// Alignment of slices in bytes: enough for a warp's 16-byte loads and for all copies.
pub const ALIGN: u64 = 256;

/// Granularity in which drivers allocate, in bytes: an arena that is no multiple of it would take more than its size.
const PIECE: u64 = 2 << 20;

/// Rounds `bytes` down to the granularity of allocation; sizes below that are rounded down to `ALIGN`.
pub fn whole_pieces(bytes: u64) -> u64 {
    let piece = if bytes < PIECE { ALIGN } else { PIECE };
    bytes / piece * piece
}

/// Returns the limit that an arena of `least` bytes needs, as a job file writes it.
pub fn at_least(least: u64) -> String {
    crate::memory::at_least(if least < PIECE { least } else { least.next_multiple_of(PIECE) })
}

/// GPU memory from which slices are taken, from its start or from its end.
#[derive(Debug)]
pub struct Arena {
    device: Device,
    start: u64,
    bytes: u64,
    used: u64,
    /// Bytes at the start, and at the end, that stay taken when the rest is reset.
    held: u64,
    last: u64,
}

impl Arena {
    pub(super) fn new(device: &Device, bytes: u64) -> std::result::Result<Arena, DriverError> {
        device.context().bind_to_thread()?;
        // SAFETY: the context is current; the memory is freed on drop alone.
        let start = unsafe { result::malloc_sync(bytes as usize)? };
        let arena = Arena { device: device.clone(), start, bytes, used: 0, held: 0, last: 0 };
        arena.tell();
        Ok(arena)
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn address(&self) -> u64 {
        self.start
    }

    /// Returns the size of the arena in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reduces the arena to `bytes` bytes, or to those taken if they are more. Does nothing while slices of its end are taken.
    pub fn trim(&mut self, bytes: u64) {
        // Slices of the end are placed by the size.
        if self.last == 0 {
            self.bytes = self.bytes.min(bytes.max(self.used));
        }
    }

    /// Returns the whole arena as words, including what is taken.
    pub fn words(&self) -> DeviceSlice<u32> {
        DeviceSlice { start: self.start, len: self.bytes / 4, element: PhantomData }
    }

    /// Returns the number of bytes that are not taken.
    pub fn free(&self) -> u64 {
        self.bytes - self.used - self.last
    }

    /// Tells the metrics of the job how much is taken.
    fn tell(&self) {
        gpu_use::take(self.used + self.last);
    }

    /// Checks that the arena has at least `least` bytes.
    ///
    /// # Errors
    /// [`Error::Limit`] naming `least`.
    pub fn holds(&self, least: u64, purpose: &str) -> Result<()> {
        if self.bytes >= least {
            return Ok(());
        }
        let limit = self.device.limit();
        let given = match self.bytes == whole_pieces(limit) {
            true => size::show(limit),
            false => format!("{} ({} of it free)", size::show(limit), size::show(self.bytes)),
        };
        Err(Error::Limit { limit: "gpu_memory", given, needed: at_least(least), purpose: purpose.to_owned() })
    }

    /// Returns the number of bytes taken from the start; [`Self::reset`] goes back to it.
    pub fn mark(&self) -> u64 {
        self.used
    }

    /// Frees all that was taken since `mark`, but not what is held. Slices taken since then must not be used any more.
    pub fn reset(&mut self, mark: u64) {
        self.used = mark.clamp(self.held, self.used);
        self.tell();
    }

    /// Keeps the first `bytes` bytes from being reset until [`Self::let_go`].
    pub fn hold(&mut self, bytes: u64) {
        self.held = bytes.next_multiple_of(ALIGN).min(self.used);
    }

    /// Takes the last `bytes` bytes that are free until [`Self::let_go`]. Returns their byte offset and the slice, or `None` if there is
    /// too little room.
    pub fn take_last(&mut self, bytes: u64) -> Option<(u64, DeviceSlice<u8>)> {
        let rounded = slice_bytes::<u8>(bytes);
        if rounded > self.free() {
            return None;
        }
        self.last += rounded;
        let at = (self.bytes - self.last) / ALIGN * ALIGN;
        self.last = self.bytes - at;
        self.tell();
        Some((at, DeviceSlice { start: self.start + at, len: bytes, element: PhantomData }))
    }

    /// Lets what is held, or was taken from the end, be taken again.
    pub fn let_go(&mut self) {
        (self.held, self.last) = (0, 0);
        self.tell();
    }

    /// Takes room for `len` elements, whose contents are undefined. Returns `None` if there is too little.
    pub fn take<T>(&mut self, len: u64) -> Option<DeviceSlice<T>> {
        let bytes = slice_bytes::<T>(len);
        if bytes > self.free() {
            return None;
        }
        debug_assert!(self.used.is_multiple_of(ALIGN), "a part of the arena that kernels can't read");
        let start = self.start + self.used;
        self.used += bytes;
        self.tell();
        Some(DeviceSlice { start, len, element: PhantomData })
    }

    /// Takes room for `len` elements that a plan has provided for.
    ///
    /// # Errors
    /// [`Error::internal`] if there is too little.
    pub fn take_planned<T>(&mut self, len: u64) -> Result<DeviceSlice<T>> {
        self.take(len).ok_or_else(|| Error::internal("share out GPU memory", "less than planned"))
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        gpu_use::take(0);
        if self.device.context().bind_to_thread().is_ok() {
            // A failure means that the context is lost, and the memory with it.
            // SAFETY: allocated in `new`, freed once.
            let _ = unsafe { result::free_sync(self.start) };
        }
    }
}

/// Returns the bytes of an arena that `len` elements take.
pub fn slice_bytes<T>(len: u64) -> u64 {
    (len * size_of::<T>() as u64).max(1).next_multiple_of(ALIGN)
}

/// A slice of an [`Arena`], of this process or another: `len` elements in device memory. Only kernels and copies can access them.
#[derive(Debug)]
pub struct DeviceSlice<T> {
    start: u64,
    len: u64,
    element: PhantomData<fn() -> T>,
}

impl<T> Clone for DeviceSlice<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DeviceSlice<T> {}

impl<T> Default for DeviceSlice<T> {
    /// Returns an empty slice without an address.
    fn default() -> Self {
        DeviceSlice { start: 0, len: 0, element: PhantomData }
    }
}

impl<T> DeviceSlice<T> {
    pub(crate) fn at(start: u64, len: u64) -> DeviceSlice<T> {
        DeviceSlice { start, len, element: PhantomData }
    }

    /// Returns the address on the device, as kernels take it.
    pub fn address(self) -> u64 {
        self.start
    }

    /// Returns the number of elements.
    pub fn len(self) -> u64 {
        self.len
    }

    /// Returns true if the slice is empty.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Returns the same memory as bytes.
    pub fn as_bytes(self) -> DeviceSlice<u8> {
        DeviceSlice { start: self.start, len: self.bytes(), element: PhantomData }
    }

    /// Returns its size in bytes.
    pub fn bytes(self) -> u64 {
        self.len * size_of::<T>() as u64
    }

    /// Returns the elements `range`, cut at the end of the slice.
    pub fn part(self, range: Range<u64>) -> DeviceSlice<T> {
        let (from, to) = (range.start.min(self.len), range.end.min(self.len));
        let start = self.start + from * size_of::<T>() as u64;
        DeviceSlice { start, len: to.saturating_sub(from), element: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use super::{PIECE, at_least, whole_pieces};

    #[test]
    fn a_limit_that_is_named_makes_an_arena_that_does() {
        for least in [1, 1000, 1 << 20, PIECE - 1, PIECE, PIECE + 1, 3 << 20, 123_456_789] {
            let named = crate::size::parse(&at_least(least)).expect("a size");
            assert!(whole_pieces(named) >= least, "{least}: {named}");
        }
        assert_eq!([whole_pieces(5 << 20), whole_pieces(1 << 20), whole_pieces(1000)], [4 << 20, 1 << 20, 768]);
    }
}
