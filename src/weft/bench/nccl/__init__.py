"""nccl-tests and rccl-tests of the site on groups of hosts: many launches at a time, each a group."""
