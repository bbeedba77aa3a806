//! Queues of work on a GPU: copies, fills and kernels that run one after another while the host continues.
#![allow(unsafe_code)] // calls into the CUDA driver

use super::arena::DeviceSlice;
use super::device::Device;
use super::program::Kernel;
use crate::error::Result;
use crate::memory::Plain;
use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaEvent, CudaStream, result};
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

/// A queue of work on a GPU (a CUDA stream).
#[derive(Debug)]
pub struct Queue {
    device: Device,
    stream: Arc<CudaStream>,
}

#[must_use = "queued work is done only when the event is"]
/// A point in a queue of GPU work. The event is complete when all work queued before this point is complete.
#[derive(Debug)]
pub struct Event {
    device: Device,
    event: CudaEvent,
}

/// Dimensions of a kernel launch: the number and size of its thread blocks.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    /// Number of thread blocks of the launch.
    pub blocks: u32,
    /// Number of threads per thread block.
    pub threads: u32,
    /// Dynamic shared memory per thread block, in bytes.
    pub shared: u32,
}

/// Number of threads per thread block. The kernels have the same constant.
pub const THREADS: u32 = 256;

/// Arguments of a kernel, as a tuple. The kernel receives the bytes of each element.
pub trait Arguments {
    /// Returns a pointer to each kernel argument, in order.
    fn pointers(&self) -> Vec<*mut c_void>;
}

macro_rules! arguments {
    ($($name:ident)*) => {
        impl<$($name: Copy),*> Arguments for ($($name,)*) {
            #[allow(non_snake_case)] // one name for a type and its value
            fn pointers(&self) -> Vec<*mut c_void> {
                let ($($name,)*) = self;
                vec![$(std::ptr::from_ref($name).cast_mut().cast()),*]
            }
        }
    };
}
arguments!(A);
arguments!(A B);
arguments!(A B C);
arguments!(A B C D);
arguments!(A B C D E);
arguments!(A B C D E F);
arguments!(A B C D E F G);
arguments!(A B C D E F G H);
arguments!(A B C D E F G H I);
arguments!(A B C D E F G H I J);
arguments!(A B C D E F G H I J K);

