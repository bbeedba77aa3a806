//! How the next job is submitted: what PBS refuses is not asked of it, what the user said is said again.

use std::fs;
use std::time::{Duration, SystemTime};

use crate::server::{Pbs, Submitted};
use crate::support::Ran;

/// Stopped before it has begun.
const STOPPED: &str = "exit 75";
/// Told to save, it has nothing to save.
const IDLE: &str = "trap 'exit 75' USR1; sleep 60 & wait";

fn stopped(pbs: &Pbs) -> &'static str {
    pbs.runs("stopped", STOPPED);
    pbs.place.write("job.toml", "[job]\nworkdir = 'work'\n[input]\npath = 'x.u32'\n[triangle]\n");
    "CONFIG=job.toml,GPUGRAPH=./stopped,MAX_RESTARTS=1"
}

/// Runs the first job, and returns the one that it submits.
#[track_caller]
fn next_of(pbs: &Pbs, job: &Submitted) -> Submitted {
    assert_eq!(pbs.start(job, &["n1"]).end(), 75, "{}", pbs.log());
    pbs.next().unwrap_or_else(|| panic!("nothing submitted: {}", pbs.log()))
}

#[test]
fn what_asks_by_nodes_or_sums_goes_on_so() {
    for (directive, expected) in [
        ("#PBS -l nodes=1:ppn=2 -l mem=4gb", vec!["mem=4gb", "nodes=1:ppn=2", "walltime=04:00:00"]),
        ("#PBS -l ncpus=2,mem=4gb", vec!["mem=4gb", "ncpus=2", "walltime=04:00:00"]),
        ("#PBS -l select=1:ncpus=2:mem=4gb", vec!["place=free", "select=1:ncpus=2:mem=4gb", "walltime=04:00:00"]),
    ] {
        let pbs = Pbs::new();
        let variables = stopped(&pbs);
        // On the real one a job that asks in either way has a select, too, which PBS has made of it.
        let script = pbs.script_asking(directive);
        let next = next_of(&pbs, &pbs.qsub(&["-v", variables, &script]));
        let asked: Vec<String> = next.resources.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(asked, expected, "{directive}");
        let qstat = fs::read_to_string(pbs.place.path("server/1.attributes")).expect("of qstat");
        assert!(qstat.contains("    Resource_List.select = 1:ncpus=2"), "{directive}: {qstat}");
        assert_eq!(pbs.run(next, &["n1"]), [75]);
    }
    // This is what the stand-in is held against.
    let pbs = Pbs::new();
    let refused = pbs.try_qsub(&["-l", "nodes=1:ppn=2", "pbs/triangle.pbs"]).expect(1).err;
    assert!(refused.contains("Cannot be used with select or place: nodes"), "{refused}");
}

#[test]
fn a_run_that_ends_before_its_script_is_signalled_was_told_to_save() {
    for signal in ["TERM", "KILL"] {
        let pbs = Pbs::new();
        let variables = stopped(&pbs);
        pbs.runs("stopped", &format!("(sleep 0.3; kill -TERM $PPID) >/dev/null 2>&1 & kill -{signal} $$"));
        let job = pbs.qsub(&["-v", variables, "pbs/triangle.pbs"]);
        assert_eq!(pbs.run(job, &["n1"]), [75], "{}", pbs.log());
        assert!(pbs.log().contains("by qdel then: not submitted again"), "{}", pbs.log());
    }
}

#[test]
fn the_job_file_of_a_script_of_one_algorithm_goes_along() {
    let pbs = Pbs::new();
    stopped(&pbs);
    let job = pbs.qsub(&["-v", "GPUGRAPH=./stopped,MAX_RESTARTS=2", "pbs/triangle.pbs"]);
    let config = pbs.place.path("configs/triangle.toml").display().to_string();
    let next = next_of(&pbs, &job);
    assert_eq!(next.variables["CONFIG"], config);
    // Also where the script itself is not to be read, and the one for any job file stands in for it.
    let script = pbs.place.path("server/2.script");
    let text = fs::read_to_string(&script).expect("the script");
    assert!(text.contains("#PBS -N triangle"), "{text}");
    fs::write(&script, text.replace("#PBS ", "# ")).expect("write");
    let last = next_of(&pbs, &next);
    let text = fs::read_to_string(pbs.place.path("server/3.script")).expect("the script");
    assert!(text.contains("#PBS -N gpugraph"), "{text}");
    assert_eq!((last.variables["CONFIG"].as_str(), last.options["-N"].as_str()), (config.as_str(), "triangle"));
    assert_eq!(pbs.run(last, &["n1"]), [75]);
    assert_eq!(pbs.log().matches(&format!("run {config}")).count(), 3, "{}", pbs.log());
}

