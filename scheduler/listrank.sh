# The published experiment on list ranking, from one submission: makes its list of 10,000,000 elements once, as text, ranks it serially,
# by all cores, by the ranks that the scheduler granted and on a GPU, by pointer jumping (as published) and by the fastest method,
# compares the ranks, and prints the times side by side. pbs/listrank.pbs and slurm/listrank.sbatch source it.
# shellcheck shell=bash disable=SC2030,SC2031,SC2034,SC2154 # what run.sh reads and sets, also in subshells
#
# Each variant is a job with a workdir of its own, carried out by scheduler/run.sh in a subshell: one that is cut off is gone on with, those
# that are done are not run again. The environment, beside what run.sh names (SET is of all variants):
#   LENGTH            elements of the list; unless said 10000000
#   KIND              swapped (the published one), random, ordered or runs; unless said swapped

length=${LENGTH:-10000000} kind=${KIND:-swapped}
work=gpugraph.work/listrank-$kind-$length
list=$work/$kind.list

# Name, device, method; `ranks` in front has it run by all ranks, the others are one process with all cores of a node.
variants=('serial cpu serial' 'wyllie cpu wyllie' 'cpu cpu auto' 'ranks-wyllie cpu wyllie' 'ranks cpu auto' 'gpu-wyllie gpu wyllie' 'gpu gpu auto')

# Run by run.sh, once what was granted is known: all that it does otherwise is done for each variant.
sized() {
    local variant name device method worst=0
    look_around
    make_list
    for variant in "${variants[@]}"; do
        read -r name device method <<<"$variant"
        if [ -n "$(why_not "$name")" ]; then
            say "$name: $(why_not "$name")"
        elif is_done "$name"; then
            say "$name: done already"
        else
            one_run "$name" "$device" "$method"
            case $code in
            0) ;;
            75 | 9) exit "$code" ;;
            *) worst=$code ;;
            esac
        fi
    done
    table | tee "$work/times.txt"
    if [ "$worst" = 0 ] && ! same_ranks; then worst=8; fi
    exit "$worst"
}

# Finds out whether there are a GPU, ranks, and an MPI to start these with.
look_around() {
    granted=$ranks
    local look
    look=$("$gpugraph" devices --json | tr -d ' \n')
    case $look in *'"gpus":[]'*) gpus='' ;; *) gpus=yes ;; esac
    case $look in *'"built_in":true'*) mpi=yes ;; *) mpi='' ;; esac
}
# Prints why a variant is left out; nothing if it is not.
why_not() {
    case $1 in
    ranks*)
        if [ "$granted" = 1 ]; then
            echo "left out: one rank was granted (mpiprocs of PBS, ntasks of Slurm)"
        elif [ -z "$mpi" ]; then
            echo "left out: this gpugraph has no MPI (cargo build --release --features mpi)"
        fi
        ;;
    gpu*) if [ -z "$gpus" ]; then echo "left out: no GPU on $(hostname)"; fi ;;
    esac
}
is_done() {
    local look
    look=$(timeout -k 1 20 "$gpugraph" status "$work/$1" --json 2>&1 </dev/null)
    [[ $look = *'"state": "finished"'* ]]
}

# Makes the list, whole or not at all.
make_list() {
    mkdir -p "$work" || die "$work: can't be made"
    if [ -e "$list" ]; then return; fi
    "$gpugraph" generate list --length "$length" --kind "$kind" --threads $((threads * per_node)) -o "$list" </dev/null
    code=$?
    cut_off
    if [ "$code" != 0 ]; then exit "$code"; fi
}
# Goes on in another job if the scheduler ended this one while no run was there to be told.
cut_off() {
    if [ -n "$asked$terminated" ]; then
        code=75
        at_end
        exit 75
    fi
}

