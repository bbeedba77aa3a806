//! Results as Parquet: the crate `parquet` reads the same values as the arrays of the same job have.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use crate::support::{Number, Place, npy};

/// Returns the columns of a table by their names. Numbers are text here, as `Display` shows them.
fn table(path: &Path) -> BTreeMap<String, Vec<String>> {
    let reader = SerializedFileReader::new(File::open(path).expect("a table")).expect("Parquet");
    let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in reader.get_row_iter(None).expect("rows") {
        for (name, field) in row.expect("a row").get_column_iter() {
            let value = match field {
                Field::Float(value) => value.to_string(),
                Field::Double(value) => value.to_string(),
                value => value.to_string(),
            };
            columns.entry(name.clone()).or_default().push(value);
        }
    }
    columns
}

fn array<T: Number + ToString>(place: &Place, name: &str) -> Vec<String> {
    npy::<T>(&place.path(format!("arrays/out/{name}.npy"))).iter().map(T::to_string).collect()
}

/// Every table that writes columns.
const TABLES: &str = "[triangle]\nper_vertex = true\n[bfs]\nsources = [SOURCES]\nwrite = true\n[traverse]\nsources = [SOURCES]\n\
    write = true\n[dfs]\nforest = true\ncomponents = 'strong'\n[components]\n[cdlp]\n[cores]\n[pagerank]\n[betweenness]\n[distances]\n[sssp]\nsources = [SOURCES]\nwrite = true\nweights = { uniform = [0.0, 1.0], seed = 2 }\n";

/// Runs the job with arrays and with tables, and compares all columns. `ids` are those of the rows.
fn compare(input: &str, text: &str, sources: [u64; 2], ids: &[u64]) {
    let place = Place::new();
    place.write("edges.txt", text);
    let tables = TABLES.replace("SOURCES", &format!("{}, {}", sources[0], sources[1]));
    let input = format!("path = 'edges.txt'\ndirected = true\n{input}");
    for (workdir, format) in [("arrays", "npy"), ("tables", "parquet")] {
        place.job(&input, &format!("[job]\nworkdir = '{workdir}'\n[output]\nformat = '{format}'\n{tables}"));
        place.run(&["--quiet"]).expect(0);
        place.gpugraph(&["verify", "job.toml"]).expect(0);
    }
    let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
    let before = array::<i64>(&place, "dfs/preorder").len() - ids.len();
    let mut tables = vec![
        (
            "triangle".to_owned(),
            vec![
                ("triangles", array::<u64>(&place, "triangles")),
                ("degree", array::<u32>(&place, "degree")),
                ("clustering", array::<f64>(&place, "clustering")),
            ],
        ),
        ("components".to_owned(), vec![("component", array::<i64>(&place, "components/component"))]),
        ("cdlp".to_owned(), vec![("label", array::<i64>(&place, "cdlp/label"))]),
        (
            "cores".to_owned(),
            ["core", "layer"].map(|name| (name, array::<i64>(&place, &format!("cores/{name}")))).to_vec(),
        ),
        ("pagerank".to_owned(), vec![("rank", array::<f64>(&place, "pagerank/rank"))]),
        ("betweenness".to_owned(), vec![("centrality", array::<f64>(&place, "betweenness/centrality"))]),
        (
            "distances".to_owned(),
            vec![
                ("sources", array::<u32>(&place, "distances/sources")),
                ("total", array::<u64>(&place, "distances/total")),
                ("farthest", array::<u32>(&place, "distances/farthest")),
            ],
        ),
    ];
    let of_dfs = ["parent", "preorder", "postorder", "depth", "component", "topological"];
    let of_dfs = of_dfs.into_iter().filter(|name| place.path(format!("arrays/out/dfs/{name}.npy")).exists());
    let of_dfs = of_dfs.map(|name| (name, array::<i64>(&place, &format!("dfs/{name}")))).collect();
    tables.push(("dfs".to_owned(), of_dfs));
    for source in sources {
        for table in ["bfs", "traverse", "sssp"] {
            let folder = format!("{table}/{source}");
            let mut columns = vec![("parent", array::<i64>(&place, &format!("{folder}/parent")))];
            columns.push(match table {
                "sssp" => ("distance", array::<f32>(&place, &format!("{folder}/distance"))),
                _ => ("level", array::<i32>(&place, &format!("{folder}/level"))),
            });
            tables.push((folder, columns));
        }
    }
    for (name, columns) in tables {
        let mut found = table(&place.path(format!("tables/out/{name}.parquet")));
        assert_eq!(found.remove("id").as_deref(), Some(&ids[..]), "{name}");
        for (column, values) in columns {
            assert_eq!(found.remove(column).as_deref(), Some(&values[before..]), "{name} {column}");
        }
        assert_eq!(found, BTreeMap::new(), "{name}");
    }
    let cycle = place.path("arrays/out/dfs/cycle.npy");
    if cycle.exists() {
        let found = table(&place.path("tables/out/dfs/cycle.parquet"));
        assert_eq!(found["cycle"], array::<i64>(&place, "dfs/cycle"));
        assert_eq!(found["place"], (0..found["cycle"].len()).map(|row| row.to_string()).collect::<Vec<_>>());
    }
    // Nothing but tables, and the ids where they are sparse.
    let other = fs::read_dir(place.path("tables/out")).expect("a folder").map(|entry| entry.expect("an entry").path());
    let other: Vec<_> =
        other.filter(|path| path.is_file() && path.extension().is_none_or(|of| of != "parquet")).collect();
    assert!(other.iter().all(|path| path.ends_with("ids.npy")), "{other:?}");
}

