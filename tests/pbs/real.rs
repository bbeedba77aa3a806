//! The job scripts under a real PBS, where its qsub takes jobs from this user.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::server::Pbs;
use crate::support::Ran;

/// True if the qsub on the path is one of PBS, whose server answers.
fn here() -> bool {
    let asked = |command: &str, arg: &str| Command::new(command).arg(arg).output();
    let text =
        |output: std::process::Output| String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    asked("qsub", "--version").map(text).is_ok_and(|text| text.contains("pbs_version"))
        && asked("qstat", "-B").is_ok_and(|output| output.status.success())
}

#[test]
fn a_real_pbs_takes_the_next_job_of_every_dialect() {
    if !here() {
        println!("SKIPPED: no qsub of PBS whose server answers");
        return;
    }
    for directive in ["select=1:ncpus=1", "nodes=1:ppn=1", "ncpus=1"] {
        let pbs = Pbs::new();
        // The jobs' user may be another to the file system.
        fs::set_permissions(pbs.place.path(""), fs::Permissions::from_mode(0o755)).expect("permissions");
        let site = fs::read_to_string(pbs.place.path("site.env")).expect("site.env");
        let stand_ins = format!("PATH={}:$PATH\n", pbs.place.path("bin").display());
        pbs.place.write("site.env", site.replace(&stand_ins, ""));
        pbs.place.write("job.toml", "[job]\nworkdir = 'work'\n[input]\npath = 'x.u32'\n[triangle]\n");
        pbs.runs("twice", "if [ \"$GPUGRAPH_RESTARTS\" = 0 ]; then exit 75; fi");
        let script = pbs.script_asking(&format!("#PBS -l {directive}"));
        let mut qsub = Command::new("qsub");
        qsub.args(["-l", "walltime=00:05:00", "-v", "CONFIG=job.toml,GPUGRAPH=./twice,RETRY=0", "-p", "3", &script]);
        Ran::command(qsub.current_dir(pbs.place.path(""))).expect(0);
        let end = Instant::now() + Duration::from_secs(120);
        let log = || {
            let files = fs::read_dir(pbs.place.path("")).expect("a folder").flatten();
            let log = files.map(|file| file.path()).find(|path| path.extension().is_some_and(|end| end == "log"));
            log.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default()
        };
        while !log().contains("exit 0 after") {
            let log = log();
            assert!(!log.contains("not submitted") && Instant::now() < end, "{directive}: {log}");
            std::thread::sleep(Duration::from_millis(200));
        }
        assert!(log().contains("goes on as "), "{directive}: {}", log());
    }
}
