# What scheduler/run.sh needs to know of PBS: OpenPBS, PBS Pro, Torque. It sources this file; `gpugraph submit` writes it
# above it.
# shellcheck shell=bash disable=SC2034,SC2153,SC2154 # what run.sh and the environment set, and run.sh reads

# Seconds of [[hours:]minutes:]seconds.
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
# The argument as one word of a shell, csh included.
quoted() { printf "'%s'" "${1//\'/\'\\\'\'}"; }

# Finds out which job this is, and which slice of it.
identify() {
    job=${PBS_JOBID:?'submit this with qsub'}
    # Beside what the job was given by -v, the next one gets what this one was told. A script of `gpugraph submit` has it all.
    carried=''
    if [ -z "$GPUGRAPH_SCRIPT" ]; then carried='CONFIG SET SITE GPUGRAPH MAX_RESTARTS REQUEUE_ON_LOSS GRACE WALLTIME RETRY RELEASE RANKS THREADS LAUNCHER'; fi
    # shellcheck disable=SC2086 # names
    carried=$(for name in $carried; do if [ -n "${!name+set}" ]; then echo "$name"; fi; done)
    export GPUGRAPH_SUBMIT_DIR=${GPUGRAPH_SUBMIT_DIR:-$PBS_O_WORKDIR}
    # A job that is submitted through ssh has another PBS_O_WORKDIR.
    export GPUGRAPH_HOME=${GPUGRAPH_HOME:-$GPUGRAPH_SUBMIT_DIR}
    export GPUGRAPH_RESTARTS=${GPUGRAPH_RESTARTS:-0}
    # What goes on from a task of an array is a job by itself.
    export GPUGRAPH_TASK=${GPUGRAPH_TASK:-${PBS_ARRAY_INDEX:-$PBS_ARRAYID}}
    if [ -n "$GPUGRAPH_TASK" ]; then export PBS_ARRAY_INDEX=$GPUGRAPH_TASK; fi
    folder=$GPUGRAPH_SUBMIT_DIR task=$GPUGRAPH_TASK restarts=$(whole "$GPUGRAPH_RESTARTS" 999999999)
    export GPUGRAPH_JOB_LOG=${GPUGRAPH_JOB_LOG:-${PBS_JOBNAME:-gpugraph}.${job%%.*}.log}
    case $GPUGRAPH_JOB_LOG in /*) ;; *) GPUGRAPH_JOB_LOG=$folder/$GPUGRAPH_JOB_LOG ;; esac
    # One log for all of them; PBS itself makes one for each, which it shows when the job is over.
    if : >>"$GPUGRAPH_JOB_LOG"; then exec >>"$GPUGRAPH_JOB_LOG" 2>&1; fi
}

# Asks PBS what the job was given.
ask() {
    # A job starts with /bin:/usr/bin.
    # shellcheck source=/dev/null
    if [ -r /etc/pbs.conf ]; then . /etc/pbs.conf; fi
    PATH=$PATH${PBS_EXEC:+:$PBS_EXEC/bin}
    # qstat breaks long values, and goes on behind a tab.
    attributes=$(qstat -f "$job" 2>/dev/null | awk '/^\t/ { sub(/^\t/, ""); line = line $0; next } { print line; line = $0 } END { print line }')
    # Names that a value only seems to hold are not set here.
    for name in $(attribute Variable_List | grep -oE '(^|,)[A-Za-z_][A-Za-z0-9_]*=' | tr -d ',=' | grep -vE '^PBS_'); do
        if [ -n "${!name+set}" ]; then carried+=" $name"; fi
    done
    limit=$(attribute Resource_List.walltime)
    limit=$(seconds "${limit:-${PBS_WALLTIME:-${WALLTIME:-0}}}")
}
attribute() { sed -n "s/^ *$1 = //p" <<<"$attributes" | head -n 1; }

# Reads how many slices before this one brought the job no further. The one before could not tell of itself if it was
# ended by PBS: how far the job had come before it stands in GPUGRAPH_CAME_TO then.
recall_idle() {
    idle=$(whole "$GPUGRAPH_IDLE" 0)
    if [ -n "$GPUGRAPH_CAME_TO" ] && [ -n "$came_to" ]; then
        if [ "$GPUGRAPH_CAME_TO" = "$came_to" ]; then idle=$((idle + 1)); else idle=0; fi
    fi
    GPUGRAPH_CAME_TO=''
}
forget_idle() { :; }

# Sets the number of ranks and the threads of each. With `select` a rank is a line of PBS's list of hosts (mpiprocs of each
# chunk, unless said 1). With `nodes=:ppn=` that list has a line for each core, and a rank is a GPU, or a node without any.
size() {
    if [ -z "$PBS_NODEFILE" ]; then die "PBS_NODEFILE is not set, so the hosts of this job are unknown: submit it with qsub"; fi
    if ! grep -qs '[^[:blank:]]' "$PBS_NODEFILE"; then
        die "$PBS_NODEFILE (PBS_NODEFILE) names no host: it is missing or empty on $(hostname); submit the job again, and tell the site if it stays so"
    fi
    # Hosts in PBS's order, the first is this one, and how many lines each has.
    hosts=$(awk 'NF { if (!lines[$1]++) hosts[++n] = $1 } END { for (i = 1; i <= n; i++) print hosts[i], lines[hosts[i]] }' "$PBS_NODEFILE")
    nodes=$(grep -c . <<<"$hosts")
    local lines cores gpus
    lines=$(grep -c '[^[:blank:]]' "$PBS_NODEFILE")
    cores=$(attribute Resource_List.ncpus)
    cores=$(whole "${cores:+$((cores / nodes))}" "$(whole "${PBS_NUM_PPN:-$NCPUS}" $((lines / nodes)))")
    local by_line=''
    # PBS makes a select of nodes=, too.
    if [ -n "$(attribute Resource_List.nodes)$PBS_NUM_PPN" ]; then
        :
    elif [ -n "$(attribute Resource_List.select)" ] || [ $((lines / nodes)) -lt "$cores" ]; then
        by_line=yes
    fi
    if [ -n "$by_line" ]; then
        ranks=$lines
    else
        gpus=$(attribute Resource_List.ngpus)
        gpus=$(whole "${gpus:+$((gpus / nodes))}" "$(attribute Resource_List.nodes | sed -n 's/.*:gpus=\([0-9]*\).*/\1/p')")
        gpus=$(whole "$gpus" 1)
        ranks=$((nodes * (gpus > 0 ? gpus : 1)))
    fi
    if [ -n "$(whole "$RANKS" '')" ]; then by_line='' ranks=$(whole "$RANKS" 1); fi
    per_node=$(((ranks + nodes - 1) / nodes))
    if [ -z "$by_line" ]; then hosts=$(awk -v ranks="$per_node" '{ print $1, ranks }' <<<"$hosts"); fi
    # Chunks may differ: all ranks get what the poorest has.
    local least memory
    least=$(least_share)
    threads=$(whole "$THREADS" "$(whole "${least% *}" $((cores / per_node)))")
    # PBS tells no job how much memory it has, and ends one that takes more.
    memory=$(whole "${least#* }" 0)
    if [ "$memory" -gt 0 ]; then memory=$((memory << 10)); else memory=$(($(bytes "$(attribute Resource_List.mem)") / nodes)); fi
    if [ "$memory" -gt 0 ]; then export GPUGRAPH_NODE_MEMORY=$memory; fi
}

