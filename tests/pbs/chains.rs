//! Chains of jobs: what a job without hosts says, and how a held job is released when the last slice is done.

use crate::server::Pbs;

#[test]
fn a_job_without_a_list_of_hosts_says_so() {
    for (file, slots, said) in [
        (Some(""), &["n1"][..], "PBS_NODEFILE is not set"),
        (Some("/nonexistent/nodes"), &["n1"], "/nonexistent/nodes (PBS_NODEFILE) names no host"),
        (None, &[], "(PBS_NODEFILE) names no host"),
    ] {
        let pbs = Pbs::new();
        pbs.place.write("job.toml", "");
        let mut job = pbs.qsub(&["-v", "CONFIG=job.toml", "pbs/triangle.pbs"]);
        file.into_iter().for_each(|file| drop(job.variables.insert("PBS_NODEFILE".into(), file.into())));
        assert_eq!(pbs.start(&job, slots).end(), 2, "{}", pbs.log());
        let log = pbs.log();
        assert!(log.contains(said) && !log.contains("division"), "{file:?}: {log}");
        assert!(pbs.next().is_none(), "{log}");
    }
}

/// A site where two held jobs wait for a third, which takes two slices and ends with `code`; and its variables.
fn two_held(code: u32) -> (Pbs, &'static str) {
    let pbs = Pbs::new();
    pbs.runs("turns", &format!("[ \"$GPUGRAPH_RESTARTS\" -lt 1 ] && exit 75\nexit {code}"));
    pbs.place.write("job.toml", "[job]\nworkdir = 'work'\n[input]\npath = 'x.u32'\n[triangle]\n");
    for _ in 0..2 {
        let held = pbs.qsub(&["-h", "-v", "CONFIG=job.toml", "pbs/triangle.pbs"]);
        assert_eq!(held.options["-h"], "u");
    }
    (pbs, "CONFIG=job.toml,GPUGRAPH=./turns,RELEASE=1.stand-in:2.stand-in")
}

fn released(pbs: &Pbs) -> [bool; 2] {
    [1, 2].map(|number| pbs.place.path(format!("server/{number}.released")).exists())
}

#[test]
fn held_jobs_are_released_when_the_last_slice_is_done() {
    let (pbs, variables) = two_held(0);
    let first = pbs.qsub(&["-v", variables, "pbs/triangle.pbs"]);
    assert_eq!(pbs.start(&first, &["n1"]).end(), 75, "{}", pbs.log());
    assert_eq!(released(&pbs), [false; 2]);
    let last = pbs.next().expect("the second slice");
    assert_eq!(last.variables["RELEASE"], "1.stand-in:2.stand-in");
    // The server is away for a moment.
    pbs.place.write("server/away", "1\n");
    assert_eq!(pbs.start(&last, &["n1"]).end(), 0, "{}", pbs.log());
    assert_eq!(released(&pbs), [true; 2], "{}", pbs.log());
    let log = pbs.log();
    assert!(log.contains("cannot connect to server") && log.contains("the job is done: released 1.stand-in"), "{log}");
}

#[test]
fn held_jobs_stay_held_where_the_job_fails() {
    let (pbs, variables) = two_held(3);
    let job = pbs.qsub(&["-v", variables, "pbs/triangle.pbs"]);
    assert_eq!(pbs.run(job, &["n1"]), [75, 3], "{}", pbs.log());
    assert_eq!(released(&pbs), [false; 2]);
}

#[test]
fn held_jobs_are_released_through_ssh_where_nodes_may_not_ask() {
    let (pbs, variables) = two_held(0);
    pbs.site_lacks("flatuid");
    let job = pbs.qsub(&["-v", &format!("{variables},GPUGRAPH_RESTARTS=1"), "pbs/triangle.pbs"]);
    assert_eq!(pbs.start(&job, &["n1"]).end(), 0, "{}", pbs.log());
    assert_eq!(released(&pbs), [false; 2]);
    let log = pbs.log();
    assert!(
        log.contains("Unauthorized Request") && log.contains("was not released: do it by qrls 1.stand-in"),
        "{log}"
    );

    let (pbs, variables) = two_held(0);
    pbs.site_lacks("flatuid");
    // The qrls of the folder that QSUB names.
    let qsub = pbs.place.path("bin/qsub").display().to_string();
    let variables = format!("{variables}:9.stand-in,GPUGRAPH_RESTARTS=1");
    let mut job = pbs.qsub(&["-v", &variables, "pbs/triangle.pbs"]);
    job.variables.insert("QSUB".into(), format!("ssh login {qsub}"));
    assert_eq!(pbs.start(&job, &["n1"]).end(), 0, "{}", pbs.log());
    assert_eq!(released(&pbs), [true; 2], "{}", pbs.log());
    // A job that is not there is no reason to wait, nor to fail.
    assert_eq!(pbs.log().matches("Unknown Job Id 9.stand-in").count(), 1, "{}", pbs.log());
}

#[test]
fn what_is_asked_beside_the_select_of_the_script_is_refused_and_the_head_says_what_is_not() {
    let pbs = Pbs::new();
    for (asks, refusal) in [
        ("nodes=1:ppn=2", "Cannot be used with select or place: nodes"),
        ("ncpus=2", "cannot be used with \"select\" or \"place\", resource is: ncpus"),
        ("gpus=1", "Unknown resource: gpus"),
    ] {
        let refused = pbs.try_qsub(&["-l", asks, "pbs/job.pbs"]).expect(1).err;
        assert!(refused.contains(refusal), "{asks}: {refused}");
    }
    let head = std::fs::read_to_string(pbs.place.path("pbs/job.pbs")).expect("the script");
    let line =
        head.lines().find(|line| line.contains("qsub") && line.contains("-l select=")).expect("a line that does");
    let select = line.split(' ').find(|word| word.starts_with("select=")).expect("a select");
    let job = pbs.qsub(&["-v", "CONFIG=my.toml", "-l", select, "pbs/job.pbs"]);
    assert_eq!(format!("select={}", job.resources["select"]), select);
}
