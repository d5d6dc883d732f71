"""Facts of made-up hosts."""

from dataclasses import replace
from typing import Any

from weft.cluster.bringup.facts import Facts

PLAIN = Facts(
    system="Linux",
    machine="x86_64",
    user="ann",
    uid=1000,
    home="/home/ann",
    os="Debian GNU/Linux 12 (bookworm)",
    os_id=("debian",),
    libc="glibc 2.36",
    clock_s=1.7e9,
    asked_s=1.7e9,
    memlock_kib=None,
    shm_bytes=1 << 34,
    n_cpus=4,
    n_cores=4,
    server="10.0.0.1",
    ssh_port=22,
    addresses=(("lo", "127.0.0.1/8"), ("eth0", "10.0.0.1/16")),
    ports=(),
    links={"lo": 772, "eth0": 1},
)


def facts_of(**changed: Any) -> Facts:
    """A plain host's, with some of them changed."""
    return replace(PLAIN, **changed)
