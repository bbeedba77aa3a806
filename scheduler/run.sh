# What every job script does: one run of `gpugraph run` under Slurm or PBS, and the next one where this was cut off.
# slurm/triangle.sbatch and pbs/triangle.pbs source it; `gpugraph submit` writes it into the scripts that it makes.
# shellcheck shell=bash disable=SC2154,SC2317 # what the script above sets; functions that traps call
#
# The script above sets `scheduler` (slurm or pbs) and the array ARGS (more arguments of `gpugraph run`). The environment:
#   CONFIG            the job file; in an array of jobs every %a is the number of the task, in SET too
#   SET               words of table.key=value, each passed on as --set
#   MAX_RESTARTS      how often the job may go on after exit 75 or 9; unless said 50
#   REQUEUE_ON_LOSS   no: a lost GPU or rank (exit 9) ends the job; unless said yes
#   GRACE             PBS: seconds before the walltime at which the run is told to save; 0: never. Unless said 120
#   WALLTIME          PBS: the walltime, as [[hours:]minutes:]seconds, should qstat not tell it
# and what site.env explains. Exit codes are those of `gpugraph run`.

say() { echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) $scheduler: $*" >&2; }
die() { say "$*" && exit 2; }
# The first argument if it is a whole number, else the second; without leading zeros, which would make it octal.
whole() { case $1 in '' | *[!0-9]* | ??????????*) echo "$2" ;; *) echo "$((10#$1))" ;; esac; }
seconds() {
    local total=0 part
    for part in ${1//:/ }; do total=$((60 * total + $(whole "${part%%.*}" 0))); done
    echo "$total"
}
bytes() {
    local digits=${1%%[!0-9]*}
    case ${1#"$digits"} in kb | KB) echo $((digits << 10)) ;; mb | MB) echo $((digits << 20)) ;; gb | GB) echo $((digits << 30)) ;;
    tb | TB) echo $((digits << 40)) ;; b | '') echo "$((${digits:-0}))" ;; *) echo 0 ;; esac
}

# Whether the job may go on after this run.
may_go_on() {
    if [ "$restarts" -lt "$max" ]; then return 0; fi
    say "MAX_RESTARTS=$max is reached: submit it again to carry on"
    return 1
}

go_on_slurm() {
    local state
    state=$(scontrol --oneliner show job "$job" 2>/dev/null | sed -n 's/.* JobState=\([A-Z_]*\) Reason=\([^ ]*\).*/\1 \2/p')
    # A requeue would bring a cancelled job back to life. One that is to make room for another still runs when it gets its TERM.
    case $terminated:$state in
    *:RUNNING* | : | *:*TimeLimit) ;;
    *) say "the job is ${state:-gone}: not requeued" && return ;;
    esac
    may_go_on || return
    say "requeued: restart $((restarts + 1)) of at most $max"
    scontrol requeue "$job" || say "Slurm refused to requeue it: submit it again to carry on"
}

go_on_pbs() {
    if [ -n "$resubmitted" ]; then return; fi
    may_go_on || return
    resubmitted=yes
    # The copy that runs is what was submitted; not every site lets its owner read it.
    local script=${GPUGRAPH_SCRIPT:-$0} option value names=GPUGRAPH_SUBMIT_DIR,GPUGRAPH_RESTARTS,GPUGRAPH_JOB_LOG,GPUGRAPH_TASK
    grep -qs '^#PBS' "$script" || script=$home/pbs/triangle.pbs
    for value in $carried; do
        case ,$names, in *",$value,"*) ;; *) export "${value?}" && names=$names,$value ;; esac
    done
    # What qsub was told on its command line stands above the script's own lines, and is not in them.
    local options=(-N "${PBS_JOBNAME:-gpugraph}" -v "$names")
    # A task of an array is nothing to depend on.
    if [[ $job != *'['* ]]; then options+=(-W "depend=afterany:$job"); fi
    # A select holds what else there is: PBS makes nodes= into one, and its sums may not stand beside it.
    local resources='walltime nodes mem'
    if [ -n "$(attribute Resource_List.select)" ]; then resources='walltime select place'; fi
    for option in $resources; do
        value=$(attribute "Resource_List.$option")
        if [ -n "$value" ]; then options+=(-l "$option=$value"); fi
    done
    if [ -n "$PBS_QUEUE" ]; then options+=(-q "$PBS_QUEUE"); fi
    value=$(attribute Account_Name) && if [ -n "$value" ]; then options+=(-A "$value"); fi
    GPUGRAPH_RESTARTS=$((restarts + 1))
    if next=$(${QSUB:-qsub} "${options[@]}" "$script"); then
        say "goes on as $next: restart $((restarts + 1)) of at most $max"
    else
        say "qsub failed on $(hostname): submit it again to carry on, and see QSUB in $site"
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
end() { interrupted=yes terminated=yes; }
# Tells what has come, once, and does what can't wait for the end of the run.
told=''
notice() {
    case $told in *asked*) ;; *) if [ -n "$asked" ]; then told+=asked && say "the walltime is near: telling the run to save"; fi ;; esac
    if [ -z "$terminated" ] || [[ $told = *terminated* ]]; then return; fi
    told+=terminated
    say "ended by the scheduler: the run saves"
    if [ "$scheduler" = slurm ]; then return; fi
    local slack=$((limit / 4 < 15 ? limit / 4 : 15))
    if [ "$limit" -gt 0 ] && [ $((SECONDS + slack)) -ge "$limit" ]; then
        # At once: 10 seconds are left, and the run may need 8 of them. The next one waits until this has ended.
        go_on_pbs
    else
        say "before its walltime, by qdel then: not submitted again"
    fi
}
interrupted='' asked='' terminated='' child='' resubmitted='' timer='' codes='' limit=0
trap save USR1
trap end TERM

