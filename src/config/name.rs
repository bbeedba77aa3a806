//! The default name of a job: the name of its input, so that each graph has its own workdir.

use super::spec::InputSpec;
use crate::formats::Format;
use crate::list::ListFormat;
use std::path::{Component, Path};

/// Maximum length of a name in bytes. The limit is needed because a name becomes a folder name and appears in
/// reports.
const LONGEST: usize = 100;
/// Maximum number of input file names that are joined into one job name.
const JOINED: usize = 3;
/// Extensions of compressed files. They follow the extension of the file's format.
const PACKED: [&str; 4] = ["gz", "zst", "bz2", "xz"];

/// Returns a job name made from the input. For a file it is the file name without the extensions of compression and
/// format. For a folder it is the folder name, and for a pattern the name of its folder. The names of several paths
/// are joined by `+`. A generator's name consists of its kind and parameters. Returns `None` for inputs without a
/// name, such as standard input and `.`.
pub(super) fn of_input(input: &InputSpec) -> Option<String> {
    let name = match input {
        InputSpec::Files { paths, .. } => of_paths(paths.iter().map(|path| of_path(path)).collect::<Option<_>>()?)?,
        // The suffix keeps this job out of the workdir of the other job, which is probably named after its input.
        InputSpec::Prepared(workdir) => format!("{}-prepared", last(workdir)?),
        InputSpec::Kronecker(random) => format!("kronecker-{}-{}-{}", random.scale, random.edge_factor, random.seed),
        InputSpec::ListFile { path, .. } => of_path(path)?,
        InputSpec::List(list) => format!("list-{}-{}-{}", list.kind.name(), list.length, list.seed),
        InputSpec::Memory(_) | InputSpec::MemoryList(_) => "memory".to_owned(),
        InputSpec::Weighted(spec) => spec.to_string().replace(' ', "-"),
        InputSpec::Uniform(random) => format!("uniform-{}-{}-{}", random.scale, random.edge_factor, random.seed),
    };
    let name: String = name.chars().map(|c| if c.is_control() || "/\\".contains(c) { '_' } else { c }).collect();
    let name = name.trim_start_matches(|c: char| ".-".contains(c) || c.is_whitespace());
    let end = (0..=LONGEST.min(name.len())).rev().find(|&end| name.is_char_boundary(end))?;
    Some(name[..end].trim_end().to_owned()).filter(|name| !name.is_empty())
}

fn of_paths(names: Vec<String>) -> Option<String> {
    let more = names.len().saturating_sub(JOINED);
    let joined = names.iter().take(JOINED).map(String::as_str).collect::<Vec<_>>().join("+");
    match more {
        _ if names.is_empty() => None,
        0 => Some(joined),
        more => Some(format!("{joined}+{more}")),
    }
}

fn of_path(path: &Path) -> Option<String> {
    // File descriptors of a shell's process substitution `<(…)` are meaningless as names.
    if path == Path::new("-") || ["/dev/stdin", "/dev/fd", "/proc"].iter().any(|other| path.starts_with(other)) {
        return None;
    }
    if is_pattern(&path.to_string_lossy()) {
        return of_pattern(path);
    }
    let name = last(path)?;
    Some(if path.is_dir() { name } else { without_endings(&name) })
}

/// Returns a name for a path with wildcards: the innermost folder before the first wildcard, or else the beginning of
/// the pattern.
fn of_pattern(path: &Path) -> Option<String> {
    let plain: std::path::PathBuf =
        path.components().take_while(|part| !is_pattern(&part.as_os_str().to_string_lossy())).collect();
    last(&plain).or_else(|| {
        let pattern = path.components().next()?.as_os_str().to_string_lossy().into_owned();
        let fixed = pattern.split(['*', '?', '[', '{']).next()?.trim_end_matches(|c: char| !c.is_alphanumeric());
        Some(fixed.to_owned()).filter(|fixed| !fixed.is_empty())
    })
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// Returns the last component of a path; `None` if it is not a name, such as `..`.
fn last(path: &Path) -> Option<String> {
    match path.components().next_back()? {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    }
}

/// Removes the extension of a compressed format, and then the extension of an input format. Other extensions are part
/// of the name.
fn without_endings(name: &str) -> String {
    let cut = |name: &str, is_one: &dyn Fn(&str) -> bool| match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && is_one(&ending.to_ascii_lowercase()) => stem.to_owned(),
        _ => name.to_owned(),
    };
    let unpacked = cut(name, &|ending| PACKED.contains(&ending));
    let is_format = |name: &Path| Format::by_ending(name).is_some() || ListFormat::by_ending(name).is_some();
    cut(&unpacked, &|ending| is_format(Path::new(&format!("x.{ending}"))))
}

#[cfg(test)]
mod tests {
    use super::super::spec::Random;
    use super::*;

    fn of(paths: &[&str]) -> Option<String> {
        of_input(&InputSpec::Files {
            paths: paths.iter().map(Into::into).collect(),
            format: None,
            recursive: false,
            text: Default::default(),
            vertices: None,
            weights: Default::default(),
        })
    }

    #[test]
    fn an_input_names_its_job() {
        for (path, name) in [
            ("/data/email-Eu-core.txt.gz", "email-Eu-core"),
            ("s29.e10.kron.edgelist", "s29.e10.kron"),
            ("a/web.U32.zst", "web"),
            ("web.links", "web.links"),
            ("out.moreno_zebra", "out.moreno_zebra"),
            (".hidden.txt", "hidden"),
            ("no-such-folder/", "no-such-folder"),
            ("edges/*.txt.gz", "edges"),
            ("edges/20??/part[0-9].u32", "edges"),
            ("part-*.u32", "part"),
            ("part-{a,b}/**/*.u32", "part"),
            ("a b.txt", "a b"),
            ("/dev/shm/a.u32", "a"),
        ] {
            assert_eq!(of(&[path]).as_deref(), Some(name), "{path}");
        }
        for path in ["-", "/dev/stdin", "/dev/fd/63", ".", "..", "*.u32", "/"] {
            assert_eq!(of(&[path]), None, "{path}");
        }
        assert_eq!(of(&["x/a.u32", "b.txt"]).as_deref(), Some("a+b"));
        assert_eq!(of(&["a.u32", "b.u32", "c.u32", "d.u32", "e.u32"]).as_deref(), Some("a+b+c+2"));
        assert_eq!(of(&["a.u32", "-"]), None);
        assert_eq!(of(&[&"ü".repeat(80)]).map(|name| name.len()), Some(100));
        let random = Random { scale: 20, edge_factor: 2.5, seed: 1 };
        assert_eq!(of_input(&InputSpec::Kronecker(random)).as_deref(), Some("kronecker-20-2.5-1"));
        let whole = Random { edge_factor: 16.0, ..random };
        assert_eq!(of_input(&InputSpec::Uniform(whole)).as_deref(), Some("uniform-20-16-1"));
        let kept = InputSpec::Prepared("gpugraph.work/web".into());
        assert_eq!(of_input(&kept).as_deref(), Some("web-prepared"));
    }
}
