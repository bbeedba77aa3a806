//! The stand-in for CUDA that other tests rely on: it computes what a GPU would, and shows what a GPU would hide.
#![cfg(feature = "gpu")]
#![allow(unsafe_code)] // launches, and calls of the driver that no safe layer makes

mod support;

use std::ffi::CString;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use cudarc::driver::sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as MAX_DYNAMIC;
use cudarc::driver::sys::CUresult::{self, *};
use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg, result, sys};
use cudarc::nvrtc::{Ptx, sys as nvrtc};

const ALL: u32 = u32::MAX;

/// Runs `body` in a process of its own, in which the stand-ins are CUDA: this test once more, which then is `name`.
/// What it wrote to standard error; nothing in that process itself, or without g++.
fn on_cpu(name: &str, settings: &[(&str, &str)], body: impl Fn()) -> Option<String> {
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

fn selftest(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda_on_cpu/selftest").join(file)
}

/// What NVRTC makes of a file, with its header or without: the image, or the log.
fn compile(file: &str, with_header: bool) -> Result<Ptx, String> {
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

fn kernel(context: &Arc<CudaContext>, file: &str, name: &str) -> CudaFunction {
    let module = context.load_module(compile(file, true).expect("compiles")).expect("a module");
    module.load_function(name).expect("a kernel")
}

fn shape(blocks: u32, threads: u32, shared: u32) -> LaunchConfig {
    LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: shared }
}

fn start() -> (Arc<CudaContext>, Arc<CudaStream>) {
    let context = CudaContext::new(0).expect("a device");
    let stream = context.new_stream().expect("a stream");
    (context, stream)
}

/// Launches a kernel that takes one array.
fn launch(stream: &Arc<CudaStream>, function: &CudaFunction, shape: LaunchConfig, out: &mut CudaSlice<u32>) {
    // SAFETY: kernels of the self-test, with what they take.
    unsafe { stream.launch_builder(function).arg(out).launch(shape) }.expect("a launch");
}

/// Launches, and copies the array back.
fn answers(file: &str, name: &str, shape: LaunchConfig, input: &[u32]) -> Vec<u32> {
    let (context, stream) = start();
    let mut out = stream.clone_htod(input).expect("memory");
    launch(&stream, &kernel(&context, file, name), shape, &mut out);
    stream.clone_dtoh(&out).expect("a copy")
}

#[test]
fn kernels_compute_what_a_gpu_does() {
    for seed in ["0", "1", "2", "77"] {
        on_cpu("kernels_compute_what_a_gpu_does", &[("CUDA_ON_CPU_SEED", seed)], || {
            sums();
            shared_memory();
            full_warps();
            for mask in [1, 0x8000_0000, 0xffff, 0x8421_8420, 0x7fff_ffff, ALL] {
                partial_warps(mask);
            }
            bits();
            atomics();
        });
    }
}

fn sums() {
    let (context, stream) = start();
    let values: Vec<u32> = (0..10_007).map(|i| i * 3 + 1).collect();
    let (input, mut sum) = (stream.clone_htod(&values).expect("memory"), stream.alloc_zeros::<u64>(1).expect("memory"));
    let (function, count) = (kernel(&context, "basics.cu", "sum"), values.len() as u64);
    assert_eq!(function.max_threads_per_block(), Ok(256), "its __launch_bounds__");
    // SAFETY: the arguments are those of the kernel.
    unsafe { stream.launch_builder(&function).arg(&input).arg(&count).arg(&mut sum).launch(shape(5, 256, 0)) }
        .expect("a launch");
    assert_eq!(stream.clone_dtoh(&sum), Ok(vec![values.iter().map(|&v| u64::from(v)).sum()]));
}

fn shared_memory() {
    let values: Vec<u32> = (0..3072).collect();
    let reversed = values.chunks(1024).flat_map(|block| block.iter().rev().copied());
    assert_eq!(answers("basics.cu", "reverse", shape(3, 1024, 4096), &values), reversed.collect::<Vec<_>>());
    // Blocks in three dimensions of threads count theirs in the order of x, y, z; this one has one too few for a warp.
    let (context, stream) = start();
    let (function, rounds) = (kernel(&context, "basics.cu", "turn"), 5u32);
    let mut out = stream.clone_htod(&values[..31]).expect("memory");
    // SAFETY: the arguments are those of the kernel.
    unsafe { stream.launch_builder(&function).arg(&mut out).arg(&rounds).launch(shape(1, 31, 124)) }.expect("a launch");
    let turned: Vec<_> = (0..31).map(|i| (i + 5) % 31).collect();
    assert_eq!(stream.clone_dtoh(&out), Ok(turned));
}

/// Results of one lane of a kernel of warps.cu: 16 words each.
fn lane(all: &[u32], lane: u32) -> &[u32] {
    &all[lane as usize * 16..][..16]
}

fn full_warps() {
    let out = answers("warps.cu", "shuffles", shape(1, 64, 0), &[0; 64 * 16]);
    for thread in 0..64u32 {
        let (i, group) = (thread % 32, thread % 32 / 8 * 8);
        let up = if i % 8 >= 3 { i - 3 } else { i };
        let down = if i % 8 + 3 < 8 { i + 3 } else { i };
        // A xor that leads to a later group of lanes is not followed; to an earlier one it is.
        let xor = if (i ^ 12) < group + 8 { i ^ 12 } else { i };
        let expected = [i.saturating_sub(1), (i + 1).min(31), i ^ 3, group + 1, up, down, xor, 1, 1, 1001];
        assert_eq!(&lane(&out, thread)[..10], expected, "thread {thread}");
    }
    let out = answers("warps.cu", "leaving", shape(2, 32, 0), &[0; 64]);
    assert_eq!(out[..32], (0..32).map(|i| if i == 0 { 0 } else { 32 - i }).collect::<Vec<_>>());
}

fn partial_warps(mask: u32) {
    let (context, stream) = start();
    let mut out = stream.alloc_zeros::<u32>(64 * 16).expect("memory");
    // SAFETY: the arguments are those of the kernel.
    unsafe {
        let function = kernel(&context, "warps.cu", "lanes");
        stream.launch_builder(&function).arg(&mask).arg(&mut out).launch(shape(1, 64, 0)).expect("a launch");
    }
    let out = stream.clone_dtoh(&out).expect("a copy");
    let members: Vec<u32> = (0..32).filter(|lane| mask >> lane & 1 == 1).collect();
    let set = |keep: &dyn Fn(u32) -> bool| members.iter().filter(|&&l| keep(l)).fold(0, |set, l| set | 1 << l);
    let (first, last) = (members[0], members[members.len() - 1]);
    for thread in 0..64 {
        let (i, found) = (thread % 32, lane(&out, thread));
        if mask >> i & 1 == 0 {
            assert_eq!(found[0], 32 - members.len() as u32);
            continue;
        }
        let far = 31 - first;
        let expected = [
            set(&|l| l % 3 == 0),
            first * 10,
            2 + u32::from(members.len() == 1),
            members.iter().sum(),
            last,
            first,
            mask,
            set(&|l| l % 4 == i % 4),
            set(&|l| l / 8 == i / 8).count_ones(),
            if mask >> far & 1 == 1 { far } else { 0xa5a5_a5a5 },
        ];
        assert_eq!(&found[..10], expected, "lane {i} of {mask:#x}");
    }
}

fn bits() {
    let (x, y) = (0x1234_5678u32, 0x9abc_def0u32);
    let wide = u64::from(x) << 32 | u64::from(y);
    let upside_down = u64::from(y) << 32 | u64::from(x);
    let expected = [
        x.count_ones(),
        wide.count_ones(),
        31,
        32,
        63,
        4,
        0,
        41,
        1 << 31,
        0xdef0_5678,
        (upside_down << 8 >> 32) as u32,
        (upside_down >> 8) as u32,
        (u64::from(x) * u64::from(y) >> 32) as u32,
        (u64::from(x) * u64::from(y)) as u32,
        3,
        2,
    ];
    assert_eq!(answers("warps.cu", "bits", shape(1, 1, 0), &[0; 16]), expected);
}

fn atomics() {
    let (context, stream) = start();
    let mut wide = stream.clone_htod(&[0u64, 0, u64::MAX, 0, 0]).expect("memory");
    let mut narrow = stream.clone_htod(&[0u32, 0, ALL, 0, 0, (-100i32) as u32, 0, 0]).expect("memory");
    // SAFETY: the arguments are those of the kernel.
    unsafe {
        let function = kernel(&context, "warps.cu", "atomics");
        stream.launch_builder(&function).arg(&mut wide).arg(&mut narrow).launch(shape(3, 128, 0)).expect("a launch");
    }
    let n = 384;
    assert_eq!(stream.clone_dtoh(&wide), Ok(vec![n * (n - 1) / 2 << 20, (n - 1) << 20, 7, u64::MAX, 3 * n]));
    let xor = (0..n as u32).fold(0, |a, b| a ^ b);
    let expected = vec![(-2 * n as i32) as u32, xor, 0xffff_0000, n as u32 - 1, 1, n as u32 - 6, 0, n as u32];
    assert_eq!(stream.clone_dtoh(&narrow), Ok(expected));
}

#[test]
fn barriers_and_threads_that_never_wait_are_cheap() {
    on_cpu("barriers_and_threads_that_never_wait_are_cheap", &[], || {
        let (context, stream) = start();
        let values: Vec<u32> = (0..25_600).collect();
        let mut out = stream.clone_htod(&values).expect("memory");
        let (function, rounds) = (kernel(&context, "basics.cu", "turn"), 150u32);
        let begin = Instant::now();
        // SAFETY: the arguments are those of the kernel.
        unsafe { stream.launch_builder(&function).arg(&mut out).arg(&rounds).launch(shape(100, 256, 1024)) }
            .expect("a launch");
        assert_eq!(stream.clone_dtoh(&out).expect("a copy")[..3], [150, 151, 152]);
        let seconds = begin.elapsed().as_secs_f64();
        println!("100 blocks of 256 threads with 300 barriers: {seconds:.3} s");
        assert!(seconds < 3.0, "{seconds} s");
    });
}

#[test]
fn work_runs_late() {
    for seed in ["0", "5"] {
        on_cpu("work_runs_late", &[("CUDA_ON_CPU_SEED", seed)], || {
            let (context, stream) = start();
            // SAFETY: events are this test's own; the memory is written before it is read.
            let mut staging = unsafe {
                context.disable_event_tracking();
                context.alloc_pinned_with_flags::<u32>(4, 0).expect("pinned memory")
            };
            let staging = staging.as_mut_slice().expect("its contents");
            assert_eq!(*staging, [0xa5a5_a5a5; 4], "it begins as garbage");
            staging.fill(1);
            // SAFETY: lengths fit.
            let memory = unsafe {
                let memory = stream.alloc::<u32>(4).expect("memory").leak();
                result::memcpy_htod_async(memory, staging, stream.cu_stream()).expect("a copy");
                memory
            };
            // A staging buffer that is used again before its copy was waited for: what is written last is copied.
            staging.fill(2);
            stream.synchronize().expect("an end");
            staging.fill(3);
            // SAFETY: as above.
            unsafe { result::memcpy_dtoh_async(staging, memory, stream.cu_stream()) }.expect("a copy");
            assert_eq!(*staging, [3; 4], "nothing is there before someone waits");
            stream.synchronize().expect("an end");
            assert_eq!(*staging, [2; 4]);

            // Memory that is not pinned is read by the call.
            let mut plain = vec![4u32; 4];
            // SAFETY: as above.
            unsafe { result::memcpy_htod_async(memory, &plain, stream.cu_stream()) }.expect("a copy");
            plain.fill(5);
            // SAFETY: as above; the call waits for the copy.
            unsafe { result::memcpy_dtoh_async(&mut plain, memory, stream.cu_stream()) }.expect("a copy");
            assert_eq!(plain, [4; 4]);

            // Another stream does not wait by itself, a copy without a stream neither; an event makes it wait.
            let other = context.new_stream().expect("a stream");
            // SAFETY: as above.
            unsafe {
                result::memset_d8_async(memory, 6, 16, stream.cu_stream()).expect("a memset");
                result::memcpy_dtoh_sync(&mut plain, memory).expect("a copy");
                if std::env::var("CUDA_ON_CPU_SEED").as_deref() == Ok("0") {
                    assert_eq!(plain, [4; 4]);
                }
                let event = stream.record_event(None).expect("an event");
                other.wait(&event).expect("a wait");
                result::memcpy_dtoh_async(&mut plain, memory, other.cu_stream()).expect("a copy");
                assert_eq!(plain, [0x0606_0606; 4]);
                assert!(event.is_complete());
                // The default stream and one of the blocking kind keep their order.
                let mut blocking = std::ptr::null_mut();
                sys::cuStreamCreate(&mut blocking, 0).result().expect("a stream");
                result::memset_d8_async(memory, 7, 16, blocking).expect("a memset");
                result::memcpy_dtoh_sync(&mut plain, memory).expect("a copy");
                assert_eq!(plain, [0x0707_0707; 4]);
                result::stream::destroy(blocking).expect("an end");
                result::free_sync(memory).expect("freed");
            }
        });
    }
}

#[test]
fn events_tell_time_and_host_functions_run_in_their_place() {
    on_cpu("events_tell_time_and_host_functions_run_in_their_place", &[], || {
        let (context, stream) = start();
        let begin = stream.record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)).expect("an event");
        static CALLS: AtomicU32 = AtomicU32::new(0);
        extern "C" fn count(by: *mut std::ffi::c_void) {
            CALLS.fetch_add(by as usize as u32, Ordering::SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        // SAFETY: the function takes a number for a pointer.
        unsafe { result::stream::launch_host_function(stream.cu_stream(), count, 3 as *mut _) }.expect("a call");
        let end = stream.record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)).expect("an event");
        assert_eq!(CALLS.load(Ordering::SeqCst), 0, "it runs late");
        // Polling gets there as well.
        while !end.is_complete() {}
        assert_eq!(CALLS.load(Ordering::SeqCst), 3);
        assert!((5.0..5000.0).contains(&begin.elapsed_ms(&end).expect("a time")));
        context.synchronize().expect("an end");
    });
}

