//! GPUs that are missing, full, taken by others or lost in the middle: a job says so in one line, or goes on without; never
//! is an answer wrong.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::gpu::Gpu;
use crate::support::{self, Ran, answer, number, oracle, random_edges, triangles};

const GPU: &str = "run.device=gpu";
const AUTO: &str = "run.device=auto";

/// A job of a moment, and its triangles.
fn small() -> Option<(Gpu, u64)> {
    let gpu = Gpu::stand_in()?;
    let edges = random_edges(300, 4000, 6);
    gpu.job(&edges, "[limits]\nthreads = 2\n");
    Some((gpu, oracle(300, &edges).0))
}

/// The one warning of a run that ended well.
#[track_caller]
fn warning(ran: &Ran) -> &str {
    let mut lines = ran.err.lines().filter(|line| line.contains("WARN"));
    let line = lines.next().unwrap_or_else(|| panic!("no warning in {}", ran.err));
    assert_eq!(lines.next(), None, "{}", ran.err);
    line
}

/// What a run leaves that could not have the GPU: with "gpu" an error of this code, with "auto" the answer.
#[track_caller]
fn without_gpu(gpu: &Gpu, env: &[(&str, &str)], set: &[&str], code: i32, words: &[&str], known: u64) {
    gpu.forget();
    let ran = gpu.run(env, &[&[GPU], set].concat()).expect(code);
    let ran_auto = gpu.run(env, &[&[AUTO], set].concat()).expect(0);
    let report = gpu.place.read_report();
    assert_eq!((triangles(&report), &report["device"]), (known, &"cpu".into()));
    // Where there is none at all nobody asked for one, and nothing is said.
    let warned = ran_auto.err.contains("WARN").then(|| warning(&ran_auto));
    for line in [Some(ran.error()), warned].into_iter().flatten() {
        words.iter().for_each(|word| assert!(line.contains(word), "{word} is not in {line}"));
    }
}

#[test]
fn any_allocation_may_fail() {
    let Some((gpu, known)) = small() else { return };
    let mut failed = 0;
    for k in 1.. {
        let which = k.to_string();
        let env = [("CUDA_ON_CPU_FAIL_ALLOC", which.as_str())];
        let memory = "limits.gpu_memory=16MiB";
        gpu.forget();
        let ran = gpu.run(&env, &[GPU, memory]);
        let clean = ran.code == 0 && !ran.err.contains("WARN");
        match ran.code {
            0 => assert_eq!(triangles(&gpu.place.read_report()), known, "allocation {k}"),
            7 | 9 => assert!(!ran.error().is_empty()),
            code => panic!("allocation {k}: {code}: {}", ran.err),
        }
        gpu.forget();
        gpu.run(&env, &[AUTO, memory]).expect(0);
        assert_eq!(triangles(&gpu.place.read_report()), known, "allocation {k}, auto");
        if clean {
            break;
        }
        failed += 1;
    }
    assert!(failed >= 3, "allocations that failed: {failed}");
}

#[test]
fn any_launch_may_fail() {
    let Some((gpu, known)) = small() else { return };
    let keep = "[job]\nworkdir = 'work'\nkeep = true\n";
    gpu.place.job_on(&gpu.place.path("edges.u32"), keep);
    gpu.fresh(&["run.device=cpu"]);
    let mut failed = 0;
    for k in 1.. {
        let (ran, ..) = gpu.count(&[("CUDA_ON_CPU_FAIL_LAUNCH", &k.to_string())], &[GPU], "");
        if ran.code == 0 {
            break;
        }
        let ran = ran.expect(9);
        assert!(ran.error().contains("CUDA_ERROR_") && ran.error().contains("stand-in"), "{}", ran.err);
        failed += 1;
        let (ran, report, _) = gpu.count(&[], &[GPU], "");
        ran.expect(0);
        assert_eq!(triangles(&report), known, "launch {k}");
        assert_eq!(number(&report, "resumes"), 1);
    }
    assert!(failed >= 8, "launches that failed: {failed}");
}

