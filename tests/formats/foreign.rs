//! Files that are not read are refused with the line that converts them; where its tools are here, the line is typed, and
//! what it makes has the same triangles.

use std::fs;
use std::io::Write;
use std::process::Command;

use crate::support::{Place, triangles};

const K4: [[u32; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];

/// A file of the complete graph of four vertices in a format that is not read.
struct Case {
    ending: &'static str,
    bytes: Vec<u8>,
    /// What a message calls it.
    name: &'static str,
    /// What the line needs: a command that succeeds where it is there.
    needs: &'static str,
    /// Behind the name of the file: what the line makes.
    makes: &'static str,
}

fn each(edge: impl Fn(u32, u32) -> String) -> String {
    K4.iter().map(|[u, v]| edge(*u, *v)).collect()
}

fn xml(head: &str, foot: &str, edge: impl Fn(u32, u32) -> String) -> Vec<u8> {
    let nodes: String = (0..4).map(|n| format!("<node id=\"n{n}\"/>")).collect();
    let nodes = if foot.contains("gexf") { format!("<nodes>{nodes}</nodes><edges>") } else { nodes };
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{head}\n{nodes}{}{foot}\n", each(edge)).into_bytes()
}

/// The edges as text, as the only member of an archive.
fn tar(text: &str) -> Vec<u8> {
    let mut header = [0u8; 512];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"edges.txt");
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{:011o}\0", text.len()).as_bytes());
    put(136, b"00000000000\0");
    put(148, b"        0");
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut bytes = header.to_vec();
    bytes.extend(text.as_bytes());
    bytes.resize(bytes.len().next_multiple_of(512) + 1024, 0);
    bytes
}

/// The same, stored in a zip archive.
pub fn zip(text: &str) -> Vec<u8> {
    let (name, length) = (b"edges.txt", (text.len() as u32).to_le_bytes());
    let mut crc = flate2::Crc::new();
    crc.update(text.as_bytes());
    let common = [&[20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0][..], &crc.sum().to_le_bytes(), &length, &length, &[9, 0, 0, 0]];
    let mut bytes = [b"PK\x03\x04", &common.concat()[..], name, text.as_bytes()].concat();
    let at = (bytes.len() as u32).to_le_bytes();
    let entry = [b"PK\x01\x02\x14\x00", &common.concat()[..], &[0; 10], &[0; 4], name].concat();
    bytes.extend(&entry);
    let size = (entry.len() as u32).to_le_bytes();
    bytes.extend([b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &size[..], &at, &[0, 0]].concat());
    bytes
}

fn cases() -> Vec<Case> {
    let case = |ending, bytes: Vec<u8>, name, needs, makes| Case { ending, bytes, name, needs, makes };
    let networkx = "python3 -c 'import networkx'";
    let pairs = each(|u, v| format!("{u} {v}\n"));
    let nodes: String = (0..4).map(|n| format!("  node [ id {n} label \"v{n}\" ]\n")).collect();
    let gml = format!(
        "Creator \"a test\"\ngraph\n[\n{nodes}{}]\n",
        each(|u, v| format!("  edge [ source {u} target {v} ]\n"))
    );
    let graphml = xml(
        "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\"><graph edgedefault=\"undirected\">",
        "</graph></graphml>",
        |u, v| format!("<edge source=\"n{u}\" target=\"n{v}\"/>"),
    );
    let gexf = xml(
        "<gexf xmlns=\"http://www.gexf.net/1.2draft\" version=\"1.2\"><graph defaultedgetype=\"undirected\">",
        "</edges></graph></gexf>",
        |u, v| format!("<edge id=\"{u}{v}\" source=\"n{u}\" target=\"n{v}\"/>"),
    );
    let pajek = "*Vertices 4\n1 \"a b\"\n2 \"c\"\n3 \"*d\"\n4 \"e\"\n*Arcs\n1 2 1.0\n1 3\n*Edges\n2 3 5\n% remark\n*Edgeslist\n4 1 2 3\n";
    // Lists of both ends, of which that of vertex 1 is empty.
    let ligra = "AdjacencyGraph\n4\n6\n0\n3\n3\n5\n1\n2\n3\n1\n3\n1\n";
    let dot = format!("// made\nstrict graph \"k 4\" {{\n{}}}\n", each(|u, v| format!("  {u} -- {v};\n")));
    let coloring = format!("c made\np edge 4 6\n{}", each(|u, v| format!("e {} {}\n", u + 1, v + 1)));
    let links: Vec<String> =
        K4.iter().map(|[u, v]| format!("{{\"source\": \"n{u}\", \"target\": \"n{v}\"}}")).collect();
    let links = format!("{{\"directed\": false, \"nodes\": [], \"links\": [{}]}}", links.join(", "));
    let list: Vec<String> = K4.iter().map(|[u, v]| format!("[{u}, {v}]")).collect();
    let list = format!("[{}]\n", list.join(",\n "));
    let python = "python3 --version";
    vec![
        case("graphml", graphml, "GraphML", networkx, ".txt"),
        case("gexf", gexf, "GEXF", networkx, ".txt"),
        case("gml", gml.into(), "GML", networkx, ".txt"),
        case("net", pajek.into(), "Pajek's format", "awk 'BEGIN{}'", ".txt"),
        case("adj", ligra.into(), "Ligra's adjacency", "awk 'BEGIN{}'", ".txt"),
        case("dot", dot.into(), "Graphviz's DOT", "gvpr -V", ".txt"),
        case("col", coloring.into(), "DIMACS's format of colorings", "awk 'BEGIN{}'", ".txt"),
        case(
            "jsonl",
            each(|u, v| format!("{{\"source\": \"n{u}\", \"target\": \"n{v}\"}}\n")).into(),
            "lines of JSON",
            python,
            ".txt",
        ),
        case("jsonl", each(|u, v| format!("[{u}, {v}]\n")).into(), "lines of JSON", python, ".txt"),
        case("json", links.into(), "JSON", python, ".txt"),
        case("json", list.into(), "JSON", python, ".txt"),
        case("h5", include_bytes!("../data/foreign/k4.h5").to_vec(), "HDF5", "python3 -c 'import h5py'", ".npy"),
        case("pkl", include_bytes!("../data/foreign/k4.pkl").to_vec(), "a pickle of Python", networkx, ".txt"),
        case("tar", tar(&pairs), "a tar archive", "tar --version", ".d"),
        case("zip", zip(&pairs), "a zip archive", python, ".d"),
    ]
}

