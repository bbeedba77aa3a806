//! Detects whether an MPI launcher started this process, and how many processes it started. Launchers set environment
//! variables, which can be read before MPI is initialised.
#![allow(unsafe_code)] // sets environment variables while the process has a single thread

/// How this process was started: alone, or by a launcher together with other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Started {
    /// This process was started alone.
    Alone,
    /// Several processes were started together. The value is their number; `None` if the launcher does not report it.
    Several(Option<usize>),
}

/// For each launcher, the environment variables with (number of processes, rank of this process, local rank on its
/// machine, number of processes on its machine). The launchers are Open MPI and jsrun; PMI (MPICH, Intel, Cray PALS,
/// Flux); MVAPICH. The first launcher whose variables are set is used, because `mpirun` may itself have been started by
/// `srun`.
const LAUNCHERS: [Launcher; 3] = [
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"),
];

/// Further environment variables that Cray PALS and Flux set in addition to PMI_SIZE and PMI_RANK: (local rank on this
/// machine, number of processes on this machine). Flux sets only the local rank.
const PLACES: [(&str, &str); 2] = [("PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"), ("FLUX_TASK_LOCAL_ID", "")];

type Launcher = (&'static str, &'static str, &'static str, &'static str);

/// Returns the entry of [`LAUNCHERS`] for the launcher that started this process; `None` if none of them did.
fn launcher(get: &dyn Fn(&str) -> Option<String>) -> Option<&'static Launcher> {
    LAUNCHERS.iter().find(|(size, ..)| number(get, size).is_some())
}

/// Returns true if a launcher started this process, even as the only process.
pub(super) fn is_launched(get: &dyn Fn(&str) -> Option<String>) -> bool {
    launcher(get).is_some() || get("PMIX_RANK").is_some() || get("SLURM_STEP_NUM_TASKS").is_some()
}

fn number(get: &dyn Fn(&str) -> Option<String>, name: &str) -> Option<usize> {
    get(name)?.trim().parse().ok()
}

/// Detects how many processes were started together. `get` reads an environment variable.
///
/// SLURM_NTASKS alone is ignored, because it is also set in batch scripts, and a process that a batch script starts
/// without `srun` is alone. `srun` sets SLURM_STEP_NUM_TASKS and, with `--mpi=pmix`, PMIX_RANK.
pub(super) fn started(get: &dyn Fn(&str) -> Option<String>) -> Started {
    let launched =
        launcher(get).and_then(|(size, ..)| number(get, size)).or_else(|| number(get, "SLURM_STEP_NUM_TASKS"));
    match launched {
        Some(0 | 1) => Started::Alone,
        Some(ranks) => Started::Several(Some(ranks)),
        None if get("PMIX_RANK").is_some() => match number(get, "SLURM_NTASKS") {
            Some(1) => Started::Alone,
            ranks => Started::Several(ranks),
        },
        None => Started::Alone,
    }
}

/// Sets environment variables that shorten the start of MPI by disabling needless device searches. Returns true if
/// this process is one of several ranks.
///
/// # Safety
/// No other thread may be running.
pub unsafe fn shorten_start() -> bool {
    let get = |name: &str| std::env::var(name).ok();
    let several = super::WITH_MPI && started(&get) != Started::Alone;
    for (name, value) in shortcuts(&get).into_iter().filter(|_| several) {
        // SAFETY: the caller's promise.
        unsafe { std::env::set_var(name, value) };
    }
    several
}

/// Returns the environment variables, as (name, value), that keep MPI from searching for GPUs and networks when it
/// starts. The search takes up to a second if there are several GPUs. Variables that the user has set are left out.
fn shortcuts(get: &dyn Fn(&str) -> Option<String>) -> Vec<(&'static str, &'static str)> {
    let ranks = number(get, "OMPI_COMM_WORLD_SIZE");
    // If all ranks of Open MPI are on this machine, they use MPI only for few messages, through shared memory.
    let all_here = ranks.is_some() && ranks == number(get, "OMPI_COMM_WORLD_LOCAL_SIZE");
    let mut found = vec![("HWLOC_COMPONENTS", "-gl,-opencl,-nvml,-cuda,-rsmi")];
    found.extend(all_here.then_some(("OMPI_MCA_pml", "ob1")));
    found.retain(|(name, _)| get(name).is_none());
    found
}

/// Returns this process's rank according to the launcher's environment variables; 0 if they are not set.
pub(super) fn rank(get: &dyn Fn(&str) -> Option<String>) -> usize {
    launcher(get)
        .and_then(|(_, rank, ..)| number(get, rank))
        .or_else(|| number(get, "PMIX_RANK"))
        .or_else(|| number(get, "SLURM_PROCID"))
        .unwrap_or(0)
}

