//! The stand-in for CUDA that other tests rely on computes what a GPU would, and finds the mistakes of kernels.
#![allow(unsafe_code)] // launches, and calls of the driver that no safe layer makes

use std::time::Instant;

use crate::on_cpu::{code, kernel, launch, on_cpu, shape, start};
use cudarc::driver::sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as MAX_DYNAMIC;
use cudarc::driver::sys::CUresult::{self, *};
use cudarc::driver::{LaunchConfig, PushKernelArg};

const ALL: u32 = u32::MAX;

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
        let said = on_cpu("stand_in::kernels_compute_what_a_gpu_does", &[("CUDA_ON_CPU_SEED", seed)], || {
            sums();
            shared_memory();
            full_warps();
            for mask in [1, 0x8000_0000, 0xffff, 0x8421_8420, 0x7fff_ffff, ALL] {
                partial_warps(mask);
            }
            bits();
            atomics();
        });
        if said.is_none() {
            return;
        }
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
        ((upside_down << 8) >> 32) as u32,
        (upside_down >> 8) as u32,
        ((u64::from(x) * u64::from(y)) >> 32) as u32,
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
    assert_eq!(stream.clone_dtoh(&wide), Ok(vec![(n * (n - 1) / 2) << 20, (n - 1) << 20, 7, u64::MAX, 3 * n]));
    let xor = (0..n as u32).fold(0, |a, b| a ^ b);
    let expected = vec![(-2 * n as i32) as u32, xor, 0xffff_0000, n as u32 - 1, 1, n as u32 - 6, 0, n as u32];
    assert_eq!(stream.clone_dtoh(&narrow), Ok(expected));
}

/// Rounds in which blocks pass words on; from block `skips` on they leave before the last.
fn pass_on(shape: LaunchConfig, together: bool, skips: u32) -> Result<Vec<u32>, CUresult> {
    let (context, stream) = start();
    let function = kernel(&context, "together.cu", "pass_on");
    let words: Vec<u32> = (0..shape.grid_dim.0 * shape.block_dim.0).collect();
    let (mut words, mut arrived) =
        (stream.clone_htod(&words).expect("memory"), stream.alloc_zeros::<u64>(1).expect("memory"));
    let rounds = 3u32;
    let mut arguments = stream.launch_builder(&function);
    let arguments = arguments.arg(&mut words).arg(&mut arrived).arg(&rounds).arg(&skips);
    // SAFETY: the arguments are those of the kernel.
    unsafe { if together { arguments.launch_cooperative(shape) } else { arguments.launch(shape) } }.map_err(|e| e.0)?;
    stream.synchronize().map_err(|e| e.0)?;
    Ok(stream.clone_dtoh(&words).expect("a copy"))
}

/// Sums of the words that each thread passed on.
fn passed_on(blocks: u32, threads: u32) -> Vec<u32> {
    let mut words: Vec<u32> = (0..blocks * threads).collect();
    let mut sums = vec![0; words.len()];
    for _ in 0..3 {
        let from = |at: u32| words[((at / threads + 1) % blocks * threads + (at + 1) % threads) as usize];
        words = (0..blocks * threads).map(from).collect();
        sums.iter_mut().zip(&words).for_each(|(sum, word)| *sum += word);
    }
    sums
}

#[test]
fn blocks_of_a_cooperative_launch_wait_for_each_other() {
    for seed in ["0", "1", "2", "77"] {
        let name = "stand_in::blocks_of_a_cooperative_launch_wait_for_each_other";
        let said = on_cpu(name, &[("CUDA_ON_CPU_SEED", seed)], || {
            for (blocks, threads) in [(1, 32), (2, 256), (5, 100), (16, 256), (4, 1)] {
                let shape = shape(blocks, threads, 4 * threads);
                assert_eq!(pass_on(shape, true, u32::MAX), Ok(passed_on(blocks, threads)), "{blocks} x {threads}");
            }
            assert_eq!(pass_on(shape(17, 256, 1024), true, u32::MAX), Err(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE));
            assert_eq!(pass_on(shape(3, 64, 256), true, 2), Err(CUDA_ERROR_LAUNCH_FAILED), "one leaves early");
            assert_eq!(pass_on(shape(2, 64, 256), false, u32::MAX), Err(CUDA_ERROR_LAUNCH_FAILED), "one by one");
            assert_eq!(pass_on(shape(1, 64, 256), false, u32::MAX), Ok(passed_on(1, 64)));
        });
        let Some(said) = said else { return };
        assert!(said.contains("a block waits for others for ever"), "{said}");
        assert!(said.contains("17 blocks do not run at the same time, 16 do"), "{said}");
    }
}

#[test]
fn barriers_and_threads_that_never_wait_are_cheap() {
    on_cpu("stand_in::barriers_and_threads_that_never_wait_are_cheap", &[], || {
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
    let said = on_cpu("stand_in::mistakes_of_kernels_are_found", &[], || {
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
        let said = on_cpu("stand_in::a_shuffled_order_shows_races", &[("CUDA_ON_CPU_SEED", seed)], || {
            let natural = std::env::var("CUDA_ON_CPU_SEED").as_deref() == Ok("0");
            let right: Vec<u32> = (0..256u32).map(|i| i.saturating_sub(1)).collect();
            assert_eq!(mistake("race", 256, 0, None) == Ok(right), natural);
            assert_eq!(mistake("lost_update", 256, 0, None).map(|out| out[0] == 256), Ok(natural));
        });
        if said.is_none() {
            return;
        }
    }
}