/// Drivers take local memory for kernels when these are launched, and other processes may have taken what was free: in any stage.
#[test]
fn memory_that_a_launch_lacks_is_named_or_the_processor_goes_on() {
    let Some((gpu, known)) = small() else { return };
    let mut failed = 0;
    for k in (1..).step_by(4) {
        let at = k.to_string();
        let env = [("CUDA_ON_CPU_LOCAL", "629145600"), ("CUDA_ON_CPU_LOCAL_AT", at.as_str())];
        gpu.forget();
        let ran = gpu.run(&env, &[GPU]);
        if ran.code == 0 {
            break;
        }
        let words = [
            "GPU 0 (",
            "no memory left (",
            "512 MiB of 1 GiB are free",
            "limits.gpu_memory = \"256MiB\" (it is 512 MiB)",
        ];
        let ran = ran.expect(7);
        // What is done is kept, so that a run that goes on launches less.
        gpu.forget();
        let went_on = gpu.run(&env, &[AUTO]).expect(0);
        let report = gpu.place.read_report();
        assert_eq!((triangles(&report), &report["device"]), (known, &"cpu".into()));
        assert_eq!(number(&report, "limits.gpu_memory"), 0);
        for line in [ran.error(), warning(&went_on)] {
            words.iter().for_each(|word| assert!(line.contains(word), "{word} is not in {line}"));
        }
        // What the error advises helps.
        gpu.forget();
        gpu.run(&env, &[GPU, "limits.gpu_memory=256MiB"]).expect(0);
        failed += 1;
    }
    assert!(failed >= 2, "launches that failed: {failed}");
}

#[test]
fn what_was_counted_before_a_gpu_was_lost_is_kept() {
    let Some(gpu) = Gpu::stand_in() else { return };
    let edges = random_edges(2000, 260_000, 7);
    gpu.job(&edges, "");
    let whole = gpu.fresh(&["run.device=cpu"]);
    let units = number(&whole, "results.triangle.units");
    gpu.forget();
    // The graph is made, and one unit counted, by the processor.
    gpu.run(&[("GPUGRAPH_FAILPOINTS", "unit.done=1:kill")], &["run.device=cpu"]).expect(137);
    let set = [GPU, "limits.gpu_memory=1MiB"];
    let ran = gpu.run(&[("CUDA_ON_CPU_FAIL_LAUNCH", "60")], &set).expect(9);
    assert!(ran.error().contains("finished work is kept"), "{}", ran.err);
    let hits = gpu.place.path("hits");
    gpu.run(&[("GPUGRAPH_FAILPOINTS_COUNT", hits.to_str().expect("text"))], &set).expect(0);
    assert_eq!(answer(&gpu.place.read_report()), answer(&whole));
    let text = fs::read_to_string(&hits).expect("hits");
    let again = text.lines().find_map(|line| line.strip_prefix("unit.done ")).expect("units");
    assert!((1..units - 1).contains(&again.parse().expect("a number")), "{again} of {units} units");
}

#[test]
fn memory_that_another_process_took_is_done_without() {
    let Some((gpu, known)) = small() else { return };
    let taken = |mib: u64| (mib << 20).to_string();
    let env = |taken: &'static str| [("CUDA_ON_CPU_MEMORY", "67108864"), ("CUDA_ON_CPU_TAKEN", taken)];
    assert_eq!(taken(60), "62914560");
    // 4 MiB are left of 64.
    let ran = gpu.run(&env("62914560"), &[GPU, "limits.gpu_memory=32MiB"]).expect(0);
    assert!(warning(&ran).contains("continuing with 4 MiB"), "{}", ran.err);
    assert_eq!(triangles(&gpu.place.read_report()), known);
    gpu.forget();
    let ran = gpu.run(&env("62914560"), &[GPU]).expect(0);
    assert!(ran.err.is_empty(), "half of what is free needs no warning: {}", ran.err);
    let peak = number(&gpu.place.read_report(), "limits.gpu_memory_peak");
    assert!(peak > 0 && peak <= 4 << 20, "{peak}");
    // Half a MiB is left.
    let words = ["limits.gpu_memory", "at least 1MiB is needed"];
    without_gpu(&gpu, &env("66584576"), &[], 7, &words, known);
    without_gpu(&gpu, &env("66584576"), &["limits.gpu_memory=32MiB"], 7, &words, known);
}

