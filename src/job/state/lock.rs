//! Ensures that one process at a time uses a workdir, even on cluster file systems whose locks are unreliable.
//!
//! Two things protect a workdir: a kernel lock (`flock` on the file `lock`) and a record of its owner
//! (`lock.owner.json`). The record is needed because `flock` works only within a node on some Lustre mounts and not
//! at all on others. While it holds the lock, the owner also increments a number in the file `lock` every 5 s: its
//! heartbeat.
//!
//! If a process (the newcomer) finds an owner's record, and the kernel lock is free or not supported, it decides as
//! follows:
//!
//! | owner's record | decision |
//! |---|---|
//! | same boot, same pid namespace | alive if a process with its pid and start time exists: the newcomer is refused. Otherwise dead |
//! | same boot, other pid namespace (a container) | pids can't be compared. A free kernel lock proves it dead, as both run on one kernel; without a kernel lock, wait for its heartbeat |
//! | same host name, other boot | the machine was restarted: dead |
//! | other host, same scheduler job, restarted since | the scheduler ends a job before it restarts it: dead |
//! | other host otherwise | neither a free lock nor another job's id proves anything (a job submitted twice has two ids): wait for its heartbeat |
//!
//! The standard library's `File::try_lock` takes the kernel lock, so a crate such as fd-lock would add nothing.
//!
//! A job that reads the graph in another job's workdir has its own record and heartbeat there, in the folder
//! `readers`, and the same rules apply. The owner of the workdir checks for readers before it changes or removes the
//! graph. Readers check for an owner after they have written their record.
//!
//! To wait for a heartbeat, a process watches the number for 20 s. If the number changes, the owner is alive and the
//! newcomer is refused; otherwise the owner is dead. This compares only two readings by one process, so the clocks of
//! hosts may differ. Only a record whose file is more than 15 minutes old is treated as dead at once. An owner that
//! was suspended for that long finds the other process's record at its next heartbeat, and stops.

use crate::store::regular;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use crate::error::{Error, Result};
use crate::job::state::workdir::READERS;
use crate::process::signals::{self, StopRequest};
use crate::process::{host, log};
use crate::store::durable::sync_file;
use crate::store::replace::replace;

/// Interval between heartbeats.
const BEAT: Duration = Duration::from_secs(5);
/// Time without a heartbeat after which an owner is treated as dead: four heartbeats.
const SILENCE: Duration = Duration::from_secs(20);
/// Age of a record from which its owner is treated as dead without waiting. It is long because clocks may differ by
/// minutes.
const LONG_AGO: Duration = Duration::from_secs(15 * 60);

/// A process that uses or used a workdir, as recorded in the workdir.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Owner {
    /// Host name.
    pub host: String,
    /// Process id on `host`.
    pub pid: u32,
    /// Start time of the process in clock ticks since boot. It distinguishes a reused pid from the original one.
    pub start: u64,
    /// Boot id of the host (`/proc/sys/kernel/random/boot_id`) when the process started.
    pub boot: String,
    /// Pid namespace of the process. Pids of different namespaces, such as containers, can't be compared.
    pub namespace: String,
    /// Job id in the scheduler (Slurm or PBS), if the process runs in a scheduler job.
    pub scheduler_job: Option<String>,
    /// Number of times the scheduler has restarted the scheduler job.
    pub restarts: u64,
    /// Time at which the process locked the workdir, as `2026-11-20T12:00:00Z`.
    pub since: String,
    /// Workdir of the process's own job, if the process only reads the graph in this workdir.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_for: Option<PathBuf>,
}

/// State of an owner, as far as it can be determined without waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// The process that owns the workdir runs on this machine.
    Alive,
    /// The process that owned the workdir has ended.
    Dead,
    /// This process can't see whether the owner still runs.
    Unknown,
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "pid {} on host {} since {}", self.pid, self.host, self.since)?;
        self.scheduler_job.as_ref().map_or(Ok(()), |job| write!(f, " (scheduler job {job})"))?;
        let reads_for = self.reads_for.as_ref();
        reads_for.map_or(Ok(()), |workdir| write!(f, ", whose job in {} reads this graph", workdir.display()))
    }
}

