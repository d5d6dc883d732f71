"""Logs of communication libraries: their facts, the ranks that wrote them, the evidence."""
