# What scheduler/run.sh needs to know of Slurm. It sources this file; `gpugraph submit` writes it above it.
# shellcheck shell=bash disable=SC2034,SC2154 # what run.sh reads, and sets

# Finds out which job this is, and which slice of it.
identify() {
    job=${SLURM_JOB_ID:?'submit this with sbatch'}
    folder=${GPUGRAPH_SUBMIT_DIR:-$SLURM_SUBMIT_DIR} task=$SLURM_ARRAY_TASK_ID restarts=$(whole "${SLURM_RESTART_COUNT:-0}" 0)
    # A requeue carries nothing along but files.
    idle_file=$folder/.gpugraph.$job.idle
}

# Slurm tells all that is needed by variables, and signals ahead of the walltime.
ask() { :; }
arm() { :; }

# Reads how many slices before this one brought the job no further; none if it has come further since that was written.
recall_idle() {
    local count mark
    if read -r count mark 2>/dev/null <"$idle_file" && [ "$mark" = "$came_to" ]; then idle=$(whole "$count" 0); fi
}
keep_idle() { if [ "$idle" -gt 0 ]; then echo "$idle $came_to" >"$idle_file"; else rm -f "$idle_file"; fi; }
forget_idle() { rm -f "$idle_file"; }

# Sets the number of ranks and the threads of each to what was asked of Slurm.
size() {
    nodes=$(whole "$SLURM_JOB_NUM_NODES" 1)
    ranks=$(whole "${RANKS:-$SLURM_NTASKS}" "$nodes")
    per_node=$(((ranks + nodes - 1) / nodes))
    threads=$(whole "${THREADS:-$SLURM_CPUS_PER_TASK}" $(($(whole "$SLURM_CPUS_ON_NODE" 1) / per_node)))
}

# mpirun knows Slurm's nodes by itself.
host_list() { :; }

# A run that Slurm ends is waited for, then requeued.
at_term() { :; }
at_end() { go_on; }

# Has Slurm start this job again.
go_on() {
    local state
    state=$(scontrol --oneliner show job "$job" 2>/dev/null | sed -n 's/.* JobState=\([A-Z_]*\) Reason=\([^ ]*\).*/\1 \2/p')
    # A requeue would bring a cancelled job back to life. One that is to make room for another still runs when it gets its TERM.
    case $terminated:$state in
    *:RUNNING* | : | *:*TimeLimit) ;;
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
    scontrol requeue "$job" || say "Slurm refused to requeue it: submit it again to carry on"
}
