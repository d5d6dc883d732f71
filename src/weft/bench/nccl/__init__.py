"""nccl-tests and rccl-tests of the site on groups of hosts: a launch a group, many at a time."""