impl Owner {
    fn of_this_process() -> Owner {
        let pid = std::process::id();
        let variable = |name: &str| std::env::var(name).ok();
        // Slurm gives the last task of a job array the id of the array itself.
        let task = || Some(format!("{}_{}", variable("SLURM_ARRAY_JOB_ID")?, variable("SLURM_ARRAY_TASK_ID")?));
        let job = task().or_else(|| variable("SLURM_JOB_ID")).or_else(|| variable("PBS_JOBID"));
        let restarts = variable("SLURM_RESTART_COUNT").and_then(|n| n.parse().ok());
        Owner {
            host: host::name(),
            pid,
            start: start_of(pid).unwrap_or(0),
            boot: std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned(),
            namespace: std::fs::read_link("/proc/self/ns/pid").unwrap_or_default().to_string_lossy().into_owned(),
            scheduler_job: job,
            restarts: restarts.unwrap_or(0),
            since: log::timestamp(SystemTime::now()),
            reads_for: None,
        }
    }

    /// Returns whether the process still runs, as far as that can be determined without waiting.
    pub fn liveness(&self) -> Liveness {
        self.liveness_seen_by(&Owner::of_this_process())
    }

    fn liveness_seen_by(&self, me: &Owner) -> Liveness {
        if self.boot == me.boot && !me.boot.is_empty() {
            return match self.namespace == me.namespace {
                true if start_of(self.pid) == Some(self.start) => Liveness::Alive,
                true => Liveness::Dead,
                false => Liveness::Unknown,
            };
        }
        let restarted =
            self.scheduler_job.is_some() && self.scheduler_job == me.scheduler_job && self.restarts < me.restarts;
        if self.host == me.host || restarted { Liveness::Dead } else { Liveness::Unknown }
    }
}

/// Returns the start time of a process in clock ticks since boot; `None` if the process does not exist or is a
/// zombie.
fn start_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The command name may contain blanks and parentheses; the fields after its closing parenthesis do not.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Lock on a workdir: the exclusive right to write there. It is released when this value is dropped.
#[derive(Debug)]
pub struct Lock {
    workdir: PathBuf,
    /// Owns the record and the heartbeat until the lock is dropped.
    _presence: Presence,
}

/// A notice in another job's workdir that this job reads the graph there. It is removed when this value is dropped.
/// Processes that do not change the graph may still use that workdir.
#[derive(Debug)]
pub struct Reader {
    presence: Option<Presence>,
    beat: PathBuf,
}

/// Record and heartbeat of a process in a workdir. When this value is dropped, the heartbeat stops and the record is
/// removed.
#[derive(Debug)]
struct Presence {
    record: PathBuf,
    owner: Owner,
    /// The heartbeat thread, which ends when the channel to it is closed.
    thread: Option<(Sender<()>, JoinHandle<()>)>,
    /// The file with the kernel lock; dropped last.
    _file: Arc<File>,
}

impl Lock {
    /// Creates the workdir if it does not exist, and locks it for this process. If the previous owner is dead, takes
    /// its lock over and logs this. May wait 20 s for a heartbeat.
    ///
    /// # Errors
    /// [`Error::Busy`] with host and pid of a live owner, [`Error::Io`] or [`Error::DiskFull`] if the folder or the
    /// files can't be written, [`Error::Stopped`] if a signal arrives during the wait.
    pub fn acquire(workdir: &Path) -> Result<Lock> {
        Lock::take(workdir, false)
    }

    /// Waits until nobody uses the workdir, and locks it like [`Self::acquire`]. It checks every two seconds.
    ///
    /// # Errors
    /// Errors of [`Self::acquire`] except [`Error::Busy`]; [`Error::Stopped`] if a signal arrives during the wait.
    pub fn wait(workdir: &Path) -> Result<Lock> {
        let mut reported = false;
        loop {
            match Lock::acquire(workdir) {
                Err(Error::Busy { owner, .. }) => {
                    if !reported {
                        tracing::info!("waiting for {}, which is in use by {owner}", workdir.display());
                        reported = true;
                    }
                    for _ in 0..20 {
                        signals::check()?;
                        std::thread::sleep(Duration::from_millis(100));
                    }
                }
                taken => return taken,
            }
        }
    }

    /// Locks the workdir like [`Self::acquire`], in order to remove files from it. If the disk is too full for the
    /// owner's record, only the kernel lock protects the workdir, because freeing space must not need space.
    ///
    /// # Errors
    /// Errors of [`Self::acquire`].
    pub fn acquire_to_remove(workdir: &Path) -> Result<Lock> {
        Lock::take(workdir, true)
    }

