# What scheduler/run.sh needs to know of LSF. It sources this file.
# shellcheck shell=bash disable=SC2034,SC2154 # what run.sh reads, and sets
# shellcheck source=scheduler/exit99.sh
. "${BASH_SOURCE[0]%/*}/exit99.sh"

# Finds out which job this is, and which slice of it.
identify() {
    job=${LSB_JOBID:?'submit this with bsub'}
    folder=${GPUGRAPH_SUBMIT_DIR:-$LS_SUBCWD} task=${LSB_JOBINDEX#0}
    count_starts
    # LSF drops the output of a slice that is started again.
    local name=${LSB_JOBNAME%%'['*}
    local log=$folder/${name:-gpugraph}.$job${task:+.$task}.log
    if : >>"$log"; then exec >>"$log" 2>&1; fi
    # bkill sends INT, then TERM, then KILL. LSF sends USR2 when the time of the job is over, and USR1 ahead of that by `bsub -wa USR1`.
    trap end INT
    trap save USR2
}

# Asks LSF how long the job may run: `bjobs -l` has minutes in the line below RUNLIMIT.
ask() {
    limit=$(bjobs -l "$job${task:+[$task]}" 2>/dev/null | awk '/RUNLIMIT/ { getline; print int(60 * $1); exit }')
    limit=$(whole "${limit#0}" "$(whole "$WALLTIME" 0)")
}

# LSF lists a host for each slot, which is a core. On sites with jsrun the list begins with a host named batch or login, which runs this
# script and no rank.
size() {
    local list=$LSB_DJOB_HOSTFILE
    if [ -r "$list" ]; then
        hosts=$(grep -vE '^(batch|login)' "$list" | awk 'NF { if (!slots[$1]++) host[++n] = $1 } END { for (i = 1; i <= n; i++) print host[i], slots[host[i]] }')
    fi
    hosts=${hosts:-$(hostname) $(whole "$LSB_DJOB_NUMPROC" 1)}
    share_out
}
