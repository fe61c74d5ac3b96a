#!/bin/sh
# A cross-validation as a job array of Slurm, 16 parts of one folder on a file system that all nodes share.
# NOT RUN: written from Slurm's documentation, without a cluster at hand.
#
#   array=$(sbatch --parsable slurm.sh)
#   sbatch --dependency=afterok:$array --wrap 'burn-rank cv cv.toml --out runs/cv --merge'
#
# A part that was killed or requeued goes on where it was. Parts that failed for good are named by --merge:
#   sbatch --array=3,7 slurm.sh

#SBATCH --job-name=burn-rank-cv
#SBATCH --array=1-16
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --time=02:00:00
#SBATCH --requeue

# The number of parts is written out: with --array=3,7 Slurm's own count would be 2.
export RAYON_NUM_THREADS="$SLURM_CPUS_PER_TASK"
exec burn-rank cv cv.toml --out runs/cv --quiet --part "$SLURM_ARRAY_TASK_ID/16"
