# What every job script does: one run of `gpugraph run` under a scheduler, and the next one where this was cut off.
# slurm/job.sbatch, pbs/job.pbs and scheduler/job.* source it; `gpugraph submit` writes it into the scripts that it makes.
# shellcheck shell=bash disable=SC2034,SC2153,SC2154,SC2317 # what other parts of the job script set, read and call
#
# The script above sets `scheduler` (slurm, pbs, gridengine, lsf or flux) and the array ARGS (more arguments of `gpugraph run`). Of its
# functions two are called if they are there: `sized` once ranks and threads are known, which it may change, and `ended` when a run is over,
# with its exit code and the microseconds that it took. The environment:
#   CONFIG            the job file; in an array of jobs every %a is the number of the task, in SET too
#   SET               words of table.key=value, each passed on as --set
#   MAX_RESTARTS      how often the job may go on after exit 75 or 9; unless said 50
#   REQUEUE_ON_LOSS   no: a lost GPU or rank (exit 9) ends the job; unless said yes
#   GRACE             seconds before the end of the walltime at which the run is told to save. Unless said a tenth of the walltime, at
#                     least 20 and at most 120. PBS: 0 is never
#   WALLTIME          PBS: the walltime, as [[hours:]minutes:]seconds, should qstat not tell it. Grid Engine, LSF, Flux: its seconds
#   RETRY             PBS: seconds for which a qsub that fails is tried again. Unless said 300
#   RELEASE           PBS: ids of held jobs (qsub -h), separated by colons, that qrls releases once this job is done
# and what site.env explains. Exit codes are those of `gpugraph run`.

say() { echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) $scheduler: $*" >&2; }
die() { say "$*" && exit 2; }
# The first argument if it is a whole number, else the second; without leading zeros, which would make it octal.
whole() { case $1 in '' | *[!0-9]* | ??????????*) echo "$2" ;; *) echo "$((10#$1))" ;; esac; }

# What is different under each scheduler. `gpugraph submit` writes it above this.
if ! declare -F go_on >/dev/null; then
    # shellcheck source=/dev/null
    . "${BASH_SOURCE[0]%/*}/$scheduler.sh" || die "${BASH_SOURCE[0]%/*}/$scheduler.sh: failed"
fi

