"""Launches in pods of Kubernetes: manifests, kubectl, and what becomes of pods."""