#[test]
fn where_nodes_may_not_submit_values_travel_through_ssh() {
    let pbs = Pbs::new();
    pbs.site_lacks("flatuid");
    let variables = stopped(&pbs);
    // The login node is known to PBS by what it does not set there.
    let job = pbs.qsub(&["-v", variables, "pbs/triangle.pbs"]);
    assert_eq!(pbs.run(job, &["n1"]), [75]);
    let log = pbs.log();
    // It is told once: trying again would hold the nodes for minutes.
    assert!(log.matches("Bad UID for job execution").count() == 1 && log.contains("set QSUB in "), "{log}");

    let pbs = Pbs::new();
    pbs.site_lacks("flatuid");
    let variables = stopped(&pbs);
    // Which site.env sets, as it says there.
    let site = fs::read_to_string(pbs.place.path("site.env")).expect("site.env");
    let line = ": \"${QSUB:=ssh $PBS_O_HOST qsub}\"";
    assert!(site.contains(&format!("# {line}\n")), "{site}");
    pbs.place.write("site.env", site.replace(&format!("# {line}"), line));
    let mut job = pbs.qsub(&["-v", &variables.replace("=1", "=2"), "-W", "umask=027", "pbs/triangle.pbs"]);
    job.variables.insert("DATASET".into(), "5 $HOME, `x` \\ * ; a=b".into());
    job.variables.insert("PBS_O_HOST".into(), "login".into());
    let mut next = next_of(&pbs, &job);
    for (name, value) in &job.variables {
        assert!(name == "PBS_O_HOST" || next.variables.get(name) == Some(value), "{name}: {:?}", next.variables);
    }
    assert_eq!(next.options["umask"], "027");
    assert_eq!(next.options["depend"], "afterany:1.stand-in");
    // That one too.
    next.variables.insert("PBS_O_HOST".into(), "login".into());
    let mut last = next_of(&pbs, &next);
    last.folder = pbs.place.path("home");
    assert_eq!(pbs.run(last, &["n1"]), [75]);
    assert!(pbs.log().contains("MAX_RESTARTS=2 is reached"), "{}", pbs.log());
}

#[test]
fn a_site_without_ngpus_is_told_what_to_do() {
    let pbs = Pbs::new();
    pbs.site_lacks("ngpus");
    let variables = stopped(&pbs);
    let refused = pbs.try_qsub(&["pbs/triangle.pbs"]).expect(1).err;
    assert!(refused.contains("Unknown resource: ngpus"), "{refused}");
    // The script's head has the line that does.
    let head = fs::read_to_string(pbs.place.path("pbs/job.pbs")).expect("the script");
    assert!(head.contains("Unknown resource: ngpus") && head.contains("gpus= is Torque's alone"), "{head}");
    let line = head.lines().find(|line| line.starts_with("##PBS -l select=1:") && !line.contains("ngpus"));
    let script = pbs
        .script_asking(line.expect("a line without GPUs").trim_start_matches('#').replacen("PBS", "#PBS", 1).as_str());
    next_of(&pbs, &pbs.qsub(&["-v", variables, &script]));
    // Torque's word for them is no resource of OpenPBS.
    let script = pbs.script_asking("#PBS -l nodes=1:ppn=8:gpus=1");
    pbs.try_qsub(&[&script]).expect(1);

    pbs.place.job("kronecker = { scale = 8, edge_factor = 4, seed = 1 }", "");
    let submit = |more: &str| {
        let mut command = pbs.place.command(&["submit", "job.toml", "--scheduler=pbs", more]);
        Ran::command(command.env("PATH", format!("{}:/bin:/usr/bin", pbs.place.path("bin").display())))
    };
    let refused = submit("--gpus=1").expect(2);
    assert!(
        refused.error().contains("Unknown resource: ngpus") && refused.error().contains("--gpus 0"),
        "{}",
        refused.err
    );
    submit("--gpus=0").expect(0);
}