impl Queue {
    /// Creates a queue on the GPU `device`.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn new(device: &Device) -> Result<Queue> {
        let stream = device.context().new_stream().map_err(|e| device.driver_error("create a queue", e))?;
        Ok(Queue { device: device.clone(), stream })
    }

    /// Returns launch dimensions with one thread for each of `items` items, but at most eight thread blocks per
    /// multiprocessor, which are enough to fill the GPU.
    pub fn grid(&self, items: u64) -> Grid {
        let most = 8 * self.device.multiprocessors();
        let blocks = items.div_ceil(u64::from(THREADS)).min(u64::from(most)) as u32;
        Grid { blocks, threads: THREADS, shared: 0 }
    }

    /// Queues the launch of a kernel.
    ///
    /// # Safety
    /// `arguments` must match the kernel's parameters in type and order. Until the kernel has ended, every address
    /// among the arguments must stay valid, and nothing else may use the memory at that address.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub unsafe fn launch(&self, kernel: &Kernel, grid: Grid, arguments: impl Arguments) -> Result<()> {
        if grid.blocks == 0 {
            return Ok(());
        }
        // SAFETY: the kernel's module stays loaded while `kernel` lives; the caller promises the rest.
        unsafe { self.launch_as(false, kernel, grid, arguments) }
    }

    /// Queues a cooperative launch: all thread blocks of the kernel run at the same time, so that they may wait for
    /// each other. There may be at most [`Kernel::blocks_at_once`] blocks.
    ///
    /// # Safety
    /// The same conditions as for [`Self::launch`].
    ///
    /// # Errors
    /// [`crate::Error::Lost`], also if there are too many blocks.
    pub unsafe fn launch_together(&self, kernel: &Kernel, grid: Grid, arguments: impl Arguments) -> Result<()> {
        // SAFETY: as in `launch`.
        unsafe { self.launch_as(true, kernel, grid, arguments) }
    }

    /// Queues the launch of a kernel. If `together` is true, the launch is cooperative: all thread blocks run at the
    /// same time.
    ///
    /// # Safety
    /// The same conditions as for [`Self::launch`].
    unsafe fn launch_as(&self, together: bool, kernel: &Kernel, grid: Grid, arguments: impl Arguments) -> Result<()> {
        self.device.bind()?;
        let launch = if together { result::launch_cooperative_kernel } else { result::launch_kernel };
        let (blocks, threads, stream) = ((grid.blocks, 1, 1), (grid.threads, 1, 1), self.stream.cu_stream());
        // SAFETY: the caller's promise.
        unsafe { launch(kernel.function(), blocks, threads, grid.shared, stream, &mut arguments.pointers()) }
            .map_err(|e| self.device.driver_error(kernel.name(), e))
    }

    /// Queues a fill that sets every byte of the GPU slice `span` to `byte`.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn fill<T: Plain>(&self, span: DeviceSlice<T>, byte: u8) -> Result<()> {
        self.device.bind()?;
        if span.is_empty() {
            return Ok(());
        }
        // SAFETY: a slice lies in its arena, and queues order the use of the arena.
        unsafe { result::memset_d8_async(span.address(), byte, span.bytes() as usize, self.stream.cu_stream()) }
            .map_err(|e| self.device.driver_error("fill memory", e))
    }

    /// Queues a copy from host memory to GPU memory.
    ///
    /// # Safety
    /// `from` must not change until the copy is complete.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub unsafe fn upload<T: Plain>(&self, from: &[T], to: DeviceSlice<T>) -> Result<()> {
        debug_assert!(from.len() as u64 <= to.len());
        self.device.bind()?;
        // SAFETY: `to` is at least as long; the caller promises the rest.
        unsafe { result::memcpy_htod_async(to.address(), from, self.stream.cu_stream()) }
            .map_err(|e| self.device.driver_error("copy to it", e))
    }

    /// Queues a copy from GPU memory to host memory.
    ///
    /// # Safety
    /// Nothing may access `to` until the copy is complete.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub unsafe fn download<T: Plain>(&self, from: DeviceSlice<T>, to: &mut [T]) -> Result<()> {
        debug_assert!(to.len() as u64 <= from.len());
        self.device.bind()?;
        // SAFETY: `from` is at least as long; the caller promises the rest.
        unsafe { result::memcpy_dtoh_async(to, from.address(), self.stream.cu_stream()) }
            .map_err(|e| self.device.driver_error("copy from it", e))
    }

    /// Queues a copy of all of `from` to `to`. Both are GPU memory, possibly on different GPUs.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn copy<T: Plain>(&self, from: DeviceSlice<T>, to: DeviceSlice<T>) -> Result<()> {
        debug_assert!(from.len() <= to.len());
        self.device.bind()?;
        // SAFETY: both are slices of arenas, and queues order the use of arenas.
        unsafe {
            result::memcpy_dtod_async(to.address(), from.address(), from.bytes() as usize, self.stream.cu_stream())
        }
        .map_err(|e| self.device.driver_error("copy within GPU memory", e))
    }

    /// Copies elements to GPU memory after all queued work, and waits until the copy is complete.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn write<T: Plain>(&self, from: &[T], to: DeviceSlice<T>) -> Result<()> {
        // SAFETY: `from` stays borrowed until the queue is finished.
        unsafe { self.upload(from, to)? };
        self.finish()
    }

    /// Copies elements from GPU memory after all queued work, and waits until the copy is complete.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn read<T: Plain>(&self, from: DeviceSlice<T>, to: &mut [T]) -> Result<()> {
        // SAFETY: `to` stays borrowed until the queue is finished.
        unsafe { self.download(from, to)? };
        self.finish()
    }

    /// Copies the first `N` elements of `from` like [`Self::read`], and returns them.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn read_first<T: Plain + Copy + Default, const N: usize>(&self, from: DeviceSlice<T>) -> Result<[T; N]> {
        let mut elements = [T::default(); N];
        self.read(from, &mut elements).map(|()| elements)
    }

    /// Returns a new event that marks the current end of the queue.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn record(&self) -> Result<Event> {
        self.record_with(None)
    }

    /// Returns a new event at the current end of the queue. The event also records the time, for [`Event::until`].
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn record_timed(&self) -> Result<Event> {
        self.record_with(Some(CUevent_flags::CU_EVENT_DEFAULT))
    }

    fn record_with(&self, flags: Option<CUevent_flags>) -> Result<Event> {
        let event = self.stream.record_event(flags).map_err(|e| self.device.driver_error("record an event", e))?;
        Ok(Event { device: self.device.clone(), event })
    }

    /// Records an existing event again, so that it marks the current end of the queue.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn mark(&self, event: &Event) -> Result<()> {
        event.event.record(&self.stream).map_err(|e| self.device.driver_error("record an event", e))
    }

    /// Makes work that is queued from now on wait for `event`.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn after(&self, event: &Event) -> Result<()> {
        self.stream.wait(&event.event).map_err(|e| self.device.driver_error("wait for an event", e))
    }

    /// Waits until all work in the queue is complete.
    ///
    /// # Errors
    /// [`crate::Error::Lost`] if anything failed on the device.
    pub fn finish(&self) -> Result<()> {
        self.stream.synchronize().map_err(|e| self.device.driver_error("compute", e))
    }
}

impl Event {
    /// Returns true if all work queued before the event is complete.
    ///
    /// # Errors
    /// [`crate::Error::Lost`] if anything failed on the device.
    pub fn is_done(&self) -> Result<bool> {
        self.device.bind()?;
        self.event.try_is_complete().map_err(|e| self.device.driver_error("compute", e))
    }

    /// Returns the time from this event to the event `later`. Both must come from [`Queue::record_timed`], and both
    /// must be complete.
    ///
    /// # Errors
    /// [`crate::Error::Lost`] if anything failed on the device.
    pub fn until(&self, later: &Event) -> Result<Duration> {
        let milliseconds = self.event.elapsed_ms(&later.event).map_err(|e| self.device.driver_error("compute", e))?;
        Ok(Duration::from_secs_f32((milliseconds / 1000.0).max(0.0)))
    }

    /// Waits until all work queued before the event is complete.
    ///
    /// # Errors
    /// [`crate::Error::Lost`] if anything failed on the device.
    pub fn wait(&self) -> Result<()> {
        self.event.synchronize().map_err(|e| self.device.driver_error("compute", e))
    }
}
