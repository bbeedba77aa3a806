//! Seconds of counting triangles of a Kronecker graph, in memory: `cargo bench --bench triangle -- [SCALE [EDGES [TRIALS [ENTRIES]]]]`.
//!
//! Blocks have up to ENTRIES entries, as many as in the store if none are given: fewer show what many blocks cost. Prints, for one thread and for all, the median of the trials beside the triangles and the probes.

use gpugraph::internals::algo::triangle::Counter;
use gpugraph::internals::algo::triangle::PairCount;
use gpugraph::internals::algo::triangle::Settings;
use gpugraph::internals::algo::triangle::cpu::count::MAX_FRONTS;
use gpugraph::internals::algo::triangle::cpu::tile::Tile;
use gpugraph::internals::graph::csr::Block;
use std::time::Instant;

/// Entries of a block: 64 MiB, as in the store.
const BLOCK_ENTRIES: usize = 1 << 24;

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let number = |at: usize, default: usize| numbers.get(at).copied().unwrap_or(default);
    let (scale, edges, trials) = (number(0, 18), number(1, 16), number(2, 5).max(1));

    let rows = rows(&kronecker(scale as u32, edges), 1 << scale);
    let blocks = blocks(&rows, number(3, BLOCK_ENTRIES));
    let blocks: Vec<Block> =
        blocks.iter().map(|(first_row, offsets, targets)| Block { first_row: *first_row, offsets, targets }).collect();
    let entries: usize = rows.iter().map(Vec::len).sum();
    let max_row = rows.iter().map(Vec::len).max().unwrap_or(0) as u64;

    let all = std::thread::available_parallelism().map_or(1, |all| all.get());
    for threads in if all > 1 { vec![1, all] } else { vec![1] } {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
        let (mut seconds, mut sum) = (Vec::new(), PairCount::default());
        for _ in 0..trials {
            let start = Instant::now();
            sum = pool.install(|| {
                let mut counter = Counter::new(Settings::new(threads, entries as u64), rows.len() as u64, max_row);
                let mut sum = PairCount::default();
                for first in (0..blocks.len()).step_by(MAX_FRONTS) {
                    let fronts = &blocks[first..blocks.len().min(first + MAX_FRONTS)];
                    let mut fronts_in_hand = counter.fronts(fronts.to_vec());
                    for (partner, &block) in blocks.iter().enumerate().skip(first) {
                        let wanted: Vec<bool> = (first..first + fronts.len()).map(|front| front <= partner).collect();
                        let counts = fronts_in_hand
                            .partner(Tile::whole(block), &wanted, None, &|| false)
                            .expect("nothing stops it");
                        counts.into_iter().for_each(|count| sum += count);
                    }
                }
                sum
            });
            seconds.push(start.elapsed().as_secs_f64());
        }
        seconds.sort_by(f64::total_cmp);
        let (median, PairCount { triangles, probes, .. }) = (seconds[trials / 2], sum);
        let rate = probes as f64 / median / 1e6;
        println!(
            "scale {scale} x {edges}, {} blocks, {threads} threads: {median:.3} s, {triangles} triangles, {probes} probes, {rate:.0} M/s",
            blocks.len()
        );
    }
}

/// Edges of a Kronecker graph with the initiator of Graph500.
fn kronecker(scale: u32, edges: usize) -> Vec<(u32, u32)> {
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) >> 32
    };
    let mut edge = || {
        let (mut u, mut v) = (0, 0);
        for _ in 0..scale {
            let quadrant = match (random() * 100) >> 32 {
                0..57 => (0, 0),
                57..76 => (0, 1),
                76..95 => (1, 0),
                _ => (1, 1),
            };
            (u, v) = (u << 1 | quadrant.0, v << 1 | quadrant.1);
        }
        (u, v)
    };
    (0..edges << scale).map(|_| edge()).collect()
}

/// The oriented rows, numbered by descending degree.
fn rows(edges: &[(u32, u32)], vertices: usize) -> Vec<Vec<u32>> {
    let mut degrees = vec![0u32; vertices];
    for &(u, v) in edges.iter().filter(|(u, v)| u != v) {
        degrees[u as usize] += 1;
        degrees[v as usize] += 1;
    }
    let mut order: Vec<u32> = (0..vertices as u32).filter(|&v| degrees[v as usize] > 0).collect();
    order.sort_by_key(|&v| (std::cmp::Reverse(degrees[v as usize]), v));
    let mut ids = vec![0; vertices];
    for (id, &v) in order.iter().enumerate() {
        ids[v as usize] = id as u32;
    }
    let mut rows = vec![Vec::new(); order.len()];
    for &(u, v) in edges.iter().filter(|(u, v)| u != v) {
        let (u, v) = (ids[u as usize], ids[v as usize]);
        rows[u.max(v) as usize].push(u.min(v));
    }
    for row in &mut rows {
        row.sort_unstable();
        row.dedup();
    }
    rows
}

/// First row, offsets and targets of each block.
fn blocks(rows: &[Vec<u32>], entries: usize) -> Vec<(u32, Vec<u32>, Vec<u32>)> {
    let mut blocks: Vec<(u32, Vec<u32>, Vec<u32>)> = Vec::new();
    for (v, row) in rows.iter().enumerate() {
        match blocks.last_mut() {
            Some((_, offsets, targets)) if targets.len() + row.len() <= entries => {
                targets.extend(row);
                offsets.push(targets.len() as u32);
            }
            _ => blocks.push((v as u32, vec![0, row.len() as u32], row.clone())),
        }
    }
    blocks
}