/// Returns the local rank of this process (its index on the machine) before MPI starts; `None` if the launcher does not
/// report it.
pub fn launched_local_rank() -> Option<usize> {
    local_rank(&|name| std::env::var(name).ok())
}

/// Returns true if all processes of the job are on this machine and this process is not the first of them. In some
/// steps of its start, such a process lets processes with smaller local ranks go first.
pub fn launched_later() -> bool {
    starts_later(&|name| std::env::var(name).ok())
}

fn starts_later(get: &dyn Fn(&str) -> Option<String>) -> bool {
    let Started::Several(Some(ranks)) = started(get) else { return false };
    local_ranks(get) == Some(ranks) && local_rank(get).is_some_and(|rank| rank > 0)
}

/// Returns the number of processes of the job on this machine, before MPI starts; `None` if the launcher does not
/// report it.
pub fn launched_local_ranks() -> Option<usize> {
    local_ranks(&|name| std::env::var(name).ok())
}

fn local_rank(get: &dyn Fn(&str) -> Option<String>) -> Option<usize> {
    if started(get) == Started::Alone {
        return Some(0);
    }
    launcher(get)
        .and_then(|(_, _, local, _)| number(get, local))
        .or_else(|| by_pmi(get).then(|| PLACES.iter().find_map(|(local, _)| number(get, local)))?)
        .or_else(|| number(get, "SLURM_LOCALID").filter(|_| by_srun(get)))
}

fn local_ranks(get: &dyn Fn(&str) -> Option<String>) -> Option<usize> {
    if started(get) == Started::Alone {
        return Some(1);
    }
    let counted = launcher(get)
        .and_then(|(.., locals)| number(get, locals))
        .or_else(|| by_pmi(get).then(|| PLACES.iter().find_map(|(_, locals)| number(get, locals)))?);
    // In a list such as `4(x2),3`, take the first number. The numbers for other machines are nearly the same.
    let leading = |text: String| text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    counted.or_else(|| get("SLURM_STEP_TASKS_PER_NODE").and_then(leading).filter(|_| by_srun(get)))
}

/// Returns true if the launcher sets the environment variables of PMI (process management interface).
fn by_pmi(get: &dyn Fn(&str) -> Option<String>) -> bool {
    launcher(get).is_some_and(|(size, ..)| *size == "PMI_SIZE")
}

