//! Writes edges in the order of the input.

use std::path::Path;

use super::encode::{self, Buffers, Encoder, Unfit};
use super::output::OutputFile;
use crate::error::{At, Error, Result};
use crate::formats::{Edges, Format, Halves, Input, Visitor, Watch, WeightType, ending};

/// A conversion in progress: the input, and the output file to which its edges are written.
pub(super) struct Writing<'a> {
    pub input: &'a Input,
    /// Path of the output as the user wrote it.
    pub out: &'a Path,
    pub output: &'a OutputFile,
    /// The separate weights file, if the format has one.
    pub weights_output: Option<&'a OutputFile>,
    pub weights: Option<WeightType>,
    pub threads: usize,
    pub watch: &'a dyn Watch,
}

impl Writing<'_> {
    /// Encodes and appends all edges, in the order of the input. Returns the number of edges read and the number of
    /// edges written.
    pub fn stream(&self, format: Format) -> Result<(u64, u64)> {
        let append = |_| Append {
            output: self.output,
            weights_output: self.weights_output,
            input: self.input,
            encoder: Encoder::new(format, self.weights, ending(self.out).as_deref()),
            buffers: Buffers::default(),
        };
        let mut visitors: Vec<Append<'_>> = (0..self.threads).map(append).collect();
        let scan = self.input.scan_ordered(&mut visitors, self.watch)?;
        if scan.halves == Halves::Some || (scan.halves == Halves::All && format != Format::Mtx) {
            let out = self.out.display();
            tracing::warn!(
                "{out}: has only one direction of each undirected edge; do not read it with directed = true"
            );
        }
        Ok((scan.edges, scan.edges))
    }
}

/// Visitor that encodes the edges of a chunk, and appends them once all earlier chunks have reserved their bytes.
struct Append<'a> {
    output: &'a OutputFile,
    weights_output: Option<&'a OutputFile>,
    input: &'a Input,
    encoder: Encoder,
    buffers: Buffers,
}

impl Append<'_> {
    fn unfit(&self, unfit: Unfit) -> Error {
        let (format, name) = (self.encoder.format, self.input.name());
        match unfit {
            Unfit::Id(id) => {
                let expected = format!("ids below 2^{} for {format}", self.encoder.bits());
                let remedy = "choose a format with wider ids, such as u64";
                Error::input(name, At::File, expected, format!("id {id}"), remedy)
            }
            Unfit::Weight(weight, kind) => {
                let expected = format!("weights that f32 represents exactly, for {format}");
                let mut shown = b"weight ".to_vec();
                encode::append_weight(&mut shown, weight, kind);
                let remedy = "choose a format of numbers as text, such as mtx, or round them with gpugraph convert --weights f32";
                Error::input(name, At::File, expected, String::from_utf8_lossy(&shown), remedy)
            }
        }
    }
}

impl Visitor for Append<'_> {
    fn visit(&mut self, edges: Edges<'_>, weights: &[u32]) -> Result<()> {
        self.encoder.edges(edges, weights, &mut self.buffers).map_err(|unfit| self.unfit(unfit))
    }

    fn chunk_done(&mut self, chunk: u64) -> Result<()> {
        let Buffers { edges, weights } = &mut self.buffers;
        self.output.append(chunk, edges)?;
        edges.clear();
        if let Some(weights_output) = self.weights_output {
            weights_output.append(chunk, weights)?;
            weights.clear();
        }
        Ok(())
    }

    fn stopped(&mut self) {
        self.output.stop();
        self.weights_output.iter().for_each(|weights_output| weights_output.stop());
    }
}