#[test]
fn device_memory_has_a_budget() {
    let settings = [("CUDA_ON_CPU_MEMORY", "67108864"), ("CUDA_ON_CPU_TAKEN", "16777216")];
    on_cpu("device_memory_has_a_budget", &settings, || {
        const MIB: usize = 1 << 20;
        let (context, stream) = start();
        assert_eq!(context.mem_get_info(), Ok((48 * MIB, 64 * MIB)));
        // SAFETY: memory that is only read as bytes.
        let alloc = |size| unsafe { stream.alloc::<u8>(size) };
        let first = alloc(40 * MIB).expect("memory");
        assert_eq!(context.mem_get_info(), Ok((8 * MIB, 64 * MIB)));
        assert_eq!(stream.clone_dtoh(&first.slice(20 * MIB..20 * MIB + 3)), Ok(vec![0xa5; 3]), "it begins as garbage");
        assert_eq!(alloc(9 * MIB).map(drop).map_err(|e| e.0), Err(CUDA_ERROR_OUT_OF_MEMORY));
        let small = alloc(8 * MIB).expect("memory");
        // What is freed in a stream can be had again, though nobody waited.
        drop(first);
        drop(alloc(40 * MIB).expect("memory"));
        drop(small);
        stream.synchronize().expect("an end");
        assert_eq!(context.mem_get_info(), Ok((48 * MIB, 64 * MIB)));

        // Copies are held against what is allocated.
        let memory = alloc(1000).expect("memory").leak();
        // SAFETY: the stand-in refuses what goes outside.
        unsafe {
            let (bytes, mut back) = ([0u8; 1001], [0u8; 16]);
            assert_eq!(result::memcpy_htod_sync(memory, &bytes[..1000]), Ok(()));
            assert_eq!(code(result::memcpy_htod_sync(memory, &bytes)), CUDA_ERROR_INVALID_VALUE);
            assert_eq!(code(result::memcpy_dtoh_sync(&mut back, memory + 985)), CUDA_ERROR_INVALID_VALUE);
            assert_eq!(code(result::memset_d8_sync(memory + 1, 0, 1000)), CUDA_ERROR_INVALID_VALUE);
            assert_eq!(result::free_sync(memory), Ok(()));
            assert_eq!(code(result::memcpy_dtoh_sync(&mut back, memory)), CUDA_ERROR_INVALID_VALUE);
            assert_eq!(code(result::free_sync(memory)), CUDA_ERROR_INVALID_VALUE);
        }
    });
}