    /// Returns the workdir that is locked.
    pub fn workdir(&self) -> &Path {
        &self.workdir
    }

    fn take(workdir: &Path, removes: bool) -> Result<Lock> {
        std::fs::create_dir_all(workdir).map_err(|e| Error::io("make the folder", workdir, e))?;
        let path = workdir.join("lock");
        let file = open(&path)?;
        let record = workdir.join("lock.owner.json");
        let busy = |owner: Option<&Owner>| Error::Busy {
            workdir: workdir.to_owned(),
            owner: owner.map_or_else(|| "another process".into(), Owner::to_string),
        };
        let kernel_lock = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => return Err(busy(read_record(&record).as_ref())),
            Err(TryLockError::Error(e)) => {
                tracing::warn!(error = %e, "this file system has no locks; the owner's record alone guards the workdir");
                false
            }
        };
        let me = Owner::of_this_process();
        if let Some(owner) = read_record(&record) {
            if is_alive(&owner, &me, kernel_lock, &path, &record)? {
                return Err(busy(Some(&owner)));
            }
            tracing::info!(owner = %owner, "the workdir's owner is gone; its lock is taken over");
        }
        match write_record(&record, &me) {
            Err(Error::DiskFull { .. }) if removes && kernel_lock => {}
            written => written?,
        }
        if !kernel_lock {
            // Two newcomers may have found the owner dead at the same time. The process that wrote its record last
            // wins.
            std::thread::sleep(Duration::from_secs(2));
            if let Some(other) = read_record(&record).filter(|other| *other != me) {
                return Err(busy(Some(&other)));
            }
        }
        Ok(Lock { workdir: workdir.to_owned(), _presence: Presence::begin(record, me, file)? })
    }

    /// Returns the owner that the workdir's record names, for `status`; see [`Owner::liveness`]. `None` if no process
    /// uses the workdir. This takes no lock, so it blocks no other process.
    pub fn owner(workdir: &Path) -> Option<Owner> {
        read_record(&workdir.join("lock.owner.json"))
    }
}

impl Presence {
    /// Starts a heartbeat in `file` for the process `owner`, whose record has been written already.
    fn begin(record: PathBuf, owner: Owner, file: File) -> Result<Presence> {
        let file = Arc::new(file);
        let (held, released) = channel();
        let (beat, path, me) = (Arc::clone(&file), record.clone(), owner.clone());
        let thread = std::thread::Builder::new().name("lock".into());
        let thread = thread.spawn(move || run_heartbeat(&beat, &released, &path, &me)).map_err(|_| Error::thread())?;
        Ok(Presence { record, owner, thread: Some((held, thread)), _file: file })
    }
}

impl Reader {
    /// Writes a notice to the workdir `kept` that the job of the workdir `own` reads its graph. If nothing can be
    /// written there, logs a warning and returns `None`, because the graph can still be read. The caller must check
    /// for an owner of `kept` afterwards, because an owner checks for readers only after it has locked the workdir.
    pub fn enter(kept: &Path, own: &Path) -> Option<Reader> {
        let noted = Reader::note(kept, own);
        noted.inspect_err(|e| tracing::warn!("{e}: nothing keeps others from removing the graph while it is read")).ok()
    }

    fn note(kept: &Path, own: &Path) -> Result<Reader> {
        let own = std::path::absolute(own).unwrap_or_else(|_| own.to_owned());
        let me = Owner { reads_for: Some(own), ..Owner::of_this_process() };
        let folder = kept.join(READERS);
        std::fs::create_dir_all(&folder).map_err(|e| Error::io("make the folder", &folder, e))?;
        let name = format!("{}-{}-{}", me.host, me.pid, me.start);
        let (beat, record) = (folder.join(&name), folder.join(format!("{name}.json")));
        let file = open(&beat)?;
        // On file systems without locks, the heartbeat shows that the reader is alive.
        let _ = file.try_lock();
        write_record(&record, &me)?;
        Ok(Reader { presence: Some(Presence::begin(record, me, file)?), beat })
    }

