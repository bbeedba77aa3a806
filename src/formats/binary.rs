//! The formats of fixed records: pairs of `u32`, of `u64` and of any whole numbers, and the packed edges of the Graph500
//! reference.

use super::arrays::Int;
use super::map::{as_pairs32, as_pairs64};
use super::sink::{Fault, Sink, Stop};
use super::{Edges, Visitor};

/// Whole pairs of `u32`, handed over where they lie if the machine allows.
pub(crate) fn parse32<V: Visitor>(data: &[u8], sink: &mut Sink<'_, V>) -> Result<(), Stop> {
    if let Some(pairs) = as_pairs32(data) {
        return Ok(sink.batch(Edges::Narrow(pairs))?);
    }
    for [a, b, c, d, e, f, g, h] in data.as_chunks::<8>().0 {
        sink.push(u32::from_le_bytes([*a, *b, *c, *d]).into(), u32::from_le_bytes([*e, *f, *g, *h]).into())?;
    }
    Ok(())
}

/// Whole pairs of `u64`.
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

/// Packed edges: the low 32 bits of both ids, then the 16 bits above them, those of the first id in the low half
/// (`packed_edge` of the Graph500 reference; the halves are signed there, and a negative id marks no edge).
pub(crate) fn parse_packed<V: Visitor>(data: &[u8], sink: &mut Sink<'_, V>) -> Result<(), Stop> {
    for (index, record) in data.as_chunks::<12>().0.iter().enumerate() {
        let word = |n: usize| u64::from(u32::from_le_bytes([record[n], record[n + 1], record[n + 2], record[n + 3]]));
        let high = word(8);
        if high & 0x8000_8000 != 0 {
            let remedy = "name the format that the file is in, or write it again";
            let found = format!("{:#x} as the high halves", high);
            return Err(Fault::new(index * 12, "ids of at most 47 bits", found, remedy).into());
        }
        sink.push(word(0) | (high & 0xffff) << 32, word(4) | (high >> 16) << 32)?;
    }
    Ok(())
}

/// Pairs of any whole numbers: those that lie as `u32` or `u64` would are handed over where they are, once it is known that
/// none is below 0.
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

/// Where the first number below 0 is. Eight bytes at a time: the highest bits of all numbers in them.
fn first_negative(data: &[u8], int: Int) -> Option<usize> {
    let highest = if int.big { 0x80 } else { 1u64 << (8 * int.bytes - 1) };
    let mask = (0..8 / int.bytes).fold(0, |mask, nth| mask | highest << (8 * int.bytes * nth));
    let (words, rest) = data.as_chunks::<8>();
    // no early way out, so that the compiler takes many words at once
    let all = words.iter().fold(0, |all, word| all | u64::from_le_bytes(*word));
    if all & mask == 0 && rest.is_empty() {
        return None;
    }
    data.chunks_exact(int.bytes).position(|bytes| int.of(bytes).is_none()).map(|nth| nth * int.bytes)
}