# Carries out a variant by run.sh, which has this job go on if it is cut off; sets `code`.
one_run() {
    cut_off
    # The next job is given the same CONFIG, SET and RANKS as this one: what is of a variant goes by other ways.
    (
        variant=$1
        ARGS=(--set "job.workdir=$work/$1" --set "input.path=$list" --set "run.device=$2" --set "listrank.method=$3")
        if [ ! -e "$work/$1" ]; then rm -f "$work/$1.runs"; fi
        sized() {
            if [[ $variant != ranks* ]]; then threads=$((threads * per_node)) ranks=1 per_node=1 nodes=1; fi
            if [ "$variant" = serial ]; then threads=1; fi
        }
        # Those of a variant that went on after it was cut off are added up.
        ended() { echo "$1 $ranks $threads $2" >>"$work/$variant.runs"; }
        # shellcheck source=scheduler/run.sh
        . "$gpugraph_home/scheduler/run.sh"
    ) &
    # The subshell tells what comes, and has the job go on.
    wait_for $! :
    # Told to save before it could listen, so it has not had the job go on.
    if [ "$code" = 138 ]; then cut_off; fi
}

# Prints a field of the results of list ranking of a variant. What is deeper in, as seconds of its rounds, is further to the right.
result() { sed -n '/^    "listrank": {/,/^    }/ s/^      "'"$2"'": "\{0,1\}\([^",]*\).*/\1/p' "$work/$1/report.json"; }
# Prints the seconds of a variant's runs by gpugraph's own clock.
spent() { sed -n 's/^  "seconds": \([^,]*\).*/\1/p' "$work/$1/report.json"; }
table() {
    local variant name started serial='' serial_spent='' line='%-13s %-11s %5s %7s %12s %7s %12s %7s %9s\n'
    echo "$kind list of $length elements, text: $list"
    # shellcheck disable=SC2059 # the same for all lines
    printf "$line" variant method ranks threads 'ranking, s' times 'in all, s' times 'start, s'
    for variant in "${variants[@]}"; do
        name=${variant%% *}
        if [ -n "$(why_not "$name")" ]; then
            printf '%-13s %s\n' "$name" "$(why_not "$name")"
        elif ! is_done "$name"; then
            printf '%-13s %s\n' "$name" "failed: exit $(awk 'END { print $1 }' "$work/$name.runs")"
        else
            started=$(awk -v spent="$(spent "$name")" '{ sum += $4 } END { left = sum / 1e6 - spent; print (left > 0 ? left : 0) }' "$work/$name.runs")
            if [ "$name" = serial ]; then serial=$(result serial seconds) serial_spent=$(spent serial); fi
            # shellcheck disable=SC2046,SC2059 # two words; the same for all lines
            printf "$line" "$name" "$(result "$name" method)" $(awk 'END { print $2, $3 }' "$work/$name.runs") \
                "$(digits "$(result "$name" seconds)")" "$(ratio "$serial" "$(result "$name" seconds)")" \
                "$(digits "$(spent "$name")")" "$(ratio "$serial_spent" "$(spent "$name")")" "$(digits "$started")"
        fi
    done
    echo "ranking: the algorithm alone; in all: reading and writing included; start: of the processes, before that and after; times: as fast as serial"
}
# Prints a number with three digits.
digits() { awk -v n="$1" 'BEGIN { places = 2; for (m = n; m >= 10 && places > 0; m /= 10) places--; for (m = n; m > 0 && m < 1 && places < 6; m *= 10) places++; printf "%.*f", places, n }'; }
ratio() { if awk -v of="$1" -v by="$2" 'BEGIN { exit !(of > 0 && by > 0) }'; then digits "$(awk -v of="$1" -v by="$2" 'BEGIN { print of / by }')"; else echo -; fi; }

# Compares the ranks of all variants that are done, and tells.
same_ranks() {
    local variant name first='' differ='' column
    for variant in "${variants[@]}"; do
        name=${variant%% *}
        if [ -n "$(why_not "$name")" ] || ! is_done "$name"; then continue; fi
        column=$(echo "$work/$name"/out/rank.*)
        if [ -z "$first" ]; then
            first=$column checksum=$(result "$name" checksum)
        elif ! cmp -s "$first" "$column" || [ "$(result "$name" checksum)" != "$checksum" ]; then
            differ+=" $name"
        fi
    done
    if [ -n "$differ" ]; then
        echo "other ranks than $first:$differ" | tee -a "$work/times.txt"
        return 1
    fi
    echo "all ranks are the same: checksum $checksum" | tee -a "$work/times.txt"
}

# shellcheck source=scheduler/run.sh
. "$gpugraph_home/scheduler/run.sh"
