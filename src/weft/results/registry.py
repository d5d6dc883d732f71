"""The readers there are, by tool.

A reader is a module with `opens(line)`, true for a line that begins one of its tables, and
`read(cursor)`, the tables from there. One that reads JSON documents has `read_json(text)` too: the
tables and the environment of a whole file, or None where the document is not its tool's.
"""

from typing import Protocol

from weft.results import gpcnet, hpcc, mpi4py_bench, netpipe
from weft.results.clusterkit import json_report as clusterkit_json
from weft.results.clusterkit import report as clusterkit
from weft.results.imb import tables as imb
from weft.results.lines.cursor import Cursor
from weft.results.markdown import tables as markdown
from weft.results.model import JsonResult, Table
from weft.results.nccl import json_report as nccl_json
from weft.results.nccl import records as rccl_records
from weft.results.nccl import tables as nccl_tests
from weft.results.osu import tables as osu
from weft.results.perftest import json_report as perftest_json
from weft.results.perftest import tables as perftest
from weft.results.sockets import iperf, iperf_json, netperf, sockperf
from weft.results.transports import fabtests, qperf, ucx_perftest, verbs_pingpong


class LineReader(Protocol):
    """What a module of this package that reads lines offers."""

    def opens(self, line: str) -> bool:
        """Whether a table of this tool begins here. Called often: it must be cheap."""
        ...

    def read(self, cursor: Cursor) -> list[Table]:
        """The tables that begin at the cursor. Never raises on bad input: it refuses lines."""
        ...


class JsonReader(Protocol):
    """What a module of this package that reads JSON documents offers."""

    def read_json(self, text: str) -> JsonResult | None:
        """The tables of a whole document, or None where it is not this tool's. Never raises."""
        ...


LINE_READERS: dict[str, LineReader] = {
    "osu": osu,
    "imb": imb,
    "mpi4py": mpi4py_bench,
    "nccl-tests": nccl_tests,
    "rccl-tests": rccl_records,
    "perftest": perftest,
    "gpcnet": gpcnet,
    "clusterkit": clusterkit,
    "hpcc": hpcc,
    "netpipe": netpipe,
    "fabtests": fabtests,
    "ucx-perftest": ucx_perftest,
    "qperf": qperf,
    "verbs-pingpong": verbs_pingpong,
    "iperf": iperf,
    "netperf": netperf,
    "sockperf": sockperf,
    "markdown": markdown,
}
JSON_READERS: dict[str, JsonReader] = {
    "nccl-tests": nccl_json,
    "rccl-tests": rccl_records,
    "perftest": perftest_json,
    "clusterkit": clusterkit_json,
    "iperf": iperf_json,
}
