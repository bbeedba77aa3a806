# What scheduler/run.sh needs to know of Grid Engine: SGE and its descendants. It sources this file.
# shellcheck shell=bash disable=SC2034,SC2154 # what run.sh reads, and sets
# shellcheck source=scheduler/exit99.sh
. "${BASH_SOURCE[0]%/*}/exit99.sh"

# Finds out which job this is, and which slice of it.
identify() {
    job=${JOB_ID:?'submit this with qsub'}
    folder=${GPUGRAPH_SUBMIT_DIR:-$SGE_O_WORKDIR} task=${SGE_TASK_ID#undefined}
    count_starts
    # Grid Engine may have begun to number jobs anew. Then the file is of an older job.
    if [ "$RESTARTED" = 0 ]; then restarts=0 && forget_idle; fi
    # With -notify, Grid Engine sends USR2 ahead of KILL, at qdel and at h_rt. Every process of the job gets it.
    trap end USR2
}

# Asks Grid Engine how long the job may run, which is in h_rt and, if that is earlier, s_rt.
ask() {
    local name value
    limit=0
    for name in h_rt s_rt; do
        value=$(qstat -j "$job" 2>/dev/null | sed -n "s/^hard.resource_list:.*[ ,]$name=\([0-9]*\).*/\1/p" | head -n 1)
        value=$(whole "$value" 0)
        if [ "$value" -gt 0 ] && { [ "$limit" = 0 ] || [ "$value" -lt "$limit" ]; }; then limit=$value; fi
    done
    if [ "$limit" = 0 ]; then limit=$(whole "$WALLTIME" 0); fi
}

# Cores of each host are its slots in the parallel environment.
size() {
    if [ -r "$PE_HOSTFILE" ]; then
        hosts=$(awk 'NF { if (!slots[$1]) host[++n] = $1; slots[$1] += $2 } END { for (i = 1; i <= n; i++) print host[i], slots[host[i]] }' "$PE_HOSTFILE")
    else
        hosts="$(hostname) 1"
    fi
    share_out
}
