//! The source of a program for the GPU, as it stands in `kernels/`. Each program is declared by the module that launches it.

/// A program's source.
#[derive(Debug, Clone, Copy)]
pub struct ProgramSource {
    /// The name of its file.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
    /// The name and text of each file that it includes, whether itself or by another of them.
    pub headers: &'static [(&'static str, &'static str)],
}

impl ProgramSource {
    /// Returns all of its text, headers too.
    pub fn everything(&self) -> String {
        let mut all = self.text.to_owned();
        self.headers.iter().for_each(|(_, text)| all.push_str(text));
        all
    }
}

/// `common.cuh`, which every program includes.
pub const COMMON: (&str, &str) = ("common.cuh", include_str!("../../kernels/common.cuh"));
