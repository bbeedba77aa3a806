//! Serialized graphs of the GAP benchmark suite (`writer.h` of <https://github.com/sbeamer/gapbs>): a byte that says
//! whether the graph is directed, counts of edges and vertices, offsets, and neighbours of 4 bytes, or 8 with a weight;
//! of a directed graph the same once more for the other direction.

use super::Reading;

pub fn read(bytes: &[u8], weighted: bool) -> Option<Reading> {
    let directed = match bytes.first()? {
        0 => false,
        1 => true,
        _ => return None,
    };
    let long = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?));
    let (entries, ids) = (long(1)?, long(9)?);
    let size = if weighted { 8 } else { 4 };
    let offsets = ids.checked_add(1)?.checked_mul(8)?;
    let part = offsets.checked_add(entries.checked_mul(size)?)?;
    let whole = part.checked_mul(if directed { 2 } else { 1 })?.checked_add(17)?;
    if whole != bytes.len() as u64 {
        return None;
    }
    let mut edges = Vec::new();
    for vertex in 0..ids as usize {
        let (from, to) = (long(17 + 8 * vertex)?, long(25 + 8 * vertex)?);
        if vertex == 0 && from != 0 || from > to || to > entries {
            return None;
        }
        for entry in from..to {
            let at = (17 + offsets + entry * size) as usize;
            let end = u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().ok()?));
            if end >= ids {
                return None;
            }
            edges.push([vertex as u64, end]);
        }
    }
    if long(17 + 8 * ids as usize)? != entries {
        return None;
    }
    // Without direction each edge is in the lists of both ends, as often in one as in the other.
    let mut lists = [edges.clone(), edges.iter().map(|[u, v]| [*v, *u]).collect()];
    lists.iter_mut().for_each(|list| list.sort_unstable());
    if !directed && lists[0] != lists[1] {
        return None;
    }
    // The other direction is passed over, or read; it says nothing new where the file is whole.
    Some(Reading { edges, vertices: Some(ids), open: directed })
}
