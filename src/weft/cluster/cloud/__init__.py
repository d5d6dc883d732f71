"""Clusters in a cloud: what a deployment is made of, for `weft cluster up` to take over."""
