//! Encodes edges as the bytes of an output format.

use crate::formats::weights::bits_of;
use crate::formats::{Edges, Format, Halves, WeightType};
use std::io::Write;

use super::counts::HeaderCounts;

/// Encodes edges in an output format, and appends the bytes to buffers.
#[derive(Debug, Clone)]
pub(super) struct Encoder {
    pub format: Format,
    /// Type of the weights; `None` if edges are written without weights.
    weights: Option<WeightType>,
    delimiter: u8,
}

/// A value that the output format can't store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unfit {
    Id(u64),
    /// A weight that f32 can't represent exactly, as its bits and its type.
    Weight(u64, WeightType),
}

/// Buffers for encoded edges, and for their encoded weights if the format has a separate weights file.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    pub edges: Vec<u8>,
    pub weights: Vec<u8>,
}

impl Encoder {
    /// Creates an encoder for an output file with the extension `ending`.
    pub fn new(format: Format, weights: Option<WeightType>, ending: Option<&str>) -> Self {
        let delimiter = match (ending, weights) {
            (Some("csv"), _) => b',',
            (Some("tsv"), _) | (_, None) => b'\t',
            (_, Some(_)) => b' ',
        };
        Encoder { format, weights, delimiter }
    }

    /// Returns the maximum number of bits of an id in the output format.
    pub fn bits(&self) -> u32 {
        match self.format {
            Format::U32 => 32,
            // The Graph500 reference code reads the upper 16 of 48 bits as a signed number.
            Format::Graph500 => 47,
            _ => 64,
        }
    }

    /// Appends `edges` to `out`, with their `weights` if the encoder has a weight type. The error is the first value
    /// that the format can't store.
    pub fn edges(&self, edges: Edges<'_>, weights: &[u32], out: &mut Buffers) -> Result<(), Unfit> {
        let Some(kind) = self.weights else { return self.unweighted(edges, &mut out.edges) };
        let mut edge = |u: u64, v: u64, weight: u64| {
            if self.format == Format::Graph500 {
                out.weights.extend_from_slice(&as_f32(weight, kind)?.to_le_bytes());
                return self.edge(u, v, &mut out.edges);
            }
            let (before, first, between): (&[u8], _, _) = match self.format {
                Format::Gr => (b"a ", 1, b' '),
                Format::Mtx => (b"", 1, b' '),
                _ => (b"", 0, self.delimiter),
            };
            line(&mut out.edges, before, u128::from(u) + first, between, u128::from(v) + first, &[between]);
            append_weight(&mut out.edges, weight, kind);
            out.edges.push(b'\n');
            Ok(())
        };
        let mut weights = bits_of(weights, kind.words());
        edges.try_each(|u, v| weights.next().map_or(Ok(()), |weight| edge(u, v, weight)))
    }

    fn unweighted(&self, edges: Edges<'_>, out: &mut Vec<u8>) -> Result<(), Unfit> {
        if let (Edges::Narrow(pairs), Format::U32) = (edges, self.format) {
            // Special case, because the general loop is half as fast.
            let start = out.len();
            out.resize(start + pairs.len() * 8, 0);
            for (bytes, [u, v]) in out[start..].as_chunks_mut::<8>().0.iter_mut().zip(pairs) {
                *bytes = (u64::from(*u) | u64::from(*v) << 32).to_le_bytes();
            }
            return Ok(());
        }
        edges.try_each(|u, v| self.edge(u, v, out))
    }

    #[inline]
    fn edge(&self, u: u64, v: u64, out: &mut Vec<u8>) -> Result<(), Unfit> {
        let bits = self.bits();
        if bits < 64 && (u | v) >> bits != 0 {
            return Err(Unfit::Id(u.max(v)));
        }
        match self.format {
            Format::U32 => out.extend_from_slice(&(u | v << 32).to_le_bytes()),
            Format::U64 => {
                out.extend_from_slice(&u.to_le_bytes());
                out.extend_from_slice(&v.to_le_bytes());
            }
            Format::Graph500 => {
                out.extend_from_slice(&(u as u32).to_le_bytes());
                out.extend_from_slice(&(v as u32).to_le_bytes());
                out.extend_from_slice(&((u >> 32 | v >> 32 << 16) as u32).to_le_bytes());
            }
            Format::Text => line(out, b"", u.into(), self.delimiter, v.into(), b"\n"),
            Format::Mtx | Format::Metis => line(out, b"", u128::from(u) + 1, b' ', u128::from(v) + 1, b"\n"),
            Format::Gr => line(out, b"a ", u128::from(u) + 1, b' ', u128::from(v) + 1, b" 1\n"),
            Format::Npy => unreachable!("its pairs are written as u32 or u64"),
            Format::Npz | Format::Sg | Format::Wsg | Format::Parquet => unreachable!("refused before"),
        }
        Ok(())
    }
}

/// Returns the header of a file in a format; empty if the format has none. The header of a Matrix Market file says
/// `symmetric` if the input lists only one direction of every undirected edge.
pub(super) fn header(format: Format, counts: HeaderCounts, weights: Option<WeightType>) -> String {
    let HeaderCounts { vertices, edges, .. } = counts;
    match format {
        Format::Mtx => {
            let symmetry = if counts.halves == Halves::All { "symmetric" } else { "general" };
            let field = match weights {
                None => "pattern",
                Some(WeightType::U32 | WeightType::U64) => "integer",
                Some(WeightType::F32 | WeightType::F64) => "real",
            };
            format!("%%MatrixMarket matrix coordinate {field} {symmetry}\n{vertices} {vertices} {edges}\n")
        }
        Format::Gr => format!("p sp {vertices} {edges}\n"),
        Format::Metis => format!("{vertices} {edges}{}\n", if weights.is_some() { " 001" } else { "" }),
        _ => String::new(),
    }
}

