"""The chain from NCCL to the adapter, link by link."""
