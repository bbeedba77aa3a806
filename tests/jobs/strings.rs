//! Ids that are strings: numbered in the order of their bytes, so a job on them leaves the bytes that a job on the
//! numbers leaves. The oracle numbers them with a sorted set.

use crate::support::{Dice, Place, Ran, files, number, random_edges};
use parquet::basic::Encoding;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::sync::Arc;

/// Tables that name vertices, with every kind of column.
const TABLES: &str = "[triangle]\nper_vertex = true\n[bfs]\nsources = [A, B]\nwrite = true\n[dfs]\nsource = A\n\
                      articulation = true\n[sssp]\nsources = [B]\ntarget = A\nwrite = true\n";

/// Different strings with common beginnings, blanks, commas, quotes and letters of several bytes, some of them long.
fn names(count: usize) -> Vec<Vec<u8>> {
    let mut dice = Dice(7);
    let mut names = BTreeSet::new();
    while names.len() < count {
        let (kind, number) = (dice.below(8), dice.below(1 << 20));
        let name = match kind {
            0 => format!("{number}"),
            1 => format!("http://example.org/a/very/long/path/{}", number % 64),
            2 => format!("http://example.org/a/very/long/path/{number}/x"),
            3 => format!("Z\u{fc}rich, {number}"),
            4 => format!("say \"{number}\""),
            5 => "x".repeat(number as usize % 300 + 1),
            6 => format!("two words {}", number % 100),
            _ => format!("\u{4e2d}\u{6587}{}", number % 1000),
        };
        names.insert(name.into_bytes());
    }
    // In no order.
    let mut names: Vec<Vec<u8>> = names.into_iter().collect();
    for at in (1..names.len()).rev() {
        names.swap(at, dice.below(at as u64 + 1) as usize);
    }
    names
}

/// A field of CSV, always in quotes.
fn quoted(name: &[u8]) -> Vec<u8> {
    let mut field = vec![b'"'];
    name.iter().for_each(|&c| field.extend(if c == b'"' { vec![c, c] } else { vec![c] }));
    field.push(b'"');
    field
}

/// A graph with strings, the same with the numbers that a sorted set gives them, and weights.
struct Graph {
    edges: Vec<[Vec<u8>; 2]>,
    numbers: Vec<[u64; 2]>,
    weights: Vec<u64>,
    sorted: Vec<Vec<u8>>,
}

impl Graph {
    fn new(vertices: usize, edges: usize) -> Graph {
        Graph::of(&names(vertices), edges)
    }

    fn of(names: &[Vec<u8>], edges: usize) -> Graph {
        let edges = random_edges(names.len() as u64, edges, 11);
        let occurs: BTreeSet<&Vec<u8>> = edges.iter().flatten().map(|&id| &names[id as usize]).collect();
        let sorted: Vec<Vec<u8>> = occurs.into_iter().cloned().collect();
        let places: BTreeMap<&[u8], u64> = sorted.iter().map(Vec::as_slice).zip(0..).collect();
        let of = |id: &u64| names[*id as usize].clone();
        let edges: Vec<[Vec<u8>; 2]> = edges.iter().map(|[u, v]| [of(u), of(v)]).collect();
        let numbers = edges.iter().map(|ends| ends.each_ref().map(|name| places[name.as_slice()])).collect();
        let weights = (0..edges.len() as u64).map(|at| at * 7919 % 100 + 1).collect();
        Graph { edges, numbers, weights, sorted }
    }

    /// Lines of both ids, `between` them and `behind` the weight, without it if `weighted` is false.
    fn lines(&self, field: impl Fn(&[u8]) -> Vec<u8>, between: &str, end: &str, weighted: bool) -> Vec<Vec<u8>> {
        let line = |([u, v], weight): (&[Vec<u8>; 2], &u64)| {
            let weight = if weighted { format!("{between}{weight}") } else { String::new() };
            [&field(u), between.as_bytes(), &field(v), weight.as_bytes(), end.as_bytes()].concat()
        };
        self.edges.iter().zip(&self.weights).map(line).collect()
    }

    /// The list that a job must write.
    fn list(&self) -> Vec<u8> {
        self.sorted.iter().flat_map(|name| [name.as_slice(), b"\n"].concat()).collect()
    }

