"""This machine as /sys, /proc and /dev tell of it: what is there, and what keeps jobs from it."""
