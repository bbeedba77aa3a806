//! Every kernel compiles for every GPU that is supported, with the real NVRTC, and keeps its values in registers.
//! No GPU is needed: NVRTC is a library. `tests/run` gets it from PyPI into .venv.
#![allow(unsafe_code)] // NVRTC's functions, from libraries of two versions at once

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::Mutex;

/// Which library knows which architectures: CUDA 13 has none before sm_75. sm_86 to sm_89 have the instructions and registers of sm_80, and are left out
/// for time.
const LIBRARIES: [(&str, &str, &[&str]); 2] = [
    ("nvidia/cu13/lib", "libnvrtc.so.13", &["sm_90", "sm_75", "sm_80", "sm_100", "sm_120"]),
    ("nvidia/cuda_nvrtc/lib", "libnvrtc.so.12", &["sm_70"]),
];
/// If this variable is set, files are compiled for all architectures, which takes some minutes, and what compiles is added to [`CHECKED`]. Otherwise they
/// are compiled for the first of each library, and for one of the others in turn. What is in [`CHECKED`] is not compiled again.
const ALL: &str = "GPUGRAPH_ALL_ARCHITECTURES";
/// The list of what compiled without spills: a file of `kernels`, an architecture, and the [`digest`] of all that the result depends on.
const CHECKED: &str = "tests/gpu/kernels.checked";

/// Files of kernels that may spill so many bytes on an architecture: a chunk of packed rows takes five registers where an entry takes one, and
/// what waits for rows over the bus does not wait for these. Where several GPUs search together, an address is stored and read once, which is
/// nothing beside the barriers of all.
const MAY_SPILL: [(&str, &str, u32); 3] =
    [("bfs_packed.cu", "sm_70", 152), ("bfs_packed.cu", "sm_120", 12), ("bfs_peers.cu", "sm_70", 16)];

/// The first is that of src/gpu/program.rs.
const OPTIONS: [&str; 2] = ["--std=c++17", "--ptxas-options=-v"];

/// Returns the bytes that a kernel of a file may spill.
fn may_spill(name: &str, architecture: &str) -> u32 {
    let may = MAY_SPILL.iter().find(|(file, on, _)| (*file, *on) == (name, architecture));
    may.map_or(0, |&(_, _, bytes)| bytes)
}

/// What ptxas says of one kernel.
#[derive(Debug, Default, PartialEq)]
struct Usage {
    kernel: String,
    registers: u32,
    shared: u32,
    spilled: u32,
}

/// Reads what `--ptxas-options=-v` writes. Bytes that a function spills count for the kernels it is listed with.
fn usages(log: &str) -> Vec<Usage> {
    let mut found: Vec<Usage> = Vec::new();
    for line in log.lines() {
        // "... 16 registers, ... 364 bytes smem": the number before a word.
        let before = |words: &str| {
            let end = line.find(words)?;
            line[..end].trim_end().rsplit(' ').next()?.parse::<u32>().ok()
        };
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let kernel = rest.split('\'').next().unwrap_or_default().to_owned();
            found.push(Usage { kernel, ..Usage::default() });
        }
        let Some(last) = found.last_mut() else { continue };
        last.spilled += before(" bytes spill stores").unwrap_or(0) + before(" bytes spill loads").unwrap_or(0);
        if let Some(registers) = before(" registers") {
            (last.registers, last.shared) = (registers, before(" bytes smem").unwrap_or(0));
        }
    }
    found
}

/// One version of NVRTC.
struct Nvrtc {
    library: *mut c_void,
}

// SAFETY: NVRTC's functions may be called by several threads at once, each with a program of its own.
unsafe impl Sync for Nvrtc {}

type Program = *mut c_void;