# Prints the fewest cores that a rank has on any host, and the least memory of a host in KiB; nothing where PBS does not say
# what each chunk got. exec_host is n1/0*4+n2/0, exec_vnode (n1:ncpus=4:mem=8kb)+(n2:ncpus=1:mem=2kb): a part for each chunk.
least_share() {
    awk -v hosts="$(attribute exec_host)" -v chunks="$(attribute exec_vnode)" '
        BEGIN {
            n = split(hosts, host, "+")
            gsub(/^\(|\)$/, "", chunks)
            if (n == 0 || split(chunks, chunk, /\)\+\(/) != n) exit
            units["b"] = 1 / 1024; units["kb"] = 1; units["mb"] = 1024; units["gb"] = 1048576; units["tb"] = 1073741824
            for (i = 1; i <= n; i++) {
                sub(/[\/.].*/, "", host[i])
                m = split(chunk[i], part, /[:+]/)
                for (j = 1; j <= m; j++) {
                    split(part[j], pair, "=")
                    if (pair[1] == "ncpus") cores[host[i]] += pair[2]
                    unit = pair[2]; sub(/^[0-9]+/, "", unit)
                    if (pair[1] == "mem") memory[host[i]] += pair[2] * units[unit]
                }
            }
        }
        {
            name = $1; sub(/[.].*/, "", name)
            if (!cores[name]) unknown = 1
            share = int(cores[name] / $2)
            if (NR == 1 || share < least) least = share
            if (NR == 1 || memory[name] < bound) bound = memory[name]
        }
        END { if (least > 0 && !unknown) printf "%d %d\n", least, bound }' <<<"$hosts"
}

