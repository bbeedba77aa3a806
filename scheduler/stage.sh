# Keeps the workdir on a disk of the node during a slice. scheduler/run.sh sources this file if STAGE names a folder there.
# shellcheck shell=bash disable=SC2034,SC2154 # what run.sh reads, and sets
#
#   STAGE          a folder on the node's own disk, as $SLURM_TMPDIR and $TMPDIR are at many sites
#   STAGE_RATE     MiB a second that the copy back may count on. Unless said 100; less if the copy in was slower
#
# The workdir of the job file is the one that lasts. Its copy back is whole before it takes its place: first it is WORKDIR.copying,
# then WORKDIR.whole. Whoever finds the latter puts it in place.

# Puts a whole copy in the place of the workdir, and removes what else a slice that was killed has left.
put_in_place() {
    if [ -d "$workdir.whole" ]; then
        rm -rf "$workdir.old"
        if [ -e "$workdir" ]; then mv -T "$workdir" "$workdir.old" || return; fi
        mv -T "$workdir.whole" "$workdir" || return
    elif [ ! -e "$workdir" ] && [ -d "$workdir.old" ]; then
        mv -T "$workdir.old" "$workdir" || return
    fi
    rm -rf "$workdir.old" "$workdir.copying"
}
# MiB that a folder takes.
size_of() { du -sm "$1" 2>/dev/null | awk '{ print $1 }'; }
# Locks a file until this script ends. A file system that has no locks goes without.
lock() {
    local file
    exec {file}>>"$1" || die "$1: can't be written on $(hostname)"
    stage_locks+=("$file")
    flock -n -E 200 "$file"
    if [ $? = 200 ]; then die "$workdir: another job or run works there: submit this again when that has ended"; fi
}
unlock() { for file in "${stage_locks[@]}"; do flock -u "$file"; done; }
# Copies a folder. Signals of the scheduler but KILL do not end it.
copy() { (trap '' TERM USR1 USR2 INT && cp -a -- "$1" "$2" && sync -f "$2"); }

# Copies the workdir in, and has the run work there. If the copy fails, the log says so and the run works in the workdir itself.
stage_in() {
    [ "$nodes" = 1 ] || die "STAGE=$STAGE: the workdir is staged on one node alone, and this job has $nodes; unset STAGE, and see [job] scratch"
    if [ ! -d "$STAGE" ] || [ ! -w "$STAGE" ]; then die "STAGE=$STAGE: no folder on $(hostname) that can be written"; fi
    local found
    found=$(look)
    case $found in
    *'"workdir":'*) workdir=$(sed -n 's/^ *"workdir": *"\(.*\)",\{0,1\}$/\1/p' <<<"$found" | head -n 1 | sed 's/\\\(["\\]\)/\1/g') ;;
    *': no job ran here yet'*) workdir=$(sed -n 's/^\(error: \)\{0,1\}\(.*\): no job ran here yet.*/\2/p' <<<"$found" | head -n 1) ;;
    esac
    if [ -z "$workdir" ]; then say "the workdir is unknown, so it is not staged" && return; fi
    workdir=${workdir%/}
    # One slice at a time, and no run in the workdir itself. The kernel frees these locks when this script ends.
    mkdir -p "$(dirname "$workdir")"
    lock "$workdir.staging"
    put_in_place || die "$workdir: the copy that a slice left beside it can't be put in its place"
    local total small
    total=$(df -Pm "$STAGE" | awk 'NR == 2 { print $2 }')
    if read -r small 2>/dev/null <"$workdir.unstaged" && [ "$(whole "$total" 0)" -le "$(whole "$small" 0)" ]; then
        say "a disk of $small MiB was too small for an earlier slice, so $workdir is not staged" && return
    fi
    if [ -d "$workdir" ]; then lock "$workdir/lock"; fi
    rate=$(whole "$STAGE_RATE" 100)
    local begin=$EPOCHSECONDS inside=0 room took
    # Named for the workdir, so that the next slice on this node removes what one that was killed has left.
    staged=$STAGE/gpugraph.$(realpath -m -- "$workdir" | cksum | cut -d ' ' -f 1)
    rm -rf "$staged"
    if [ -d "$workdir" ]; then
        inside=$(size_of "$workdir") room=$(df -Pm "$STAGE" | awk 'NR == 2 { print $4 }')
        if [ "$inside" -ge "$(whole "$room" 0)" ] || ! copy "$workdir" "$staged"; then
            say "$workdir takes $inside MiB, and $STAGE has room for $room: not staged"
            # The run locks the workdir itself.
            rm -rf "$staged" && staged='' && unlock && return
        fi
        took=$((EPOCHSECONDS - begin))
        # A copy of less than 3 seconds says little, and that of a read cache too much.
        if [ "$took" -ge 3 ] && [ $((inside / took)) -lt "$rate" ]; then rate=$((inside / took > 0 ? inside / took : 1)); fi
    fi
    ARGS+=(--set "job.workdir=${staged//\$/\$\$}")
    say "staged $workdir ($inside MiB) in $staged; $rate MiB/s are counted on for the copy back"
    if [ "$limit" -gt 0 ] && [ "$ahead" -gt 0 ]; then arm_stage_timer; fi
}

# Has USR1 come before `ahead` and the time that the copy back takes are all that is left. That time grows with the workdir.
arm_stage_timer() {
    local me=$BASHPID
    stage_timer=$(
        {
            while [ $((SECONDS + ahead + $(whole "$(size_of "$staged")" 0) / rate + 2)) -lt "$limit" ]; do
                sleep 2
                kill -0 "$me" || exit
            done
            # Twice, since one that comes early is kept for later where the scheduler sends its own.
            kill -USR1 "$me" && sleep 1 && kill -USR1 "$me"
        } >/dev/null 2>&1 &
        echo $!
    )
}

# Copies the workdir back, whole or not at all.
stage_out() {
    if [ -n "$stage_timer" ]; then kill "$stage_timer" 2>/dev/null; fi
    # A slice that was told to end before its run began has nothing new.
    if [ -z "$began" ]; then
        rm -rf "$staged"
    elif [ -d "$staged" ]; then
        if copy "$staged" "$workdir.copying" && mv -T "$workdir.copying" "$workdir.whole" && put_in_place; then
            say "copied back to $workdir"
            # gpugraph's exit code for a full disk. What was saved before is here now.
            if [ "$code" = 6 ]; then
                say "the disk of STAGE=$STAGE is full: the next slice works in $workdir itself"
                df -Pm "$STAGE" | awk 'NR == 2 { print $2 }' >"$workdir.unstaged"
                code=75
            elif [ "$code" = 0 ]; then
                rm -f "$workdir.unstaged"
            fi
        else
            rm -rf "$workdir.copying"
            say "the copy back to $workdir failed, so it is as it was before this slice"
            # Counted as a slice that brought the job no further.
            code=75 asked=yes told+=asked
        fi
        rm -rf "$staged"
    fi
    # What else holds these files open, such as the sleep of a timer, would keep the next slice away.
    unlock
}