    /// Two vertices that tables name, as strings and as numbers.
    fn named(&self) -> [(String, u64); 2] {
        [self.numbers[0][0], self.numbers[self.numbers.len() / 2][1]].map(|number| {
            let name = String::from_utf8(self.sorted[number as usize].clone()).expect("text");
            (format!("'''{name}'''"), number)
        })
    }

    fn tables(&self, of: impl Fn(&(String, u64)) -> String) -> String {
        let [a, b] = self.named();
        TABLES.replace('A', &of(&a)).replace('B', &of(&b))
    }
}

/// The tables without what directed graphs don't have.
fn of_directed(tables: &str) -> String {
    tables.replace("articulation = true", "components = 'strong'")
}

fn job(place: &Place, input: &str, more: &str) {
    place.job(input, &format!("[run]\ndevice = 'cpu'\n{more}"));
}

/// What a job on the numbers leaves in `out/`.
fn by_numbers(graph: &Graph, directed: bool) -> BTreeMap<String, Vec<u8>> {
    let place = Place::new();
    let line = |([u, v], weight): (&[u64; 2], &u64)| format!("{u} {v} {weight}\n");
    let lines: String = graph.numbers.iter().zip(&graph.weights).map(line).collect();
    let path = place.write("numbers.wel", lines);
    let directed = if directed { "\ndirected = true" } else { "" };
    let tables = graph.tables(|(_, number)| number.to_string());
    let tables = if directed.is_empty() { tables } else { of_directed(&tables) };
    job(&place, &format!("path = '{}'{directed}", path.display()), &tables);
    place.run(&["--quiet"]).expect(0);
    files(&place.workdir().join("out"), &[""])
}

/// Checks what the job left, and the job by itself.
#[track_caller]
fn check(place: &Place, graph: &Graph, mut expected: BTreeMap<String, Vec<u8>>) {
    expected.insert("ids.txt".into(), graph.list());
    let found = files(&place.workdir().join("out"), &[""]);
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    let other: Vec<&String> = found.iter().filter(|(name, bytes)| expected[*name] != **bytes).map(|(n, _)| n).collect();
    assert!(other.is_empty(), "{other:?}");
    place.gpugraph(&["verify", "job.toml"]).expect(0);
}

#[test]
fn a_job_on_strings_leaves_what_a_job_on_their_places_leaves() {
    let graph = Graph::new(700, 3000);
    let plain = by_numbers(&graph, false);
    let tables = graph.tables(|(name, _)| name.clone());
    let csv = graph.lines(quoted, ",", "\r\n", true);
    let heading = b"\"source\",\"target\",\"weight\"\r\n".to_vec();
    let whole = [heading.clone(), csv.concat()].concat();
    for limits in ["", "threads = 1", "threads = 5\nhost_memory = '24MiB'"] {
        let place = Place::new();
        place.write("g.csv", &whole);
        job(&place, "path = 'g.csv'\nids = 'string'", &format!("[limits]\n{limits}\n{tables}"));
        place.run(&["--quiet"]).expect(0);
        check(&place, &graph, plain.clone());
    }
    // Columns in another order, in several files of which one is packed.
    let place = Place::new();
    fs::create_dir(place.path("parts")).expect("a folder");
    let turned = |lines: &[Vec<u8>]| -> Vec<u8> { lines.iter().flat_map(|line| [b"7,", &line[..]].concat()).collect() };
    let (first, rest) = csv.split_at(1000);
    place.write("parts/a.csv", turned(first));
    place.write("parts/b.csv.zst", packed(&turned(rest), "zst"));
    job(&place, "path = 'parts'\nids = 'string'\ncolumns = [2, 3, 4]", &tables);
    place.run(&["--quiet"]).expect(0);
    check(&place, &graph, plain);
}

