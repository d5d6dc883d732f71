"""A backend turns a trial into samples: live MPI, a simulated twin or a mock."""