# Tells mpirun the hosts, and how it starts its daemons there.
host_list() {
    list_hosts
    # An Open MPI that was built without PBS can still start its daemons by it.
    if [ "$nodes" -gt 1 ] && [ "$slots" != : ] && command -v pbs_tmrsh >/dev/null && ! ompi_info 2>/dev/null | grep -q 'plm: tm'; then
        # shellcheck disable=SC2016 # to be expanded when it runs
        printf '%s\n' 'host=$1; shift' 'exec pbs_tmrsh "$host" bash -c "$*"' >"$scratch/tmrsh"
        # This file is on this node alone. The daemons elsewhere look for the agent's command, which is bash therefore, and
        # beyond 64 nodes they would start others by it, unless told not to.
        export OMPI_MCA_plm_rsh_agent="bash $scratch/tmrsh" OMPI_MCA_plm_rsh_no_tree_spawn=1
        # In the foreground a daemon is part of the job: PBS tells it to end, and mpirun learns that it could not start.
        export OMPI_MCA_orte_leave_session_attached=1
    fi
}

arm() { arm_by_clock; }

# Does what can't wait for the end of a run that PBS ends.
at_term() {
    local slack=$((limit / 4 < 15 ? limit / 4 : 15))
    if [ "$limit" -gt 0 ] && [ $((SECONDS + slack)) -ge "$limit" ]; then
        # At once: 10 seconds are left, and the run may need 8 of them. The next one waits until this has ended, and finds
        # out whether this one came any further.
        export GPUGRAPH_CAME_TO=$came_to
        go_on
    else
        say "before its walltime, by qdel then: not submitted again"
    fi
}

# Submits the next job after a run that is over, unless qdel ended it.
at_end() {
    notice
    if [ -z "$terminated" ]; then go_on; fi
}