fn shell(place: &Place, line: &str) -> bool {
    let out = Command::new("sh").args(["-c", line]).current_dir(place.path(".")).output().expect("run sh");
    out.status.success()
}

/// Returns the error of a file that is refused.
fn refused(place: &Place, name: &str, bytes: &[u8]) -> String {
    place.write(name, bytes);
    place.job(&format!("path = '{name}'"), "");
    place.run(&[]).expect(3).error().to_owned()
}

#[test]
fn what_is_not_read_is_refused_with_the_line_that_converts_it() {
    for Case { ending, bytes, name, needs, makes } in cases() {
        let place = Place::new();
        let file = format!("k4.{ending}");
        let error = refused(&place, &file, &bytes);
        assert!(error.contains(name) && !error.contains("name the format"), "{error}");
        let (_, line) = error.rsplit_once(": ").expect("a line behind a colon");
        assert!(line.contains(&file), "{error}");
        // By its bytes, too, whatever it is called.
        let other = refused(&place, "other.txt", &bytes);
        assert!(other.contains(name) && other.contains("other.txt"), "{other}");
        if !shell(&place, needs) {
            println!("SKIPPED: no `{needs}` for {line}");
            continue;
        }
        assert!(shell(&place, line), "{line}");
        place.job(&format!("path = '{file}{makes}'"), "");
        assert_eq!(triangles(&place.report(&["--fresh"])), 4, "{line}");
    }
}

#[test]
fn a_packed_file_is_unpacked_first_and_names_that_need_quotes_are_left_to_the_user() {
    let place = Place::new();
    let bytes = cases().swap_remove(4).bytes;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&bytes).unwrap();
    let error = refused(&place, "k4.adj.gz", &packed.finish().unwrap());
    assert!(
        error.contains(": gzip -dk ") && error.contains("k4.adj.gz && awk ") && error.contains("k4.adj > "),
        "{error}"
    );
    let error = refused(&place, "of 4 & more.adj", &bytes);
    assert!(error.ends_with(" IN.adj > IN.adj.txt"), "{error}");
}

#[test]
fn a_graph_of_webgraph_is_not_taken_for_one_of_metis() {
    let place = Place::new();
    let properties = "#BVGraph properties\ngraphclass=it.unimi.dsi.webgraph.BVGraph\nnodes=4\narcs=12\nversion=0\n";
    place.write("k4.properties", properties);
    for (name, bytes) in [("k4.graph", &b"4 6\xd6\xf8\x3a"[..]), ("alone.graph", &b"\xb1\x04\xd6\xf8\x3a\x00\x91"[..])]
    {
        let error = refused(&place, name, bytes);
        let base = name.strip_suffix(".graph").unwrap();
        assert!(error.contains("WebGraph's BV") && error.contains("webgraph to arcs "), "{error}");
        assert!(error.ends_with(&format!("{base}.txt")), "{error}");
    }
    let error = refused(&place, "k4.properties", properties.as_bytes());
    assert!(error.contains("WebGraph's BV"), "{error}");
}

#[test]
fn lines_that_are_to_be_skipped_may_look_like_anything() {
    let place = Place::new();
    fs::write(place.path("a.txt"), "{\"made\": \"by hand\"}\n0 1\n1 2\n2 0\n").unwrap();
    place.job("path = 'a.txt'\nskip_lines = 1", "");
    assert_eq!(triangles(&place.report(&[])), 1);
}