#[test]
fn fields_of_every_length_without_quotes() {
    // Every byte that needs no quotes, in fields of 1 to 40 bytes.
    let mut dice = Dice(3);
    let byte = |dice: &mut Dice| loop {
        let byte = dice.below(256) as u8;
        if byte > b' ' && !b"\"#%,;{}\x7f".contains(&byte) {
            return byte;
        }
    };
    let names: BTreeSet<Vec<u8>> = (0..2000u64).map(|at| (0..=at % 40).map(|_| byte(&mut dice)).collect()).collect();
    let graph = Graph::of(&names.into_iter().collect::<Vec<_>>(), 4000);
    let pairs = Place::new();
    pairs.u32("g.u32", &graph.numbers);
    let tables = "[triangle]\nper_vertex = true\n";
    job(&pairs, "path = 'g.u32'", tables);
    pairs.run(&["--quiet"]).expect(0);
    let mut expected = files(&pairs.workdir().join("out"), &[""]);
    expected.insert("ids.txt".into(), graph.list());
    for (name, between, end) in [
        ("g.txt", " ", "\n"),
        ("g.txt", " \t ", " \r\n"),
        ("g.txt", "\t", "\r\n"),
        ("g.txt", ", ", "\n"),
        ("g.csv", ",", "\n"),
        ("g.csv", ";", "\r\n"),
        ("g.tsv", "\t", "\n"),
    ] {
        let place = Place::new();
        let mut text = graph.lines(<[u8]>::to_vec, between, end, false).concat();
        if end == "\n" {
            text.pop();
        }
        place.write(name, text);
        job(&place, &format!("path = '{name}'\nids = 'string'"), tables);
        place.run(&["--quiet"]).expect(0);
        let found = files(&place.workdir().join("out"), &[""]);
        assert!(found == expected, "{name} {between:?} {end:?}");
        place.gpugraph(&["verify", "job.toml"]).expect(0);
    }
}

#[test]
fn directed_edges_of_tab_separated_text_from_a_pipe() {
    let graph = Graph::new(300, 900);
    let place = Place::new();
    // No quotes: a tab ends an id, and a quote within it is a part of it.
    let text = graph.lines(<[u8]>::to_vec, "\t", "\n", true).concat();
    let tables = graph.tables(|(name, _)| name.clone());
    let tables = of_directed(&tables);
    job(&place, "path = '-'\nformat = 'text'\nids = 'string'\ndirected = true", &tables);
    let mut command = place.command(&["run", "job.toml", "--quiet"]);
    let mut child =
        command.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().expect("run");
    child.stdin.take().expect("a pipe").write_all(&text).expect("written");
    Ran::of(child.wait_with_output().expect("output")).expect(0);
    let mut expected = by_numbers(&graph, true);
    expected.insert("ids.txt".into(), graph.list());
    let found = files(&place.workdir().join("out"), &[""]);
    assert!(found == expected, "{:?} {:?}", found.keys(), expected.keys());
}

#[test]
fn packed_text_gives_what_text_gives() {
    let graph = Graph::new(500, 2000);
    let text = graph.lines(quoted, ",", "\n", true).concat();
    let (first, rest) = text.split_at(text.len() / 3);
    let tables = graph.tables(|(name, _)| name.clone());
    let expected = by_numbers(&graph, false);
    for ending in ["gz", "bz2", "xz", "zst"] {
        let (place, name) = (Place::new(), format!("g.csv.{ending}"));
        // Two members of which the first ends within a line.
        place.write(&name, [packed(first, ending), packed(rest, ending)].concat());
        job(&place, &format!("path = '{name}'\nids = 'string'"), &tables);
        for threads in ["limits.threads=1", "limits.threads=3"] {
            place.run(&["--quiet", "--fresh", "--set", threads]).expect(0);
            check(&place, &graph, expected.clone());
        }
    }
}

fn packed(bytes: &[u8], ending: &str) -> Vec<u8> {
    let packed = match ending {
        "gz" => {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(bytes).and_then(|()| packer.finish())
        }
        "bz2" => {
            let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            packer.write_all(bytes).and_then(|()| packer.finish())
        }
        "xz" => {
            let mut packer = liblzma::write::XzEncoder::new(Vec::new(), 1);
            packer.write_all(bytes).and_then(|()| packer.finish())
        }
        _ => zstd::bulk::compress(bytes, 3),
    };
    packed.expect("packed")
}

/// A Parquet table of both ids, in row groups of 500 rows.
fn parquet(graph: &Graph, properties: WriterPropertiesBuilder) -> Vec<u8> {
    let schema = parse_message_type("message edges { required binary target (UTF8); optional binary source; }");
    let schema = Arc::new(schema.expect("a schema"));
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build())).expect("a writer");
    for rows in graph.edges.chunks(500) {
        let mut group = writer.next_row_group().expect("a group");
        for (end, levels) in [(1, None), (0, Some(vec![1i16; rows.len()]))] {
            let mut column = group.next_column().expect("a column").expect("one of two");
            let ids: Vec<ByteArray> = rows.iter().map(|edge| edge[end].clone().into()).collect();
            column.typed::<ByteArrayType>().write_batch(&ids, levels.as_deref(), None).expect("written");
            column.close().expect("closed");
        }
        group.close().expect("closed");
    }
    writer.into_inner().expect("a file")
}

