"""The audit of a subnet: rules that look at what its tools say and name what is wrong."""
