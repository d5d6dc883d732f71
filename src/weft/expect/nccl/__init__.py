"""What NCCL should deliver: topology, tuner, collectives, point to point."""