#[test]
fn tables_of_strings_give_what_text_gives() {
    let graph = Graph::new(600, 2000);
    let of = |name: &str, bytes: Vec<u8>| {
        let place = Place::new();
        place.write(name, bytes);
        let [(a, _), (b, _)] = graph.named();
        let tables = format!("[triangle]\nper_vertex = true\n[bfs]\nsources = [{a}, {b}]\nwrite = true\n");
        job(&place, &format!("path = '{name}'\nids = 'string'\ncolumns = ['source', 'target']"), &tables);
        let ran = place.run(&["--quiet"]);
        if ran.code == 0 {
            place.gpugraph(&["verify", "job.toml"]).expect(0);
        }
        (ran, files(&place.workdir().join("out"), &[""]))
    };
    let text = [b"target,source\n".to_vec(), graph.lines(quoted, ",", "\n", false).concat()].concat();
    // The columns are in another order here, which undirected edges don't show.
    let expected = of("g.csv", text).1;
    assert_eq!(expected["ids.txt"], graph.list());
    let properties = WriterProperties::builder;
    for properties in [
        properties(),
        properties().set_dictionary_enabled(false),
        properties().set_writer_version(WriterVersion::PARQUET_2_0).set_encoding(Encoding::PLAIN),
        properties().set_data_page_row_count_limit(37).set_write_batch_size(20),
    ] {
        let (ran, found) = of("g.parquet", parquet(&graph, properties));
        ran.expect(0);
        assert!(found == expected, "{:?}", found.keys());
    }
    // An encoding that is not read, an empty string, and one with a line break.
    let delta = properties().set_dictionary_enabled(false).set_encoding(Encoding::DELTA_BYTE_ARRAY);
    let refused = of("g.parquet", parquet(&graph, delta)).0.expect(3);
    assert!(refused.error().contains("DELTA_BYTE_ARRAY"), "{}", refused.err);
    for bad in ["", "two\nlines"] {
        let mut graph = Graph::new(100, 700);
        graph.edges[600][1] = bad.into();
        of("g.parquet", parquet(&graph, properties())).0.expect(3);
    }
}

/// Blanks around an id are left out; other bytes are a part of it.
#[test]
fn only_blanks_are_trimmed() {
    let place = Place::new();
    place.write("edges.csv", b"a\x0c, a\t\nb\x0b ,a\xa0\r\n".as_slice());
    place.job("path = 'edges.csv'\nids = 'string'", "[triangle]\nper_vertex = true\n");
    place.report(&["--quiet"]);
    assert_eq!(fs::read(place.workdir().join("out/ids.txt")).expect("written"), b"a\na\x0c\na\xa0\nb\x0b\n");
}

#[test]
fn strings_with_one_hash_are_told_apart() {
    let graph = Graph::new(500, 2000);
    let place = Place::new();
    place.write("g.tsv", graph.lines(quoted, "\t", "\n", true).concat());
    let expected = by_numbers(&graph, false);
    job(&place, "path = 'g.tsv'\nids = 'string'", &graph.tables(|(name, _)| name.clone()));
    for bits in ["0", "3", "7"] {
        let mut command = place.command(&["run", "job.toml", "--quiet", "--fresh"]);
        Ran::of(command.env("GPUGRAPH_NAME_HASH_BITS", bits).output().expect("run")).expect(0);
        check(&place, &graph, expected.clone());
    }
}

#[test]
fn convert_numbers_strings_as_a_job_does() {
    let graph = Graph::new(400, 1500);
    let place = Place::new();
    place.write("g.tsv", graph.lines(quoted, "\t", "\n", true).concat());
    place.gpugraph(&["convert", "g.tsv", "g.wel", "--to", "text", "--ids", "string"]).expect(0);
    let line = |([u, v], weight): (&[u64; 2], &u64)| format!("{u} {v} {weight}\n");
    let lines: String = graph.numbers.iter().zip(&graph.weights).map(line).collect();
    assert_eq!(fs::read_to_string(place.path("g.wel")).expect("edges"), lines);
    assert_eq!(fs::read(place.path("g.wel.ids.txt")).expect("a list"), graph.list());
    assert_eq!(fs::read_dir(place.path("")).expect("a folder").count(), 3);
    place.gpugraph(&["convert", "g.wel", "g.u32", "--ids", "text"]).expect(2);
    place.gpugraph(&["convert", "g.wel", "g.wel", "--to", "text", "--ids", "string"]).expect(2);
}

