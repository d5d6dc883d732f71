"""Why perftest did not measure, by its own words, and what mends it."""

from dataclasses import dataclass
from typing import Literal

from weft.bench.rdma.plan import Way
from weft.cluster.remote import in_words

_COMPLAINTS = ("error", "fail", "couldn't", "unable", "not ", "closed", "denied")


@dataclass(frozen=True, slots=True)
class Cause:
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
    (("completion with error",), "messages were lost on the way",
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


def why(way: Way, text: str, side: Literal["client", "server"] = "client") -> Cause | None:
    """The cause that the words of a client or server name; else its last line, said as it is; None
    where it said nothing."""
    lowered = text.lower()
    names = {
        "source": way.source.host,
        "target": way.target.host,
        "address": way.target.address or way.target.host,
        "port": way.port,
    }
    for words, cause, remedy in CAUSES:
        if all(word in lowered for word in words):
            return Cause(cause.format(**names), remedy.format(**names))
    complaints = [line.strip() for line in text.splitlines() if _complains(line)]
    if not complaints:
        return None
    return Cause(f"its {side} said: {in_words(complaints[-1])}", "look at the raw output")


def _complains(line: str) -> bool:
    lowered = line.lower()
    return any(word in lowered for word in _COMPLAINTS)