#[test]
fn a_task_killed_at_its_walltime_does_not_meet_the_next_one() {
    let pbs = Pbs::new();
    let answer = pbs.slow_job(1);
    let variables = "CONFIG=job.toml,GPUGRAPH=./slow,GRACE=0";
    let mut job = pbs.qsub(&["-J", "3-5", "-l", "walltime=00:00:04", "-v", variables, "pbs/triangle.pbs"]);
    job.variables.insert("PBS_ARRAY_INDEX".into(), "3".into());
    let start = SystemTime::now();
    assert_eq!(pbs.start(&job, &["n1"]).end(), 75, "{}", pbs.log());
    let next = pbs.next().unwrap_or_else(|| panic!("nothing submitted: {}", pbs.log()));
    assert_eq!(next.options.get("depend"), None);
    // KILL comes 11 seconds after TERM, the walltime of 4.
    let waits = SystemTime::UNIX_EPOCH + Duration::from_secs(next.after.expect("a time"));
    assert!(waits >= start + Duration::from_secs(4 + 11), "{waits:?} after {start:?}");
    assert!(waits <= SystemTime::now() + Duration::from_secs(60), "{waits:?} after {start:?}");
    // It is no array again.
    assert_eq!((next.options.get("-J"), next.variables["GPUGRAPH_TASK"].as_str()), (None, "3"));
    assert_eq!(pbs.run(next, &["n1"]), [0], "{}", pbs.log());
    assert_eq!(pbs.triangles("work"), answer);
}

#[test]
fn an_array_in_the_scripts_own_lines_is_not_submitted_again_by_its_tasks() {
    let pbs = Pbs::new();
    let variables = stopped(&pbs);
    let script = pbs.script_asking("#PBS -J 0-9 -l select=1:ncpus=1");
    let mut job = pbs.qsub(&["-v", &variables.replace("=1", "=2"), &script]);
    assert_eq!(job.options["-J"], "0-9");
    job.variables.insert("PBS_ARRAY_INDEX".into(), "3".into());
    for _ in 0..2 {
        job = next_of(&pbs, &job);
        assert_eq!(job.options.get("-J"), None);
        assert_eq!(job.resources["select"], "1:ncpus=1");
    }
}

#[test]
fn what_the_command_line_said_is_said_again() {
    let said = [
        ("-P", "graphs"),
        ("-p", "-5"),
        ("-m", "ae"),
        ("-M", "me@site,you@site"),
        ("-o", "login:/logs/x.txt"),
        ("-r", "n"),
        ("umask", "027"),
        ("group_list", "physics"),
    ];
    let pbs = Pbs::new();
    pbs.site_has("projects");
    let variables = stopped(&pbs);
    pbs.try_qsub(&["-v", variables, "pbs/triangle.pbs"]).expect(1);
    let mut args = vec!["-v".to_owned(), variables.replace("=1", "=2"), "-l".into(), "filesystems=home:eagle".into()];
    for (name, value) in said {
        args.extend(if name.starts_with('-') {
            [name.into(), value.into()]
        } else {
            ["-W".into(), format!("{name}={value}")]
        });
    }
    args.push("pbs/triangle.pbs".into());
    let mut job = pbs.qsub(&args.iter().map(String::as_str).collect::<Vec<_>>());
    for _ in 0..2 {
        job = next_of(&pbs, &job);
        for (name, value) in said {
            assert_eq!(job.options.get(name).map(String::as_str), Some(value), "{name}");
        }
        assert_eq!(job.resources["filesystems"], "home:eagle");
    }
    // What nobody said is left to the site.
    let pbs = Pbs::new();
    let variables = stopped(&pbs);
    let next = next_of(&pbs, &pbs.qsub(&["-v", variables, "pbs/triangle.pbs"]));
    let names: Vec<&str> = next.options.keys().map(String::as_str).collect();
    assert_eq!(names, ["-A", "-N", "-S", "-j", "-q", "-r", "depend"]);
}

