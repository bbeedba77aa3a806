//! Files that the tests write by the crate itself: larger ones, and pages and row groups as others cut them.

use super::read::{open, scan};
use crate::gather::Gather;
use crate::support::Dice;
use gpugraph::internals::convert::convert;
use gpugraph::internals::formats::{FileSearch, Format, Input, Unwatched, largest_of_arrays};
use parquet::basic::Encoding;
use parquet::column::writer::ColumnWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::path::Path;
use std::sync::Arc;

/// Writes pairs in row groups of so many rows.
fn write(path: &Path, schema: &str, edges: &[[u64; 2]], group: usize, properties: WriterPropertiesBuilder) {
    let schema = Arc::new(parse_message_type(&format!("message edges {{ {schema} }}")).unwrap());
    let optional = schema.get_fields().iter().map(|field| field.is_optional()).collect::<Vec<_>>();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build())).unwrap();
    for rows in edges.chunks(group.max(1)) {
        let mut group = writer.next_row_group().unwrap();
        for (end, optional) in optional.iter().enumerate() {
            let levels = optional.then(|| vec![1i16; rows.len()]);
            let mut column = group.next_column().unwrap().unwrap();
            match column.untyped() {
                ColumnWriter::Int32ColumnWriter(writer) => {
                    let ids: Vec<i32> = rows.iter().map(|edge| edge[end] as i32).collect();
                    writer.write_batch(&ids, levels.as_deref(), None).unwrap();
                }
                ColumnWriter::Int64ColumnWriter(writer) => {
                    let ids: Vec<i64> = rows.iter().map(|edge| edge[end] as i64).collect();
                    writer.write_batch(&ids, levels.as_deref(), None).unwrap();
                }
                _ => panic!("a schema of whole numbers"),
            }
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

const REQUIRED: &str = "required int64 source; required int64 target;";

fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_statistics_enabled(EnabledStatistics::None)
}

fn random(dice: &mut Dice, count: usize, below: u64) -> Vec<[u64; 2]> {
    (0..count).map(|_| [dice.roll() % below, dice.roll() % below]).collect()
}

/// The edges of a file as `convert` writes them, in the order of the input.
fn converted(input: &Input, folder: &Path) -> Vec<[u64; 2]> {
    let out = folder.join("out.u64");
    convert(input, &out, Format::U64, 3, &Unwatched).unwrap();
    let mut visitors = [Gather(vec![])];
    Input::find(&[out], Some(Format::U64), FileSearch::default()).unwrap().scan(&mut visitors, &Unwatched).unwrap();
    let [Gather(edges)] = visitors;
    edges
}

#[test]
fn pages_and_row_groups_of_any_size_are_read_in_the_order_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let mut dice = Dice(8);
    for round in 0..60u64 {
        let schema = match round % 4 {
            0 => REQUIRED,
            1 => "optional int32 source (INTEGER(32,false)); required int64 target;",
            2 => "optional int64 source (UINT_64); optional int64 target (UINT_64);",
            _ => "required int32 source (UINT_32); optional int32 target (UINT_32);",
        };
        let below = [10, 1 << 20, 1 << 32, u64::MAX][(round % 4) as usize];
        let below = if round % 4 == 2 { below } else { below.min(1 << 32) };
        let below = if round % 4 == 1 { below.min(1 << 31) } else { below };
        let count = dice.roll() as usize % 6000;
        let edges = random(&mut dice, count, below);
        let size = 1 + dice.roll() as usize % 4000;
        let encoding =
            [Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT][(dice.roll() % 3) as usize];
        let version = if dice.roll() & 1 == 0 { WriterVersion::PARQUET_1_0 } else { WriterVersion::PARQUET_2_0 };
        let rows = 1 + dice.roll() as usize % 1500;
        let properties = properties()
            .set_dictionary_enabled(dice.roll() & 1 == 0)
            // With so little of it, most columns fall back to the encoding in the midst of a row group.
            .set_dictionary_page_size_limit(1 + dice.roll() as usize % 20_000)
            .set_encoding(encoding)
            .set_writer_version(version)
            .set_write_batch_size(1 + rows / 2)
            .set_data_page_row_count_limit(rows);
        write(&path, schema, &edges, size, properties);
        let input = open(&path).unwrap();
        assert_eq!(input.estimate_edges().unwrap(), edges.len() as u64, "round {round}");
        assert_eq!(converted(&input, folder.path()), edges, "round {round}: {schema} {encoding}, {size} rows a group");
        let most = edges.iter().flatten().max().map_or(0, |id| id.saturating_add(1));
        let told = largest_of_arrays(&input.parts()[0]).unwrap();
        assert!(
            told <= most && (told == most || size > 4096 || edges.len() / size > 32 || rows < size),
            "round {round}: {told} of {most}"
        );
    }
}

