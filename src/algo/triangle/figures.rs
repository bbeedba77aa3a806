//! Charts of triangle counting: the time of each pair of blocks, and clustering coefficients by degree.

use super::output::{ClusteringBin, EdgeSupport, PairTimes, SIDE, TriangleDetails};
use super::units::blocks_of;
use crate::chart::{Axis, Figure, Heat, Line, Marks, Style, Unit};
use crate::store::journal::Record;

/// Returns the charts of an unfinished count, from the records in its journal. `total` is the number of units (pairs
/// of blocks) of the graph.
pub(super) fn so_far(records: &[Record], total: u64) -> Vec<Figure> {
    heat(&times_so_far(records, total)).into_iter().collect()
}

/// Adds up the counting times of pairs of blocks from journal records. `total` is the number of units (pairs of blocks)
/// of the graph.
fn times_so_far(records: &[Record], total: u64) -> PairTimes {
    // The last unit contains the last block, so its id determines the number of blocks.
    let blocks = total.checked_sub(1).map_or(0, |last| blocks_of(last).1 as usize + 1);
    let mut pairs = PairTimes::new(blocks);
    for [unit, nanoseconds] in records.iter().filter_map(|record| Some([record.unit, record.words::<3>()?[2]])) {
        if unit < total {
            pairs.add(unit, nanoseconds);
        }
    }
    pairs
}

/// Returns the charts of a finished count.
pub(super) fn of_details(details: &TriangleDetails) -> Vec<Figure> {
    let heat = details.pairs.as_ref().and_then(heat);
    heat.into_iter().chain(details.clustering.as_deref().map(clustering)).collect()
}

fn heat(pairs: &PairTimes) -> Option<Figure> {
    let side = pairs.seconds.len();
    let are_triangle = pairs.seconds.iter().enumerate().all(|(front, row)| row.len() == side.saturating_sub(front));
    // A graph has at least as many vertices as blocks.
    if !(2..=SIDE).contains(&side) || !(side..=u32::MAX as usize).contains(&pairs.blocks) || !are_triangle {
        return None;
    }
    let blocks = pairs.blocks;
    let first = |group: usize| (group * blocks).div_ceil(side);
    let name = |group: usize| match (first(group), first(group + 1)) {
        (from, to) if to - from < 2 => from.to_string(),
        (from, to) => format!("{from}–{}", to - 1),
    };
    // Every counted pair takes some time, so zero means not counted.
    let counted = |&cell: &f64| Some(cell).filter(|&cell| cell > 0.0);
    let cells = pairs.seconds.iter().enumerate();
    let cells = cells.map(|(front, row)| vec![None; front].into_iter().chain(row.iter().map(counted)).collect());
    let is_whole = pairs.seconds.iter().flatten().all(|&cell| cell > 0.0);
    let left = if is_whole { "" } else { " Pairs without a colour are not counted yet." };
    let groups = if blocks > side { format!(" {blocks} blocks are shown in {side} groups.") } else { String::new() };
    let caption = format!(
        "Seconds of counting, by the block that waits and the one that passes it; block 0 has the vertices of largest degree.{groups}{left}"
    );
    let axes = [Axis::linear("partner", Unit::Count), Axis::linear("time", Unit::Seconds)];
    let (names, cells) = ((0..side).map(name).collect(), cells.collect());
    let heat = Heat { row: "front".into(), column: "partner".into(), names, cells };
    Some(Figure::new("Time of pairs of blocks", caption, axes, Marks::Heat(heat)))
}

/// Returns the histogram of edges by the number of triangles that contain them.
pub(super) fn of_edges(edges: &EdgeSupport) -> Figure {
    let bins: Vec<_> =
        edges.bins.iter().map(|bin| (f64::from(bin.from), f64::from(bin.to), bin.edges as f64)).collect();
    let caption = "Edges by the number of triangles that they are in; both axes by logarithm. From 8 on, dots stand for several numbers.";
    Figure::distribution("Support of edges", caption, "edges", "triangles", &bins)
}

