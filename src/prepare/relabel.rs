//! Orders vertices by descending degree, ties by ascending input id. Vertex 0 has the highest degree. If each edge is
//! stored in the row of its end with the larger id, no row is longer than √(2·edges) (degree ordering: Chiba &
//! Nishizeki 1985; Schank & Wagner 2005; Latapy 2008).
//!
//! The algorithm is an in-place counting sort: the degree array becomes the map from dense ids to vertices. Vertices of
//! degrees under 2^16 are counted by degree in a table; the few vertices of larger degree (hubs) are sorted by
//! comparison.

use crate::comm::Comm;
use crate::error::Result;
use crate::graph::{DegreeRuns, DenseId, Vertex};
use crate::memory::{Budget, Buffer};
use crate::process::threads::on_threads;

/// Value in the map from ids to vertices for an id that has no edge other than self-loops.
pub const ISOLATED: u32 = u32::MAX;

/// Exclusive upper bound on the degrees whose vertices are counted in a table. Vertices of larger degree are sorted by
/// comparison.
const TABLE: usize = 1 << 16;

/// The order of vertices: the map from dense ids to vertices, and the degrees.
#[derive(Debug)]
pub struct Relabelled {
    /// Vertex of every dense id; [`ISOLATED`] for an id that has no edge other than self-loops. See [`vertex`].
    pub map: Buffer<u32>,
    /// Degrees of the vertices in the new order.
    pub runs: DegreeRuns,
    /// True if the map is complete, false if only this rank's share of the ids ([`Comm::share`]) is filled.
    pub whole: bool,
}

/// Looks up the vertex of a dense id in a map in the encoding of [`Relabelled::map`]. Returns `None` if the id has no
/// edge other than self-loops.
pub fn vertex(map: &[u32], id: DenseId) -> Option<Vertex> {
    map.get(id.index()).copied().filter(|&vertex| vertex != ISOLATED).map(Vertex)
}

impl Relabelled {
    /// Gathers the other ranks' shares, so that the map is complete on this rank. Collective.
    pub fn complete(&mut self, comm: &Comm) {
        if !std::mem::replace(&mut self.whole, true) {
            comm.all_gather_shares(&mut self.map);
        }
    }
}

/// Returns the length of the table in which vertices are counted by degree. A graph with `edges` edges has no degree
/// above `2·edges`.
fn table_len(edges: u64) -> usize {
    edges.saturating_mul(2).saturating_add(1).min(TABLE as u64) as usize
}

fn table_bytes(threads: usize, edges: u64) -> u64 {
    ((threads + 3) * table_len(edges) * 4) as u64
}

/// Returns the maximum number of bytes of memory for ordering the vertices of a graph with `edges` edges, in addition
/// to the degrees. A vertex whose degree does not fit the table needs 48 bytes. There are at most `edges` / 2^15 such
/// vertices, because each has at least 2^16 of the 2·`edges` edge ends.
pub fn scratch_bytes(threads: usize, edges: u64) -> u64 {
    table_bytes(threads, edges) + 48 * (2 * edges / TABLE as u64)
}

/// Orders the vertices of a graph of `edges` edges by degree, in place: the result reuses the memory of `degrees`. Each
/// rank passes the degrees of its share of the ids ([`Comm::share`]), and gets the vertices of this share.
/// [`Relabelled::complete`] then gathers the vertices of all ids. Collective.
///
/// # Errors
/// [`crate::error::Error::Limit`] if there is not enough memory: 256 KiB per thread, and 48 bytes for each vertex of
/// degree 2^16 or more; [`crate::error::Error::Addresses`] if a thread can't be started.
pub fn relabel(
    mut degrees: Buffer<u32>,
    edges: u64,
    threads: usize,
    budget: &Budget,
    comm: &Comm,
) -> Result<Relabelled> {
    let _tables = budget.reserve(table_bytes(threads, edges), "ordering vertices by degree")?;
    let len = table_len(edges);
    let mine = comm.share(degrees.len());
    let chunk = mine.len().div_ceil(threads.max(1)).max(1);

    // Count the vertices of each degree in each chunk (one thread's range of ids), and list the hubs that do not fit
    // the table.
    let mut counted = vec![(Vec::new(), Vec::new()); mine.len().div_ceil(chunk)];
    let parts = mine.clone().step_by(chunk).zip(degrees[mine.clone()].chunks(chunk));
    on_threads(parts.zip(&mut counted), |((first_id, part), counted)| {
        *counted = count(part, first_id, len);
        Ok(())
    })?;
    let (counts, hubs): (Vec<_>, Vec<_>) = counted.into_iter().unzip();
    let mut all = Shares::of(counts, len, comm);
    let hubs = all_hubs(hubs.into_iter().flatten().collect(), comm);
    let _hubs = budget.reserve((hubs.len() * 48) as u64, "ordering hubs by degree")?;

    // The vertices of a degree follow those of larger degrees. Vertices of equal degree are numbered rank by rank, and
    // within a rank chunk by chunk.
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &(degree, _) in &hubs {
        match runs.last_mut() {
            Some((d, count)) if *d == degree => *count += 1,
            _ => runs.push((degree, 1)),
        }
    }
    let mut next = hubs.len() as u32;
    for degree in (1..len).rev() {
        let first = next;
        next += all.before[degree];
        for table in &mut all.chunks {
            next += std::mem::replace(&mut table[degree], next);
        }
        next += all.behind[degree];
        if next > first {
            runs.push((degree as u32, next - first));
        }
    }

    on_threads(degrees[mine.clone()].chunks_mut(chunk).zip(&mut all.chunks), |(part, table)| {
        assign(part, table);
        Ok(())
    })?;
    for (new, &(_, id)) in hubs.iter().enumerate().filter(|(_, (_, id))| mine.contains(&(*id as usize))) {
        degrees[id as usize] = new as u32;
    }
    Ok(Relabelled { map: degrees, runs: DegreeRuns::new(runs), whole: comm.ranks() == 1 })
}

