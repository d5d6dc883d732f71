"""Readers of tools that measure kernel sockets."""
