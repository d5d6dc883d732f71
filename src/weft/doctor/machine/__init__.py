"""This machine as /sys, /proc and /dev show it, and its faults that keep jobs from the fabric."""
