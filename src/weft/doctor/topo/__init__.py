"""NCCL's topology files: read as NCCL reads them, judged, drawn, and made."""
