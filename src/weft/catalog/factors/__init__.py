"""Factors that studies name: what switches each setting on a twin and on a machine."""