fn code<T: std::fmt::Debug>(result: Result<T, cudarc::driver::DriverError>) -> CUresult {
    result.expect_err("an error").0
}

#[test]
fn an_allocation_fails_by_order() {
    on_cpu("an_allocation_fails_by_order", &[("CUDA_ON_CPU_FAIL_ALLOC", "2")], || {
        let (context, stream) = start();
        let _first = stream.alloc_zeros::<u32>(1).expect("memory");
        // SAFETY: it fails.
        let second = unsafe { context.alloc_pinned::<u32>(1) };
        assert_eq!(code(second), CUDA_ERROR_OUT_OF_MEMORY);
        assert!(stream.alloc_zeros::<u32>(1).is_ok());
    });
}

#[test]
fn a_launch_fails_by_order() {
    on_cpu("a_launch_fails_by_order", &[("CUDA_ON_CPU_FAIL_LAUNCH", "2")], || {
        let (context, stream) = start();
        let mut out = stream.alloc_zeros::<u32>(32).expect("memory");
        let reverse = kernel(&context, "basics.cu", "reverse");
        launch(&stream, &reverse, shape(1, 32, 128), &mut out);
        assert_eq!(context.synchronize(), Ok(()));
        launch(&stream, &reverse, shape(1, 32, 128), &mut out);
        // The launch itself succeeds; whoever waits gets the fault, and everyone after.
        assert_eq!(code(context.synchronize()), CUDA_ERROR_ILLEGAL_ADDRESS);
        assert_eq!(code(context.synchronize()), CUDA_ERROR_ILLEGAL_ADDRESS);
        assert_eq!(code(stream.alloc_zeros::<u32>(1)), CUDA_ERROR_ILLEGAL_ADDRESS);
        assert_eq!(code(context.mem_get_info()), CUDA_ERROR_ILLEGAL_ADDRESS);
    });
}

