//! Sources of the GPU programs in `kernels/`, and the folder in which compiled programs are cached. Each program is
//! declared in the module that launches it.

use std::path::PathBuf;

/// Returns the folder in which compiled kernels are cached; `None` without a home directory.
pub fn cache() -> Option<PathBuf> {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = from("XDG_CACHE_HOME").or_else(|| from("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("gpugraph"))
}

/// Returns true if the cache contains no compiled program of any version of gpugraph, or if there is no cache.
pub fn cache_is_empty() -> bool {
    let entries = cache().and_then(|folder| std::fs::read_dir(folder).ok());
    let is_program = |entry: std::fs::DirEntry| entry.path().extension().is_some_and(|end| end == "cubin");
    !entries.into_iter().flatten().flatten().any(is_program)
}

/// Source of a program of GPU kernels.
#[derive(Debug, Clone, Copy)]
pub struct ProgramSource {
    /// Name of the source file of a GPU program.
    pub name: &'static str,
    /// Text of the source file of a GPU program.
    pub text: &'static str,
    /// Name and text of every file that a GPU program includes, directly or indirectly.
    pub headers: &'static [(&'static str, &'static str)],
}

impl ProgramSource {
    /// Returns the text of the program's source file and of all files that it includes.
    pub fn everything(&self) -> String {
        let mut all = self.text.to_owned();
        self.headers.iter().for_each(|(_, text)| all.push_str(text));
        all
    }
}

/// The header `common.cuh` (name and text), which every program includes.
pub const COMMON: (&str, &str) = ("common.cuh", include_str!("../../kernels/common.cuh"));

/// The header `splitmix.cuh` (name and text), for programs that draw random numbers.
pub const SPLITMIX: (&str, &str) = ("splitmix.cuh", include_str!("../../kernels/splitmix.cuh"));

/// Returns the value of `constexpr u32 NAME = VALUE;` in the kernel source `text`, so that host and kernel use the same
/// constant. The value is a decimal number or a power of two, such as `1u << 18`.
///
/// # Panics
/// If `text` has no such constant. In the initialiser of a host constant, the panic is a compile error.
pub const fn constant(text: &str, name: &str) -> u32 {
    let text = text.as_bytes();
    let mut at = 0;
    let length = name.len();
    while !(starts_with(text, at, b"constexpr u32 ")
        && starts_with(text, at + 14, name.as_bytes())
        && starts_with(text, at + 14 + length, b" = "))
    {
        assert!(at < text.len(), "no constant of this name");
        at += 1;
    }
    let (first, mut at) = number(text, at + 14 + length + 3);
    if text[at] == b'u' {
        at += 1;
    }
    if starts_with(text, at, b" << ") { first << number(text, at + 4).0 } else { first }
}

/// Parses the decimal number that starts at byte `at`. Returns the number, and the index of the byte after it.
const fn number(text: &[u8], mut at: usize) -> (u32, usize) {
    let (mut value, first) = (0, at);
    while text[at].is_ascii_digit() {
        value = 10 * value + (text[at] - b'0') as u32;
        at += 1;
    }
    assert!(at > first, "no number");
    (value, at)
}

const fn starts_with(text: &[u8], at: usize, start: &[u8]) -> bool {
    let mut i = 0;
    while i < start.len() {
        if at + i >= text.len() || text[at + i] != start[i] {
            return false;
        }
        i += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::constant;

    #[test]
    fn constants_are_read_from_text() {
        let text = "constexpr u32 A = 7;\nconstexpr u32 ABC = 1u << 18;\nconstexpr u32 D = 1 << 4; // not 5";
        assert_eq!(["A", "ABC", "D"].map(|name| constant(text, name)), [7, 1 << 18, 16]);
    }
}