if [ "$scheduler" = pbs ]; then
    job=${PBS_JOBID:?'submit this with qsub'}
    # Beside what the job was given by -v, the next one gets what this one was told. A script of `gpugraph submit` has it all.
    carried=GPUGRAPH_HOME
    if [ -z "$GPUGRAPH_SCRIPT" ]; then carried+=' CONFIG SET SITE GPUGRAPH MAX_RESTARTS REQUEUE_ON_LOSS GRACE WALLTIME RANKS THREADS LAUNCHER'; fi
    # shellcheck disable=SC2086 # names
    carried=$(for name in $carried; do if [ -n "${!name+set}" ]; then echo "$name"; fi; done)
    export GPUGRAPH_SUBMIT_DIR=${GPUGRAPH_SUBMIT_DIR:-$PBS_O_WORKDIR}
    export GPUGRAPH_RESTARTS=${GPUGRAPH_RESTARTS:-0}
    # What goes on from a task of an array is a job by itself.
    export GPUGRAPH_TASK=${GPUGRAPH_TASK:-${PBS_ARRAY_INDEX:-$PBS_ARRAYID}}
    if [ -n "$GPUGRAPH_TASK" ]; then export PBS_ARRAY_INDEX=$GPUGRAPH_TASK; fi
    folder=$GPUGRAPH_SUBMIT_DIR task=$GPUGRAPH_TASK restarts=$(whole "$GPUGRAPH_RESTARTS" 999999999)
    export GPUGRAPH_JOB_LOG=${GPUGRAPH_JOB_LOG:-$folder/${PBS_JOBNAME:-gpugraph}.${job%%.*}.log}
    # One log for all of them; PBS itself makes one for each, which it shows when the job is over.
    if : >>"$GPUGRAPH_JOB_LOG"; then exec >>"$GPUGRAPH_JOB_LOG" 2>&1; fi
else
    job=${SLURM_JOB_ID:?'submit this with sbatch'}
    folder=${GPUGRAPH_SUBMIT_DIR:-$SLURM_SUBMIT_DIR} task=$SLURM_ARRAY_TASK_ID restarts=$(whole "${SLURM_RESTART_COUNT:-0}" 0)
fi
cd "$folder" || die "$folder: can't be entered on $(hostname): submit from a folder that the nodes share"
home=${GPUGRAPH_HOME:-$folder} site=${SITE:-$home/site.env}
# shellcheck source=/dev/null
if [ -r "$site" ]; then . "$site" || die "$site: failed"; fi
max=$(whole "${MAX_RESTARTS:-50}" 50)

if [ "$scheduler" = pbs ]; then
    # A job starts with /bin:/usr/bin.
    # shellcheck source=/dev/null
    if [ -r /etc/pbs.conf ]; then . /etc/pbs.conf; fi
    PATH=$PATH${PBS_EXEC:+:$PBS_EXEC/bin}
    # qstat breaks long values, and goes on behind a tab.
    attributes=$(qstat -f "$job" 2>/dev/null | awk '/^\t/ { sub(/^\t/, ""); line = line $0; next } { print line; line = $0 } END { print line }')
    attribute() { sed -n "s/^ *$1 = //p" <<<"$attributes" | head -n 1; }
    # Names that a value only seems to hold are not set here.
    for name in $(attribute Variable_List | grep -oE '(^|,)[A-Za-z_][A-Za-z0-9_]*=' | tr -d ',=' | grep -vE '^PBS_'); do
        if [ -n "${!name+set}" ]; then carried+=" $name"; fi
    done
    limit=$(attribute Resource_List.walltime)
    limit=$(seconds "${limit:-${PBS_WALLTIME:-${WALLTIME:-0}}}")
fi

