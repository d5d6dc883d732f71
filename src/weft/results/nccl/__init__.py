"""Readers of nccl-tests and rccl-tests."""