    /// Returns an error if a job of another workdir reads the graph in `kept`. Only the owner of `kept` may call it.
    /// It removes the records of dead readers. May wait 20 s for a heartbeat.
    ///
    /// # Errors
    /// [`Error::Busy`], which names the reader; [`Error::Stopped`].
    pub fn refuse(kept: &Path) -> Result<()> {
        let folder = kept.join(READERS);
        let me = Owner::of_this_process();
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let record = entry.path();
            let Some(owner) = read_record(&record) else { continue };
            let beat = record.with_extension("");
            let is_free = regular::open(&beat).is_ok_and(|file| file.try_lock().is_ok());
            if is_alive(&owner, &me, is_free, &beat, &record)? {
                return Err(Error::Busy { workdir: kept.to_owned(), owner: owner.to_string() });
            }
            // A record that can't be removed now will be recognised as dead again next time.
            let _ = std::fs::remove_file(&beat);
            let _ = std::fs::remove_file(&record);
        }
        let _ = std::fs::remove_dir(&folder);
        Ok(())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        drop(self.presence.take());
        let _ = std::fs::remove_file(&self.beat);
        // Removes the folder unless there are other readers.
        let _ = self.beat.parent().map(std::fs::remove_dir);
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if let Some((held, thread)) = self.thread.take() {
            drop(held);
            let _ = thread.join();
        }
        // Another process's record is not removed. There is one if this process was suspended and declared dead.
        if read_record(&self.record).as_ref() == Some(&self.owner) {
            let _ = std::fs::remove_file(&self.record);
        }
    }
}

/// Returns true if the process described by `owner` is alive. `beat` and `record` are the paths of its heartbeat and
/// its record. `kernel_lock` is true if no other process holds the kernel lock on `beat`.
fn is_alive(owner: &Owner, me: &Owner, kernel_lock: bool, beat: &Path, record: &Path) -> Result<bool> {
    match owner.liveness_seen_by(me) {
        Liveness::Alive => Ok(true),
        Liveness::Dead => Ok(false),
        // A live owner in another container on this kernel would still hold the kernel's lock.
        Liveness::Unknown if kernel_lock && owner.boot == me.boot => Ok(false),
        Liveness::Unknown => heartbeat_changes(beat, record, owner),
    }
}

/// Opens or creates a heartbeat file.
fn open(path: &Path) -> Result<File> {
    let file = regular::open_to_write(OpenOptions::new().read(true).create(true).truncate(false), path);
    file.map_err(|e| Error::io("open", path, e))
}

/// Reads an owner's record. A torn record, or one that this program can't parse, is treated as missing; the kernel
/// lock then decides.
fn read_record(path: &Path) -> Option<Owner> {
    serde_json::from_slice(&regular::read(path).ok()?).ok()
}

fn write_record(path: &Path, owner: &Owner) -> Result<()> {
    let json = serde_json::to_vec_pretty(owner).map_err(|e| Error::io("write", path, e.into()))?;
    replace(path, &json)
}

/// Increments the heartbeat number in the lock file until the lock is released. If another process has replaced the
/// owner's record, requests this job to stop.
fn run_heartbeat(file: &File, released: &Receiver<()>, record: &Path, me: &Owner) {
    let mut failed = false;
    for count in 1_u64.. {
        // Synced, so that a network file system makes it visible to other hosts.
        let written = file.write_all_at(format!("{count:020}\n").as_bytes(), 0).and_then(|()| sync_file(file, record));
        if let (Err(e), false) = (written, failed) {
            failed = true;
            tracing::warn!(error = %e, "the lock's heartbeat can't be written; another host may take the workdir for free");
        }
        if released.recv_timeout(BEAT) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        if let Some(other) = read_record(record).filter(|other| other != me) {
            tracing::error!(owner = %other, "this process slept so long that another took its workdir; it stops");
            signals::request_stop(StopRequest::LockLost);
            return;
        }
    }
}

/// Watches the heartbeat in the lock file. Returns true once it changes, and false if it stays the same for 20 s.
fn heartbeat_changes(path: &Path, record: &Path, owner: &Owner) -> Result<bool> {
    let old = |path: &Path| {
        let modified = std::fs::metadata(path).and_then(|m| m.modified()).ok();
        modified.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > LONG_AGO)
    };
    if old(path) && old(record) {
        return Ok(false);
    }
    tracing::info!(owner = %owner, seconds = SILENCE.as_secs(), "watching whether the workdir's owner is still alive");
    let look = || (regular::read(path).ok(), read_record(record));
    let first = look();
    let start = Instant::now();
    while start.elapsed() < SILENCE {
        signals::check()?;
        std::thread::sleep(Duration::from_millis(500));
        let now = look();
        if now.1.is_none() {
            return Ok(false); // It released the workdir.
        }
        if now != first {
            return Ok(true);
        }
    }
    Ok(false)
}