/// Memory that suffices for nothing but the context: the processor counts, and the report says so.
#[test]
fn a_gpu_too_small_for_the_graph_is_not_reported_as_used() {
    let Some((gpu, known)) = small() else { return };
    let words = ["limits.gpu_memory = 1 MiB", "at least"];
    gpu.place.job_on(&gpu.place.path("edges.u32"), "[triangle]\nper_vertex = true\n");
    without_gpu(&gpu, &[], &["limits.gpu_memory=1MiB"], 7, &words, known);
}

#[test]
fn a_compiler_that_fails_is_named() {
    let Some((gpu, known)) = small() else { return };
    let env = [("CUDA_ON_CPU_NVRTC_FAIL", "1")];
    without_gpu(&gpu, &env, &[], 2, &["NVRTC", "scan.cu", "it fails by CUDA_ON_CPU_NVRTC_FAIL"], known);
}

#[test]
fn a_gpu_that_is_not_there_is_named() {
    let Some((gpu, known)) = small() else { return };
    let env = [("CUDA_ON_CPU_DEVICES", "2")];
    for device in [GPU, AUTO] {
        gpu.forget();
        let ran = gpu.run(&env, &[device, "run.gpu=5"]).expect(2);
        assert!(ran.error().contains("GPU 5: the driver has 2"), "{}", ran.err);
    }
    // Whether it is seen among others or alone.
    for env in [&env[..], &[env[0], ("CUDA_VISIBLE_DEVICES", "1,0")]] {
        gpu.run(env, &[GPU, "run.gpu=1"]).expect(0);
        assert_eq!(triangles(&gpu.place.read_report()), known);
        gpu.forget();
    }
    without_gpu(
        &gpu,
        &[("CUDA_ON_CPU_DEVICES", "0")],
        &[],
        2,
        &["the driver sees none", "CUDA_VISIBLE_DEVICES"],
        known,
    );
}

/// A folder with these of the stand-in's libraries; nothing if the machine has the others by itself.
fn only(gpu: &mut Gpu, libraries: &[&str]) -> Option<()> {
    let folder = gpu.place.path("libraries");
    fs::create_dir_all(&folder).expect("a folder");
    let all = gpu.cuda.replace(folder.clone())?;
    let out = gpu.with(&[], &["devices", "--json"]).expect(0).out;
    let found: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    if !found["cuda"]["driver"].is_null() || found["cuda"]["nvrtc"] != serde_json::json!(false) {
        println!("SKIPPED: this machine has CUDA");
        return None;
    }
    for name in libraries {
        fs::copy(all.join(name), folder.join(name)).expect("copy");
    }
    Some(())
}

#[test]
fn without_a_driver_it_says_what_to_install() {
    let Some((mut gpu, known)) = small() else { return };
    if only(&mut gpu, &[]).is_some() {
        without_gpu(&gpu, &[], &[], 2, &["CUDA driver (libcuda.so.1)", "install NVIDIA's driver"], known);
    }
}

#[test]
fn without_a_compiler_it_says_what_to_install_unless_kernels_are_kept() {
    let Some((mut gpu, known)) = small() else { return };
    if only(&mut gpu, &["libcuda.so"]).is_none() {
        return;
    }
    without_gpu(&gpu, &[], &[], 2, &["NVRTC (libnvrtc.so)", "load the site's CUDA module"], known);
    let without = std::mem::replace(&mut gpu.cuda, support::cuda_on_cpu());
    gpu.fresh(&[GPU]);
    gpu.cuda = without;
    let report = gpu.fresh(&[GPU]);
    assert_eq!((triangles(&report), &report["device"]), (known, &"gpu".into()));
}

type Damage<'a> = dyn Fn(&[u8]) -> Vec<u8> + 'a;

fn kept_kernels(gpu: &Gpu) -> Vec<PathBuf> {
    let entries = fs::read_dir(gpu.place.path("cache/gpugraph")).expect("kernels");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    // Beside them lies what earlier runs took, for plans.
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "cubin")).collect()
}

