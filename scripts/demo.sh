#!/bin/sh
# Measure this machine over MPI, find a planted fault in a twin fabric, write one report.
# Usage: demo.sh WEFT DIR      (WEFT: the weft to run; DIR: where the runs go, replaced)
set -eu
weft=$1
dir=$2
rm -rf "$dir"
mkdir -p "$dir"

echo "== 1/3  this machine, over real MPI processes: weft study run smoke"
"$weft" study run smoke --dir "$dir/this-machine"

echo
echo "== 2/3  a simulated fabric with a fault planted at a place unknown to weft check"
# Exit 1 is the right answer here: a component is named.
"$weft" check --twin fat-tree --nodes 16 --plant random:1 --dir "$dir/twin" || [ $? -eq 1 ]

echo
echo "== 3/3  one self-contained page about both: weft report"
"$weft" report "$dir/this-machine" "$dir/twin" -o "$dir/report.html"