fn clustering(bins: &[ClusteringBin]) -> Figure {
    let middle = |bin: &ClusteringBin| (f64::from(bin.from) * f64::from(bin.to)).sqrt();
    let points = bins.iter().map(|bin| (middle(bin), bin.clustering)).collect();
    let caption = "The mean clustering coefficient of vertices of about the same degree; from 8 on neighbouring degrees share a dot.";
    let axes = [Axis::log("degree", Unit::Number), Axis::linear("clustering coefficient", Unit::Number)];
    Figure::new("Clustering by degree", caption, axes, Marks::Lines(vec![Line::new("mean", Style::Dots, points)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::triangle::output::Clustering;
    use crate::algo::triangle::units;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn a_unit_number_identifies_its_blocks() {
        for partner in (0..600_u64).chain([1 << 20]) {
            for front in [0, partner / 2, partner] {
                assert_eq!(blocks_of(units::number(front as usize, partner as usize)), (front, partner));
            }
        }
    }

    #[test]
    fn no_time_is_lost_in_groups() {
        for blocks in [1, 2, 31, 32, 33, 581] {
            let mut pairs = PairTimes::new(blocks);
            let units = units::total(blocks);
            (0..units).for_each(|unit| pairs.add(unit, 1_000_000_000));
            let sum: f64 = pairs.seconds.iter().flatten().sum();
            assert_eq!((sum, pairs.seconds.len()), (units as f64, blocks.min(SIDE)));
            assert!(pairs.seconds.iter().flatten().all(|&cell| cell > 0.0), "{blocks}");
            assert_eq!(heat(&pairs).is_some(), blocks > 1);
        }
        // The number of units of a Kronecker graph with 2^29 vertices.
        assert_eq!(units::total(581), 169_071);
    }

    #[test]
    fn a_count_that_is_not_done_shows_the_pairs_that_are() {
        // All units except the last, in arbitrary order as in a journal.
        let total = units::total(581);
        let record = |unit: u64| Record::of_words(unit, &[1, 2, 1_000_000_000]);
        let records: Vec<_> = (0..total - 1).rev().map(record).chain([record(total), record(u64::MAX)]).collect();
        let pairs = times_so_far(&records, total);
        assert_eq!((pairs.blocks, pairs.seconds.iter().flatten().sum::<f64>()), (581, total as f64 - 1.0));
        let half = so_far(&records[total as usize / 2..], total).swap_remove(0);
        let all = so_far(&records, total).swap_remove(0);
        assert!(half.caption.contains("not counted yet") && !all.caption.contains("not counted yet"));
        let Marks::Heat(heat) = half.marks else { panic!("another picture") };
        assert!(heat.cells[31][31].is_none() && heat.cells[0][0].is_some());
        for units in [0, 1] {
            assert_eq!(so_far(&[record(0)], units).len(), 0, "{units}");
        }
    }

    #[test]
    fn a_damaged_report_has_no_picture_of_pairs() {
        let drawn = |blocks, seconds: &[&[f64]]| {
            let seconds = seconds.iter().map(|row| row.to_vec()).collect();
            heat(&PairTimes { blocks, seconds }).is_some()
        };
        for (blocks, expected) in [(2, true), (7, true), (0, false), (1, false), (usize::MAX, false)] {
            assert_eq!(drawn(blocks, &[&[1.0, 2.0], &[3.0]]), expected, "{blocks}");
        }
        for seconds in [&[&[1.0][..], &[2.0]][..], &[], &[&[1.0, 2.0], &[3.0], &[]]] {
            assert!(!drawn(9, seconds), "{seconds:?}");
        }
    }

    #[test]
    fn clustering_is_the_mean_of_all_with_the_degree() {
        let degrees = [1, 2, 2, 3, 100, 101];
        let triangles = [0, 1, 0, 3, 4950, 0].map(AtomicU64::new);
        let bin = |from, to, vertices, clustering| ClusteringBin { from, to, vertices, clustering };
        let expected = [bin(2, 2, 2, 0.5), bin(3, 3, 1, 1.0), bin(96, 111, 2, 0.5)];
        let found = Clustering::of(&degrees, &triangles, 2);
        assert_eq!(found.bins, expected);
        assert_eq!((found.average, found.average_degree_2), (3.0 / 6.0, 3.0 / 5.0));
        assert_eq!(Clustering::of(&[], &[], 2), Clustering::default());
        assert_eq!(clustering(&expected).table().rows.len(), 3);
    }
}