#[test]
fn what_is_printed_and_reported_has_the_strings() {
    let place = Place::new();
    place.write("g.txt", "# names\nbob alice\nalice carol\ncarol dave\neve eve\n");
    let tables = "[bfs]\nsources = ['alice', 'eve']\nwrite = true\n[sssp]\nweights = { unit = true }\nsources = ['bob']\n\
                  target = 'dave'\n[dfs]\nsource = 'carol'\n[output]\nformat = 'csv'\n";
    job(&place, "path = 'g.txt'\nids = 'string'", tables);
    let ran = place.run(&["--quiet"]).expect(0);
    assert!(ran.out.contains("path bob to dave: length 3  edges 3  vertices bob alice carol dave"), "{}", ran.out);
    let report = place.read_report();
    let results = &report["results"];
    assert_eq!(
        (&results["bfs"]["sources"][0]["source"], &results["dfs"]["source"]),
        (&"alice".into(), &"carol".into())
    );
    assert_eq!(results["sssp"]["sources"][0]["path"]["vertices"][2], "carol");
    assert_eq!((&report["graph"]["ids"], number(&report, "graph.vertices")), (&"strings".into(), 5));
    let level = |row| fs::read_to_string(place.workdir().join(format!("out/bfs/{row}/level.csv"))).expect("a column");
    assert_eq!(level(0), "id,level\nalice,0\nbob,1\ncarol,1\ndave,2\neve,-1\n");
    assert_eq!(level(4), "id,level\nalice,-1\nbob,-1\ncarol,-1\ndave,-1\neve,0\n");
    place.gpugraph(&["verify", "job.toml"]).expect(0);
    // The page is made of the workdir alone.
    place.gpugraph(&["report", "work"]).expect(0);
    let page = fs::read_to_string(place.workdir().join("report.html")).expect("a page");
    assert!(page.contains("alice") && page.contains("dave"));
}

#[test]
fn a_kept_graph_knows_the_strings() {
    let graph = Graph::new(200, 800);
    let place = Place::new();
    place.write("g.tsv", graph.lines(quoted, "\t", "\n", true).concat());
    place.write("job.toml", "[job]\nworkdir = 'kept'\n[input]\npath = 'g.tsv'\nids = 'string'\nweights = 'u32'\n");
    place.run(&["--quiet"]).expect(0);
    place.job("prepared = 'kept'", &graph.tables(|(name, _)| name.clone()));
    place.run(&["--quiet", "--set", "run.device='cpu'"]).expect(0);
    check(&place, &graph, by_numbers(&graph, false));
    place.gpugraph(&["verify", "kept"]).expect(0);
    // A byte of a string, and one of the table.
    for name in ["names", "names-table"] {
        let path = place.path(format!("kept/graph/{name}"));
        let mut bytes = fs::read(&path).expect("a file");
        bytes[100] ^= 1;
        fs::write(&path, bytes).expect("written");
        place.gpugraph(&["verify", "kept"]).expect(4);
        fs::remove_file(&path).expect("removed");
        if name == "names" {
            place.run(&["--quiet", "--fresh"]).expect(10);
        }
        // The job that kept the graph makes the file again.
        place
            .write("again.toml", "[job]\nworkdir = 'kept'\n[input]\npath = 'g.tsv'\nids = 'string'\nweights = 'u32'\n");
        place.gpugraph(&["run", "again.toml", "--quiet"]).expect(0);
        place.gpugraph(&["verify", "kept"]).expect(0);
    }
}

