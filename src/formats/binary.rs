//! Parses pairs of `u32`, of `u64` and of other integers.

use crate::formats::bytes::fault::{Fault, Stop};
use crate::formats::bytes::int::Int;
use crate::formats::bytes::map::{as_pairs32, as_pairs64};
use crate::formats::sink::Sink;
use crate::formats::{Edges, Visitor};

/// Parses whole pairs of `u32`. On a little-endian machine the pairs are handed over in place.
pub(crate) fn parse32<V: Visitor>(data: &[u8], sink: &mut Sink<'_, V>) -> Result<(), Stop> {
    if let Some(pairs) = as_pairs32(data) {
        return Ok(sink.batch(Edges::Narrow(pairs))?);
    }
    for [a, b, c, d, e, f, g, h] in data.as_chunks::<8>().0 {
        sink.push(u32::from_le_bytes([*a, *b, *c, *d]).into(), u32::from_le_bytes([*e, *f, *g, *h]).into())?;
    }
    Ok(())
}

/// Parses whole pairs of `u64`.
pub(crate) fn parse64<V: Visitor>(data: &[u8], sink: &mut Sink<'_, V>) -> Result<(), Stop> {
    if let Some(pairs) = as_pairs64(data) {
        return Ok(sink.batch(Edges::Wide(pairs))?);
    }
    let word = |half: &[u8; 8]| u64::from_le_bytes(*half);
    for pair in data.as_chunks::<8>().0.as_chunks::<2>().0 {
        sink.push(word(&pair[0]), word(&pair[1]))?;
    }
    Ok(())
}

/// Parses pairs of any integer type. If they have the layout of `u32` or `u64`, they are handed over in place, after a
/// check that none is negative.
pub(crate) fn parse_rows<V: Visitor>(data: &[u8], int: Int, sink: &mut Sink<'_, V>) -> Result<(), Stop> {
    if int.signed
        && let Some(at) = first_negative(data, int)
    {
        let found = int.negative(&data[at..at + int.bytes]).to_string();
        return Err(Fault::new(at, "ids from 0", found, "number the vertices from 0 and save them again").into());
    }
    match (int.bytes, int.big) {
        (4, false) => parse32(data, sink),
        (8, false) => parse64(data, sink),
        (bytes, _) => {
            let unsigned = Int { signed: false, ..int };
            let id = |bytes: &[u8]| unsigned.of(bytes).unwrap_or_default();
            for pair in data.chunks_exact(2 * bytes) {
                sink.push(id(&pair[..bytes]), id(&pair[bytes..]))?;
            }
            Ok(())
        }
    }
}

/// Returns the byte offset of the first negative number. The test covers the sign bits of all numbers in eight bytes at
/// once.
fn first_negative(data: &[u8], int: Int) -> Option<usize> {
    let highest = if int.big { 0x80 } else { 1u64 << (8 * int.bytes - 1) };
    let mask = (0..8 / int.bytes).fold(0, |mask, nth| mask | highest << (8 * int.bytes * nth));
    let (words, rest) = data.as_chunks::<8>();
    // The loop has no early exit, so that the compiler can vectorise it.
    let all = words.iter().fold(0, |all, word| all | u64::from_le_bytes(*word));
    if all & mask == 0 && rest.is_empty() {
        return None;
    }
    data.chunks_exact(int.bytes).position(|bytes| int.of(bytes).is_none()).map(|nth| nth * int.bytes)
}