# Submits the next job, once.
go_on() {
    if [ -n "$resubmitted" ]; then return; fi
    may_go_on || return
    resubmitted=yes
    # The copy that runs is what was submitted; not every site lets its owner read it.
    script=${GPUGRAPH_SCRIPT:-$0}
    grep -qs '^#PBS' "$script" || script=$home/pbs/job.pbs
    export GPUGRAPH_RESTARTS=$((restarts + 1)) GPUGRAPH_IDLE=$idle GPUGRAPH_CAME_TO
    local value
    names=GPUGRAPH_RESTARTS,GPUGRAPH_TASK,GPUGRAPH_IDLE,GPUGRAPH_CAME_TO
    GPUGRAPH_JOB_LOG=${GPUGRAPH_JOB_LOG#"$folder"/}
    for value in GPUGRAPH_HOME GPUGRAPH_SUBMIT_DIR GPUGRAPH_JOB_LOG $carried; do
        # PBS loses quotes in values, and takes what stands between two for one value. A folder is found without: it is the one
        # that this is submitted from.
        if [[ ,$names, = *",$value,"* ]] || [[ ${!value} = *[\'\"]* ]]; then continue; fi
        export "${value?}" && names=$names,$value
    done
    next_options
    if try_qsub; then
        say "goes on as $next: restart $GPUGRAPH_RESTARTS of at most $max"
    else
        say "not submitted: submit it again to carry on"
    fi
}

# Sets the options of the next qsub. What the first one was told on its command line stands above the script's own lines,
# and is not in them: PBS tells it as attributes of the job.
next_options() {
    options=(-N "${PBS_JOBNAME:-gpugraph}" -v "$names")
    # PBS refuses jobs that depend on a task of an array; try_qsub has them wait by the clock.
    if [[ $job != *'['* ]]; then options+=(-W "depend=afterany:$job"); fi
    # Of nodes= and of sums PBS makes a select and a place, which may not stand beside those in the script. Of a select it
    # makes sums, which may not stand beside it.
    local resource resources='walltime select place' value
    if [ -n "$(attribute Resource_List.nodes)" ] || [ -z "$(attribute Resource_List.select)" ]; then
        resources='walltime nodes mem'
    elif directive '-l[[:blank:]]*([^[:blank:]]*,)?(ncpus|mem)=' && ! directive '-l[[:blank:]]*([^[:blank:]]*,)?select='; then
        resources='walltime ncpus mem mpiprocs ngpus'
    fi
    for resource in $resources; do
        value=$(attribute "Resource_List.$resource")
        if [ -n "$value" ]; then options+=(-l "$resource=$value"); fi
    done
    # What else the command line asked for: file systems or licences, which some sites insist on.
    for resource in $(attribute Submit_arguments | grep -oE -- '(^| )-l *[^ ]+' | sed 's/^ *-l *//' | tr , '\n' | sed -n 's/=.*//p'); do
        case $resource in walltime | select | place | nodes | ncpus | mem | mpiprocs | ngpus | *[!A-Za-z0-9_-]*) continue ;; esac
        value=$(attribute "Resource_List.$resource")
        if [ -n "$value" ]; then options+=(-l "$resource=$value"); fi
    done
    # The queue that it was submitted to may be one that hands jobs on to others, which take none from users.
    keep_option -q "${PBS_O_QUEUE:-$PBS_QUEUE}"
    keep_option -A "$(attribute Account_Name)"
    keep_option -P "$(attribute project)" _pbs_project_default
    keep_option -p "$(attribute Priority)" 0
    keep_option -m "$(attribute Mail_Points)" a
    keep_option -M "$(attribute Mail_Users)"
    keep_option -j "$(attribute Join_Path)" n
    keep_option -k "$(attribute Keep_Files)" n
    case $(attribute Rerunable) in True) keep_option -r y y ;; False) keep_option -r n y ;; esac
    local path=Output_Path letter=o number=${job%%[!0-9]*}
    for letter in o e; do
        value=$(attribute "$path") path=Error_Path
        # Unless said, PBS names these files after the job.
        case $value in */"$PBS_JOBNAME.$letter$number" | */"$PBS_JOBNAME.$letter$number".*) ;; *) keep_option "-$letter" "$value" ;; esac
    done
    for value in umask group_list; do
        if [ -n "$(attribute "$value")" ]; then options+=(-W "$value=$(attribute "$value")"); fi
    done
}
# Adds an option, unless its value is PBS's default (the third argument) and no line of the script says otherwise.
keep_option() {
    if [ -z "$2" ] || { [ "$2" = "$3" ] && ! directive "$1"; }; then return; fi
    options+=("$1" "$2")
}
# True if a directive of the script has an option that begins so (a regular expression).
directive() { grep -qE "^#PBS[[:blank:]](.*[[:blank:]])?$1" "$script"; }

# Runs qsub until it takes the job, or RETRY seconds are over; 8 seconds at most once PBS has said that it ends this one.
try_qsub() {
    local until=$((SECONDS + $(whole "${RETRY:-300}" 300))) pause=1 left answer
    while :; do
        if [ -n "$terminated" ] && [ $((ended_at + 8)) -lt "$until" ]; then until=$((ended_at + 8)); fi
        left=$((until - SECONDS < 60 ? until - SECONDS : 60))
        if answer=$(qsub_once $((left > 2 ? left : 2)) 2>&1); then
            next=$(grep -E '^[0-9]' <<<"$answer" | tail -n 1)
            return 0
        fi
        say "qsub failed on $(hostname): ${answer//$'\n'/; }"
        if [[ $answer = *'Bad UID'* ]]; then
            # It is what the server always says, and meanwhile the nodes do nothing.
            say "this site takes no jobs from its compute nodes: set QSUB in $site"
            return 1
        fi
        if [ -n "$terminated" ] && [ $((ended_at + 8)) -lt "$until" ]; then until=$((ended_at + 8)); fi
        if [ $((SECONDS + pause)) -ge "$until" ]; then return 1; fi
        sleep "$pause"
        pause=$((pause < 16 ? 2 * pause : 30))
    done
}