#[test]
fn kept_kernels_that_are_damaged_are_compiled_again() {
    let Some((gpu, known)) = small() else { return };
    gpu.fresh(&[GPU]);
    let kept = kept_kernels(&gpu);
    assert!(kept.len() >= 2, "{kept:?}");
    let good: Vec<_> = kept.iter().map(|path| fs::read(path).expect("a kernel")).collect();
    // As an image that stands behind its checksum but is none for this driver: another one may have left it.
    let foreign = b"not a cubin of this driver\0";
    let foreign = [&xxhash_rust::xxh3::xxh3_64(foreign).to_le_bytes()[..], foreign].concat();
    let flipped = |bytes: &[u8]| bytes.iter().enumerate().map(|(i, b)| b ^ u8::from(i == 20)).collect::<Vec<u8>>();
    let damages: [&Damage<'_>; 5] =
        [&flipped, &|bytes| bytes[..bytes.len() - 3].to_vec(), &|_| Vec::new(), &|_| vec![1; 5], &|_| foreign.clone()];
    for damage in damages {
        kept.iter().zip(&good).for_each(|(path, good)| fs::write(path, damage(good)).expect("write"));
        assert_eq!(triangles(&gpu.fresh(&[GPU])), known);
        let now: Vec<_> = kept.iter().map(|path| fs::read(path).expect("a kernel")).collect();
        assert!(now == good, "kernels are made again");
    }
}

#[test]
fn kernels_need_not_be_kept() {
    let Some((gpu, known)) = small() else { return };
    // A file where the folder should be, which stops root, too; a folder that is none of ours to write; no folder at all.
    let file = gpu.place.write("file", "");
    let cases = [file.as_path(), Path::new("/proc"), Path::new("")];
    for cache in cases {
        gpu.forget();
        let env = [("XDG_CACHE_HOME", cache.to_str().expect("text")), ("HOME", "")];
        let ran = gpu.run(&env, &[GPU]).expect(0);
        assert_eq!((triangles(&gpu.place.read_report()), ran.err.as_str()), (known, ""), "{}", cache.display());
    }
}

/// The plan of a job, and the job's report.
#[track_caller]
fn planned(gpu: &Gpu, set: &[&str]) -> (serde_json::Value, serde_json::Value) {
    let sets: Vec<&str> = set.iter().flat_map(|set| ["--set", set]).collect();
    gpu.forget();
    let plan = || gpu.with(&[], &[&["plan", "job.toml", "--json"], &sets[..]].concat()).expect(0).out;
    let before = plan();
    gpu.run(&[], set).expect(0);
    let [before, after] = [before, plan()].map(|text| serde_json::from_str::<serde_json::Value>(&text).expect("JSON"));
    for plan in [&before, &after] {
        // It is taken at the start, and kept.
        for stage in plan["stages"].as_array().expect("stages") {
            assert_eq!(stage["gpu_memory"], plan["gpu_memory"], "{plan:#}");
        }
    }
    assert_eq!(before["device"], after["device"]);
    (after, gpu.place.read_report())
}

#[test]
fn a_plan_says_what_a_gpu_takes() {
    let Some((gpu, _)) = small() else { return };
    let (cpu, _) = planned(&gpu, &["run.device=cpu"]);
    assert_eq!((&cpu["device"], number(&cpu, "gpu_memory")), (&"cpu".into(), 0));
    for device in [GPU, AUTO] {
        let (plan, report) = planned(&gpu, &[device, "limits.gpu_memory=8MiB"]);
        assert_eq!(plan["device"], "gpu");
        assert_eq!(plan["gpu"], "GPU 0 (CUDA on a CPU (stand-in))");
        assert_eq!([number(&plan, "gpu_memory"), number(&plan, "gpu_memory_limit")], [8 << 20; 2]);
        assert!(number(&report, "limits.gpu_memory_peak") <= 8 << 20);
        // Pinned memory is there from the first stage on; the driver's too.
        let ingest = |plan: &serde_json::Value| number(&plan["stages"][0], "host_memory");
        assert!(ingest(&plan) > ingest(&cpu), "{plan:#}");
    }
    // Unless said, half of the stand-in's memory: it has too little to leave 1 GiB.
    let (plan, report) = planned(&gpu, &[GPU]);
    assert_eq!(number(&plan, "gpu_memory"), number(&report, "limits.gpu_memory"));
    let text = gpu.with(&[], &["plan", "job.toml", "--set", GPU]).expect(0).out;
    assert!(text.contains("\ndevice   GPU 0 (CUDA on a CPU (stand-in))\n") && text.contains("512 MiB"), "{text}");
}

#[test]
fn a_plan_refuses_what_a_gpu_can_not_hold_before_anything_runs() {
    let Some((gpu, _)) = small() else { return };
    gpu.place
        .job_on(&gpu.place.path("edges.u32"), "[job]\nworkdir = 'work'\nkeep = true\n[triangle]\nper_vertex = true\n");
    gpu.run(&[], &["run.device=cpu"]).expect(0);
    let memory = "limits.gpu_memory=1MiB";
    let early = ["plan", "job.toml", "--set", "job.workdir=other", "--set", memory];
    let out = gpu.with(&[], &early).expect(0).out;
    assert!(out.contains("warning: limits.gpu_memory = 1 MiB may be too small: 2MiB is enough"), "{out}");
    // No job opens a GPU with less than 1 MiB.
    let less = ["plan", "job.toml", "--set", "job.workdir=other", "--set", "limits.gpu_memory=512KiB", "--set"];
    let ran = gpu.with(&[], &[&less[..], &[GPU]].concat()).expect(7);
    assert!(ran.error().contains("no less than 1MiB") && ran.error().contains("at least 2MiB"), "{}", ran.err);
    let out = gpu.with(&[], &[&less[..], &[AUTO]].concat()).expect(0).out;
    assert!(out.contains("\ndevice   CPU; GPU 0 "), "{out}");
    let plan = |device, memory| gpu.with(&[], &["plan", "job.toml", "--set", device, "--set", memory]);
    // The GPU itself is refused 512 KiB: what is named is enough for the job, too.
    for (memory, given) in [(memory, "1 MiB"), ("limits.gpu_memory=512KiB", "512 KiB")] {
        let ran = plan(GPU, memory).expect(7);
        let given = format!("limits.gpu_memory = {given} is too small for [triangle] on this graph");
        assert!(ran.error().contains(&given) && ran.error().contains("at least 2MiB"), "{}", ran.err);
        assert_eq!(gpu.run(&[], &[GPU, memory, "run.trials=2"]).expect(7).error(), ran.error());
    }
    gpu.run(&[], &[GPU, "limits.gpu_memory=2MiB", "run.trials=2"]).expect(0);
    let out = plan(AUTO, memory).expect(0).out;
    assert!(out.contains("\ndevice   CPU; GPU 0 "), "{out}");
    // A plan may be made where there is no GPU.
    let env = [("CUDA_ON_CPU_DEVICES", "0")];
    let ran = gpu.with(&env, &["plan", "job.toml", "--set", GPU, "--set", "limits.gpu_memory=16GiB"]).expect(0);
    for line in ["\ndevice   a GPU\n", "16 GiB", "warning: no GPU to compute with", "check CUDA_VISIBLE_DEVICES"] {
        assert!(ran.out.contains(line), "{line} is not in {}", ran.out);
    }
}

#[test]
fn devices_says_what_there_is_and_what_is_missing() {
    let Some((mut gpu, _)) = small() else { return };
    let env = [("CUDA_ON_CPU_DEVICES", "2"), ("CUDA_ON_CPU_TAKEN", "536870912")];
    let out = gpu.with(&env, &["devices"]).expect(0).out;
    let name = "CUDA on a CPU (stand-in), compute capability 9.0, 1 GiB of memory, 512 MiB free";
    let kernels = format!("kernels cached in {}\n", gpu.place.path("cache/gpugraph").display());
    for line in
        ["driver  CUDA 13.0\n", "nvrtc   13.0\n", &format!("gpu 0   {name}\n"), &format!("gpu 1   {name}\n"), &kernels]
    {
        assert!(out.contains(line), "{line} is not in {out}");
    }
    let json = gpu.with(&env, &["devices", "--json"]).expect(0).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(number(&json["cuda"]["gpus"][1], "memory_free"), 512 << 20);
    assert_eq!(json["cuda"]["nvrtc_version"], "13.0");
    let out = gpu.with(&[("CUDA_ON_CPU_DEVICES", "0")], &["devices"]).expect(0).out;
    assert!(out.contains("gpu     none; ") && out.contains("missing a GPU: the driver sees none"), "{out}");
    if only(&mut gpu, &[]).is_some() {
        let out = gpu.with(&[], &["devices"]).expect(0).out;
        for line in
            ["driver  none\n", "nvrtc   none\n", "missing NVRTC (libnvrtc.so)", "missing CUDA driver (libcuda.so.1)"]
        {
            assert!(out.contains(line), "{line} is not in {out}");
        }
    }
}