#[test]
fn qsub_is_tried_again_while_there_is_time() {
    let pbs = Pbs::new();
    let variables = stopped(&pbs);
    let job = pbs.qsub(&["-v", variables, "pbs/triangle.pbs"]);
    pbs.place.write("server/away", "2\n");
    next_of(&pbs, &job);
    assert_eq!(pbs.log().matches("cannot connect to server").count(), 2, "{}", pbs.log());

    // Between TERM and KILL, too.
    let pbs = Pbs::new();
    stopped(&pbs);
    pbs.runs("idle", "trap 'sleep 4; exit 75' TERM; sleep 60 & wait");
    let variables_at_term = "CONFIG=job.toml,GPUGRAPH=./idle,GRACE=0";
    let job = pbs.qsub(&["-l", "walltime=00:00:06", "-v", variables_at_term, "pbs/triangle.pbs"]);
    pbs.place.write("server/away", "2\n");
    next_of(&pbs, &job);

    // Not for ever.
    let pbs = Pbs::new();
    let variables = stopped(&pbs);
    let job = pbs.qsub(&["-v", &format!("{variables},RETRY=3"), "pbs/triangle.pbs"]);
    pbs.place.write("server/away", "1000\n");
    assert_eq!(pbs.run(job, &["n1"]), [75]);
    assert!(pbs.log().contains("not submitted: submit it again to carry on"), "{}", pbs.log());
    // Nor until KILL.
    let pbs = Pbs::new();
    stopped(&pbs);
    pbs.runs("idle", "trap 'exit 75' TERM; sleep 60 & wait");
    let job = pbs.qsub(&["-l", "walltime=00:00:06", "-v", variables_at_term, "pbs/triangle.pbs"]);
    pbs.place.write("server/away", "1000\n");
    assert_eq!(pbs.run(job, &["n1"]), [75], "{}", pbs.log());
    assert!(pbs.log().contains("not submitted: submit it again to carry on"), "{}", pbs.log());
}

#[test]
fn three_slices_that_bring_the_job_no_further_end_it() {
    // Told ahead, by the run's own end; or at once, by the next job's start.
    for (walltime, grace, ends) in [("00:00:16", "GRACE=8", vec![75; 3]), ("00:00:03", "GRACE=0", vec![75; 4])] {
        let pbs = Pbs::new();
        stopped(&pbs);
        pbs.runs("idle", &IDLE.replace("USR1", "USR1 TERM"));
        let variables = format!("CONFIG=job.toml,GPUGRAPH=./idle,{grace}");
        let walltime = format!("walltime={walltime}");
        let job = pbs.qsub(&["-l", &walltime, "-v", &variables, "pbs/triangle.pbs"]);
        assert_eq!(pbs.run(job, &["n1"]), ends, "{}", pbs.log());
        let log = pbs.log();
        assert_eq!(log.matches("3 slices in a row brought the job no further").count(), 1, "{log}");
        assert_eq!(log.matches("exit 75 after").count(), 3, "{log}");
    }
}

#[test]
fn a_slice_that_brings_the_job_further_begins_the_count_anew() {
    let pbs = Pbs::new();
    let answer = pbs.slow_job(9);
    // The third of them works; the fourth and fifth don't, the sixth does, and the seventh is let finish.
    pbs.runs("turns", &format!("case $GPUGRAPH_RESTARTS in 2 | 5) exec ./slow \"$@\" ;; 6) GPUGRAPH_RESTARTS=9 exec ./slow \"$@\" ;; esac\n{IDLE}"));
    let variables = "CONFIG=job.toml,GPUGRAPH=./turns,GRACE=8";
    let job = pbs.qsub(&["-l", "walltime=00:00:16", "-v", variables, "pbs/triangle.pbs"]);
    assert_eq!(pbs.run(job, &["n1"]), [75, 75, 75, 75, 75, 75, 0], "{}", pbs.log());
    assert_eq!(pbs.triangles("work"), answer);
}