#[test]
fn a_row_group_of_millions_of_rows_keeps_its_order_and_passes_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    // Row groups of more than 2^20 rows, of just as many, and of less.
    let edges: Vec<[u64; 2]> = (0..(5u64 << 19) + 77).map(|i| [i, i.wrapping_mul(0x9e37_79b9) & 0xffff_ffff]).collect();
    for group in [edges.len(), 1 << 20, 3 << 19] {
        write(&path, REQUIRED, &edges, group, properties().set_dictionary_enabled(false));
        let input = open(&path).unwrap();
        assert_eq!(converted(&input, folder.path()), edges, "{group} rows a group");
        assert_eq!(scan(&input, 3).unwrap().0.len(), edges.len());
    }
}

#[test]
fn statistics_tell_how_large_ids_are_and_a_sample_does_where_there_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let edges: Vec<[u64; 2]> = (0..100_000).map(|i| [i, 5_000_000_000 - i]).collect();
    let told = || largest_of_arrays(&open(&path).unwrap().parts()[0]).unwrap();
    write(&path, REQUIRED, &edges, 1000, properties().set_statistics_enabled(EnabledStatistics::Chunk));
    assert_eq!(told(), 5_000_000_001);
    write(&path, REQUIRED, &edges, 1000, properties());
    assert_eq!(told(), 5_000_000_001);
    let large = "required int64 source (UINT_64); required int64 target (UINT_64);";
    write(&path, large, &[[7, u64::MAX - 1]], 1000, WriterProperties::builder());
    assert_eq!(told(), u64::MAX);
}

#[test]
fn pages_of_any_size_are_read_in_memory_that_is_told_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    // One dictionary of 20 MB a column, in each of two row groups: such a file is for one thread.
    let edges: Vec<[u64; 2]> = (0..5_000_000).map(|i| [i, 5_000_000 - i]).collect();
    let whole = properties().set_dictionary_page_size_limit(1 << 30).set_data_page_size_limit(1 << 30);
    write(&path, REQUIRED, &edges, 2_500_000, whole.set_data_page_row_count_limit(1 << 30));
    let input = open(&path).unwrap();
    let [alone, many] = [1, 8].map(|threads| input.scratch_bytes(threads));
    assert!(alone > 80 << 20 && many < alone + (16 << 20), "{alone} bytes, {many} for 8 threads");
    let (found, _) = scan(&input, 4).unwrap();
    assert_eq!(found, edges);
    // Small pages take little, however large the row group is.
    let small = properties().set_dictionary_enabled(false).set_data_page_size_limit(1 << 20);
    write(&path, REQUIRED, &edges, edges.len(), small);
    let input = open(&path).unwrap();
    assert!(input.scratch_bytes(1) < 12 << 20, "{} bytes", input.scratch_bytes(1));
    assert_eq!(scan(&input, 2).unwrap().0, edges);
}

#[test]
fn many_row_groups_take_the_memory_that_their_footer_tells() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let edges: Vec<[u64; 2]> = (0..20_000).map(|i| [i, i + 1]).collect();
    write(&path, REQUIRED, &edges, 10, properties());
    let input = open(&path).unwrap();
    // 2,000 row groups of two columns; what one thread takes to read them is little.
    let bytes = input.scratch_bytes(1);
    assert!((2000 * 2 * 450..16 << 20).contains(&bytes), "{bytes}");
    assert_eq!(scan(&input, 2).unwrap().0, edges);
}
