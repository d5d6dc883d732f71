"""A check by nccl-tests: its launches, and the faults that bandwidths of pairs do not show."""
