//! Sources of the programs in `kernels/`. The module that launches a program declares it.

/// Source of a program of kernels.
#[derive(Debug, Clone, Copy)]
pub struct ProgramSource {
    /// Name of the program's file.
    pub name: &'static str,
    /// Text of the program's file.
    pub text: &'static str,
    /// Name and text of every file that the program includes, directly or indirectly.
    pub headers: &'static [(&'static str, &'static str)],
}

impl ProgramSource {
    /// Returns the value of `constexpr u32 NAME = VALUE;` in the text or the headers. The value must be a number or a
    /// power of two. Tests use it to check constants of the host against those of the kernels.
    ///
    /// # Panics
    /// If there is no such constant.
    #[cfg(test)]
    pub fn constant(&self, name: &str) -> u64 {
        let all = self.everything();
        let (_, rest) = all.split_once(&format!("constexpr u32 {name} = ")).expect("a constant of this name");
        let number = |text: &str| {
            let text = text.trim().trim_end_matches('u');
            text.strip_prefix("0x").map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16)).expect("a number")
        };
        let value = rest.split(';').next().unwrap_or_default();
        value.split_once("<<").map_or_else(|| number(value), |(one, by)| number(one) << number(by))
    }

    /// Returns the text of the program and of all headers.
    pub fn everything(&self) -> String {
        let mut all = self.text.to_owned();
        self.headers.iter().for_each(|(_, text)| all.push_str(text));
        all
    }
}

/// The header `common.cuh`, which every program includes.
pub const COMMON: (&str, &str) = ("common.cuh", include_str!("../../kernels/common.cuh"));