/// Runs one kernel of wrong.cu in a fresh context; what the driver answers, or the array.
fn mistake(name: &str, threads: u32, shared: u32, more: Option<u64>) -> Result<Vec<u32>, CUresult> {
    let (context, stream) = start();
    let function = kernel(&context, "wrong.cu", name);
    let mut out = stream.alloc_zeros::<u32>(256).expect("memory");
    let narrow = more.unwrap_or_default() as u32;
    let mut arguments = stream.launch_builder(&function);
    match name {
        "past_shared" | "asserts" => arguments.arg(&narrow),
        _ => arguments.arg(&mut out),
    };
    if let Some(more) = &more {
        arguments.arg(more);
    }
    // SAFETY: kernels take the first of these arguments or the first two; what they do wrong is held up.
    unsafe { arguments.launch(shape(1, threads, shared)) }.map_err(|e| e.0)?;
    stream.synchronize().map_err(|e| e.0)?;
    Ok(stream.clone_dtoh(&out).expect("a copy"))
}

#[test]
fn mistakes_of_kernels_are_found() {
    let said = on_cpu("mistakes_of_kernels_are_found", &[], || {
        assert_eq!(mistake("divergent_barrier", 32, 0, None), Err(CUDA_ERROR_LAUNCH_FAILED));
        assert_eq!(mistake("missing_lane", 32, 0, None), Err(CUDA_ERROR_LAUNCH_FAILED));
        assert_eq!(mistake("outside_mask", 32, 0, None), Err(CUDA_ERROR_LAUNCH_FAILED));
        assert_eq!(mistake("spin", 32, 0, None), Err(CUDA_ERROR_LAUNCH_FAILED));
        assert_eq!(mistake("asserts", 1, 0, Some(2)), Err(CUDA_ERROR_ASSERT));
        assert!(mistake("asserts", 1, 0, Some(1)).is_ok());
        // 256 words were allocated.
        assert!(mistake("past_end", 1, 0, Some(255)).is_ok());
        assert_eq!(mistake("past_end", 1, 0, Some(256)), Err(CUDA_ERROR_ILLEGAL_ADDRESS));
        assert_eq!(mistake("past_end", 1, 0, Some(1 << 40)), Err(CUDA_ERROR_ILLEGAL_ADDRESS));
        assert!(mistake("past_shared", 1, 64, Some(15)).is_ok());
        assert_eq!(mistake("past_shared", 1, 64, Some(16)), Err(CUDA_ERROR_ILLEGAL_ADDRESS));
        assert_eq!(mistake("unset_shared", 32, 128, None).map(|out| out[..32].iter().sum()), Ok(0));
        // More than the plain 48 KiB has to be asked for, and there is an end.
        assert_eq!(mistake("past_shared", 1, 49_153, Some(0)), Err(CUDA_ERROR_INVALID_VALUE));
        assert_eq!(mistake("asserts", 1025, 0, Some(1)), Err(CUDA_ERROR_INVALID_VALUE));
        let (context, stream) = start();
        let reverse = kernel(&context, "basics.cu", "reverse");
        assert_eq!(reverse.set_attribute(MAX_DYNAMIC, 227 << 10), Ok(()));
        assert_eq!(code(reverse.set_attribute(MAX_DYNAMIC, (227 << 10) + 1)), CUDA_ERROR_INVALID_VALUE);
        let mut out = stream.clone_htod(&[1u32, 2]).expect("memory");
        launch(&stream, &reverse, shape(1, 2, 227 << 10), &mut out);
        assert_eq!(stream.clone_dtoh(&out), Ok(vec![2, 1]));
    });
    let Some(said) = said else { return };
    for text in [
        "kernel divergent_barrier, block (0, 0, 0): thread (7, 0, 0)",
        "divergent barrier: it reaches __syncthreads, others wait in __syncthreads at line",
        "deadlock of 32 threads; 1 wait in __syncthreads at line",
        "31 wait for lanes, as thread 0 in __syncwarp(0xffffffff) at line",
        "whose mask leaves it out",
        "spin for ever",
        "assertion failed: x == 1",
        "of 1024 bytes, at byte 1024",
        "no device memory is there",
        "it goes past its dynamic shared memory",
        "at most 1024 threads",
    ] {
        assert!(said.contains(text), "{text:?} is not in:\n{said}");
    }
}

