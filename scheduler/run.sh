# What every job script does: one run of `gpugraph run` under Slurm or PBS, and the next one where this was cut off.
# slurm/job.sbatch and pbs/job.pbs source it; `gpugraph submit` writes it into the scripts that it makes.
# shellcheck shell=bash disable=SC2034,SC2154,SC2317 # what other parts of the job script set, read and call
#
# The script above sets `scheduler` (slurm or pbs) and the array ARGS (more arguments of `gpugraph run`). Of its functions two are
# called if they are there: `sized` once ranks and threads are known, which it may change, and `ended` when a run is over,
# with its exit code and the microseconds that it took. The environment:
#   CONFIG            the job file; in an array of jobs every %a is the number of the task, in SET too
#   SET               words of table.key=value, each passed on as --set
#   MAX_RESTARTS      how often the job may go on after exit 75 or 9; unless said 50
#   REQUEUE_ON_LOSS   no: a lost GPU or rank (exit 9) ends the job; unless said yes
#   GRACE             PBS: seconds before the walltime at which the run is told to save; 0: never. Unless said 120
#   WALLTIME          PBS: the walltime, as [[hours:]minutes:]seconds, should qstat not tell it
#   RETRY             PBS: seconds for which a qsub that fails is tried again. Unless said 300
# and what site.env explains. Exit codes are those of `gpugraph run`.

say() { echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) $scheduler: $*" >&2; }
die() { say "$*" && exit 2; }
# The first argument if it is a whole number, else the second; without leading zeros, which would make it octal.
whole() { case $1 in '' | *[!0-9]* | ??????????*) echo "$2" ;; *) echo "$((10#$1))" ;; esac; }

# What is different under Slurm and PBS. `gpugraph submit` writes it above this.
if ! declare -F go_on >/dev/null; then
    # shellcheck source=/dev/null
    . "${BASH_SOURCE[0]%/*}/$scheduler.sh" || die "${BASH_SOURCE[0]%/*}/$scheduler.sh: failed"
fi

# True if the job may go on after this run.
may_go_on() {
    if [ "$idle" -ge 3 ]; then
        say "$idle slices in a row brought the job no further, so it does not go on: if the walltime is too short for the next" \
            "stage or unit, submit it again with a longer one, which carries on; else see above what ended them"
        return 1
    fi
    if [ "$restarts" -lt "$max" ]; then return 0; fi
    say "MAX_RESTARTS=$max is reached: submit it again to carry on"
    return 1
}
# Prints how far the job has come for good; nothing if that can't be told.
progress() {
    local look
    look=$(timeout -k 1 20 "$gpugraph" status "$config" "${sets[@]}" --json 2>&1 </dev/null)
    case $look in
    *'no job ran here yet'*) echo nothing ;;
    *'"progress"'*) sed -n 's/.*"progress": *"\([^"]*\)".*/\1/p' <<<"$look" | head -n 1 ;;
    esac
}
# True if the job is known not to be done.
undone() {
    local look
    look=$(timeout -k 1 20 "$gpugraph" status "$config" "${sets[@]}" --json 2>&1 </dev/null)
    case $look in *'no job ran here yet'*) return 0 ;; *'"state": "finished"'*) return 1 ;; *'"state"'*) return 0 ;; esac
    return 1
}
# Counts this slice if it was ended from outside and brought the job no further, and begins anew if it did.
count_idle() {
    local now
    if [ -n "$terminated" ] || [ -z "$came_to" ]; then return; fi
    now=$(progress)
    if [ -z "$now" ]; then return; fi
    if [ "$now" != "$came_to" ]; then
        idle=0
    elif [ -n "$asked" ] || [ "$code" = 9 ]; then
        idle=$((idle + 1))
    fi
}