# Prints what goes ahead of the PATH of a shell where ssh leads: it is no login shell, and may not find PBS's commands.
remote_path() {
    local bin
    bin=$(command -v qstat) && echo "$(quoted "${bin%/*}"):"
}

# Submits the script within so many seconds; prints what qsub says.
qsub_once() {
    local within=$1 words command name word remote zone='' all=("${options[@]}")
    if [[ $job = *'['* ]]; then
        # KILL comes 11 seconds after TERM; before it this task still holds the workdir. The zone is that of qsub's clock.
        zone=TZ=UTC0 all+=(-a "$(date -u -d '+20 seconds' +%Y%m%d%H%M.%S)")
    fi
    read -ra words <<<"${QSUB:-qsub}"
    local last=$((${#words[@]} - 1))
    if [ "${words[0]##*/}" = ssh ]; then
        # Nothing of this environment, folder or disk is known where ssh leads.
        remote="cd $(quoted "$folder") && env PATH=$(remote_path)\"\$PATH\" $zone"
        for name in ${names//,/ }; do remote+=" $(quoted "$name=${!name}")"; done
        for word in "${words[last]}" "${all[@]}"; do remote+=" $(quoted "$word")"; done
        command=("${words[@]:0:last}" "$remote")
    else
        command=(env ${zone:+"$zone"} "${words[@]}" "${all[@]}")
        # The file itself, where it can be: sites wrap qsub in commands of their own.
        if [ -z "$task" ]; then command+=("$script"); fi
    fi
    # Else by standard input, and without what would make an array of what goes on from one task.
    sed -E "${task:+/^#PBS/ s/([[:blank:]])-[Jt][[:blank:]]*[^[:blank:]]+/\\1/}" "$script" | timeout -k 1 "$within" "${command[@]}"
}

# Releases the held jobs whose ids RELEASE lists, separated by blanks or colons. It runs when the whole chain is done.
release() {
    local ids id
    read -ra ids <<<"${RELEASE//[:,]/ }"
    for id in "${ids[@]}"; do
        if [ -n "$task" ]; then
            say "RELEASE is not for arrays, whose other tasks may still run: $id stays held"
        elif try_qrls "$id"; then
            say "the job is done: released $id"
        else
            say "$id was not released: do it by qrls $id"
        fi
    done
}

# Runs qrls until it releases the job, or RETRY seconds are over.
try_qrls() {
    local until=$((SECONDS + $(whole "${RETRY:-300}" 300))) pause=1 answer
    while ! answer=$(qrls_once "$1" 2>&1); do
        say "qrls failed on $(hostname): ${answer//$'\n'/; }"
        if [[ $answer = *'Unknown Job'* || $answer = *[Uu]nauthorized* ]] || [ $((SECONDS + pause)) -ge "$until" ]; then return 1; fi
        sleep "$pause"
        pause=$((pause < 16 ? 2 * pause : 30))
    done
}

# Releases a job on the host where QSUB submits jobs. The qrls is the one of the same folder as its qsub.
qrls_once() {
    local words remote
    read -ra words <<<"${QSUB:-qsub}"
    local last=$((${#words[@]} - 1)) qrls=qrls
    case ${words[last]} in */qsub) qrls=${words[last]%qsub}qrls ;; esac
    if [ "${words[0]##*/}" = ssh ]; then
        remote="env PATH=$(remote_path)\"\$PATH\" $(quoted "$qrls") $(quoted "$1")"
        timeout -k 1 60 "${words[@]:0:last}" "$remote" </dev/null
    else
        timeout -k 1 60 "${words[@]:0:last}" "$qrls" "$1" </dev/null
    fi
}
