//! The stand-in for CUDA's driver and compiler: work runs late, memory has a budget, faults come by order.
#![allow(unsafe_code)] // launches, and calls of the driver that no safe layer makes

use crate::support;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::on_cpu::{code, compile, kernel, launch, on_cpu, shape, start};
use cudarc::driver::sys::CUresult::*;
use cudarc::driver::{CudaContext, PushKernelArg, result, sys};
use cudarc::nvrtc::Ptx;

#[test]
fn work_runs_late() {
    for seed in ["0", "5"] {
        let said = on_cpu("stand_in_driver::work_runs_late", &[("CUDA_ON_CPU_SEED", seed)], || {
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
        if said.is_none() {
            return;
        }
    }
}

#[test]
fn events_tell_time_and_host_functions_run_in_their_place() {
    on_cpu("stand_in_driver::events_tell_time_and_host_functions_run_in_their_place", &[], || {
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
    on_cpu("stand_in_driver::device_memory_has_a_budget", &settings, || {
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

#[test]
fn an_allocation_fails_by_order() {
    on_cpu("stand_in_driver::an_allocation_fails_by_order", &[("CUDA_ON_CPU_FAIL_ALLOC", "2")], || {
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
    on_cpu("stand_in_driver::a_launch_fails_by_order", &[("CUDA_ON_CPU_FAIL_LAUNCH", "2")], || {
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

#[test]
fn devices_and_kernels_can_be_asked() {
    on_cpu("stand_in_driver::devices_and_kernels_can_be_asked", &[("CUDA_ON_CPU_DEVICES", "3")], || {
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
    on_cpu("stand_in_driver::threads_of_the_host_share_a_device", &[("CUDA_ON_CPU_SEED", "9")], || {
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
fn freed_memory_is_out_of_reach() {
    let said = on_cpu("stand_in_driver::freed_memory_is_out_of_reach", &[], || {
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
fn nvrtc_makes_images_of_known_programs_only() {
    on_cpu("stand_in_driver::nvrtc_makes_images_of_known_programs_only", &[], || {
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
    on_cpu("stand_in_driver::nvrtc_fails_by_order", &[("CUDA_ON_CPU_NVRTC_FAIL", "1")], || {
        let log = compile("basics.cu", true).expect_err("an order");
        assert!(log.contains("CUDA_ON_CPU_NVRTC_FAIL"), "{log}");
    });
}

#[test]
fn gpugraph_takes_it_for_a_gpu() {
    let Some(cuda) = support::cuda_on_cpu() else { return };
    let place = support::Place::new();
    let ran =
        place.command_on(&cuda, &["devices"]).env("CUDA_ON_CPU_MEMORY", "3221225472").output().expect("run gpugraph");
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(out.contains("driver  CUDA 13.0\n"), "{out}");
    assert!(
        out.contains("gpu 0   CUDA on a CPU (stand-in), compute capability 9.0, 3 GiB of memory, 3 GiB free\n"),
        "{out}"
    );
}