impl Nvrtc {
    fn open(library: &Path) -> Nvrtc {
        let open = |path: &Path| {
            let name = CString::new(path.to_str().expect("text")).expect("text");
            // SAFETY: loads a library by its path.
            unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) }
        };
        // It looks for this one by name, and finds it where it is loaded already.
        for entry in fs::read_dir(library.parent().expect("a folder")).expect("a folder").flatten() {
            let name = entry.file_name().into_string().expect("text");
            if name.starts_with("libnvrtc-builtins.so") {
                open(&entry.path());
            }
        }
        let library = open(library);
        assert!(!library.is_null(), "NVRTC does not load");
        Nvrtc { library }
    }

    /// # Safety
    /// `F` must be the type of that function.
    unsafe fn function<F: Copy>(&self, name: &CStr) -> F {
        // SAFETY: the library is open; a function pointer is as large as an address.
        unsafe {
            let address = libc::dlsym(self.library, name.as_ptr());
            assert!(!address.is_null(), "NVRTC has no {name:?}");
            std::mem::transmute_copy::<*mut c_void, F>(&address)
        }
    }

    fn version(&self) -> [c_int; 2] {
        let [mut major, mut minor] = [0; 2];
        // SAFETY: the type is that of nvrtc.h.
        unsafe {
            let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int = self.function(c"nvrtcVersion");
            assert_eq!(version(&mut major, &mut minor), 0);
        }
        [major, minor]
    }

    /// Compiles a text with the headers of `folder`: the log, and whether it worked.
    fn compile(&self, name: &str, source: &str, folder: &Path, architecture: &str) -> Result<String, String> {
        type Create = unsafe extern "C" fn(
            *mut Program,
            *const c_char,
            *const c_char,
            c_int,
            *const *const c_char,
            *const *const c_char,
        ) -> c_int;
        type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
        type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
        type Log = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
        type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;

        let text = |text: &str| CString::new(text).expect("text without zeros");
        let headers = [files(folder, "cuh"), files(folder, "cu")].concat();
        let names: Vec<_> = headers.iter().map(|(name, _)| text(name)).collect();
        let contents: Vec<_> = headers.iter().map(|(_, content)| text(content)).collect();
        let architecture = format!("--gpu-architecture={architecture}");
        let options = [text(&architecture), text(OPTIONS[0]), text(OPTIONS[1])];
        let pointers = |texts: &[CString]| texts.iter().map(|text| text.as_ptr()).collect::<Vec<_>>();
        let (names, contents, options) = (pointers(&names), pointers(&contents), pointers(&options));
        let (source, name) = (text(source), text(name));
        let (mut program, mut size) = (null_mut(), 0);
        // SAFETY: types are those of nvrtc.h; all texts end with zero and live until the program is gone.
        unsafe {
            let create: Create = self.function(c"nvrtcCreateProgram");
            let count = headers.len() as c_int;
            let made = create(&mut program, source.as_ptr(), name.as_ptr(), count, contents.as_ptr(), names.as_ptr());
            assert_eq!(made, 0, "nvrtcCreateProgram");
            let result =
                self.function::<Compile>(c"nvrtcCompileProgram")(program, options.len() as c_int, options.as_ptr());
            assert_eq!(self.function::<Size>(c"nvrtcGetProgramLogSize")(program, &mut size), 0);
            let mut log = vec![0u8; size];
            assert_eq!(self.function::<Log>(c"nvrtcGetProgramLog")(program, log.as_mut_ptr().cast()), 0);
            assert_eq!(self.function::<Destroy>(c"nvrtcDestroyProgram")(&mut program), 0);
            let log = String::from_utf8_lossy(log.strip_suffix(&[0]).unwrap_or(&log)).into_owned();
            if result == 0 { Ok(log) } else { Err(log) }
        }
    }
}

/// Names and contents of a folder's files with that ending, in order.
fn files(folder: &Path, ending: &str) -> Vec<(String, String)> {
    let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|e| e == ending))
        .map(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).expect("text").to_owned();
            (name, fs::read_to_string(&path).expect("text"))
        })
        .collect();
    found.sort();
    found
}

/// The libraries that are there.
fn libraries() -> Vec<(Nvrtc, &'static [&'static str])> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pythons = fs::read_dir(root.join(".venv/lib")).into_iter().flatten().flatten();
    let packages: Vec<PathBuf> = pythons.map(|python| python.path().join("site-packages")).collect();
    let mut found = Vec::new();
    for (folder, name, architectures) in LIBRARIES {
        let mut places = packages.iter().map(|packages| packages.join(folder).join(name));
        if let Some(path) = places.find(|path| path.is_file()) {
            found.push((Nvrtc::open(&path), architectures));
        }
    }
    if found.len() < LIBRARIES.len() {
        let missing = LIBRARIES.len() - found.len();
        println!("SKIPPED: {missing} of {} versions of NVRTC are not in .venv; tests/run gets them", LIBRARIES.len());
    }
    found
}

/// Returns a hash of all that the compiler's result depends on: the version, the options, the spills that are allowed, and the text of a file and of
/// all files that it includes.
fn digest(nvrtc: &Nvrtc, architecture: &str, name: &str, folder: &Path) -> String {
    let mut names = vec![name.to_owned()];
    let mut text = format!("{:?} {architecture} {OPTIONS:?} {}\n", nvrtc.version(), may_spill(name, architecture));
    for at in 0.. {
        let Some(name) = names.get(at) else { break };
        let content = fs::read_to_string(folder.join(name)).expect("a file that is included");
        text += &format!("{name}\n{content}");
        let included = content.lines().filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"'));
        let new: Vec<String> =
            included.filter(|name| !names.iter().any(|old| old == name)).map(str::to_owned).collect();
        names.extend(new);
    }
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes()))
}

