"""From bare hosts to an MPI cluster, stage by stage."""