# Tells mpirun the hosts: a line for each, with its name and as many slots as it has ranks. `hosts` has such lines, with a blank in between.
list_hosts() {
    awk -v slots="$slots" '{ print $1 slots $2 }' <<<"$hosts" >"$scratch/hosts"
    mpirun+=(-hostfile "$scratch/hosts")
}
# Shares ranks out. `hosts` has lines of a host and its cores, and gets lines of a host and its ranks. Every node has one rank for each
# GPU that the scheduler names in CUDA_VISIBLE_DEVICES, or one rank without any.
share_out() {
    local cores gpus
    nodes=$(grep -c . <<<"$hosts")
    cores=$(awk 'NR == 1 || $2 < least { least = $2 } END { print least + 0 }' <<<"$hosts")
    gpus=$(tr , '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -c .)
    ranks=$(whole "$RANKS" $((nodes * (gpus > 0 ? gpus : 1))))
    per_node=$(((ranks + nodes - 1) / nodes))
    threads=$(whole "$THREADS" $((cores / per_node)))
    hosts=$(awk -v ranks="$per_node" '{ print $1, ranks }' <<<"$hosts")
}

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
# Prints what `gpugraph status` says of the job.
look() { timeout -k 1 20 "$gpugraph" status "$config" "${sets[@]}" --json 2>&1 </dev/null; }
# Prints how far the job has come for good; nothing if that can't be told.
progress() {
    local found
    found=$(look)
    case $found in
    *'no job ran here yet'*) echo nothing ;;
    *'"progress"'*) sed -n 's/.*"progress": *"\([^"]*\)".*/\1/p' <<<"$found" | head -n 1 ;;
    esac
}
# True if the job is known not to be done.
undone() {
    case $(look) in *'no job ran here yet'*) return 0 ;; *'"state": "finished"'*) return 1 ;; *'"state"'*) return 0 ;; esac
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
#
# Both signals are passed on. Where the scheduler knows processes by cgroups, it signals this script alone. Where it signals all
# processes, the run gets the same signal twice within a second, which gpugraph counts as one.
pass_on() { if [ -n "$child" ]; then kill -s "$1" "$child" 2>/dev/null; fi; }
# USR1 is passed on once: a second one makes gpugraph exit at once. Before `defer_until` the first is kept until the timer sends another.
save() {
    interrupted=yes
    if [ "$SECONDS" -lt "$defer_until" ] && [ -z "$early" ]; then
        early=yes
    elif [ -z "$asked" ]; then
        asked=yes
        pass_on USR1
    fi
}
end() { interrupted=yes terminated=yes ended_at=$SECONDS && pass_on "$end_by"; }
# Tells what has come, once, and does what can't wait for the end of the run.
told=''
notice() {
    if [ -n "$asked" ] && [[ $told != *asked* ]]; then
        told+=asked
        say "the walltime is near: telling the run to save"
    elif [ -n "$early" ] && [ -z "$asked" ] && [[ $told != *early* ]]; then
        told+=early
        say "told to save: it will, $ahead s before the end of its short walltime, or at once if told again"
    fi
    if [ -z "$terminated" ] || [[ $told = *terminated* ]]; then return; fi
    told+=terminated
    say "ended by the scheduler: the run saves"
    at_term
}
# Waits for a process that was begun, and passes signals on to it; its code in `code`. A second argument is called in place of `notice`.
wait_for() {
    child=$1
    # One that came before this knew of the process.
    if [ -n "$asked" ]; then pass_on USR1; fi
    if [ -n "$terminated" ]; then pass_on "$end_by"; fi
    while :; do
        interrupted=''
        wait "$child"
        code=$?
        # A trapped signal ends the wait, not the process.
        if [ -z "$interrupted" ]; then break; fi
        "${2:-notice}"
    done
    child=''
}
# Has USR1 come when it is time to save, and sets `save_at`, the second of this script when that is.
arm_timer() {
    # A walltime that is hardly longer than the grace is worked for half of it at least.
    save_at=$((limit - ahead > limit / 2 ? limit - ahead : limit / 2))
    # By way of a subshell, so that it is no child of this one: bash may miss that a child ended while a trap ran, and
    # would then wait until the last of its children is gone.
    local me=$BASHPID
    timer=$(
        {
            trap 'kill "$!" 2>/dev/null; exit' TERM
            sleep $((save_at > SECONDS ? save_at - SECONDS : 0)) &
            wait "$!"
            kill -USR1 "$me"
        } >/dev/null 2>&1 &
        echo $!
    )
}
# Arms the timer for schedulers that send no signal ahead of the walltime, which are all but Slurm.
arm_by_clock() {
    if [ "$limit" = 0 ]; then
        say "its walltime is unknown: set WALLTIME to have it saved and submitted again before that ends"
    elif [ "$ahead" -gt 0 ]; then
        arm_timer
    fi
}
# Sources site.env. A line of it that fails ends the job: without its modules a run would fail later, or do something else.
read_site() {
    if [ ! -r "$site" ]; then
        if [ -n "$SITE" ]; then die "SITE=$SITE: can't be read on $(hostname)"; fi
        return
    fi
    bash -n "$site" || die "$site: not read, for the error above"
    # What a file that it sources does inside is that file's matter.
    trap 'case $BASH_COMMAND in .\ * | source\ *) ;; *) if [ "${BASH_SOURCE[0]}" = "$site" ]; then die "$site: line $LINENO failed: $(sed -n "${LINENO}p" "$site")"; fi ;; esac' ERR
    # shellcheck source=/dev/null
    . "$site"
    trap - ERR
}
interrupted='' asked='' early='' terminated='' child='' resubmitted='' timer='' codes='' idle=0 ended_at=0
limit=0 ahead=0 defer_until=0 end_by=TERM scratch=''
trap save USR1
trap end TERM
trap 'if [ -n "$timer" ]; then kill "$timer" 2>/dev/null; fi; if [ -n "$scratch" ]; then rm -rf "$scratch"; fi' EXIT

identify
cd "$folder" || die "$folder: can't be entered on $(hostname): submit from a folder that the nodes share"
home=${GPUGRAPH_HOME:-$folder} site=${SITE:-$home/site.env}
read_site
max=$(whole "${MAX_RESTARTS:-50}" 50)

