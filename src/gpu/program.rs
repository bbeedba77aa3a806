//! Programs of GPU kernels. Their sources are compiled into the binary. NVRTC compiles them for the GPU in use, and the
//! compiled code (cubins) is cached.
#![allow(unsafe_code)] // calls into the CUDA driver and NVRTC

use super::device::Device;
use super::driver;
use super::source::{ProgramSource, cache};
use crate::error::{Error, Result};
use crate::store::replace::{make_folder_of, replace_volatile};
use cudarc::driver::sys::CUfunction_attribute as Attribute;
use cudarc::driver::{CudaFunction, CudaModule, sys as driver_sys};
use cudarc::nvrtc::{Ptx, sys};
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use xxhash_rust::xxh3::xxh3_64;

/// A compiled and loaded program of kernels.
#[derive(Debug, Clone)]
pub struct Program {
    device: Device,
    module: Arc<CudaModule>,
}

/// One kernel of a loaded program.
#[derive(Debug, Clone)]
pub struct Kernel {
    name: String,
    function: CudaFunction,
    device: Device,
}

impl Program {
    /// Loads the program `source`. Compiles it for GPUs of compute capability `capability`, unless compiled code from
    /// an earlier process can be used. Then waits until the GPU is open. Another thread sets `device` to the open GPU,
    /// or to `None` if opening it fails.
    ///
    /// # Errors
    /// [`Error::Usage`] if NVRTC is missing or too old, with a suggested fix; [`Error::Lost`], also if the GPU can't be
    /// opened.
    pub fn load(capability: &str, device: &OnceLock<Option<Device>>, source: &ProgramSource) -> Result<Program> {
        let options = options(capability);
        let cached = cached(source, &options);
        let compile = || {
            let began = std::time::Instant::now();
            let image = compile(source, &options)?;
            tracing::debug!(program = source.name, seconds = began.elapsed().as_secs_f64(), "compiled");
            // If the compiled code can't be cached, every process compiles for itself, which takes a second.
            if let Some(path) = &cached
                && let Err(e) = store(path, &image)
            {
                tracing::debug!("kernels are not cached: {e}");
            }
            Ok(image)
        };
        let found = cached.as_ref().and_then(|path| read_checked(path));
        let (is_cached, image) = (found.is_some(), found.map_or_else(compile, Ok)?);
        let device = device.wait().as_ref().ok_or_else(|| Error::Lost("the GPU did not open".into()))?;
        let load = |image| device.context().load_module(Ptx::from_binary(image));
        let module = match load(image) {
            // Cached code may come from a newer compiler than this driver supports, because nodes of different kinds
            // share a home directory.
            Err(_) if is_cached => load(compile()?),
            loaded => loaded,
        };
        let module = module.map_err(|e| device.driver_error("load its kernels", e))?;
        Ok(Program { device: device.clone(), module })
    }

    /// Returns true if compiled code of `source` for GPUs of compute capability `capability` is cached.
    pub fn is_cached(capability: &str, source: &ProgramSource) -> bool {
        cached(source, &options(capability)).is_some_and(|path| path.is_file())
    }

    /// Returns the kernel called `name`.
    ///
    /// # Errors
    /// [`Error::Lost`] if the program has no such kernel.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        self.device.bind()?;
        let function = self.module.load_function(name).map_err(|e| self.device.driver_error(name, e))?;
        Ok(Kernel { name: name.to_owned(), function, device: self.device.clone() })
    }
}

impl Kernel {
    /// Returns the kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Allows each thread block of the kernel `bytes` bytes of dynamic shared memory. Returns false if the GPU supports
    /// less per block.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub fn allow_shared(&mut self, bytes: u32) -> Result<bool> {
        let lost = |e| self.device.driver_error(&self.name, e);
        let fixed = self.function.get_attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES).map_err(lost)?;
        let is_room = u64::from(bytes) + fixed as u64 <= u64::from(self.device.shared_memory());
        if is_room {
            let most = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            self.function.set_attribute(most, bytes as i32).map_err(lost)?;
        }
        Ok(is_room)
    }

    /// Returns the number of thread blocks that run on the GPU at the same time, if each has `threads` threads and
    /// `shared` bytes of shared memory.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub fn blocks_at_once(&self, threads: u32, shared: u32) -> Result<u32> {
        let each = self.function.occupancy_max_active_blocks_per_multiprocessor(threads, shared as usize, None);
        Ok(each.map_err(|e| self.device.driver_error(&self.name, e))?.max(1) * self.device.multiprocessors())
    }

    pub(super) fn function(&self) -> driver_sys::CUfunction {
        self.function.cu_function()
    }
}

fn options(capability: &str) -> [String; 2] {
    [format!("--gpu-architecture=sm_{}", capability.replace('.', "")), "--std=c++17".into()]
}

