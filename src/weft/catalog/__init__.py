"""Data, not code: platforms, benchmarks and studies as TOML, every figure with its source."""