# Sets `limit`, the second of this script at which the walltime ends; 0 if nothing tells.
ask
ahead=$((limit / 10 < 20 ? 20 : limit / 10 > 120 ? 120 : limit / 10))
ahead=$(whole "$GRACE" "$ahead")

config=${CONFIG:-}
[ -n "$config" ] || die "no job file: name it by CONFIG, as the head of the job script shows"
read -ra words <<<"$SET"
for word in "${words[@]}"; do ARGS+=(--set "$word"); done
if [ -n "$task" ]; then config=${config//%a/$task} ARGS=("${ARGS[@]//%a/$task}"); fi
if [ "${config%/*}" -ef "$home/configs" ] && [ ! "$folder" -ef "$home" ]; then
    # Shipped job files name the small graph that they read from gpugraph's folder.
    small=$(sed -n 's/^path = "\(tests\/data\/[^"]*\)".*/\1/p' "$config" | head -n 1)
    if [ -n "$small" ] && [[ " ${ARGS[*]}" != *' input.path='* ]]; then ARGS+=(--set "input.path=$home/$small"); fi
fi
gpugraph=${GPUGRAPH:-gpugraph}
if [ -z "$GPUGRAPH" ] && ! command -v gpugraph >/dev/null; then
    for found in "$home/target/release/gpugraph" ~/.cargo/bin/gpugraph; do [ -x "$found" ] && gpugraph=$found && break; done
fi
command -v "$gpugraph" >/dev/null || die "$gpugraph: not found on $(hostname): name it as GPUGRAPH in $site"
[ -r "$config" ] || die "$config: no such job file on $(hostname)"

size
threads=$((threads > 0 ? threads : 1))
arm
if declare -F sized >/dev/null; then sized; fi

# `status` is told what changes the job file, and nothing else.
sets=() before=''
for word in "${ARGS[@]}"; do
    if [ "$before" = --set ] || [[ $word = --set=* ]]; then sets+=(${before:+"$before"} "$word"); fi
    if [ "$word" = --set ]; then before=--set; else before=''; fi
done
staged='' stage_timer='' stage_locks=() began=''
if [ -n "$STAGE" ]; then
    stage=${BASH_SOURCE[0]%/*}/stage.sh
    if [ ! -r "$stage" ]; then stage=$home/scheduler/stage.sh; fi
    # shellcheck source=scheduler/stage.sh
    . "$stage" || die "STAGE=$STAGE needs scheduler/stage.sh: set GPUGRAPH_HOME to gpugraph's folder"
    stage_in
fi
came_to=$(progress)
recall_idle

# `env` rather than the launcher's own option, which each spells otherwise.
# The second is of each rank, whatever PBS says of the node; the first is for what else a rank starts.
run=(env "NCPUS=$threads" "GPUGRAPH_THREADS=$threads")
if [ -n "$GPUGRAPH_NODE_MEMORY" ]; then run+=("GPUGRAPH_NODE_MEMORY=$GPUGRAPH_NODE_MEMORY"); fi
# Jobs on one input share its graph by default, and so one workdir: they wait for each other.
run+=("$gpugraph" run --wait "$config" "${ARGS[@]}")
launcher=${LAUNCHER:-auto}
if [ "$launcher" = auto ]; then
    if [ "$ranks" = 1 ]; then launcher=none; else case $scheduler in slurm) launcher=srun ;; flux) launcher=flux ;; *) launcher=mpirun ;; esac fi
fi
case $launcher in
none) ;;
srun)
    # -K: a rank that dies ends the step. Of the ranks' exit codes srun has the highest, which may be that of a rank that
    # was ended by it and saved; the first is the one that tells. It has 0 where it could not start any.
    codes=$folder/.gpugraph.$job.codes && rm -f "$codes" "$codes.0"
    # Slurm may signal this shell alone, so it passes signals on.
    # shellcheck disable=SC2016 # to be expanded when it runs
    rank='for s in USR1 TERM; do trap "came=yes; kill -s $s \$run 2>/dev/null" $s; done
        "${@:2}" & run=$!
        while came=; wait $run; code=$?; [ -n "$came" ]; do :; done
        if [ $code != 0 ]; then echo $code >>"$1"; else : >"$1.0"; fi; exit $code'
    # srun has ranks killed at TERM, and passes USR1 on to them. Slurm itself sends them TERM.
    end_by=USR1
    plugin=${SRUN_MPI:-$(mpi_plugin)}
    run=(srun -K --ntasks="$ranks" --ntasks-per-node="$per_node" --cpus-per-task="$threads" ${plugin:+"--mpi=$plugin"}
        bash -c "$rank" rank "$codes" "${run[@]}")
    ;;
mpirun)
    scratch=$(mktemp -d)
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
    # mpirun kills ranks seconds after TERM, and passes USR1 on to them.
    end_by=USR1
    run=("${mpirun[@]}" "${run[@]}")
    ;;
pals)
    # Cray's mpiexec. MPIRUN names it, with options.
    end_by=USR1
    read -ra words <<<"${MPIRUN:-mpiexec} -n $ranks --ppn $per_node --depth $threads --cpu-bind depth"
    run=("${words[@]}" "${run[@]}")
    ;;
jsrun)
    # A resource set for each rank. Unless told, jsrun binds a rank to one core, whatever it has.
    end_by=USR1
    read -ra words <<<"${JSRUN:-jsrun${CUDA_VISIBLE_DEVICES:+ -g 1}} -n $ranks -a 1 -c $threads -r $per_node -b packed:$threads"
    run=("${words[@]}" "${run[@]}")
    ;;
flux) run=(flux run -N "$nodes" -n "$ranks" -c "$threads" ${gpus_per_rank:+-g "$gpus_per_rank"} "${run[@]}") ;;
*) die "LAUNCHER=$launcher: expected auto, none, srun, mpirun, pals, jsrun or flux" ;;
esac

say "job $job on $nodes nodes, $ranks ranks of $threads threads (launcher: $launcher), restart $restarts of at most $max: $gpugraph run $config ${ARGS[*]}"
# Told only now of a slice that had no time left to tell.
if [ "$idle" -ge 3 ] && ! may_go_on; then
    if [ -n "$staged" ]; then rm -rf "$staged"; fi
    exit 75
fi
code=75
if [ -z "$asked$terminated" ]; then
    began=${EPOCHREALTIME//[!0-9]/}
    "${run[@]}" </dev/null &
    wait_for $!
    took=$((${EPOCHREALTIME//[!0-9]/} - began))
fi
# A scheduler signals all processes of a job, and the run may end of that before this script gets the signal.
if [[ ($code = 1 || $code -gt 126) && -z $asked$terminated ]]; then sleep 1; fi
notice
if [ -n "$codes" ]; then
    if [ -s "$codes" ]; then
        code=$(head -n 1 "$codes")
    elif [ "$code" = 0 ] && [ ! -e "$codes.0" ]; then
        say "srun started no rank: exit 9 (is SRUN_MPI in $site the one of gpugraph's MPI?)"
        code=9
    fi
    # What Open MPI says of it is about how Slurm was built.
    if [ "$code" = 1 ]; then say "if ranks did not find each other, set SRUN_MPI in $site: pmix for Open MPI, pmi2 for MPICH (srun --mpi=list)"; fi
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
1) if [[ $launcher$terminated = @(mpirun|pals|jsrun|flux)yes ]]; then code=75; fi ;; # all that they say of a run that was terminated
12[89] | 1[3-9]? | 2??)
    # No code of gpugraph's. After a rank or node was lost mpirun has ones of its own: Open MPI's 205, MPICH's 255.
    if [[ $launcher = @(mpirun|pals|jsrun|flux) ]]; then
        lost=$code code=$([ -n "$terminated$asked" ] && echo 75 || echo 9)
        say "$launcher said $lost, a rank or a node was lost: exit $code"
    elif [ "$code" = 255 ] && [ -n "$asked$terminated" ]; then
        code=75 # lost to bash, as above
    fi
    ;;
esac
if [ -n "$staged" ]; then stage_out; fi
if declare -F ended >/dev/null; then ended "$code" "${took:-0}"; fi
say "exit $code after $SECONDS s"
if [ "$code" = 75 ] || { [ "$code" = 9 ] && [ "${REQUEUE_ON_LOSS:-yes}" = yes ]; }; then
    count_idle
    at_end
else
    forget_idle
    if [ "$code" = 0 ] && declare -F release >/dev/null; then release; fi
fi
exit "$code"