/// Returns the path at which the compiled code of `source` is cached, or `None` if there is no cache.
fn cached(source: &ProgramSource, options: &[String]) -> Option<PathBuf> {
    let mut all = source.everything();
    options.iter().for_each(|option| all.push_str(option));
    let key = xxh3_64(all.as_bytes());
    Some(cache()?.join(format!("{}.{key:016x}.cubin", source.name)))
}

/// Reads compiled code from the cache. Returns `None` if it is absent or does not match its checksum.
fn read_checked(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = std::fs::read(path).ok()?;
    let sum = bytes.get(..8)?.try_into().ok().map(u64::from_le_bytes)?;
    let image = bytes.split_off(8);
    (xxh3_64(&image) == sum).then_some(image)
}

fn store(path: &Path, image: &[u8]) -> Result<()> {
    make_folder_of(path)?;
    replace_volatile(path, &[&xxh3_64(image).to_le_bytes(), image].concat())
}

/// NVRTC option to compile the functions of a program on four threads. It does not change the compiled code. Using all
/// threads of a node saves hardly more time: a program of 7.7 s takes 4.0 s with four, and 3.7 s with 16.
const SPLIT: &str = "--split-compile=4";

fn compile(source: &ProgramSource, options: &[String]) -> Result<Vec<u8>> {
    if !driver::load_nvrtc() {
        return Err(Error::Usage(format!(
            "NVRTC (libnvrtc.so) is missing, and the kernels for this GPU are not compiled yet: {}",
            driver::NVRTC_REMEDY
        )));
    }
    let text = |text: &str| CString::new(text).map_err(|_| failed(source, "a NUL byte in its text"));
    let (body, name) = (text(source.text)?, text(source.name)?);
    let headers = source.headers.iter().map(|(name, body)| Ok((text(name)?, text(body)?)));
    let headers = headers.collect::<Result<Vec<_>>>()?;
    let names: Vec<_> = headers.iter().map(|(name, _)| name.as_ptr()).collect();
    let bodies: Vec<_> = headers.iter().map(|(_, body)| body.as_ptr()).collect();
    // NVRTC 12.4 accepts `--split-compile`, but writes to its log that the option is unknown.
    let splits = driver::nvrtc_version() >= Some((12, 8));
    let options = options.iter().map(String::as_str).chain(splits.then_some(SPLIT));
    let options = options.map(text).collect::<Result<Vec<_>>>()?;
    let options: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
    let mut program = std::ptr::null_mut();
    // SAFETY: all strings outlive the calls, counts agree with arrays, and sizes are the sizes that NVRTC returns.
    unsafe {
        let (count, headers, names) = (headers.len() as i32, bodies.as_ptr(), names.as_ptr());
        let made = sys::nvrtcCreateProgram(&mut program, body.as_ptr(), name.as_ptr(), count, headers, names);
        made.result().map_err(|e| failed(source, format!("{e:?}")))?;
        let program = Handle(program);
        let done = sys::nvrtcCompileProgram(program.0, options.len() as i32, options.as_ptr()).result();
        done.map_err(|e| failed(source, format!("{e:?}: {}", program.log())))?;
        let mut size = 0;
        sys::nvrtcGetCUBINSize(program.0, &mut size).result().map_err(|e| failed(source, format!("{e:?}")))?;
        let mut image = vec![0u8; size];
        let read = sys::nvrtcGetCUBIN(program.0, image.as_mut_ptr().cast()).result();
        read.map_err(|e| failed(source, format!("{e:?}")))?;
        Ok(image)
    }
}

fn failed(source: &ProgramSource, why: impl std::fmt::Display) -> Error {
    let name = source.name;
    let remedy = "install an NVRTC that supports this GPU, or set run.device = \"cpu\"";
    Error::Usage(format!("NVRTC did not compile {name}: {why}: {remedy}"))
}

/// A program of kernels that NVRTC compiles. It is destroyed on drop.
struct Handle(sys::nvrtcProgram);

impl Handle {
    /// Returns the error messages of NVRTC in one line.
    fn log(&self) -> String {
        let mut size = 0;
        // SAFETY: the program is alive; the buffer has the size that NVRTC returns.
        let bytes = unsafe {
            if sys::nvrtcGetProgramLogSize(self.0, &mut size).result().is_err() {
                return String::new();
            }
            let mut bytes = vec![0u8; size];
            let _ = sys::nvrtcGetProgramLog(self.0, bytes.as_mut_ptr().cast());
            bytes
        };
        let text = String::from_utf8_lossy(&bytes);
        text.trim_end_matches('\0').lines().filter(|line| line.contains("error")).collect::<Vec<_>>().join("; ")
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: created by nvrtcCreateProgram, destroyed once.
        unsafe {
            let _ = sys::nvrtcDestroyProgram(&mut self.0);
        }
    }
}
