//! Parses binary pairs of integers.

use crate::formats::{Edges, Fault, Int, Sink, Stop};
use crate::store::map::{as_u32, as_u64};

/// Parses pairs of any integer type. Pairs with the layout of `u32` or `u64` are passed to the sink without a copy,
/// after a check that no number is negative.
pub(crate) fn parse(data: &[u8], int: Int, sink: &mut Sink<'_>) -> Result<(), Stop> {
    if int.signed
        && let Some(at) = first_negative(data, int)
    {
        let found = int.negative(&data[at..at + int.bytes]).to_string();
        return Err(Fault::new(at, "ids from 0", found, "number the vertices from 0 and save them again").into());
    }
    let in_place = match (int.bytes, int.big) {
        (4, false) => as_u32(data).and_then(pairs).map(Edges::Narrow),
        (8, false) => as_u64(data).and_then(pairs).map(Edges::Wide),
        _ => None,
    };
    if let Some(edges) = in_place {
        return Ok(sink.batch(edges)?);
    }
    let unsigned = Int { signed: false, ..int };
    let id = |bytes: &[u8]| unsigned.of(bytes).unwrap_or_default();
    for pair in data.chunks_exact(2 * int.bytes) {
        sink.push(id(&pair[..int.bytes]), id(&pair[int.bytes..]))?;
    }
    Ok(())
}

/// Returns pairs of consecutive numbers, each the two ids of an edge; `None` if the count of numbers is odd.
fn pairs<T>(numbers: &[T]) -> Option<&[[T; 2]]> {
    let (pairs, rest) = numbers.as_chunks();
    rest.is_empty().then_some(pairs)
}

/// Returns the byte offset of the first negative number. A single mask tests the sign bits of all numbers in a 64-bit
/// word.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_whole_or_nothing() {
        let words = [1u64, 2, 3];
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        // A Vec<u8> of this size is aligned in practice; a slice of it from offset 1 never is.
        assert!(as_u32(&bytes[1..17]).is_none());
        assert!(as_u64(&bytes[..17]).is_none());
        assert!(pairs(&words).is_none());
        assert_eq!(pairs(&words[..2]), Some(&[[1, 2]][..]));
    }
}
