//! A header may declare many more vertices than have edges: nothing of that length is written or held.

use std::os::unix::fs::MetadataExt;
use std::process::Command;

#[test]
fn a_header_of_many_rows_without_entries_writes_o_of_the_ids_that_occur() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("big.mtx");
    let rows: u64 = 100_000_000;
    for (name, entries, triangles) in [("none", "", 0), ("one", "1 2\n2 3\n3 1\n", 3)] {
        let count = entries.lines().count();
        let header = format!("%%MatrixMarket matrix coordinate pattern general\n{rows} {rows} {count}\n{entries}");
        std::fs::write(&input, header).unwrap();
        let workdir = folder.path().join(name);
        let job = folder.path().join("job.toml");
        let text = format!(
            "[job]\nworkdir = {workdir:?}\n[input]\npath = {input:?}\n[limits]\nhost_memory = \"128MiB\"\n[triangle]\nper_vertex = true\n"
        );
        std::fs::write(&job, text).unwrap();
        let done = Command::new(env!("CARGO_BIN_EXE_gpugraph")).arg("run").arg(&job).arg("--quiet").output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        for (file, width) in [("triangles.npy", 8), ("clustering.npy", 8), ("degree.npy", 4)] {
            let meta = std::fs::metadata(workdir.join("out").join(file)).unwrap();
            assert_eq!(meta.len(), 128 + width * rows, "{file}");
            assert!(meta.blocks() * 512 < 1 << 20, "{file} takes {} bytes of the disk", meta.blocks() * 512);
        }
        let mut start = vec![0; 128 + 8 * 4];
        use std::os::unix::fs::FileExt;
        let file = std::fs::File::open(workdir.join("out/triangles.npy")).unwrap();
        file.read_exact_at(&mut start, 0).unwrap();
        assert_eq!(start[128..].chunks(8).map(|row| u64::from(row[0])).sum::<u64>(), triangles);
    }
}
