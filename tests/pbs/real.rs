//! The job scripts under a real PBS, where its qsub takes jobs from this user. On several nodes they must share this checkout.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::server::Pbs;
use crate::support::{Place, Ran};

/// Returns what `command` says, if it ends well.
fn said(command: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(command).args(args).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

/// A folder with the job scripts, which find the real PBS; nothing where the qsub on the path is not one of PBS, or no server
/// answers.
fn real() -> Option<Pbs> {
    let here = said("qsub", &["--version"]).is_some_and(|text| text.contains("pbs_version"));
    if !here || said("qstat", &["-B"]).is_none() {
        println!("SKIPPED: no qsub of PBS whose server answers");
        return None;
    }
    let pbs = Pbs::at(Place::on_shared_disk());
    // The jobs' user may be another to the file system.
    fs::set_permissions(pbs.place.path(""), fs::Permissions::from_mode(0o755)).expect("permissions");
    let site = fs::read_to_string(pbs.place.path("site.env")).expect("site.env");
    let stand_ins = format!("PATH={}:$PATH\n", pbs.place.path("bin").display());
    pbs.place.write("site.env", site.replace(&stand_ins, ""));
    pbs.place.write("job.toml", "[job]\nworkdir = 'work'\n[input]\npath = 'x.u32'\n[triangle]\n");
    Some(pbs)
}

fn qsub(pbs: &Pbs, args: &[&str]) -> Ran {
    Ran::command(Command::new("qsub").args(args).current_dir(pbs.place.path("")))
}

/// All logs of job scripts.
fn logs(pbs: &Pbs) -> String {
    let files = fs::read_dir(pbs.place.path("")).expect("a folder").flatten().map(|file| file.path());
    let logs = files.filter(|path| path.extension().is_some_and(|end| end == "log"));
    logs.filter_map(|path| fs::read_to_string(path).ok()).collect()
}

/// Waits until the logs have a text so many times.
#[track_caller]
fn wait(pbs: &Pbs, text: &str, times: usize) {
    let end = Instant::now() + Duration::from_secs(180);
    while logs(pbs).matches(text).count() < times {
        let logs = logs(pbs);
        assert!(!logs.contains("not submitted:") && Instant::now() < end, "{text}: {logs}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_real_pbs_takes_the_next_job_of_every_dialect() {
    for directive in ["select=1:ncpus=1", "nodes=1:ppn=1", "ncpus=1"] {
        let Some(pbs) = real() else { return };
        pbs.runs("twice", "if [ \"$GPUGRAPH_RESTARTS\" = 0 ]; then exit 75; fi");
        let script = pbs.script_asking(&format!("#PBS -l {directive}"));
        let variables = "CONFIG=job.toml,GPUGRAPH=./twice,RETRY=0";
        qsub(&pbs, &["-l", "walltime=00:05:00", "-v", variables, "-p", "3", &script]).expect(0);
        wait(&pbs, "exit 0 after", 1);
        assert!(logs(&pbs).contains("goes on as "), "{directive}: {}", logs(&pbs));
    }
}

#[test]
fn the_stand_in_refuses_in_the_words_of_the_real_one() {
    let Some(pbs) = real() else { return };
    pbs.site_lacks("ngpus");
    for (directive, args) in [
        ("select=1:ncpus=1", ["-l", "nodes=1:ppn=1"]),
        ("select=1:ncpus=1", ["-l", "ncpus=1"]),
        ("nodes=1:ppn=1", ["-l", "select=1:ncpus=1"]),
        ("select=1:ncpus=1", ["-v", "NO_SUCH_VARIABLE"]),
        ("select=1:ncpus=1", ["-a", "123"]),
        ("select=1:ncpus=1", ["-W", "depend=afterany:1[0].server"]),
        ("nodes=1:ppn=1:gpus=1", ["-N", "name"]),
        ("select=1:ncpus=1:ngpus=1", ["-N", "name"]),
    ] {
        let script = pbs.script_asking(&format!("#PBS -l {directive}"));
        let args = [&args[..], &["-l", "walltime=00:01:00", &script]].concat();
        let (real, stand_in) = (qsub(&pbs, &args), pbs.try_qsub(&args));
        if real.code == 0 && directive.contains("ngpus") {
            let _ = said("qdel", &[real.out.trim()]);
            println!("SKIPPED: this site has defined ngpus");
            continue;
        }
        let words = |ran: &Ran| ran.err.lines().next().unwrap_or_default().to_owned();
        assert!(real.code != 0 && stand_in.code != 0, "{args:?}: {}, {}", real.out, stand_in.out);
        assert_eq!(words(&stand_in), words(&real), "{args:?} of {directive}");
    }
}

#[test]
fn a_real_pbs_is_told_again_what_the_command_line_said() {
    let Some(pbs) = real() else { return };
    pbs.runs("tells", "[ \"$GPUGRAPH_RESTARTS\" = 2 ] || exit 75; qstat -f \"$PBS_JOBID\" >told");
    let script = pbs.script_asking("#PBS -l select=1:ncpus=1:mem=100mb");
    let output = pbs.place.path("out.txt").display().to_string();
    let mut args = vec!["-v", "CONFIG=job.toml,GPUGRAPH=./tells,RETRY=0", "-l", "walltime=00:05:00", "-P", "graphs"];
    args.extend(["-p", "-5", "-m", "n", "-M", "me@site,you@site", "-W", "umask=027", "-o", &output, &script]);
    qsub(&pbs, &args).expect(0);
    wait(&pbs, "exit 0 after", 1);
    let told = fs::read_to_string(pbs.place.path("told")).expect("of qstat").replace("\n\t", "");
    for line in [
        "project = graphs",
        "Priority = -5",
        "Mail_Points = n",
        "Mail_Users = me@site,you@site",
        "umask = 27",
        "Resource_List.select = 1:ncpus=1:mem=100mb",
        "Resource_List.walltime = 00:05:00",
        "Join_Path = oe",
    ] {
        assert!(told.lines().any(|told| told.trim() == line), "{line}: {told}");
    }
    assert!(told.contains(&format!(":{output}\n")), "{told}");
}

#[test]
fn a_folder_with_a_quote_in_its_name_is_found_again() {
    let Some(pbs) = real() else { return };
    pbs.runs("tells", "pwd; [ \"$GPUGRAPH_RESTARTS\" = 2 ] || exit 75");
    let script = pbs.place.path(pbs.script_asking("#PBS -l select=1:ncpus=1")).display().to_string();
    let folder = pbs.place.path("it's a folder");
    fs::create_dir(&folder).expect("a folder");
    fs::copy(pbs.place.path("job.toml"), folder.join("job.toml")).expect("copy");
    let place = pbs.place.path("").display().to_string();
    let variables = format!("CONFIG=job.toml,GPUGRAPH={place}tells,GPUGRAPH_HOME={place},RETRY=0");
    let mut qsub = Command::new("qsub");
    qsub.args(["-N", "quote", "-l", "walltime=00:02:00", "-v", &variables, &script]);
    let id = Ran::command(qsub.current_dir(&folder)).expect(0).out;
    let log = folder.join(format!("quote.{}.log", id.split('.').next().expect("a number")));
    let log = || fs::read_to_string(&log).unwrap_or_default();
    let end = Instant::now() + Duration::from_secs(120);
    while !log().contains("exit 0 after") {
        assert!(!log().contains("not submitted:") && Instant::now() < end, "{}", log());
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(log().lines().filter(|line| *line == folder.to_str().expect("text")).count(), 3, "{}", log());
}

#[test]
fn tasks_that_a_real_pbs_ends_go_on_beside_each_other() {
    let Some(pbs) = real() else { return };
    let answer = pbs.slow_job(1);
    let script = pbs.script_asking("#PBS -l select=1:ncpus=1");
    let variables = "CONFIG=job.toml,GPUGRAPH=./slow,SET=job.workdir=w%a,GRACE=0,RETRY=0";
    qsub(&pbs, &["-J", "3-4", "-l", "walltime=00:00:05", "-v", variables, &script]).expect(0);
    wait(&pbs, "exit 0 after", 2);
    assert_eq!([pbs.triangles("w3"), pbs.triangles("w4")], [answer; 2]);
    let logs = logs(&pbs);
    assert!(!logs.contains("exit 5 after") && logs.matches("ended by the scheduler").count() >= 2, "{logs}");
}

#[test]
fn three_slices_without_progress_end_a_job_of_a_real_pbs() {
    let Some(pbs) = real() else { return };
    pbs.runs("idle", "trap 'exit 75' USR1 TERM; sleep 60 & wait; exit 75");
    let script = pbs.script_asking("#PBS -l select=1:ncpus=1");
    let variables = "CONFIG=job.toml,GPUGRAPH=./idle,GRACE=4,RETRY=0";
    qsub(&pbs, &["-l", "walltime=00:00:08", "-v", variables, &script]).expect(0);
    wait(&pbs, "3 slices in a row brought the job no further", 1);
    assert_eq!(logs(&pbs).matches("goes on as ").count(), 2, "{}", logs(&pbs));
}

#[test]
fn ranks_are_the_lines_of_a_real_list_of_hosts() {
    for (select, ranks) in
        [("1:ncpus=2:mpiprocs=2", "2 ranks of 1 threads"), ("1:ncpus=1:mpiprocs=1+1:ncpus=2", "2 ranks of 1 threads")]
    {
        let Some(pbs) = real() else { return };
        pbs.command("gpugraph", "exit 1");
        pbs.command("mpirun", "exit 0");
        let script = pbs.script_asking(&format!("#PBS -l select={select}"));
        let variables = format!("CONFIG=job.toml,GPUGRAPH=./gpugraph,MPIRUN={}", pbs.place.path("mpirun").display());
        qsub(&pbs, &["-l", "walltime=00:01:00", "-v", &variables, &script]).expect(0);
        wait(&pbs, "exit 0 after", 1);
        assert!(logs(&pbs).contains(ranks), "{select}: {}", logs(&pbs));
    }
}

/// By Open MPI, whose daemons look for the agent that started them; it lies in a folder of the first node alone.
#[test]
fn ranks_start_on_every_node_of_a_real_pbs() {
    let Some(pbs) = real() else { return };
    let nodes = said("pbsnodes", &["-a"]).map_or(0, |text| text.matches("     Mom = ").count());
    let open = said("mpirun", &["--version"]).is_some_and(|text| text.contains("Open MPI"));
    if nodes < 2 || !open {
        println!("SKIPPED: {nodes} nodes of PBS, and two are needed, with Open MPI's mpirun");
        return;
    }
    pbs.command("gpugraph", "[ \"$1\" != run ] || echo \"a rank on $(hostname)\"");
    let script = pbs.script_asking("#PBS -l select=2:ncpus=1:mpiprocs=1 -l place=scatter");
    qsub(&pbs, &["-l", "walltime=00:02:00", "-v", "CONFIG=job.toml,GPUGRAPH=./gpugraph,MAX_RESTARTS=0", &script])
        .expect(0);
    wait(&pbs, " after ", 1);
    let logs = logs(&pbs);
    let mut hosts: Vec<&str> = logs.lines().filter_map(|line| line.strip_prefix("a rank on ")).collect();
    hosts.dedup();
    assert!(hosts.len() == 2 && logs.contains("exit 0 after"), "{logs}");
}

#[test]
fn what_submit_writes_runs_under_a_real_pbs() {
    let Some(pbs) = real() else { return };
    pbs.place.job("kronecker = { scale = 8, edge_factor = 4, seed = 1 }", "");
    let submit = |gpus: &str| {
        let args = ["submit", "job.toml", "--scheduler=pbs", gpus, "--cpus=1", "--walltime=2m"];
        Ran::command(&mut pbs.place.command(&args))
    };
    let asked = submit("--gpus=1");
    if asked.code == 0 {
        let _ = said("qdel", &[asked.out.lines().next().unwrap_or_default()]);
    } else {
        assert!(asked.err.contains("Unknown resource: ngpus") && asked.err.contains("--gpus 0"), "{}", asked.err);
    }
    submit("--gpus=0").expect(0);
    wait(&pbs, "exit 0 after", 1);
    assert!(pbs.triangles("work") > 0);
}
