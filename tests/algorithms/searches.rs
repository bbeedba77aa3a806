//! Breadth-first search by the oracle: a queue for levels, and the order of vertices that the documentation gives for parents.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::json;

use crate::oracle::{Answer, Graph, Known};
use crate::support::Place;
use crate::{outputs, run};

impl Graph {
    /// Searches from three sources: a vertex, one with a loop alone, and one more.
    pub fn searches(&self, keeps_direction: bool) -> Known {
        self.searches_of("bfs", "", keeps_direction)
    }

    /// Traversals, which leave the same trees: the published way without direction, the simple way with it.
    pub fn traversals(&self, keeps_direction: bool) -> Answer {
        let keys = match keeps_direction {
            false => "strategy = 'sort-unique'\n",
            true => "strategy = 'atomic'\nowner = 'blocks'\n",
        };
        let ([_, table], found, files) = self.searches_of("traverse", keys, keeps_direction);
        let mut columns: BTreeMap<_, _> =
            files.into_iter().map(|(name, descr, bytes)| (name, (descr, bytes))).collect();
        if self.sparse {
            columns.insert("ids".into(), ("<u8", self.rows.iter().flat_map(|id| id.to_le_bytes()).collect()));
        }
        Answer { table, found, columns }
    }

    fn searches_of(&self, name: &str, keys: &str, keeps_direction: bool) -> Known {
        let sources = [self.rows[5], self.rows[self.rows.len() - 1], self.rows[self.rows.len() / 2]];
        let (mut out, mut into): (BTreeMap<u64, BTreeSet<u64>>, BTreeMap<u64, BTreeSet<u64>>) = Default::default();
        let mut degrees: BTreeMap<u64, u64> = BTreeMap::new();
        for &[u, v] in self.edges.iter().filter(|[u, v]| u != v) {
            out.entry(u).or_default().insert(v);
            into.entry(v).or_default().insert(u);
            if !keeps_direction {
                out.entry(v).or_default().insert(u);
                into.entry(u).or_default().insert(v);
            }
            [u, v].iter().for_each(|id| *degrees.entry(*id).or_default() += 1);
        }
        let (mut found, mut files) = (Vec::new(), Vec::new());
        for source in sources {
            let mut levels = BTreeMap::from([(source, 0i32)]);
            let mut queue = VecDeque::from([source]);
            while let Some(u) = queue.pop_front() {
                for &v in out.get(&u).into_iter().flatten() {
                    if !levels.contains_key(&v) {
                        levels.insert(v, levels[&u] + 1);
                        queue.push_back(v);
                    }
                }
            }
            let first = |id: u64| {
                let before = into.get(&id).into_iter().flatten().filter(|v| levels.get(v) == Some(&(levels[&id] - 1)));
                before.min_by_key(|v| (Reverse(degrees[v]), **v)).copied()
            };
            let parent = |id: u64| match levels.get(&id) {
                None => -1,
                Some(0) => id as i64,
                Some(_) => first(id).expect("a vertex before it") as i64,
            };
            let row = |id: &u64| parent(*id).to_le_bytes();
            files.push((format!("{name}/{source}/parent"), "<i8", self.rows.iter().flat_map(row).collect()));
            let row = |id: &u64| levels.get(id).copied().unwrap_or(-1).to_le_bytes();
            files.push((format!("{name}/{source}/level"), "<i4", self.rows.iter().flat_map(row).collect()));
            let edges: u64 = match keeps_direction {
                true => levels.keys().filter_map(|id| out.get(id)).map(|row| row.len() as u64).sum(),
                false => levels.keys().filter_map(|id| degrees.get(id)).sum::<u64>() / 2,
            };
            let depth = levels.values().copied().max().unwrap_or(0);
            let at = |level: i32| levels.values().filter(|other| **other == level).count();
            let frontiers: Vec<_> = (0..=depth).map(|level| json!({ "frontier": at(level) })).collect();
            found.push(json!({
                "source": source, "reached": levels.len(), "depth": depth, "edges": edges, "levels": frontiers
            }));
        }
        let direction = if keeps_direction { "# direction = true\n" } else { "" };
        let table = format!("[{name}]\n{direction}{keys}sources = {sources:?}\n");
        ([table.clone(), format!("{table}write = true\n")], json!({ "sources": found, "validated": true }), files)
    }
}

/// A column of parents has the bits of an id, and the largest is -1, which also stands for none.
#[test]
fn the_largest_ids_are_parents() {
    let (place, last, high) = (Place::new(), u64::MAX, 1u64 << 63);
    place.u64("edges.u64", &[[0, last], [last, last - 1], [high, last], [last - 1, high], [5, 5]]);
    let tables = format!(
        "[bfs]\nsources = [0, {last}]\nwrite = true\n[traverse]\nsources = [{high}]\nwrite = true\n[dfs]\nsource = 0\n\
        [sssp]\nsources = [0, {last}]\nweights = {{ unit = true }}\nwrite = true\n"
    );
    place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\npath = 'edges.u64'\n{tables}"));
    run(&place, "", &[]).expect(0);
    let files = outputs(&place.workdir());
    let parents = |of: &str| -> Vec<i64> {
        let numbers = files[&format!("{of}/parent.npy")][128..].chunks(8);
        numbers.map(|number| i64::from_le_bytes(number.try_into().expect("8 bytes"))).collect()
    };
    // Rows of 0, 5, 2^63, 2^64 - 2 and 2^64 - 1.
    for algorithm in ["bfs", "sssp"] {
        assert_eq!(parents(&format!("{algorithm}/0")), [0, -1, -1, -1, 0], "{algorithm}");
        assert_eq!(parents(&format!("{algorithm}/{last}")), [-1; 5], "{algorithm}");
    }
    assert_eq!(parents(&format!("traverse/{high}")), [-1, -1, i64::MIN, i64::MIN, i64::MIN]);
    assert_eq!(parents("dfs"), [0, -1, -1, i64::MIN, 0]);
    let verified = place.gpugraph(&["verify", "job.toml"]).expect(0);
    assert!(!verified.out.contains("FAILED"), "{}", verified.out);
}