/// For each degree, the number of vertices that have this degree: among each chunk of this rank's ids (`chunks`), among
/// the ids of all ranks before this one (`before`), and among the ids of all ranks after this one (`behind`).
struct Shares {
    chunks: Vec<Vec<u32>>,
    before: Vec<u32>,
    behind: Vec<u32>,
}

impl Shares {
    fn of(chunks: Vec<Vec<u32>>, len: usize, comm: &Comm) -> Shares {
        let add = |sums: &mut [u32], table: &[u32]| sums.iter_mut().zip(table).for_each(|(sum, n)| *sum += n);
        let (mut before, mut behind) = (vec![0; len], vec![0; len]);
        if comm.ranks() > 1 {
            let mut mine = vec![0; len];
            chunks.iter().for_each(|table| add(&mut mine, table));
            let mut passed = vec![0; comm.ranks()];
            comm.gather_each(&mine, |rank, table| {
                let sums = if rank < comm.rank() { &mut before } else { &mut behind };
                if rank != comm.rank() {
                    add(&mut sums[passed[rank]..], table);
                }
                passed[rank] += table.len();
            });
        }
        Shares { chunks, before, behind }
    }
}

/// Gathers the hubs of all ranks as (degree, id), sorted by descending degree, ties by ascending id. Collective.
fn all_hubs(hubs: Vec<(u32, u32)>, comm: &Comm) -> Vec<(u32, u32)> {
    let mine: Vec<u64> = hubs.into_iter().map(|(degree, id)| u64::from(degree) << 32 | u64::from(id)).collect();
    let mut hubs = Vec::new();
    comm.gather_each(&mine, |_, some| hubs.extend(some.iter().map(|&hub| ((hub >> 32) as u32, hub as u32))));
    hubs.sort_unstable_by_key(|&(degree, id)| (std::cmp::Reverse(degree), id));
    hubs
}

fn count(degrees: &[u32], first_id: usize, len: usize) -> (Vec<u32>, Vec<(u32, u32)>) {
    let (mut table, mut hubs) = (vec![0u32; len], Vec::new());
    for (i, &degree) in degrees.iter().enumerate() {
        match table.get_mut(degree as usize) {
            Some(count) => *count += 1,
            None => hubs.push((degree, (first_id + i) as u32)),
        }
    }
    (table, hubs)
}

fn assign(degrees: &mut [u32], next: &mut [u32]) {
    for slot in degrees {
        // Hubs, whose degrees do not fit the table, are numbered last; until then their degrees stay in the array.
        match next.get_mut(*slot as usize) {
            _ if *slot == 0 => *slot = ISOLATED,
            Some(next) => {
                *slot = *next;
                *next += 1;
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the map that the in-place sort should produce, computed by a stable comparison sort of all vertices.
    fn oracle(degrees: &[u32]) -> Vec<u32> {
        let mut ids: Vec<usize> = (0..degrees.len()).filter(|&id| degrees[id] > 0).collect();
        ids.sort_by_key(|&id| std::cmp::Reverse(degrees[id]));
        let mut map = vec![ISOLATED; degrees.len()];
        ids.iter().enumerate().for_each(|(new, &id)| map[id] = new as u32);
        map
    }

    fn degree() -> impl Strategy<Value = u32> {
        prop_oneof![3 => 0u32..6, 1 => 60_000u32..70_000, 1 => any::<u32>()]
    }

    proptest! {
        #[test]
        fn equals_a_stable_sort(degrees in prop::collection::vec(degree(), 0..300), threads in 1usize..8) {
            let budget = Budget::new(1 << 30, threads).expect("room");
            let mut buffer = budget.zeroed::<u32>(degrees.len(), "a test").expect("room");
            buffer.copy_from_slice(&degrees);
            let edges = degrees.iter().map(|&degree| u64::from(degree)).sum::<u64>().div_ceil(2);
            let got = relabel(buffer, edges, threads, &budget, &Comm::Solo).expect("room");
            prop_assert_eq!(&got.map[..], &oracle(&degrees)[..]);
            for (degree, first, end) in got.runs.iter() {
                let members = got.map.iter().zip(&degrees).filter(|&(&new, _)| (first..end).contains(&u64::from(new)));
                prop_assert!(members.clone().all(|(_, &d)| d == degree));
                prop_assert_eq!(members.count() as u64, end - first);
            }
        }
    }
}