#[test]
fn a_job_that_is_killed_while_it_numbers_goes_on() {
    let graph = Graph::new(400, 1500);
    let expected = by_numbers(&graph, false);
    for failpoint in ["names.write=1", "names.write=3", "store.rename=1", "store.fsync=2", "partition.begin=1"] {
        let place = Place::new();
        place.write("g.tsv", graph.lines(quoted, "\t", "\n", true).concat());
        job(&place, "path = 'g.tsv'\nids = 'string'", &graph.tables(|(name, _)| name.clone()));
        place.run_failing(&format!("{failpoint}:kill"), &["--quiet"]).expect(128 + 9);
        place.run(&["--quiet"]).expect(0);
        check(&place, &graph, expected.clone());
        assert!(!place.workdir().join("graph").exists());
    }
    let place = Place::new();
    place.write("g.tsv", graph.lines(quoted, "\t", "\n", true).concat());
    job(&place, "path = 'g.tsv'\nids = 'string'", &graph.tables(|(name, _)| name.clone()));
    place.run_failing("names.write=2:enospc", &["--quiet"]).expect(6);
    place.run(&["--quiet"]).expect(0);
    check(&place, &graph, expected);
}

#[test]
fn a_forged_list_is_noticed() {
    let place = Place::new();
    place.write("g.txt", "bob alice\nalice carol\ncarol bob\ncarol dave\n");
    job(&place, "path = 'g.txt'\nids = 'string'", "[triangle]\nper_vertex = true\n");
    place.run(&["--quiet"]).expect(0);
    place.gpugraph(&["verify", "work"]).expect(0);
    let path = place.workdir().join("out/ids.txt");
    for other in [
        "bob\nalice\ncarol\ndave\n",
        "alice\nbob\ncarol\nzoe\n",
        "alice\nbob\ncarol\n",
        "alice\nbob\ncarol\ndave\neve\n",
        "",
    ] {
        fs::write(&path, other).expect("written");
        // The list differs from its checksum, and the results from the list.
        let ran = place.gpugraph(&["verify", "work"]).expect(4);
        assert!(ran.out.contains("triangle"), "{}", ran.out);
    }
}

#[test]
fn lines_that_are_no_edges_are_refused() {
    let place = Place::new();
    let long = "x".repeat(65_536);
    let wrong = [
        ("a.txt", "a b\nc\n".to_owned(), 3),
        ("a.txt", "a b\nc d e\n".into(), 3),
        ("a.csv", "a,b\nc,\n".into(), 3),
        ("a.csv", "a,b\n\"\",c\n".into(), 3),
        // An empty id is none, whatever the other one begins with.
        ("a.tsv", "a\tb\n\t#c\n".into(), 3),
        ("a.tsv", "a\tb\n\t\n".into(), 3),
        ("a.txt", "\t#c\na\tb\n".into(), 3),
        ("a.csv", "a,b\n\"c,d\n".into(), 3),
        ("a.csv", "a,b\n\"c\"d,e\n".into(), 3),
        ("a.tsv", "a\tb\rc\td\n".into(), 3),
        ("a.txt", "New York,Boston\n".into(), 3),
        ("a.txt", "a;b c\n".into(), 3),
        ("a.txt", "a ;b\n".into(), 3),
        ("a.txt", format!("a {long}\n"), 3),
        ("a.csv", "source,target,weight\na,b,heavy\n".into(), 3),
        ("a.u32", "12345678".into(), 2),
    ];
    for (name, text, code) in wrong {
        place.write(name, &text);
        job(&place, &format!("path = '{name}'\nids = 'string'"), "");
        let ran = place.run(&["--quiet", "--fresh"]).expect(code);
        assert!(ran.error().contains(name), "{}", ran.err);
    }
    // The longest that is allowed; an edge without a newline; a comment that an id may begin like.
    place.write("a.txt", format!("%c\n#c\n//x\t;y\n{}\tb", &long[1..]));
    job(&place, "path = 'a.txt'\nids = 'string'", "");
    place.run(&["--quiet", "--fresh"]).expect(0);
    let list = fs::read_to_string(place.workdir().join("out/ids.txt")).expect("a list");
    assert_eq!(list, format!("//x\n;y\nb\n{}\n", &long[1..]));
    // Numbers do not name strings, nor strings numbers, and an id must occur.
    for (ids, source, code) in [("string", "1", 3), ("string", "'x'", 3), ("number", "'1'", 3)] {
        place.write("b.txt", "1 2\n2 3\n");
        job(&place, &format!("path = 'b.txt'\nids = '{ids}'"), &format!("[bfs]\nsources = [{source}]\n"));
        place.run(&["--quiet", "--fresh"]).expect(code);
    }
}
