//! Searches on GPUs: graphs of many shapes, choices that bring out all of a kernel, and a plain queue to hold what was found against.

use std::collections::VecDeque;

use gpugraph::internals::algo::bfs::gpu::Tuning;
use gpugraph::internals::algo::bfs::search::{BfsStats, NONE, Step, Switch};
use gpugraph::internals::graph::direction;

use crate::rows::Rows;

impl Rows {
    /// Levels and parents, by a plain queue.
    fn search(&self, root: u32) -> (Vec<Option<usize>>, Vec<u32>) {
        let mut levels = vec![None; self.vertices()];
        levels[root as usize] = Some(0);
        let mut queue = VecDeque::from([root]);
        while let Some(v) = queue.pop_front() {
            for &w in self.row(v, direction::EdgeDirection::Out) {
                if levels[w as usize].is_none() {
                    levels[w as usize] = levels[v as usize].map(|level| level + 1);
                    queue.push_back(w);
                }
            }
        }
        let parent = |v: u32| match levels[v as usize] {
            None => NONE,
            Some(0) => v,
            Some(level) => {
                let above = |w: &&u32| levels[**w as usize] == Some(level - 1);
                *self.row(v, direction::EdgeDirection::In).iter().find(above).expect("a parent")
            }
        };
        let parents = (0..self.vertices() as u32).map(parent).collect();
        (levels, parents)
    }

    /// Holds what a GPU found against the plain search.
    #[track_caller]
    pub fn check(&self, root: u32, found: &BfsStats, parents: &[u32], what: &str) {
        let (levels, known) = self.search(root);
        for (v, (found, known)) in parents.iter().zip(&known).enumerate() {
            assert_eq!(found, known, "{what}: parent of {v} in a search from {root}");
        }
        let depth = levels.iter().flatten().max().copied().unwrap_or(0);
        assert_eq!(found.depth, depth as u64, "{what}");
        assert_eq!(found.reached, levels.iter().flatten().count() as u64, "{what}");
        assert!(found.seconds > 0.0);
        let length = |v: usize, way| self.row(v as u32, way).len() as u64;
        for (level, told) in found.levels.iter().enumerate() {
            let frontier: Vec<usize> = (0..levels.len()).filter(|&v| levels[v] == Some(level)).collect();
            assert_eq!(told.frontier, frontier.len() as u64, "{what}: level {level}");
            // Vertices of one edge are left out until the end.
            let edges: u64 = frontier.iter().map(|&v| length(v, direction::EdgeDirection::Out)).sum();
            let single =
                frontier.iter().filter(|&&v| level > 0 && length(v, direction::EdgeDirection::Out) == 1).count() as u64;
            let unreached = (0..levels.len()).filter(|&v| levels[v].is_none_or(|l| l > level));
            let most: u64 = unreached.map(|v| length(v, direction::EdgeDirection::In)).sum();
            match told.direction {
                Step::TopDown => assert!((edges - single..=edges).contains(&told.edges_checked), "{what}: {told:?}"),
                Step::BottomUp => {
                    assert!(told.edges_checked <= 2 * most + levels.len() as u64, "{what}: {told:?} of {most}")
                }
            }
        }
    }
}

pub const DOWN: Switch = Switch { alpha: 0.0, beta: 1e18 };
pub const UP: Switch = Switch { alpha: 1e18, beta: f64::INFINITY };
pub const EITHER: Switch = Switch { alpha: 3.0, beta: 3.0 };

/// As on a GPU, but for a small grid.
pub fn small() -> Tuning {
    Tuning { blocks: 2, least_unqueued: 0, least_shared: 0, ..Tuning::default() }
}

/// Hubs, leaves of hubs, pairs, paths, and several of each apart.
pub fn shapes() -> Vec<(&'static str, Vec<[u32; 2]>)> {
    let path = |from: u32, length: u32| (from..from + length).map(|v| [v, v + 1]).collect::<Vec<_>>();
    let star = |hub: u32, leaves: u32| (hub + 1..=hub + leaves).map(|v| [hub, v]).collect::<Vec<_>>();
    let grid = |side: u32| {
        let cells = (0..side).flat_map(move |x| (0..side).map(move |y| (x, y)));
        let right = cells.clone().filter(move |c| c.0 + 1 < side).map(move |(x, y)| [x * side + y, (x + 1) * side + y]);
        let down = cells.filter(move |c| c.1 + 1 < side).map(move |(x, y)| [x * side + y, x * side + y + 1]);
        right.chain(down).collect::<Vec<_>>()
    };
    let tree = (1..2000u32).map(|v| [(v - 1) / 2, v]).collect();
    let complete = (0..60u32).flat_map(|u| (0..u).map(move |v| [v, u])).collect();
    let comb = (0..150u32).flat_map(|v| [[v, v + 1], [v, 1000 + v]]).collect();
    vec![
        ("a pair", vec![[0, 1]]),
        ("pairs", (0..400).map(|v| [2 * v, 2 * v + 1]).collect()),
        ("a path", path(0, 150)),
        ("a star", star(0, 3000)),
        ("stars and a path", [star(0, 700), star(1000, 5), path(3000, 30), vec![[1, 1001]]].concat()),
        ("a grid", grid(25)),
        ("a tree", tree),
        ("a complete graph", complete),
        ("a comb", comb),
    ]
}
