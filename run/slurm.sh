#!/usr/bin/env bash
# Slurm job script: searches until the search is complete, over as many jobs as that takes.
#
#   sbatch --nodes=8 --cpus-per-task=64 --time=12:00:00 run/slurm.sh config/uts-t1.yaml
#
# The job stops itself shortly before its time limit with a checkpoint, is put back into the queue under the same number,
# and resumes. Give resources on the command line of sbatch or edit the lines below. Settings, from the environment:
#
#   EXPERIMENT   the experiment file (or the first argument)
#   RUN          the run folder, any name; default: runs/NAME for an experiment NAME.yaml
#   ESPALIER     the program; default: build/release/bin/espalier, else espalier on PATH
#   FLAGS        more flags of `espalier search`, separated by spaces, e.g. "--set search.seed=2"
#   THREADS      working threads per rank; default: the job's CPUs per task
#   MARGIN       seconds kept free at the end of the job for the last checkpoint; default: 120
#   MAX_TIME     at most this many seconds in one job; default: the job's time limit less MARGIN
#   MPI_TYPE     what srun calls the MPI; default: pmi2 (MPICH); see srun --mpi=list
#
#SBATCH --job-name=espalier
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=2
#SBATCH --time=04:00:00
#SBATCH --signal=USR1@300
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=espalier-%j.log
#
# --signal reaches the ranks (not this script: no `B:`), and USR1 means "write a checkpoint now": a net below MAX_TIME.
set -euo pipefail

readonly resumable=85   # exit code of a search that stopped with a checkpoint

experiment=${1:-${EXPERIMENT:-}}
if [[ -z $experiment ]]; then
    echo "slurm.sh: no experiment (sbatch run/slurm.sh EXPERIMENT.yaml)" >&2
    exit 2
fi
name=${experiment##*/}
run=${RUN:-runs/${name%.*}}
espalier=${ESPALIER:-build/release/bin/espalier}
[[ -x $espalier ]] || espalier=espalier
read -ra flags <<<"${FLAGS:-}"
threads=${THREADS:-${SLURM_CPUS_PER_TASK:-}}
[[ -n $threads ]] && flags+=(--threads "$threads")

# Seconds until the time limit; nothing if there is none. squeue prints [[D-]HH:]MM:SS.
seconds_left() {
    squeue --noheader --jobs "$SLURM_JOB_ID" --format %L 2>/dev/null |
        awk -F '[-:]' '/^[0-9:-]+$/ { s = $NF + 60 * $(NF-1) + 3600 * $(NF-2) * (NF > 2) + 86400 * $1 * (NF > 3); print s }'
}

# Nodes counted so far, 0 before the first checkpoint.
nodes_so_far() {
    local shown
    shown=$("$espalier" show --json -- "$run" 2>/dev/null | grep -o '"nodes": *[0-9]*' | head -n 1) || true
    echo "${shown##*[!0-9]}"
}

left=$(seconds_left)
margin=${MARGIN:-120}
max_time=${MAX_TIME:-}
if [[ -n $left ]]; then
    budget=$((left > 2 * margin ? left - margin : (left + 1) / 2))
    ((${max_time:-budget} < budget)) || max_time=$budget
fi
[[ -n $max_time ]] && flags+=(--max-time "${max_time}s")

export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}     # srun does not inherit it from sbatch since Slurm 22.05
export OMP_PLACES=cores OMP_PROC_BIND=close
export HDF5_USE_FILE_LOCKING=${HDF5_USE_FILE_LOCKING:-FALSE}    # many parallel file systems have no flock

is_terminated=no
trap 'is_terminated=yes' TERM   # by scancel, preemption or the time limit; the trap runs when srun has ended

before=$(nodes_so_far)
echo "slurm.sh: job $SLURM_JOB_ID, execution $((${SLURM_RESTART_COUNT:-0} + 1)), ${SLURM_NTASKS:-1} ranks," \
     "run $run, ${before:-0} nodes so far, ${max_time:-no limit in} seconds"

# A lost rank must not take the others down with it: its work is given to them.
status=0
srun --mpi="${MPI_TYPE:-pmi2}" --kill-on-bad-exit=0 --wait=0 --no-kill --cpu-bind=cores \
    "$espalier" search "--results=$run" "${flags[@]}" -- "$experiment" || status=$?

# The code of srun is that of whichever rank was worst; the run itself knows better.
if [[ -e $run ]]; then
    code=0
    "$espalier" show --status -- "$run" || code=$?
    ((code == resumable)) || exit "$code"
else
    exit "$status"
fi

after=$(nodes_so_far)
if ((${after:-0} <= ${before:-0})); then
    echo "slurm.sh: no progress (${after:-0} nodes before and after, code $status): not queued again" >&2
    exit $((status ? status : resumable))
fi
left=$(seconds_left)
if [[ $is_terminated == yes ]] && ((${left:-1} > 0)); then
    echo "slurm.sh: the job was cancelled; the same command resumes" >&2
    exit "$resumable"
fi
echo "slurm.sh: ${after:-0} nodes so far; queued again"
scontrol requeue "$SLURM_JOB_ID"