#[test]
fn a_table_has_the_values_of_the_arrays_and_the_ids() {
    let edges = [[0, 1], [1, 2], [2, 0], [2, 3], [3, 4], [4, 9], [6, 7], [9, 3], [5, 5]];
    let text = |factor: u64| edges.map(|[u, v]| format!("{} {}\n", u * factor, v * factor)).concat();
    compare("", &text(1), [0, 3], &(0..10).collect::<Vec<_>>());
    let sparse = 0x3_0000_0001;
    let ids = [0, 1, 2, 3, 4, 5, 6, 7, 9].map(|id| id * sparse);
    compare("", &text(sparse), [0, 3 * sparse], &ids);
    // Ids beyond those of signed numbers.
    let huge = u64::MAX / 9;
    compare("", &text(huge), [0, 3 * huge], &[0, 1, 2, 3, 4, 5, 6, 7, 9].map(|id| id * huge));
    let mtx = "%%MatrixMarket matrix coordinate pattern general\n12 12 3\n1 2\n2 3\n3 1\n";
    compare("format = 'mtx'\nfirst_id = 1", mtx, [1, 5], &(1..=12).collect::<Vec<_>>());
}

#[test]
fn strings_are_the_ids_of_tables() {
    let place = Place::new();
    // More rows than are in a page.
    let name = |at: usize| format!("v{at:05}{}", "x".repeat(at % 7));
    let text: String = (0..3000).map(|at| format!("{} {}\n", name(at), name(at / 2))).collect();
    place.write("edges.txt", text);
    let table_of = "[output]\nformat = 'parquet'\n[bfs]\nsources = ['v00000']\nwrite = true\n";
    place.job("path = 'edges.txt'\nids = 'string'", table_of);
    place.run(&["--quiet"]).expect(0);
    place.gpugraph(&["verify", "job.toml"]).expect(0);
    let found = table(&place.workdir().join("out/bfs/0.parquet"));
    assert_eq!(found["id"], (0..3000).map(|at| format!("\"{}\"", name(at))).collect::<Vec<_>>());
    assert_eq!(found["parent"], (0..3000).map(|at| (at / 2).to_string()).collect::<Vec<_>>());
    // Bytes that are no text stay what they are.
    let place = Place::new();
    place.write("edges.txt", b"caf\xe9 tea\n".as_slice());
    place.job("path = 'edges.txt'\nids = 'string'", &table_of.replace("v00000", "tea"));
    place.run(&["--quiet"]).expect(0);
    place.gpugraph(&["verify", "job.toml"]).expect(0);
    let found = table(&place.workdir().join("out/bfs/1.parquet"));
    assert_eq!(
        (&found["id"], &found["level"]),
        (&vec!["[99, 97, 102, 233]".into(), "[116, 101, 97]".into()], &vec!["1".into(), "0".into()])
    );
}

#[test]
fn a_list_has_a_table_of_its_ranks_and_a_killed_job_completes_its_tables() {
    let place = Place::new();
    place.write("list.txt", "3\n1\n2\n-1\n");
    place.write(
        "job.toml",
        "[job]\nworkdir = 'work'\n[input]\npath = 'list.txt'\n[output]\nformat = 'parquet'\n[listrank]\n",
    );
    place.run(&["--quiet"]).expect(0);
    place.gpugraph(&["verify", "job.toml"]).expect(0);
    let found = table(&place.path("work/out/rank.parquet"));
    assert_eq!((found["id"].join(" "), found["rank"].join(" ")), ("0 1 2".into(), "2 1 0".into()));
    let place = Place::new();
    place.write("edges.txt", "0 1\n1 2\n");
    place.job("path = 'edges.txt'", "[output]\nformat = 'parquet'\n[bfs]\nsources = [0, 1, 2]\nwrite = true\n");
    // Each run completes a table and is killed before the next one has its name.
    for _ in 0..2 {
        place.run_failing("out.rename=2:kill", &["--quiet"]).expect(137);
    }
    place.run(&["--quiet"]).expect(0);
    place.gpugraph(&["verify", "job.toml"]).expect(0);
    for (source, levels) in [(0, "0 1 2"), (1, "1 0 1"), (2, "2 1 0")] {
        assert_eq!(table(&place.workdir().join(format!("out/bfs/{source}.parquet")))["level"].join(" "), levels);
    }
    let left = fs::read_dir(place.workdir().join("out/bfs")).expect("a folder").count();
    assert_eq!(left, 3, "no file is left over");
}