# What traps call starts no process: one that ends while bash waits for another may be lost to it, and wait would not end.
# USR1 is passed on once: the second signal makes gpugraph exit at once.
save() {
    interrupted=yes
    if [ -z "$asked" ]; then
        asked=yes
        if [ -n "$child" ]; then kill -USR1 "$child" 2>/dev/null; fi
    fi
}
# The scheduler sends TERM to every process of the job, so it is not passed on: it would be the second.
end() { interrupted=yes terminated=yes ended_at=$SECONDS; }
# Tells what has come, once, and does what can't wait for the end of the run.
told=''
notice() {
    case $told in *asked*) ;; *) if [ -n "$asked" ]; then told+=asked && say "the walltime is near: telling the run to save"; fi ;; esac
    if [ -z "$terminated" ] || [[ $told = *terminated* ]]; then return; fi
    told+=terminated
    say "ended by the scheduler: the run saves"
    at_term
}
interrupted='' asked='' terminated='' child='' resubmitted='' timer='' codes='' limit='' idle=0 ended_at=0
trap save USR1
trap end TERM

identify
cd "$folder" || die "$folder: can't be entered on $(hostname): submit from a folder that the nodes share"
home=${GPUGRAPH_HOME:-$folder} site=${SITE:-$home/site.env}
# shellcheck source=/dev/null
if [ -r "$site" ]; then . "$site" || die "$site: failed"; fi
max=$(whole "${MAX_RESTARTS:-50}" 50)

ask

config=${CONFIG:-}
[ -n "$config" ] || die "no job file: name it by CONFIG, as the head of $home/$scheduler/job.* shows"
read -ra words <<<"$SET"
for word in "${words[@]}"; do ARGS+=(--set "$word"); done
if [ -n "$task" ]; then config=${config//%a/$task} ARGS=("${ARGS[@]//%a/$task}"); fi
gpugraph=${GPUGRAPH:-gpugraph}
if ! command -v "$gpugraph" >/dev/null; then
    for found in "$home/target/release/gpugraph" ~/.cargo/bin/gpugraph; do [ -x "$found" ] && gpugraph=$found && break; done
fi
command -v "$gpugraph" >/dev/null || die "$gpugraph: not found on $(hostname): name it as GPUGRAPH in $site"
[ -r "$config" ] || die "$config: no such job file on $(hostname)"

size
threads=$((threads > 0 ? threads : 1))
if declare -F sized >/dev/null; then sized; fi

# `status` is told what changes the job file, and nothing else.
sets=() before=''
for word in "${ARGS[@]}"; do
    if [ "$before" = --set ] || [[ $word = --set=* ]]; then sets+=(${before:+"$before"} "$word"); fi
    if [ "$word" = --set ]; then before=--set; else before=''; fi
done
came_to=$(progress)
recall_idle

# `env` rather than the launcher's own option, which each spells otherwise.
# The second is of each rank, whatever PBS says of the node; the first is for what else a rank starts.
run=(env "NCPUS=$threads" "GPUGRAPH_THREADS=$threads")
if [ -n "$GPUGRAPH_NODE_MEMORY" ]; then run+=("GPUGRAPH_NODE_MEMORY=$GPUGRAPH_NODE_MEMORY"); fi
run+=("$gpugraph" run "$config" "${ARGS[@]}")
launcher=${LAUNCHER:-auto}
if [ "$launcher" = auto ]; then
    if [ "$ranks" = 1 ]; then launcher=none; elif [ "$scheduler" = slurm ]; then launcher=srun; else launcher=mpirun; fi
fi
case $launcher in
none) ;;
srun)
    # -K: a rank that dies ends the step. Of the ranks' exit codes srun has the highest, which may be that of a rank that
    # was ended by it and saved; the first is the one that tells. It has 0 where it could not start any.
    codes=$folder/.gpugraph.$job.codes && rm -f "$codes" "$codes.0"
    # shellcheck disable=SC2016 # to be expanded when it runs
    rank='trap : USR1 TERM; "${@:2}"; code=$?; if [ $code != 0 ]; then echo $code >>"$1"; else : >"$1.0"; fi; exit $code'
    run=(srun -K --ntasks="$ranks" --ntasks-per-node="$per_node" --cpus-per-task="$threads" ${SRUN_MPI:+"--mpi=$SRUN_MPI"}
        bash -c "$rank" rank "$codes" "${run[@]}")
    ;;