#[test]
fn a_shuffled_order_shows_races() {
    for seed in ["0", "1", "2", "3"] {
        on_cpu("a_shuffled_order_shows_races", &[("CUDA_ON_CPU_SEED", seed)], || {
            let natural = std::env::var("CUDA_ON_CPU_SEED").as_deref() == Ok("0");
            let right: Vec<u32> = (0..256u32).map(|i| i.saturating_sub(1)).collect();
            assert_eq!(mistake("race", 256, 0, None) == Ok(right), natural);
            assert_eq!(mistake("lost_update", 256, 0, None).map(|out| out[0] == 256), Ok(natural));
        });
    }
}

#[test]
fn freed_memory_is_out_of_reach() {
    let said = on_cpu("freed_memory_is_out_of_reach", &[], || {
        let (context, stream) = start();
        let past_end = kernel(&context, "wrong.cu", "past_end");
        let mut gone = stream.alloc_zeros::<u32>(256).expect("memory");
        let at = 0u64;
        // SAFETY: the memory is freed under the kernel, which is what is tested.
        unsafe {
            stream.launch_builder(&past_end).arg(&mut gone).arg(&at).launch(shape(1, 1, 0)).expect("a launch");
            assert_eq!(context.synchronize(), Ok(()));
            let address = gone.leak();
            result::free_sync(address).expect("freed");
            stream.launch_builder(&past_end).arg(&address).arg(&at).launch(shape(1, 1, 0)).expect("a launch");
        }
        assert_eq!(code(context.synchronize()), CUDA_ERROR_ILLEGAL_ADDRESS);
    });
    assert!(said.is_none_or(|said| said.contains("that device memory was freed")));
}

