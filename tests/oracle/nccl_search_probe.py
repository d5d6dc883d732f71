"""Asks a libnccl.so for the graphs of many topology files, each in a process of its own.

Run as a program with a request on standard input: as weft.doctor.nccl_plan.child takes it, with
`jobs` instead of one file. The last lines of standard output are MARK and a JSON object each:
`graphs` by name, or `error`.
"""

import json
import os
import sys
from typing import Any

from weft.doctor.nccl_plan import child

MARK = "SEARCHED "
_LIMIT_S = 60


def graphs_of(library: child.Library, request: dict[str, Any]) -> dict[str, Any]:
    """As NCCL finds them on a number of nodes."""
    job = child.Communicator(library, request, request["n_nodes"])
    graphs = job.graphs(nvls=request["nvls"], collnet=request["collnet"])
    return {name: job.told(graph) for name, graph in graphs.items()}


def main() -> None:
    request = json.load(sys.stdin)
    library = child.Library(request)
    for job in request.pop("jobs"):
        pid = os.fork()
        if pid == 0:
            import signal

            signal.alarm(_LIMIT_S)
            found = graphs_of(library, request | job)
            os.write(1, f"\n{MARK}{json.dumps({'graphs': found})}\n".encode())
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if status != 0:
            os.write(1, f"\n{MARK}{json.dumps({'error': status})}\n".encode())


if __name__ == "__main__":
    main()