mpirun)
    scratch=$(mktemp -d) && trap 'rm -rf "$scratch"' EXIT
    read -ra mpirun <<<"${MPIRUN:-mpirun} -n $ranks"
    if "${mpirun[0]}" --version 2>&1 | grep -q -e 'Open MPI' -e OpenRTE; then
        # 1 second, unless said, lies between TERM and KILL; saving takes less than this, or 8 in the worst case. After a death mpirun sits
        # it out twice, or four times with several nodes, whether or not ranks are gone: more would keep a dead job for over 30 seconds.
        export OMPI_MCA_odls_base_sigkill_timeout=6
        # mpirun need not look for GPUs, which takes it a second on a node of several.
        export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--gl,-opencl,-nvml,-cuda,-rsmi}
        mpirun+=(--bind-to none)
        slots=' slots='
    else
        slots=:
    fi
    host_list
    run=("${mpirun[@]}" "${run[@]}")
    ;;
*) die "LAUNCHER=$launcher: expected auto, none, srun or mpirun" ;;
esac

say "job $job on $nodes nodes, $ranks ranks of $threads threads (launcher: $launcher), restart $restarts of at most $max: $gpugraph run $config ${ARGS[*]}"
# Told only now of a slice that had no time left to tell.
if [ "$idle" -ge 3 ]; then may_go_on || exit 75; fi
arm
if [ -n "$asked$terminated" ]; then
    code=75
else
    began=${EPOCHREALTIME//[!0-9]/}
    "${run[@]}" </dev/null &
    child=$!
    if [ -n "$asked" ]; then kill -USR1 "$child" 2>/dev/null; fi
    while :; do
        interrupted=''
        wait "$child"
        code=$?
        # A trapped signal ends the wait, not the run.
        if [ -z "$interrupted" ]; then break; fi
        notice
    done
    took=$((${EPOCHREALTIME//[!0-9]/} - began))
fi
notice
if [ -n "$timer" ]; then kill "$timer" 2>/dev/null; fi
if [ -n "$codes" ]; then
    if [ -s "$codes" ]; then
        code=$(head -n 1 "$codes")
    elif [ "$code" = 0 ] && [ ! -e "$codes.0" ]; then
        say "srun started no rank: exit 9 (is SRUN_MPI in $site the one of gpugraph's MPI?)"
        code=9
    fi
    rm -f "$codes" "$codes.0"
fi
# Open MPI says 0 when it loses its daemons while it passes a signal on.
if [ "$launcher:$code" = mpirun:0 ] && undone; then
    code=$([ -n "$terminated$asked" ] && echo 75 || echo 9)
    say "mpirun said 0, but the job is not done: exit $code"
fi

case $code in
137)
    code=$([ -n "$terminated$asked" ] && echo 75 || echo 9)
    say "a process of the run was killed (kill -9, or out of memory): exit $code"
    ;;
143) code=$([ -n "$terminated$asked" ] && echo 75 || echo 9) && say "the run was terminated: exit $code" ;;
-1 | 127) if [ -n "$asked$terminated" ]; then code=75; fi ;; # lost to bash while a trap ran: the next run finds out
138) code=75 ;; # told to save before it could listen
1) if [ "$launcher$terminated" = mpirunyes ]; then code=75; fi ;; # all that mpirun says of a run that was terminated
12[89] | 1[3-9]? | 2??)
    # No code of gpugraph's. After a rank or node was lost mpirun has ones of its own: Open MPI's 205, MPICH's 255.
    if [ "$launcher" = mpirun ]; then
        lost=$code code=$([ -n "$terminated$asked" ] && echo 75 || echo 9)
        say "mpirun said $lost, a rank or a node was lost: exit $code"
    elif [ "$code" = 255 ] && [ -n "$asked$terminated" ]; then
        code=75 # lost to bash, as above
    fi
    ;;
esac
if declare -F ended >/dev/null; then ended "$code" "${took:-0}"; fi
say "exit $code after $SECONDS s"
if [ "$code" = 75 ] || { [ "$code" = 9 ] && [ "${REQUEUE_ON_LOSS:-yes}" = yes ]; }; then
    count_idle
    at_end
else
    forget_idle
fi
exit "$code"
