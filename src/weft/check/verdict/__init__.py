"""The verdict of a check: findings, coverage, comparison with an earlier check."""
