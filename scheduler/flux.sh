# What scheduler/run.sh needs to know of Flux. It sources this file. The script runs in an instance of Flux of its own, which
# `flux batch` starts; the one that the job was submitted to is its parent.
# shellcheck shell=bash disable=SC2034,SC2153,SC2154 # what run.sh reads, and sets

# Finds out which job this is, and which slice of it.
identify() {
    job=$(flux getattr jobid 2>/dev/null)
    job=${job:?'submit this with flux batch'}
    # Numbers of jobs begin with a letter beyond ASCII. Flux takes f for it, too, and names of files are plain then.
    job=${job/#ƒ/f}
    folder=${GPUGRAPH_SUBMIT_DIR:-$PWD} task=$GPUGRAPH_TASK restarts=$(whole "${GPUGRAPH_RESTARTS:-0}" 999999999)
    export GPUGRAPH_SUBMIT_DIR=$folder GPUGRAPH_JOB_LOG=${GPUGRAPH_JOB_LOG:-$folder/gpugraph.$job.log}
    # One log for all slices, each of which is a job.
    if : >>"$GPUGRAPH_JOB_LOG"; then exec >>"$GPUGRAPH_JOB_LOG" 2>&1; fi
}

# Asks Flux how many seconds are left. A job without a limit has 2^32 - 1 of them.
ask() {
    local left
    left=$(flux job timeleft 2>/dev/null || flux --parent job timeleft "$job" 2>/dev/null)
    left=$(whole "${left%%.*}" 4294967295)
    if [ "$left" -lt 4294967295 ]; then limit=$((SECONDS + left)); else limit=$(whole "$WALLTIME" 0); fi
    # The next slice gets what the first was given. A Flux too old to say that says what was left when the first asked.
    local given
    given=$(flux --parent jobs -no '{duration}' "$job" 2>/dev/null)
    export GPUGRAPH_LIMIT=${GPUGRAPH_LIMIT:-$(whole "${given%%.*}" "$limit")}
}

# `flux resource info` says: 2 Nodes, 16 Cores, 4 GPUs. A rank is a GPU, or a node without any.
size() {
    read -r nodes _ cores _ gpus _ < <(flux resource info)
    nodes=$(whole "$nodes" 1) cores=$(whole "$cores" 1) gpus=$(whole "$gpus" 0)
    ranks=$(whole "$RANKS" $((gpus > nodes ? gpus : nodes)))
    per_node=$(((ranks + nodes - 1) / nodes))
    threads=$(whole "$THREADS" $((cores / nodes / per_node)))
    if [ "$gpus" -ge "$ranks" ]; then gpus_per_rank=1; fi
}

recall_idle() { idle=$(whole "$GPUGRAPH_IDLE" 0); }
forget_idle() { :; }
host_list() { :; }
arm() { arm_by_clock; }

# A job that was cancelled, or reached its walltime, is not submitted again.
at_term() { :; }
at_end() {
    notice
    if [ -z "$terminated" ]; then go_on; else say "cancelled, or at its walltime: not submitted again"; fi
}

# Submits the next job to the parent.
go_on() {
    may_go_on || return
    export GPUGRAPH_RESTARTS=$((restarts + 1)) GPUGRAPH_IDLE=$idle
    local options next name value
    # What stood on the command line of the first is in no script.
    options=(-N "$nodes" -n "$nodes" -c $((cores / nodes)) --dependency="afterany:$job")
    if [ "$gpus" -ge "$nodes" ]; then options+=(-g $((gpus / nodes))); fi
    if [ "$GPUGRAPH_LIMIT" -gt 0 ]; then options+=(-t "${GPUGRAPH_LIMIT}s"); fi
    for name in queue bank name; do
        value=$(flux --parent jobs -no "{$name}" "$job" 2>/dev/null)
        if [ -n "$value" ]; then options+=("--${name/#name/job-name}=$value"); fi
    done
    if next=$(flux --parent batch "${options[@]}" "$0"); then
        say "goes on as $next: restart $GPUGRAPH_RESTARTS of at most $max"
    else
        say "not submitted: submit it again to carry on"
    fi
}
