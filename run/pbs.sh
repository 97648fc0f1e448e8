#!/usr/bin/env bash
# PBS job script: searches until the search is complete, over as many jobs as that takes.
#
#   qsub -v EXPERIMENT=config/uts-t1.yaml -l select=8:ncpus=64:mpiprocs=1:ompthreads=64 -l walltime=12:00:00 run/pbs.sh
#
# The job stops itself shortly before its time limit with a checkpoint, submits itself again, and that job resumes. Call it
# from the project's folder; give resources on the command line of qsub or edit the lines below. Settings, by `qsub -v`; a value
# with a comma or a quote is passed from the environment (RUN='a, b' qsub -v EXPERIMENT=...,RUN ...):
#
#   EXPERIMENT   the experiment file
#   RUN          the run folder; default: runs/NAME for an experiment NAME.yaml
#   ESPALIER     the program; default: build/release/bin/espalier, else espalier on PATH
#   FLAGS        more flags of `espalier search`, separated by spaces
#   THREADS      working threads per rank; default: ompthreads of the job
#   MARGIN       seconds kept free at the end of the job for the last checkpoint; default: 120
#   MAX_TIME     at most this many seconds in one job; default: the job's walltime less MARGIN
#   MPIEXEC      default: mpiexec (MPICH's, which reads the list of hosts by -f)
#   SCRIPT       this file; default: run/pbs.sh
#   QSUB         flags of qsub for the following jobs, if resources were given on the command line
#
#PBS -N espalier
#PBS -l select=2:ncpus=2:mpiprocs=1:ompthreads=2
#PBS -l walltime=04:00:00
#PBS -j oe
#PBS -r y
#
# `-r y`: when a node fails PBS starts the job again, which resumes.
set -euo pipefail
cd "${PBS_O_WORKDIR:?is set by PBS: submit this script with qsub}"

readonly resumable=85   # exit code of a search that stopped with a checkpoint

experiment=${EXPERIMENT:-}
if [[ -z $experiment ]]; then
    echo "pbs.sh: no experiment (qsub -v EXPERIMENT=FILE.yaml run/pbs.sh)" >&2
    exit 2
fi
name=${experiment##*/}
run=${RUN:-runs/${name%.*}}
espalier=${ESPALIER:-build/release/bin/espalier}
[[ -x $espalier ]] || espalier=espalier
script=${SCRIPT:-run/pbs.sh}
read -ra flags <<<"${FLAGS:-}"
threads=${THREADS:-${OMP_NUM_THREADS:-}}
[[ -n $threads ]] && flags+=(--threads "$threads")

# Seconds of walltime the job was given, nothing if there is no limit. qstat prints HH:MM:SS.
walltime() {
    qstat -f "$PBS_JOBID" 2>/dev/null |
        awk -F '[= :]+' '/Resource_List.walltime/ { print $(NF-2) * 3600 + $(NF-1) * 60 + $NF }'
}

# Nodes counted so far, 0 before the first checkpoint.
nodes_so_far() {
    local shown
    shown=$("$espalier" show --json -- "$run" 2>/dev/null | grep -o '"nodes": *[0-9]*' | head -n 1) || true
    echo "${shown##*[!0-9]}"
}

left=$(walltime)
margin=${MARGIN:-120}
max_time=${MAX_TIME:-}
if [[ -n $left ]]; then
    budget=$((left > 2 * margin ? left - margin : (left + 1) / 2))
    ((${max_time:-budget} < budget)) || max_time=$budget
fi
[[ -n $max_time ]] && flags+=(--max-time "${max_time}s")

export OMP_PLACES=cores OMP_PROC_BIND=close
export HDF5_USE_FILE_LOCKING=${HDF5_USE_FILE_LOCKING:-FALSE}    # many parallel file systems have no flock

is_terminated=no
trap 'is_terminated=yes' TERM   # by qdel or the time limit; the trap runs when mpiexec has ended

ranks=$(wc -l <"$PBS_NODEFILE")
before=$(nodes_so_far)
echo "pbs.sh: job $PBS_JOBID, $ranks ranks, run $run, ${before:-0} nodes so far, ${max_time:-no limit in} seconds"

# A lost rank must not take the others down with it: its work is given to them.
status=0
"${MPIEXEC:-mpiexec}" -f "$PBS_NODEFILE" -n "$ranks" -disable-auto-cleanup \
    "$espalier" search "--results=$run" "${flags[@]}" -- "$experiment" </dev/null || status=$?

# After a signal the code of mpiexec is unreliable; the run itself knows better.
if [[ -e $run ]]; then
    code=0
    "$espalier" show --status -- "$run" || code=$?
    ((code == resumable)) || exit "$code"
else
    exit "$status"
fi

after=$(nodes_so_far)
if ((${after:-0} <= ${before:-0})); then
    echo "pbs.sh: no progress (${after:-0} nodes before and after, code $status): not submitted again" >&2
    exit $((status ? status : resumable))
fi
if [[ $is_terminated == yes ]] && { [[ -z $left ]] || ((SECONDS < left)); }; then
    echo "pbs.sh: the job was deleted; the same command resumes" >&2
    exit "$resumable"
fi

# Names without values: qsub takes those from the environment, whatever characters they have.
settings=EXPERIMENT
for setting in RUN ESPALIER FLAGS THREADS MARGIN MAX_TIME MPIEXEC SCRIPT QSUB; do
    [[ -n ${!setting:-} ]] && settings+=",$setting" && export "${setting?}"
done
export EXPERIMENT
read -ra resources <<<"${QSUB:-}"
next=$(qsub "${resources[@]}" -v "$settings" "$script")
echo "pbs.sh: ${after:-0} nodes so far; continues as job $next"
