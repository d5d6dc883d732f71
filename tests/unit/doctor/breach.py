"""A text that breaks a rule, and one that only looks as if it did."""

from dataclasses import dataclass

HEAD = "export NCCL_DEBUG=WARN\n"


@dataclass(frozen=True)
class Breach:
    """`text` breaks `rule`; `right`, where there is one, does not."""

    rule: str
    text: str
    right: str = ""
    platform: str = ""
    nccl: str = "2.27.3"
    name: str = "job.sh"
    nodes: int | None = None
