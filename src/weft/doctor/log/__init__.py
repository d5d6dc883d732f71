"""What libraries logged in a job's logs: who used which network, and which settings were read."""
