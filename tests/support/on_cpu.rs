//! For the tests of the stand-in for CUDA itself: they run again in a process that finds it in place of CUDA.
#![allow(unsafe_code)] // NVRTC, and launches

use std::ffi::CString;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use cudarc::driver::sys::CUresult;
use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::{Ptx, sys as nvrtc};

use crate::support;

/// Runs `body` in a process of its own, in which the stand-ins are CUDA: this test once more, which then is `name`.
/// What it wrote to standard error; nothing in that process itself, or without g++.
pub fn on_cpu(name: &str, settings: &[(&str, &str)], body: impl Fn()) -> Option<String> {
    if std::env::var_os("CUDA_ON_CPU_CASE").is_some_and(|case| case == name) {
        body();
        return None;
    }
    let folder = support::cuda_on_cpu::build("selftest", [selftest("").as_path()])?;
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args([name, "--exact", "--nocapture"]);
    command.env("CUDA_ON_CPU_CASE", name).env("LD_LIBRARY_PATH", folder).envs(settings.iter().copied());
    let ran = command.output().expect("run this test again");
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && out.contains("1 passed"), "with {settings:?}:\n{out}\n{err}");
    Some(err.into_owned())
}

pub fn selftest(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda_on_cpu/selftest").join(file)
}

/// What NVRTC makes of a file, with its header or without: the image, or the log.
pub fn compile(file: &str, with_header: bool) -> Result<Ptx, String> {
    let text = |name| CString::new(std::fs::read(selftest(name)).expect("a kernel")).expect("text");
    let (source, name, header, option) =
        (text(file), CString::new(file).expect("text"), text("common.cuh"), c"--gpu-architecture=sm_90");
    let mut program = std::ptr::null_mut();
    // SAFETY: all texts end with zero and outlive the program; buffers are as large as it says.
    unsafe {
        let (headers, names, options) = ([header.as_ptr()], [c"common.cuh".as_ptr()], [option.as_ptr()]);
        let count = i32::from(with_header);
        nvrtc::nvrtcCreateProgram(
            &mut program,
            source.as_ptr(),
            name.as_ptr(),
            count,
            headers.as_ptr(),
            names.as_ptr(),
        )
        .result()
        .expect("a program");
        let compiled = nvrtc::nvrtcCompileProgram(program, 1, options.as_ptr()).result();
        let (mut log_size, mut size) = (0, 0);
        nvrtc::nvrtcGetProgramLogSize(program, &mut log_size).result().expect("a log");
        let mut log = vec![0u8; log_size];
        nvrtc::nvrtcGetProgramLog(program, log.as_mut_ptr().cast()).result().expect("a log");
        let image = compiled.map(|()| {
            nvrtc::nvrtcGetCUBINSize(program, &mut size).result().expect("a size");
            let mut image = vec![0u8; size];
            nvrtc::nvrtcGetCUBIN(program, image.as_mut_ptr().cast()).result().expect("a cubin");
            Ptx::from_binary(image)
        });
        nvrtc::nvrtcDestroyProgram(&mut program).result().expect("an end");
        image.map_err(|_| String::from_utf8_lossy(&log[..log_size - 1]).into_owned())
    }
}

pub fn kernel(context: &Arc<CudaContext>, file: &str, name: &str) -> CudaFunction {
    let module = context.load_module(compile(file, true).expect("compiles")).expect("a module");
    module.load_function(name).expect("a kernel")
}

pub fn shape(blocks: u32, threads: u32, shared: u32) -> LaunchConfig {
    LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: shared }
}

pub fn start() -> (Arc<CudaContext>, Arc<CudaStream>) {
    let context = CudaContext::new(0).expect("a device");
    let stream = context.new_stream().expect("a stream");
    (context, stream)
}

/// Launches a kernel that takes one array.
pub fn launch(stream: &Arc<CudaStream>, function: &CudaFunction, shape: LaunchConfig, out: &mut CudaSlice<u32>) {
    // SAFETY: kernels of the self-test, with what they take.
    unsafe { stream.launch_builder(function).arg(out).launch(shape) }.expect("a launch");
}

pub fn code<T: std::fmt::Debug>(result: Result<T, DriverError>) -> CUresult {
    result.expect_err("an error").0
}
