"""Arms compared, launch against launch."""
