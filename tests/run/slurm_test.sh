#!/usr/bin/env bash
# usage: slurm_test.sh ESPALIER SOURCE_FOLDER
# Runs run/slurm.sh on a real Slurm of one machine, with so little time that the search is stopped, queued again and
# resumed, and checks that the counts are those of an undisturbed search. Exit 77: Slurm cannot be started here.
set -euo pipefail

espalier=$(realpath "$1")
source=$(realpath "$2")
readonly nodes=4130071 leaves=3305118 depth=10      # UTS T1, as published
readonly seconds_per_job=8 wanted_seconds=26        # of the whole search on this machine

work=$(mktemp -d)
chmod 755 "$work"                   # munge wants its socket to be reachable
declare -A daemons=()
job=

finish() {
    local status=$?
    trap - EXIT
    set +e
    if [[ -n $job ]]; then
        scancel "$job" 2>/dev/null
        for _ in {1..40}; do
            [[ -z $(squeue --noheader --jobs "$job" 2>/dev/null) ]] && break
            sleep 0.5
        done
    fi
    for daemon in slurmd slurmctld munged; do
        [[ -n ${daemons[$daemon]:-} ]] && kill "${daemons[$daemon]}" 2>/dev/null && wait "${daemons[$daemon]}" 2>/dev/null
    done
    ((status == 0 || status == 77)) || tail -n 30 "$work"/*.log
    rm -rf "$work"
    exit "$status"
}
trap finish EXIT

skip() { echo "slurm_test: skipped: $*"; exit 77; }
fail() { echo "slurm_test: $*" >&2; exit 1; }

# --- a private Slurm ---

for program in munged slurmctld slurmd sbatch srun squeue scancel scontrol sinfo; do
    PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || skip "no $program (run/setup --slow installs Slurm and munge)"
done
PATH=$PATH:/usr/sbin

free_ports() {
    python3 -c 'import socket; s = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]; print(*(x.getsockname()[1] for x in s))'
}

start() {
    local name=$1
    shift
    "$@" </dev/null >>"$work/$name.out.log" 2>&1 &
    daemons[$name]=$!
}

host=$(hostname -s)
read -r ctld_port d_port < <(free_ports)
mkdir "$work/state" "$work/spool"
cat >"$work/slurm.conf" <<END
ClusterName=espalier-test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
SlurmctldPort=$ctld_port
SlurmdPort=$d_port
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CryptoType=crypto/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,bf_interval=1
JobAcctGatherType=jobacct_gather/none
MpiDefault=pmi2
ReturnToService=2
KillWait=10
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=test Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
END
export SLURM_CONF=$work/slurm.conf

(umask 077 && head -c 1024 /dev/urandom >"$work/munge.key")
start munged munged --foreground --force --key-file="$work/munge.key" --socket="$work/munge.socket" \
    --pid-file="$work/munged.pid" --log-file="$work/munged.log" --seed-file="$work/munge.seed"
for _ in {1..50}; do
    [[ -S $work/munge.socket ]] && break
    sleep 0.1
done
start slurmctld slurmctld -D -c
start slurmd slurmd -D

is_up() { [[ $(timeout 5 sinfo --noheader --format %T 2>/dev/null) == idle ]]; }
for _ in {1..60}; do
    is_up && break
    sleep 0.5
done
is_up || { tail -n 15 "$work"/*.log; skip "Slurm did not come up"; }
timeout 60 srun --mpi=pmi2 --ntasks=2 --cpus-per-task=1 --time=1 true || { tail -n 15 "$work"/*.log; skip "srun does not work here"; }
echo "slurm_test: $(sinfo --version) is up"

# --- the search ---

cd "$work"
echo 'problem: {kind: uts, tree: T1}' >t1.yaml
json_number() { grep -o "\"$1\": *[0-9.e+-]*" | head -n 1 | sed 's/.*: *//'; }

# How slow must a node be for the whole search to take the wanted time?
probe=20
taken=$("$espalier" search t1.yaml --json --set "problem.granularity=$probe" --set search.threads=2 \
        --set results.path=probe 2>probe.log | json_number seconds)
granularity=$(awk -v g=$probe -v s="$taken" -v w=$wanted_seconds 'BEGIN { print int(g * w / (s < 0.05 ? 0.05 : s)) + 1 }')
echo "slurm_test: granularity $granularity, because $probe took $taken s"

job=$(RUN=$work/run ESPALIER=$espalier MAX_TIME=$seconds_per_job MARGIN=20 FLAGS="--set problem.granularity=$granularity" \
      sbatch --parsable --nodes=1 --ntasks-per-node=2 --cpus-per-task=1 --time=3 --output="$work/job.log" \
      "$source/run/slurm.sh" t1.yaml)

job_field() { scontrol show job "$job" | grep -o "\b$1=[^ ]*" | cut -d= -f2; }

is_signalled=no
for ((second = 0; second < 540; ++second)); do
    state=$(job_field JobState)
    if [[ $state == RUNNING && $is_signalled == no && -e $work/run ]]; then
        sleep 2
        scancel --signal=USR1 "$job"        # "checkpoint now": it must do no harm
        is_signalled=yes
    fi
    # Slurm lets a requeued job wait for two minutes.
    if [[ $state == PENDING ]]; then scontrol update "JobId=$job" StartTime=now 2>/dev/null || true; fi
    [[ $state =~ ^(PENDING|CONFIGURING|RUNNING|COMPLETING|REQUEUED|SUSPENDED)$ ]] || break
    sleep 1
done
restarts=$(job_field Restarts)
cat "$work/job.log"
echo "slurm_test: $state after $restarts restarts and about $second s"

[[ $state == COMPLETED ]] || fail "the job ended as $state"
((restarts >= 1)) || fail "the job was never queued again"
"$espalier" show "$work/run" --status || fail "the run is not complete"
shown=$("$espalier" show "$work/run" --json | tr -d '\n')
[[ $(json_number nodes <<<"$shown") == "$nodes" ]] || fail "wrong number of nodes: $shown"
[[ $(json_number leaves <<<"$shown") == "$leaves" ]] || fail "wrong number of leaves: $shown"
[[ $(json_number depth <<<"$shown") == "$depth" ]] || fail "wrong depth: $shown"
echo "slurm_test: $nodes nodes, exactly"
