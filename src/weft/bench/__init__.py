"""A backend turns a trial into samples: live MPI or a simulated twin."""
