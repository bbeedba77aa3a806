# What Grid Engine and LSF have in common: a job that exits with 99 is started again, under the same number. Their files source this one.
# shellcheck shell=bash disable=SC2034,SC2154 # what run.sh reads, and sets

# Neither scheduler counts its starts, so they stand in a file: restarts, slices without progress, and how far the job had come.
count_starts() {
    starts=$folder/.gpugraph.$job${task:+.$task}.starts
    local count
    if read -r count _ 2>/dev/null <"$starts"; then restarts=$(whole "$count" 0); else restarts=0; fi
}
recall_idle() {
    local count mark
    if { read -r _ count && IFS= read -r mark; } 2>/dev/null <"$starts" && [ "$mark" = "$came_to" ]; then idle=$(whole "$count" 0); fi
}
forget_idle() { rm -f "$starts"; }

arm() { arm_by_clock; }
host_list() { list_hosts; }

# A job that was deleted, or reached its walltime, is not started again.
at_term() { :; }
at_end() {
    notice
    if [ -z "$terminated" ]; then go_on; else forget_idle && say "deleted, or at its walltime: not started again"; fi
}

# Exits with 99, which has the scheduler start this job again.
go_on() {
    if ! may_go_on; then
        forget_idle
        return
    fi
    if printf '%s\n' "$((restarts + 1)) $idle" "$came_to" >"$starts"; then
        say "requeued by exit code 99: restart $((restarts + 1)) of at most $max"
        code=99
    else
        say "$starts can't be written, so restarts can't be counted: submit it again to carry on"
    fi
}
