"""Which cables a job's NCCL channels take, where they collide, and what removes that."""