/// Returns true if `srun` started this process. It is not enough to check that the environment variables of a Slurm job
/// step exist, because a batch script is itself a job step.
fn by_srun(get: &dyn Fn(&str) -> Option<String>) -> bool {
    let Started::Several(ranks) = started(get) else { return false };
    let is_step = ranks.is_some() && number(get, "SLURM_STEP_NUM_TASKS") == ranks;
    is_step && number(get, "SLURM_PROCID") == Some(rank(get))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_knows_its_place_on_its_machine_if_the_launcher_says_it() {
        let of = |environment: &[(&str, &str)]| {
            local_rank(&|name| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
        };
        let mpirun =
            [("OMPI_COMM_WORLD_SIZE", "8"), ("OMPI_COMM_WORLD_RANK", "5"), ("OMPI_COMM_WORLD_LOCAL_RANK", "1")];
        let batch = [("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_PROCID", "0"), ("SLURM_LOCALID", "0")];
        assert_eq!(of(&[]), Some(0));
        assert_eq!(of(&batch), Some(0));
        assert_eq!(of(&[&mpirun[..], &batch].concat()), Some(1));
        // First mpirun in a batch script, which does not set the local rank; then srun.
        assert_eq!(of(&[&batch[..], &[("PMI_SIZE", "8"), ("PMI_RANK", "0")]].concat()), None);
        assert_eq!(of(&[("PMI_SIZE", "8"), ("PMI_RANK", "3"), ("MPI_LOCALRANKID", "3")]), Some(3));
        let srun = [("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_PROCID", "6"), ("SLURM_LOCALID", "2")];
        assert_eq!(of(&srun), Some(2));
        assert_eq!(of(&[&srun[..], &[("PMI_SIZE", "8"), ("PMI_RANK", "6")]].concat()), Some(2));
        assert_eq!(of(&[("PMIX_RANK", "1")]), None);
        // Cray PALS and Flux.
        let pmi = [("PMI_SIZE", "8"), ("PMI_RANK", "6")];
        assert_eq!(of(&[&pmi[..], &[("PALS_RANKID", "6"), ("PALS_LOCAL_RANKID", "2")]].concat()), Some(2));
        assert_eq!(of(&[&pmi[..], &[("FLUX_TASK_RANK", "6"), ("FLUX_TASK_LOCAL_ID", "2")]].concat()), Some(2));
        // PALS variables of a batch script say nothing about processes that Open MPI starts there.
        assert_eq!(of(&[("OMPI_COMM_WORLD_SIZE", "8"), ("PALS_LOCAL_RANKID", "0")]), None);
    }

    #[test]
    fn a_rank_knows_how_many_its_machine_has_if_the_launcher_says_it() {
        let of = |environment: &[(&str, &str)]| {
            local_ranks(&|name| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(of(&[]), Some(1));
        assert_eq!(of(&[("OMPI_COMM_WORLD_SIZE", "8"), ("OMPI_COMM_WORLD_LOCAL_SIZE", "4")]), Some(4));
        assert_eq!(of(&[("PMI_SIZE", "8"), ("MPI_LOCALNRANKS", "2")]), Some(2));
        let srun = [("SLURM_STEP_NUM_TASKS", "11"), ("SLURM_PROCID", "0")];
        let per_node = ("SLURM_STEP_TASKS_PER_NODE", "4(x2),3");
        assert_eq!(of(&[&srun[..], &[per_node]].concat()), Some(4));
        assert_eq!(of(&[("PMI_SIZE", "8"), ("PALS_LOCAL_SIZE", "4")]), Some(4));
        // mpirun in a batch script, which is itself a job step of one task.
        let batch = [("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_PROCID", "0"), ("SLURM_STEP_TASKS_PER_NODE", "1")];
        assert_eq!(of(&[&batch[..], &[("PMI_SIZE", "8"), ("PMI_RANK", "0")]].concat()), None);
        assert_eq!(of(&[("PMIX_RANK", "1")]), None);
    }

    #[test]
    fn later_ranks_of_one_machine_wait_for_earlier_ones() {
        let waiting = |environment: &[(&str, &str)]| {
            starts_later(&|name| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
        };
        let of = |size, rank, here| {
            let (size, here) = (("OMPI_COMM_WORLD_SIZE", size), ("OMPI_COMM_WORLD_LOCAL_SIZE", here));
            waiting(&[size, here, ("OMPI_COMM_WORLD_LOCAL_RANK", rank)])
        };
        assert_eq!([of("4", "0", "4"), of("4", "3", "4")], [false, true]);
        // If processes are on several machines, they can't take turns.
        assert!(!of("8", "3", "4") && !waiting(&[("PMI_SIZE", "4"), ("PMI_RANK", "2")]) && !waiting(&[]));
    }

    fn of(environment: &[(&str, &str)]) -> (Started, usize) {
        let get = |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        (started(&get), rank(&get))
    }

    #[test]
    fn only_ranks_of_one_machine_need_no_network() {
        let of = |environment: &[(&str, &str)]| {
            let get =
                |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            shortcuts(&get).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        let (all, here) = (("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"));
        assert_eq!(of(&[all, here]), ["HWLOC_COMPONENTS", "OMPI_MCA_pml"]);
        assert_eq!(of(&[all, ("OMPI_COMM_WORLD_LOCAL_SIZE", "2")]), ["HWLOC_COMPONENTS"]);
        assert_eq!(of(&[("PMI_SIZE", "4")]), ["HWLOC_COMPONENTS"]);
        assert_eq!(of(&[all, here, ("OMPI_MCA_pml", "ucx"), ("HWLOC_COMPONENTS", "")]), Vec::<&str>::new());
    }

    #[test]
    fn launchers_are_distinguished_from_batch_scripts() {
        assert_eq!(of(&[]), (Started::Alone, 0));
        assert_eq!(of(&[("SLURM_NTASKS", "8"), ("SLURM_JOB_ID", "3"), ("SLURM_PROCID", "0")]), (Started::Alone, 0));
        assert_eq!(
            of(&[("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "2"), ("SLURM_STEP_NUM_TASKS", "1")]),
            (Started::Several(Some(4)), 2)
        );
        assert_eq!(of(&[("PMI_SIZE", "3"), ("PMI_RANK", "1")]), (Started::Several(Some(3)), 1));
        assert_eq!(of(&[("OMPI_COMM_WORLD_SIZE", "1"), ("SLURM_STEP_NUM_TASKS", "2")]).0, Started::Alone);
        assert_eq!(
            of(&[("PMIX_RANK", "5"), ("SLURM_NTASKS", "8"), ("SLURM_STEP_NUM_TASKS", "6")]),
            (Started::Several(Some(6)), 5)
        );
        assert_eq!(of(&[("PMIX_RANK", "1")]), (Started::Several(None), 1));
        assert_eq!(of(&[("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_PROCID", "1")]), (Started::Several(Some(2)), 1));
        assert_eq!(of(&[("PMI_SIZE", "many")]), (Started::Alone, 0));
    }
}