/// Returns the header (NEP 1) of a numpy array with the shape `(edges, 2)` of unsigned integers with `bytes` bytes
/// each. Its size is a multiple of 64 bytes.
pub(super) fn npy_header(edges: u64, bytes: usize) -> Vec<u8> {
    let shape = format!("{{'descr': '<u{bytes}', 'fortran_order': False, 'shape': ({edges}, 2), }}");
    let length = (shape.len() + 11).next_multiple_of(64) - 10;
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend_from_slice(&(length as u16).to_le_bytes());
    header.extend_from_slice(format!("{shape:<width$}\n", width = length - 1).as_bytes());
    header
}

#[inline]
fn line(out: &mut Vec<u8>, before: &[u8], u: u128, between: u8, v: u128, after: &[u8]) {
    out.extend_from_slice(before);
    number(out, u);
    out.push(between);
    number(out, v);
    out.extend_from_slice(after);
}

/// Converts a weight to f32; the error is a weight that f32 can't represent exactly.
fn as_f32(weight: u64, kind: WeightType) -> Result<f32, Unfit> {
    let (nearest, is_same) = match kind {
        WeightType::F32 => return Ok(f32::from_bits(weight as u32)),
        // The comparison uses u128, because the conversion back to u64 would saturate.
        WeightType::U32 | WeightType::U64 => (weight as f32, (weight as f32) as u128 == u128::from(weight)),
        WeightType::F64 => {
            let value = f64::from_bits(weight);
            (value as f32, f64::from(value as f32) == value)
        }
    };
    if is_same { Ok(nearest) } else { Err(Unfit::Weight(weight, kind)) }
}

/// Appends a weight in decimal. An f32 or f64 is written with the fewest digits that distinguish it from every other
/// f64, because most readers parse numbers as f64.
#[inline]
pub(super) fn append_weight(out: &mut Vec<u8>, weight: u64, kind: WeightType) {
    let value = match kind {
        WeightType::U32 | WeightType::U64 => return number(out, weight.into()),
        WeightType::F32 => f64::from(f32::from_bits(weight as u32)),
        WeightType::F64 => f64::from_bits(weight),
    };
    // Writing to memory can't fail.
    drop(write!(out, "{value:?}"));
}

/// Appends a number in decimal.
#[inline]
pub(super) fn number(out: &mut Vec<u8>, value: u128) {
    let mut digits = itoa::Buffer::new();
    // Formatting u64 is faster than u128.
    out.extend_from_slice(match u64::try_from(value) {
        Ok(value) => digits.format(value).as_bytes(),
        Err(_) => digits.format(value).as_bytes(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_may_have_more_than_64_bits() {
        let mut out = Vec::new();
        number(&mut out, 1 << 64);
        assert_eq!(out, b"18446744073709551616");
    }

    #[test]
    fn ids_that_do_not_fit() {
        let mut out = Buffers::default();
        let mut put = |format, edge| Encoder::new(format, None, None).edges(Edges::Wide(&[edge]), &[], &mut out);
        assert_eq!(put(Format::U32, [1, 1 << 32]), Err(Unfit::Id(1 << 32)));
        assert_eq!(put(Format::Graph500, [1 << 47, 1]), Err(Unfit::Id(1 << 47)));
        assert_eq!(put(Format::Graph500, [(1 << 47) - 1, 1]), Ok(()));
        assert_eq!(out.edges.len(), 12);
    }

    #[test]
    fn weights() {
        let text = |bits: u64, kind| {
            let mut out = Vec::new();
            append_weight(&mut out, bits, kind);
            String::from_utf8(out).expect("text")
        };
        assert_eq!(text(u32::MAX.into(), WeightType::U32), "4294967295");
        assert_eq!(text(u64::MAX, WeightType::U64), "18446744073709551615");
        for value in [0.0f64, 0.1, 5e-324, f64::MIN_POSITIVE, 9_007_199_254_740_992.0, f64::MAX] {
            assert_eq!(text(value.to_bits(), WeightType::F64).parse(), Ok(value));
        }
        for value in [0.0f32, 1.0, 0.1, 1e-45, f32::MIN_POSITIVE, 16_777_217.0, f32::MAX] {
            assert_eq!(text(value.to_bits().into(), WeightType::F32).parse(), Ok(f64::from(value)));
        }
        assert_eq!(as_f32(1 << 31, WeightType::U32), Ok(2_147_483_648.0));
        assert_eq!(as_f32(1 << 40, WeightType::U64), Ok(1_099_511_627_776.0));
        assert_eq!(as_f32(0.5f64.to_bits(), WeightType::F64), Ok(0.5));
        for (inexact, kind) in [
            (16_777_217, WeightType::U32),
            (u32::MAX.into(), WeightType::U32),
            (u64::MAX, WeightType::U64),
            (0.1f64.to_bits(), WeightType::F64),
            (1e39f64.to_bits(), WeightType::F64),
        ] {
            assert_eq!(as_f32(inexact, kind), Err(Unfit::Weight(inexact, kind)));
        }
    }
}
