"""Readers of the OSU micro-benchmarks."""
