#!/bin/bash
# Checks a whole tree on a Slurm cluster: one shard of its entries a task of a job array.
#
#   sbatch examples/cluster/slurm_array.sh src/
#   sbatch --dependency=afterany:JOB --wrap 'graphmend-lsp merge graphmend-records/*.json'
#
# The second command makes one report; its exit status is that of the check, and a shard that is missing is an error in it.
# Records go to $GRAPHMEND_RECORDS, a folder that all nodes see. Change the lines below to suit the cluster.
#SBATCH --job-name=graphmend
#SBATCH --array=1-8
#SBATCH --cpus-per-task=4
#SBATCH --mem=16G
#SBATCH --time=01:00:00
#SBATCH --output=graphmend-%A_%a.log
set -euo pipefail

records=${GRAPHMEND_RECORDS:-graphmend-records}
shard=$((SLURM_ARRAY_TASK_ID - SLURM_ARRAY_TASK_MIN + 1))/$SLURM_ARRAY_TASK_COUNT
record=$records/${SLURM_ARRAY_TASK_ID}.json
mkdir -p "$records"
rm -f "$record"

status=0
srun --ntasks=1 graphmend-lsp check "$@" --shard "$shard" --jobs "$((SLURM_CPUS_PER_TASK / 2 > 0 ? SLURM_CPUS_PER_TASK / 2 : 1))" \
    --json >"$record.part" || status=$?

# A record is there as a whole or not at all. 1: breaks were found, which is no failure of this task. 2 can have a record, too.
if [ -s "$record.part" ]; then mv "$record.part" "$record"; else rm -f "$record.part"; fi
[ "$status" -le 1 ] || exit "$status"
