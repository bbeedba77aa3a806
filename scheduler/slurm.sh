# What scheduler/run.sh needs to know of Slurm. It sources this file; `gpugraph submit` writes it above it.
# shellcheck shell=bash disable=SC2034,SC2154 # what run.sh reads, and sets

# Finds out which job this is, and which slice of it.
identify() {
    job=${SLURM_JOB_ID:?'submit this with sbatch'}
    # The last task of an array has the id of the array, and a requeue of that would be one of all tasks.
    if [ -n "$SLURM_ARRAY_TASK_ID" ]; then job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID; fi
    folder=${GPUGRAPH_SUBMIT_DIR:-$SLURM_SUBMIT_DIR} task=$SLURM_ARRAY_TASK_ID restarts=$(whole "${SLURM_RESTART_COUNT:-0}" 0)
    # Whatever sbatch --export kept from this script, what it starts has all of its environment.
    export SLURM_EXPORT_ENV=ALL
    # A requeue carries nothing along but files.
    idle_file=$folder/.gpugraph.$job.idle
}

# Asks Slurm what it knows of this job. Asks again while it does not answer.
look_up() {
    local left
    for left in 3 2 1 0; do
        if known=$(timeout -k 1 20 scontrol --oneliner show job "$job" 2>/dev/null); then break; fi
        if [ "$left" -gt 0 ]; then sleep 5; fi
    done
}
# Prints a field of what Slurm answered last.
field() { sed -n "s/.* $1=\([^ ]*\).*/\1/p" <<<" $known" | head -n 1; }
ask() {
    local end
    look_up
    end=$(field EndTime)
    # Of a job without a limit it is a year ahead.
    if end=$(date -d "$end" +%s 2>/dev/null); then limit=$((end - $(date +%s) + SECONDS)); fi
    limit=$((limit > 0 ? limit : 0))
}
# Slurm's own signal (sbatch --signal) comes two to three minutes ahead. That would be most of a short walltime, or too late.
arm() {
    if [ "$limit" -gt 0 ] && [ "$ahead" != 120 ] && [ "$ahead" != 0 ]; then arm_timer && defer_until=$save_at; fi
}

# Reads how many slices before this one brought the job no further; none if it has come further since that was written.
recall_idle() {
    local count mark
    local file other
    if { read -r count && IFS= read -r mark; } 2>/dev/null <"$idle_file" && [ "$mark" = "$came_to" ]; then idle=$(whole "$count" 0); fi
    # Those of jobs that were cancelled while they waited for their next slice.
    for file in "$folder"/.gpugraph.*.idle; do
        other=${file##*/.gpugraph.} other=${other%.idle}
        if [ -e "$file" ] && [ "$other" != "$job" ] && [ -z "$(squeue -h -j "$other" -o %i 2>/dev/null)" ]; then rm -f "$file"; fi
    done
}
keep_idle() { if [ "$idle" -gt 0 ]; then printf '%s\n' "$idle" "$came_to" >"$idle_file"; else rm -f "$idle_file"; fi; }
forget_idle() { rm -f "$idle_file"; }

# Sets the number of ranks and the threads of each to what was asked of Slurm.
size() {
    nodes=$(whole "$SLURM_JOB_NUM_NODES" 1)
    ranks=$(whole "${RANKS:-$SLURM_NTASKS}" "$nodes")
    per_node=$(((ranks + nodes - 1) / nodes))
    threads=$(whole "${THREADS:-$SLURM_CPUS_PER_TASK}" $(($(whole "$SLURM_CPUS_ON_NODE" 1) / per_node)))
}

# mpirun knows Slurm's nodes by itself, and how many tasks each was granted.
host_list() {
    local granted=0 part
    for part in ${SLURM_TASKS_PER_NODE//,/ }; do
        granted=$((granted + $(whole "${part%%(*}" 0) * $(whole "$(tr -dc 0-9 <<<"${part#*(x}")" 1)))
    done
    if [ "$granted" -gt 0 ] && [ "$ranks" -gt "$granted" ]; then
        die "RANKS=$ranks, but Slurm granted $granted tasks: submit with --ntasks=$ranks (or --ntasks-per-node), or set LAUNCHER=srun"
    fi
}
# Prints the plugin that starts ranks of gpugraph's MPI, where the site's default is to start them alone.
mpi_plugin() {
    if [ "$(scontrol show config 2>/dev/null | sed -n 's/^MpiDefault *= *//p')" != none ]; then return; fi
    case $(timeout -k 1 20 "$gpugraph" devices --json 2>/dev/null </dev/null) in *'Open MPI'*) echo pmix ;; *MPICH* | *Intel* | *MVAPICH*) echo pmi2 ;; esac
}

# A run that Slurm ends is waited for, then requeued.
at_term() { :; }
at_end() { go_on; }

# Has Slurm start this job again.
go_on() {
    local state reason
    look_up
    if has_requeued; then return; fi
    state=$(field JobState) reason=$(field Reason)
    # A requeue would bring a cancelled job back to life. One that is to make room for another still runs when it gets its TERM.
    case $terminated:$state:$reason in
    *:RUNNING:* | :: | *:TimeLimit) ;;
    *)
        forget_idle
        say "the job is ${state:-gone}: not requeued"
        return
        ;;
    esac
    if ! may_go_on; then
        forget_idle
        return
    fi
    keep_idle
    say "requeued: restart $((restarts + 1)) of at most $max"
    # It may be done although Slurm's answer was lost, or said no since it had done so itself.
    scontrol requeue "$job" && return
    look_up
    has_requeued || say "Slurm refused to requeue it: submit it again to carry on"
}
# True if Slurm answered that it has requeued the job, by itself or told to.
has_requeued() {
    local count
    count=$(whole "$(field Restarts)" 0)
    if [ "$count" -le "$restarts" ]; then return 1; fi
    keep_idle
    say "Slurm has requeued the job: restart $count"
}
