"""Chakra execution traces: a file of nodes for each GPU, in protobuf."""
