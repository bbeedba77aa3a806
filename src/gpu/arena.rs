//! The arena: a single allocation that contains all GPU memory of a job. Slices for all purposes are allocated from it.
#![allow(unsafe_code)] // calls into the CUDA driver

use super::device::{ALIGN, Device, at_least, whole_pieces};
use super::users::other_users;
use crate::error::{Error, Result};
use crate::process::gpu_use;
use crate::size;
use cudarc::driver::{DriverError, result, sys};
use std::marker::PhantomData;
use std::ops::Range;

/// All GPU memory of a job, as one allocation. Slices are allocated from its start or from its end.
#[derive(Debug)]
pub struct Arena {
    device: Device,
    start: u64,
    bytes: u64,
    used: u64,
    /// Number of bytes at the start of the arena that [`Arena::reset`] does not free.
    held: u64,
    /// Number of bytes allocated from the end of the arena.
    last: u64,
}

impl Arena {
    /// Allocates the arena, from which all memory on this GPU comes. Its size is the memory limit, or the free memory
    /// if that is less.
    ///
    /// # Errors
    /// [`Error::Limit`] if less than `least` bytes are available, [`Error::Lost`].
    pub fn allocate(device: &Device, least: u64) -> Result<Arena> {
        let (limit, gpu) = (device.limit(), device.gpu());
        let short = |given: String| Error::Limit {
            limit: "gpu_memory",
            given,
            needed: at_least(least),
            purpose: format!("this graph on GPU {} ({}){}", gpu.index, gpu.name, other_users(&gpu.uuid)),
        };
        let whole = whole_pieces(limit);
        if whole < least {
            return Err(short(size::show(limit)));
        }
        let mut bytes = whole;
        loop {
            match Arena::of_bytes(device, bytes) {
                Ok(arena) => {
                    device.record_memory(bytes);
                    if bytes < whole {
                        let (index, bytes) = (gpu.index, size::show(bytes));
                        tracing::warn!("GPU {index} has less than limits.gpu_memory free: continuing with {bytes}");
                    }
                    return Ok(arena);
                }
                Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                    let free = device.free();
                    if bytes <= least {
                        return Err(short(format!("{} ({} of it free)", size::show(limit), size::show(free))));
                    }
                    // The largest possible allocation may be smaller than the free memory.
                    bytes = whole_pieces(free.min(bytes / 8 * 7)).max(least);
                }
                Err(e) => return Err(device.driver_error("allocate memory", e)),
            }
        }
    }

    fn of_bytes(device: &Device, bytes: u64) -> std::result::Result<Arena, DriverError> {
        device.context().bind_to_thread()?;
        // SAFETY: the context is current; the memory is freed only on drop.
        let start = unsafe { result::malloc_sync(bytes as usize)? };
        let arena = Arena { device: device.clone(), start, bytes, used: 0, held: 0, last: 0 };
        arena.report_use();
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

    /// Shrinks the arena to `bytes` bytes, but not below the bytes that are in use. Does nothing while slices at the
    /// end of the arena are in use.
    pub fn trim(&mut self, bytes: u64) {
        // The addresses of slices at the end depend on the arena's size.
        if self.last == 0 {
            self.bytes = self.bytes.min(bytes.max(self.used));
        }
    }

    /// Returns the whole arena as a slice of 32-bit words, including memory that is in use.
    pub fn words(&self) -> DeviceSlice<u32> {
        DeviceSlice { start: self.start, len: self.bytes / 4, element: PhantomData }
    }

    /// Returns the number of bytes of the arena that are not in use.
    pub fn free(&self) -> u64 {
        self.bytes - self.used - self.last
    }

    /// Reports the number of bytes of the arena that are in use to the job's metrics.
    fn report_use(&self) {
        gpu_use::take(self.used + self.last);
    }

    /// Checks that the arena has at least `least` bytes.
    ///
    /// # Errors
    /// [`Error::Limit`], with a memory limit that is large enough for `least` bytes.
    pub fn check_size(&self, least: u64, purpose: &str) -> Result<()> {
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

    /// Returns a mark for [`Self::reset`]: the number of bytes in use at the start of the arena.
    pub fn mark(&self) -> u64 {
        self.used
    }

    /// Frees the slices that were allocated from the start of the arena since `mark`. Bytes that [`Self::protect`]
    /// protects are not freed. Freed slices must not be used any more.
    pub fn reset(&mut self, mark: u64) {
        self.used = mark.clamp(self.held, self.used);
        self.report_use();
    }

    /// Protects the first `bytes` bytes from [`Self::reset`], until [`Self::release_protected`] is called.
    pub fn protect(&mut self, bytes: u64) {
        self.held = bytes.next_multiple_of(ALIGN).min(self.used);
    }

    /// Allocates `bytes` bytes from the end of the arena, which [`Self::release_protected`] frees. Returns their byte
    /// offset and the slice; `None` if there is not enough free memory.
    pub fn take_last(&mut self, bytes: u64) -> Option<(u64, DeviceSlice<u8>)> {
        let rounded = slice_bytes::<u8>(bytes);
        if rounded > self.free() {
            return None;
        }
        self.last += rounded;
        let at = (self.bytes - self.last) / ALIGN * ALIGN;
        self.last = self.bytes - at;
        self.report_use();
        Some((at, DeviceSlice { start: self.start + at, len: bytes, element: PhantomData }))
    }

    /// Frees the slices that were allocated from the end of the arena, and ends the effect of [`Self::protect`].
    pub fn release_protected(&mut self) {
        (self.held, self.last) = (0, 0);
        self.report_use();
    }

    /// Allocates a slice of `len` elements from the start of the arena. Its contents are undefined. Returns `None` if
    /// there is not enough free memory.
    pub fn take<T>(&mut self, len: u64) -> Option<DeviceSlice<T>> {
        let bytes = slice_bytes::<T>(len);
        if bytes > self.free() {
            return None;
        }
        debug_assert!(self.used.is_multiple_of(ALIGN), "a part of the arena that kernels can't read");
        let start = self.start + self.used;
        self.used += bytes;
        self.report_use();
        Some(DeviceSlice { start, len, element: PhantomData })
    }

    /// Allocates several slices; `lengths` are their lengths in 32-bit words. The caller must ensure that the arena has
    /// enough free memory for all of them.
    ///
    /// # Errors
    /// [`Error::internal`] if there is not enough free memory.
    pub fn take_all<const N: usize>(&mut self, lengths: [u64; N]) -> Result<[DeviceSlice<u32>; N]> {
        let mut slices = [DeviceSlice::default(); N];
        for (slice, length) in slices.iter_mut().zip(lengths) {
            *slice = self.take_planned(length)?;
        }
        Ok(slices)
    }

    /// Allocates a slice of `len` elements. The caller must ensure that the arena has enough free memory for it.
    ///
    /// # Errors
    /// [`Error::internal`] if there is not enough free memory.
    pub fn take_planned<T>(&mut self, len: u64) -> Result<DeviceSlice<T>> {
        self.take(len).ok_or_else(|| Error::internal("divide GPU memory", "less than planned"))
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        gpu_use::take(0);
        if self.device.context().bind_to_thread().is_ok() {
            // A failure means that the context is lost, and the memory with it.
            // SAFETY: allocated in `of_bytes`, freed once.
            let _ = unsafe { result::free_sync(self.start) };
        }
    }
}

/// Returns the number of bytes of an arena that a slice of `len` elements occupies.
pub fn slice_bytes<T>(len: u64) -> u64 {
    (len * size_of::<T>() as u64).max(1).next_multiple_of(ALIGN)
}

/// Returns the number of bytes of an arena that several slices together occupy. `lengths` are their lengths in 32-bit
/// words.
pub fn slices_bytes<const N: usize>(lengths: [u64; N]) -> u64 {
    lengths.into_iter().map(slice_bytes::<u32>).sum()
}

/// A slice of device memory with `len` elements, in an [`Arena`] of this process or another. Only kernels and copies
/// can access it.
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

    /// Returns the device address of the slice, which kernels receive.
    pub fn address(self) -> u64 {
        self.start
    }

    /// Returns the number of elements of the slice.
    pub fn len(self) -> u64 {
        self.len
    }

    /// Returns true if the slice is empty.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Returns the memory of the slice as a slice of bytes.
    pub fn as_bytes(self) -> DeviceSlice<u8> {
        DeviceSlice { start: self.start, len: self.bytes(), element: PhantomData }
    }

    /// Returns the size of the slice in bytes.
    pub fn bytes(self) -> u64 {
        self.len * size_of::<T>() as u64
    }

    /// Returns the sub-slice with the elements in `range`. Elements after the end of the slice are left out.
    pub fn part(self, range: Range<u64>) -> DeviceSlice<T> {
        let (from, to) = (range.start.min(self.len), range.end.min(self.len));
        let start = self.start + from * size_of::<T>() as u64;
        DeviceSlice { start, len: to.saturating_sub(from), element: PhantomData }
    }
}
