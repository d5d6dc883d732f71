"""Why perftest did not measure, from its own output, and the remedy."""

from dataclasses import dataclass
from typing import Literal

from weft.bench.rdma.plan import RailPath
from weft.cluster.remote import printable_line

_ERROR_WORDS = ("error", "fail", "couldn't", "unable", "not ", "closed", "denied")


@dataclass(frozen=True, slots=True)
class RdmaCause:
    """Why there is no reading, and what to do."""

    what: str
    remedy: str


# SOURCE: texts of perftest 4.5 (Debian 12) and of linux-rdma/perftest issues 262, 280.
CAUSES = (
    (("use_cuda", "unrecognized option"), "ib_write_bw is built without CUDA",
     "name one that is with --perftest, or build perftest with CUDA_H_PATH=.../cuda.h"),
    (("couldn't connect to",), "nothing answered on {target}:{port}",
     "look at the firewall between the hosts, and whether {source} reaches {address}"),
    (("failed to modify qp",), "the queue pair cannot reach the other port",
     "look at the subnet manager, at partition keys, and whether both ports are on one fabric"),
    (("unable to connect the hca",), "the adapters do not reach each other",
     "look at the subnet manager, at partition keys, and whether both ports are on one fabric"),
    (("completion with error",), "messages were lost",
     "look at the link's error counters: 'weft fabric audit' of ibqueryerrors"),
    (("couldn't allocate mr",), "its memory cannot be registered",
     "for GPUs load nvidia-peermem; for host memory raise 'ulimit -l'"),
    (("unable to find the infiniband",), "perftest does not find the device",
     "look at 'ibv_devinfo' there: is libibverbs' driver installed?"),
    (("ib device", "not found"), "perftest does not find the device",
     "look at 'ibv_devinfo' there: is libibverbs' driver installed?"),
    (("address already in use",), "TCP port {port} is taken", "--port names another first one"),
    (("libnuma",), "numactl cannot bind to the NUMA node of the device",
     "look at 'numactl --hardware' there"),
)  # fmt: skip


def cause_of(
    path: RailPath, text: str, side: Literal["client", "server"] = "client"
) -> RdmaCause | None:
    """The cause that the words of a client or server name; else its last line, as it is; None
    where it wrote nothing."""
    lowered = text.lower()
    names = {
        "source": path.source.host,
        "target": path.target.host,
        "address": path.target.address or path.target.host,
        "port": path.port,
    }
    for words, cause, remedy in CAUSES:
        if all(word in lowered for word in words):
            return RdmaCause(cause.format(**names), remedy.format(**names))
    errors = [line.strip() for line in text.splitlines() if _is_error(line)]
    if not errors:
        return None
    return RdmaCause(f"its {side} reported: {printable_line(errors[-1])}", "look at the raw output")


def _is_error(line: str) -> bool:
    lowered = line.lower()
    return any(word in lowered for word in _ERROR_WORDS)