/// Compiles all of a folder but what `checked` lists, some files at once, and says what each kernel takes.
fn compile_all(folder: &str, checked: Option<&Path>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let (libraries, sources) = (libraries(), files(&path, "cu"));
    assert!(!sources.is_empty(), "{folder} has no .cu");
    let all = std::env::var_os(ALL).is_some();
    let known = checked.and_then(|checked| fs::read_to_string(checked).ok()).unwrap_or_default();
    let known: BTreeSet<&str> = known.lines().collect();
    let (mut left, mut listed) = (Vec::new(), BTreeSet::new());
    for (nvrtc, architectures) in &libraries {
        for (number, file) in sources.iter().enumerate() {
            let (first, others) = architectures.split_first().expect("an architecture");
            let in_turn = others.chunks(1).cycle().nth(number).unwrap_or(&[]);
            for architecture in [first].into_iter().chain(others) {
                let line = format!("{} {architecture} {}", file.0, digest(nvrtc, architecture, &file.0, &path));
                if known.contains(line.as_str()) {
                    listed.insert(line);
                } else if all || architecture == first || in_turn.contains(architecture) {
                    left.push((nvrtc, file, *architecture, line));
                }
            }
        }
    }
    println!("{folder}: {} compiled before, {} are compiled now", listed.len(), left.len());
    let (left, listed) = (Mutex::new(left.into_iter()), Mutex::new(listed));
    let compile = || {
        let mut spills = Vec::new();
        loop {
            let next = left.lock().expect("no panic").next();
            let Some((nvrtc, (name, source), architecture, line)) = next else { return spills };
            let log = nvrtc.compile(name, source, &path, architecture);
            let log = log.unwrap_or_else(|log| panic!("{folder}/{name} for {architecture}:\n{log}"));
            let (found, before) = (usages(&log), spills.len());
            assert!(!found.is_empty(), "{folder}/{name} has no kernel:\n{log}");
            for Usage { kernel, registers, shared, spilled } in &found {
                println!(
                    "{folder}/{name} {kernel} {architecture}: {registers} registers, {spilled} bytes spilled, {shared} bytes shared"
                );
                if *spilled > may_spill(name, architecture) {
                    spills.push(format!("{folder}/{name} {kernel} {architecture}: {spilled} bytes"));
                }
            }
            if let (true, Some(checked), true) = (all, checked, before == spills.len()) {
                let mut listed = listed.lock().expect("no panic");
                listed.insert(line);
                let lines: String = listed.iter().map(|line| format!("{line}\n")).collect();
                fs::write(checked, lines).expect("written");
            }
        }
    };
    // One thread would be done long after all other tests.
    let spills: Vec<String> = std::thread::scope(|scope| {
        let threads = [(); 3].map(|()| scope.spawn(compile));
        threads.into_iter().flat_map(|thread| thread.join().expect("they compile")).collect()
    });
    assert!(spills.is_empty(), "these kernels spill registers:\n{}", spills.join("\n"));
}

#[test]
fn kernels_compile_for_every_architecture_without_spills() {
    compile_all("kernels", Some(&Path::new(env!("CARGO_MANIFEST_DIR")).join(CHECKED)));
}

#[test]
fn kernels_of_the_self_test_are_cuda() {
    compile_all("tests/cuda_on_cpu/selftest", None);
}

#[test]
fn what_does_not_compile_is_an_error() {
    let folder = Path::new("nowhere");
    for (nvrtc, architectures) in libraries() {
        let bad = "extern \"C\" __global__ void bad() { int x = \"text\"; }";
        let log = nvrtc.compile("bad.cu", bad, folder, architectures[0]).expect_err("a type error");
        assert!(log.contains("bad.cu(1): error"), "{log}");
        // More values than registers, all needed at the end.
        let spills = "extern \"C\" __global__ void __launch_bounds__(1024, 2) spills(float* p) { float v[200];\n\
            #pragma unroll\nfor (int i = 0; i < 200; i++) v[i] = p[i * 32];\n__syncthreads();\n\
            #pragma unroll\nfor (int i = 0; i < 200; i++) p[i * 33] = v[i] * v[199 - i]; }";
        let log = nvrtc.compile("spills.cu", spills, folder, architectures[0]).expect("compiles");
        assert!(usages(&log)[0].spilled > 0, "{log}");
    }
}

#[test]
fn the_log_of_ptxas_is_understood() {
    let log = "ptxas info    : 4 bytes gmem\n\
        ptxas info    : Compiling entry function 'count' for 'sm_90'\n\
        ptxas info    : Function properties for count\n\
        ptxas         .     0 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n\
        ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem, 364 bytes cmem[0]\n\
        ptxas info    : Compiling entry function 'mark' for 'sm_90'\n\
        ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
        ptxas info    : Used 16 registers, 352 bytes cmem[0]\n";
    let usage =
        |kernel: &str, registers, shared, spilled| Usage { kernel: kernel.to_owned(), registers, shared, spilled };
    assert_eq!(usages(log), [usage("count", 40, 1024, 20), usage("mark", 16, 0, 0)]);
}
