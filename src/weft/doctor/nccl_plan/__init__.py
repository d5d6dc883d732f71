"""What a libnccl.so would do on a node: its own functions are asked, which wants no GPU."""
