//! The one piece of GPU memory that a job takes, and parts of it.
#![allow(unsafe_code)] // calls into the CUDA driver

use super::device::Device;
use crate::error::{Error, Result};
use crate::size;
use cudarc::driver::{DriverError, result};
use std::marker::PhantomData;
use std::ops::Range;

/// Parts begin at multiples of this: what a warp's load of 16 bytes a lane likes, and all that copies need.
pub const ALIGN: u64 = 256;

/// What drivers give memory in: an arena that is no multiple of it would take more than it says.
const PIECE: u64 = 2 << 20;

/// `bytes` down to whole pieces; of less than one it stays nearly as it is.
pub fn whole_pieces(bytes: u64) -> u64 {
    let piece = if bytes < PIECE { ALIGN } else { PIECE };
    bytes / piece * piece
}

/// The limit that an arena of `least` bytes takes, as a job file has it.
pub fn at_least(least: u64) -> String {
    crate::memory::at_least(if least < PIECE { least } else { least.next_multiple_of(PIECE) })
}

/// Memory on a GPU, given out from start to end, or from its end on.
#[derive(Debug)]
pub struct Arena {
    device: Device,
    start: u64,
    bytes: u64,
    used: u64,
    /// What of the start stays given out, and what of the end is, whoever resets the rest.
    held: u64,
    last: u64,
}

impl Arena {
    pub(super) fn new(device: &Device, bytes: u64) -> std::result::Result<Arena, DriverError> {
        device.context().bind_to_thread()?;
        // SAFETY: the context is current; the memory is freed on drop alone.
        let start = unsafe { result::malloc_sync(bytes as usize)? };
        Ok(Arena { device: device.clone(), start, bytes, used: 0, held: 0, last: 0 })
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn address(&self) -> u64 {
        self.start
    }

    /// Bytes of all of it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gives out no more than `bytes` in all from now on, but for what is given out. Of no effect while some of the end is.
    pub fn trim(&mut self, bytes: u64) {
        // What was given out from the end is counted from there.
        if self.last == 0 {
            self.bytes = self.bytes.min(bytes.max(self.used));
        }
    }

    /// All of it, whatever is given out.
    pub fn words(&self) -> DeviceSlice<u32> {
        DeviceSlice { start: self.start, len: self.bytes / 4, element: PhantomData }
    }

    /// Bytes not given out.
    pub fn free(&self) -> u64 {
        self.bytes - self.used - self.last
    }

    /// Nothing, if all of it is `least` bytes or more.
    ///
    /// # Errors
    /// [`Error::Limit`] naming these bytes.
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

    /// How much is given out; [`Self::reset`] goes back to it.
    pub fn mark(&self) -> u64 {
        self.used
    }

    /// Takes back all that was given out since `mark`, but what is held. Whoever still has a part of it must not use it.
    pub fn reset(&mut self, mark: u64) {
        self.used = mark.clamp(self.held, self.used);
    }

    /// Holds the first `bytes` bytes that are given out until [`Self::let_go`].
    pub fn hold(&mut self, bytes: u64) {
        self.held = bytes.next_multiple_of(ALIGN).min(self.used);
    }

    /// Gives out the last `bytes` bytes of what is free until [`Self::let_go`]: the byte of the arena at which they begin, and
    /// their span. `None` if they are not there.
    pub fn take_last(&mut self, bytes: u64) -> Option<(u64, DeviceSlice<u8>)> {
        let rounded = slice_bytes::<u8>(bytes);
        if rounded > self.free() {
            return None;
        }
        self.last += rounded;
        let at = (self.bytes - self.last) / ALIGN * ALIGN;
        self.last = self.bytes - at;
        Some((at, DeviceSlice { start: self.start + at, len: bytes, element: PhantomData }))
    }

    /// What is held, or was given out from the end, can be given out again.
    pub fn let_go(&mut self) {
        (self.held, self.last) = (0, 0);
    }

    /// Gives out room for `len` elements, with whatever they hold. `None` if it is not there.
    pub fn take<T>(&mut self, len: u64) -> Option<DeviceSlice<T>> {
        let bytes = slice_bytes::<T>(len);
        if bytes > self.free() {
            return None;
        }
        debug_assert!(self.used.is_multiple_of(ALIGN), "a part of the arena that kernels can't read");
        let start = self.start + self.used;
        self.used += bytes;
        Some(DeviceSlice { start, len, element: PhantomData })
    }

    /// The same where a plan has made sure of the room.
    ///
    /// # Errors
    /// That of [`Error::internal`] if it is not there.
    pub fn take_planned<T>(&mut self, len: u64) -> Result<DeviceSlice<T>> {
        self.take(len).ok_or_else(|| Error::internal("share out GPU memory", "less than planned"))
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if self.device.context().bind_to_thread().is_ok() {
            // A failure means that the context is lost, and the memory with it.
            // SAFETY: allocated in `new`, freed once.
            let _ = unsafe { result::free_sync(self.start) };
        }
    }
}

/// Bytes that `len` elements take in an arena.
pub fn slice_bytes<T>(len: u64) -> u64 {
    (len * size_of::<T>() as u64).max(1).next_multiple_of(ALIGN)
}

/// Part of an [`Arena`], of this process or another: `len` elements in device memory. Only kernels and copies can look inside.
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
    /// No elements, nowhere.
    fn default() -> Self {
        DeviceSlice { start: 0, len: 0, element: PhantomData }
    }
}

impl<T> DeviceSlice<T> {
    pub(crate) fn at(start: u64, len: u64) -> DeviceSlice<T> {
        DeviceSlice { start, len, element: PhantomData }
    }

    /// Address on the device, as kernels take it.
    pub fn address(self) -> u64 {
        self.start
    }

    /// Number of elements.
    pub fn len(self) -> u64 {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The same memory as bytes.
    pub fn as_bytes(self) -> DeviceSlice<u8> {
        DeviceSlice { start: self.start, len: self.bytes(), element: PhantomData }
    }

    /// Bytes.
    pub fn bytes(self) -> u64 {
        self.len * size_of::<T>() as u64
    }

    /// Elements `range` of it, as far as it has them.
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
