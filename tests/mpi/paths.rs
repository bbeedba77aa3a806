//! Shortest paths and depth-first trees by ranks: they leave what one process leaves.

use std::collections::BTreeMap;

use crate::support::mpi::built;
use crate::support::{Dice, Place, random_edges};
use crate::{KEEP, Ranks, files, one_mpi, same_files};

fn left(job: &Ranks) -> BTreeMap<String, Vec<u8>> {
    files(&job.place.workdir(), &["out"])
}

/// A grid, whose paths are long.
fn grid(rows: u64, columns: u64) -> Vec<[u64; 2]> {
    let cell = |v: u64| {
        [(v % columns + 1 < columns).then_some([v, v + 1]), (v / columns + 1 < rows).then_some([v, v + columns])]
    };
    (0..rows * columns).flat_map(cell).flatten().collect()
}

#[test]
fn by_any_number_of_ranks() {
    // Another MPI changes how ranks meet (tests/mpi/comm.rs), not what they compute: one crew and two graphs show that it does. How many
    // ranks there are matters to vertices and steps, not to the kind of weights: the first kind, with trees and layers, tries all numbers.
    let crews = [(&[(1, 2), (2, 1), (3, 2), (8, 1)][..], &[(2, 1), (3, 2)][..], 6), (&[(3, 2)], &[(3, 2)], 2)];
    for (built, (all, few, graphs)) in built().into_iter().zip(crews) {
        let job = Ranks::of(built);
        let mut star: Vec<[u64; 2]> = (1..5000).map(|leaf| [0, leaf]).collect();
        star.extend((5000..5600).map(|v| [v - 1, v]));
        job.place.u32("star.u32", &star);
        job.place.u32("grid.u32", &grid(60, 70));
        let random = random_edges(4000, 30_000, 3);
        job.place.u32("random.u32", &random);
        let mut dice = Dice(5);
        let mut text = |weight: &dyn Fn(u64) -> String| -> String {
            random.iter().map(|[u, v]| format!("{u} {v} {}\n", weight(dice.roll()))).collect()
        };
        job.place.write("lengths.wel", text(&|roll| format!("{:?}", (roll >> 11) as f64 / 1e9)));
        job.place.write("costs.wel", text(&|roll| (roll >> 14).to_string()));
        let inputs = [
            ("path = 'random.u32'\ndirected = true", [1, 3999]),
            ("path = 'grid.u32'", [0, 2100]),
            ("path = 'star.u32'", [0, 5599]),
            ("rmat = { scale = 12, edges = 60000 }", [1, 77]),
            ("path = 'lengths.wel'\nweights = 'f64'", [0, 3999]),
            ("path = 'costs.wel'\nweights = 'u64'\ndirected = true", [0, 3999]),
        ];
        for (input, sources) in inputs.into_iter().take(graphs) {
            // Ranks have to know the mean of small weights, too.
            let decimals = if input.contains("grid") { "[0.0, 1e-14]" } else { "[0.0, 1.0]" };
            let decimals = format!("{{ uniform = {decimals}, seed = 2 }}");
            let drawn = ["{ uniform = [1, 255], seed = 1 }", &decimals, "{ uniform = [0, 1] }"];
            let of_file = input.contains("rmat") || input.contains(".wel");
            let drawn = if input.contains(".wel") { &[][..] } else { &drawn };
            let weights = drawn.iter().copied().chain(of_file.then_some("\"file\""));
            let mut tables: Vec<String> = weights
                .map(|weights| format!("[sssp]\nsources = {sources:?}\nweights = {weights}\nwrite = true\n"))
                .collect();
            // Other tables go along with the first kinds of weights.
            tables.resize(tables.len().max(2), String::new());
            tables[0] += "[dfs]\nforest = true\n[components]\nstrong = true\n[cdlp]\n[cores]\n";
            tables[1] += "[components]\n[pagerank]\n[betweenness]\n[distances]\nroots = 130\n";
            for (number, table) in tables.iter().enumerate() {
                let run = "[run]\ndevice = 'cpu'\n";
                job.place.write("job.toml", format!("{KEEP}[input]\n{input}\n{table}{run}"));
                job.forget();
                job.report(0, &["--set", "limits.threads=1"]);
                let known = left(&job);
                assert!(known.len() >= 4, "{table}");
                let crews = if number == 0 { all } else { few };
                for &(ranks, threads) in crews {
                    let what = format!("{input}, {table} by {ranks} ranks");
                    job.forget();
                    let report = job.report(ranks, &["--set", &format!("limits.threads={threads}")]);
                    assert_eq!(report["ranks"], ranks, "{what}");
                    same_files(&what, &left(&job), &known);
                }
            }
        }
    }
}

/// As on nodes of which one has less free: its sorted rows go to a file, and those of the other stay in memory. What they find is checked.
#[test]
fn ranks_of_different_memory_take_the_same_steps() {
    let Some(built) = one_mpi() else { return };
    let mut job = Ranks::at(Place::on_disk(), built);
    let input = "[input]\nkronecker = { scale = 18, edge_factor = 16, seed = 3 }\n";
    let table = "[sssp]\nroots = 1\nweights = { uniform = [1, 4000000000], seed = 4 }\n";
    let how = "[limits]\nthreads = 1\n[run]\ndevice = 'cpu'\n";
    job.place.write("job.toml", format!("{KEEP}{input}{table}{how}"));
    job.report(0, &[]);
    // The least memory that works, between too little for any search and enough for all rows.
    let (mut too_little, mut enough, mut in_a_file, mut roots) = (90u64, 500, None, 1);
    while enough - too_little > 10 {
        let mib = (too_little + enough) / 20 * 10;
        let node = |rank, mib: u64| (rank, format!("export GPUGRAPH_NODE_MEMORY={}", mib << 20));
        job.on = vec![node(0, mib), node(1, 4000)];
        // Another root, so that there is something to do.
        roots += 1;
        let ran = job.run(2, &["--set", &format!("sssp.roots={roots}")]);
        assert!([0, 7].contains(&ran.code), "{mib} MiB: {} {}", ran.code, ran.err);
        if ran.code == 0 {
            (enough, in_a_file) = (mib, Some(ran.err.contains("rows sorted by weight are in a file")));
        } else {
            too_little = mib;
        }
    }
    assert_eq!(in_a_file, Some(true));
    assert_eq!(job.place.read_report()["results"]["sssp"]["validated"], true);
}