#[test]
fn devices_and_kernels_can_be_asked() {
    on_cpu("devices_and_kernels_can_be_asked", &[("CUDA_ON_CPU_DEVICES", "3")], || {
        assert_eq!(CudaContext::device_count(), Ok(3));
        assert_eq!(code(CudaContext::new(3)), CUDA_ERROR_INVALID_DEVICE);
        let contexts: Vec<_> = (0..3).map(|i| CudaContext::new(i).expect("a device")).collect();
        assert_ne!(contexts[0].uuid().expect("an id").bytes, contexts[1].uuid().expect("an id").bytes);
        let (context, stream) = (&contexts[2], contexts[2].new_stream().expect("a stream"));
        // Each has memory of its own.
        let memory = stream.alloc_zeros::<u8>(1 << 20).expect("memory");
        let free = |context: &Arc<CudaContext>| context.mem_get_info().expect("memory").0;
        assert_eq!(free(&contexts[0]) - free(context), 1 << 20);
        let copy = contexts[0].new_stream().expect("a stream").clone_dtod(&memory).expect("a copy");
        assert_eq!(copy.len(), 1 << 20);

        assert_eq!(context.compute_capability(), Ok((9, 0)));
        assert_eq!(context.total_mem(), Ok(1 << 30));
        assert!(context.name().expect("a name").contains("stand-in"));
        let error = sys::CUresult::CUDA_ERROR_LAUNCH_FAILED.result().expect_err("an error");
        assert_eq!(error.error_name(), Ok(c"CUDA_ERROR_LAUNCH_FAILED"));
        assert!(error.error_string().is_ok());
        let reverse = kernel(context, "basics.cu", "reverse");
        assert_eq!(reverse.occupancy_max_active_blocks_per_multiprocessor(256, 0, None), Ok(8));
        assert_eq!(reverse.occupancy_max_active_blocks_per_multiprocessor(256, 40 << 10, None), Ok(5));
        assert_eq!(reverse.num_regs(), Ok(32));
        let fork = stream.fork().expect("a stream");
        assert_eq!(stream.join(&fork), Ok(()));
        let mut pages = vec![0u8; 8192];
        let (start, size) = (pages.as_mut_ptr().cast(), pages.len());
        // SAFETY: the pages outlive their registration.
        unsafe {
            assert_eq!(sys::cuMemHostRegister_v2(start, size, 0), CUDA_SUCCESS);
            assert_eq!(sys::cuMemHostRegister_v2(start, size, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
            assert_eq!(sys::cuMemHostUnregister(start), CUDA_SUCCESS);
            assert_eq!(sys::cuMemHostUnregister(start), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        }
    });
}

#[test]
fn threads_of_the_host_share_a_device() {
    on_cpu("threads_of_the_host_share_a_device", &[("CUDA_ON_CPU_SEED", "9")], || {
        let context = CudaContext::new(0).expect("a device");
        let reverse = kernel(&context, "basics.cu", "reverse");
        std::thread::scope(|scope| {
            for thread in 0..4u32 {
                let (context, reverse) = (&context, &reverse);
                scope.spawn(move || {
                    let stream = context.new_stream().expect("a stream");
                    for round in 0..20 {
                        let values: Vec<u32> = (0..128).map(|i| i + thread * 1000 + round).collect();
                        let mut out = stream.clone_htod(&values).expect("memory");
                        launch(&stream, reverse, shape(1, 128, 512), &mut out);
                        let back = stream.clone_dtoh(&out).expect("a copy");
                        assert!(back.iter().eq(values.iter().rev()));
                    }
                });
            }
        });
    });
}

#[test]
fn nvrtc_makes_images_of_known_programs_only() {
    on_cpu("nvrtc_makes_images_of_known_programs_only", &[], || {
        let context = CudaContext::new(0).expect("a device");
        let log = compile("basics.cu", false).expect_err("its header was not given");
        assert_eq!(log, "basics.cu: error: cannot open source file \"common.cuh\"\n");
        let module = context.load_module(compile("basics.cu", true).expect("compiles")).expect("a module");
        assert_eq!(code(module.load_function("lanes")), CUDA_ERROR_NOT_FOUND, "that one is in warps.cu");
        for image in ["", "\x7fELF", "CUDA_ON_CPU image\nothers.cu\n0\n"] {
            let image = Ptx::from_binary([image.as_bytes(), &[0]].concat());
            assert_eq!(code(context.load_module(image)), CUDA_ERROR_INVALID_IMAGE);
        }
    });
}

#[test]
fn nvrtc_fails_by_order() {
    on_cpu("nvrtc_fails_by_order", &[("CUDA_ON_CPU_NVRTC_FAIL", "1")], || {
        let log = compile("basics.cu", true).expect_err("an order");
        assert!(log.contains("CUDA_ON_CPU_NVRTC_FAIL"), "{log}");
    });
}