config=${CONFIG:-$home/configs/triangle.toml}
read -ra words <<<"$SET"
for word in "${words[@]}"; do ARGS+=(--set "$word"); done
if [ -n "$task" ]; then config=${config//%a/$task} ARGS=("${ARGS[@]//%a/$task}"); fi
gpugraph=${GPUGRAPH:-gpugraph}
if ! command -v "$gpugraph" >/dev/null; then
    for found in "$home/target/release/gpugraph" ~/.cargo/bin/gpugraph; do [ -x "$found" ] && gpugraph=$found && break; done
fi
command -v "$gpugraph" >/dev/null || die "$gpugraph: not found on $(hostname): name it as GPUGRAPH in $site"
[ -r "$config" ] || die "$config: no such job file on $(hostname)"

# How many ranks, and threads of each: what was asked of the scheduler; of PBS one rank a GPU where its list of hosts
# has a line for each core, as with nodes=:ppn=.
if [ "$scheduler" = slurm ]; then
    nodes=$(whole "$SLURM_JOB_NUM_NODES" 1)
    ranks=$(whole "${RANKS:-$SLURM_NTASKS}" "$nodes")
    per_node=$(((ranks + nodes - 1) / nodes))
    threads=$(whole "${THREADS:-$SLURM_CPUS_PER_TASK}" $(($(whole "$SLURM_CPUS_ON_NODE" 1) / per_node)))
else
    hosts=$(sort -u "$PBS_NODEFILE") lines=$(grep -c . "$PBS_NODEFILE")
    nodes=$(grep -c . <<<"$hosts")
    cores=$(attribute Resource_List.ncpus)
    cores=$(whole "${cores:+$((cores / nodes))}" "$(whole "${PBS_NUM_PPN:-$NCPUS}" $((lines / nodes)))")
    gpus=$(attribute Resource_List.ngpus)
    gpus=$(whole "${gpus:+$((gpus / nodes))}" "$(attribute Resource_List.nodes | sed -n 's/.*:gpus=\([0-9]*\).*/\1/p')")
    per_node=$((lines / nodes))
    if [ "$per_node" -ge "$cores" ]; then per_node=$(whole "$gpus" 1); fi
    ranks=$(whole "$RANKS" $((nodes * (per_node > 0 ? per_node : 1))))
    per_node=$(((ranks + nodes - 1) / nodes))
    threads=$(whole "$THREADS" $((cores / per_node)))
    # PBS tells no job how much memory it has, and ends one that takes more.
    memory=$(bytes "$(attribute Resource_List.mem)")
    if [ "$memory" -gt 0 ]; then export GPUGRAPH_NODE_MEMORY=$((memory / nodes)); fi
fi
threads=$((threads > 0 ? threads : 1))

# `env` rather than the launcher's own option, which each spells otherwise.
run=(env "NCPUS=$threads")
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
    if [ "$scheduler" = pbs ]; then
        while read -r host; do echo "$host$slots$per_node"; done <<<"$hosts" >"$scratch/hosts"
        mpirun+=(-hostfile "$scratch/hosts")
        # An Open MPI that was built without PBS can still start its daemons by it.
        if [ "$nodes" -gt 1 ] && [ "$slots" != : ] && command -v pbs_tmrsh >/dev/null && ! ompi_info 2>/dev/null | grep -q 'plm: tm'; then
            # shellcheck disable=SC2016 # to be expanded when it runs
            printf '%s\n' '#!/bin/bash' 'host=$1; shift' 'exec pbs_tmrsh "$host" bash -c "$*"' >"$scratch/tmrsh"
            chmod +x "$scratch/tmrsh" && export OMPI_MCA_plm_rsh_agent=$scratch/tmrsh
        fi
    fi
    run=("${mpirun[@]}" "${run[@]}")
    ;;
*) die "LAUNCHER=$launcher: expected auto, none, srun or mpirun" ;;
esac

say "job $job on $nodes nodes, $ranks ranks of $threads threads (launcher: $launcher), restart $restarts of at most $max: $gpugraph run $config ${ARGS[*]}"
if [ "$scheduler" = pbs ]; then
    grace=$(whole "${GRACE:-120}" 120)
    if [ "$limit" = 0 ]; then
        say "its walltime is unknown: set WALLTIME to have it saved and submitted again before that ends"
    elif [ "$grace" -gt 0 ]; then
        # A walltime that is hardly longer than the grace is worked for half of it at least.
        ahead=$((limit - grace > limit / 2 ? limit - grace : limit / 2))
        # By way of a subshell, so that it is no child of this one: bash may miss that a child ended while a trap ran, and
        # would then wait until the last of its children is gone.
        timer=$(
            {
                trap 'kill "$!" 2>/dev/null; exit' TERM
                sleep $((ahead > SECONDS ? ahead - SECONDS : 0)) &
                wait "$!"
                kill -USR1 $$
            } >/dev/null 2>&1 &
            echo $!
        )
    fi
fi
if [ -n "$asked$terminated" ]; then
    code=75
else
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
say "exit $code after $SECONDS s"
if [ "$code" = 75 ] || { [ "$code" = 9 ] && [ "${REQUEUE_ON_LOSS:-yes}" = yes ]; }; then
    if [ "$scheduler" = slurm ]; then go_on_slurm; elif [ -z "$terminated" ]; then go_on_pbs; fi
fi
exit "$code"
