"""RDMA bandwidth between two hosts on all rails at once, by perftest's ib_write_bw."""
