"""The options of virtual hosts: how many, on which leaves, with which cables."""

from dataclasses import dataclass
from pathlib import Path

import click

from weft.cli.options import options_as
from weft.core.errors import InputError


@dataclass(frozen=True, slots=True)
class VirtualChoice:
    """The words as they were given."""

    local: int | None
    leaves: int | None
    uplink: str | None
    rates: tuple[str, ...]
    delays: tuple[str, ...]
    losses: tuple[str, ...]
    shared_home: bool

    def hosts(self, n: int, folder: Path, *, start: bool) -> tuple[tuple[str, ...], bool]:
        """The `n` hosts of the cluster of a folder, and whether they run: with `start` they do.
        Raises InputError, MissingError."""
        from weft.cli.cluster.hosts import cables_of, uplink_of, virtual_hosts

        n_leaves = self.leaves or 1
        uplink = uplink_of(self.uplink, n_leaves)
        asked = cables_of(n, self.rates, self.delays, self.losses, n_leaves=n_leaves)
        return virtual_hosts(
            folder, asked, uplink=uplink, shared_home=self.shared_home, start=start
        )

    def refuse_without_local(self) -> None:
        """Raise InputError where there are no virtual hosts that these options would be of."""
        for what, given in {
            "--leaves": self.leaves,
            "--uplink": self.uplink,
            "--rate": self.rates,
            "--delay": self.delays,
            "--loss": self.losses,
            "--shared-home": self.shared_home,
        }.items():
            if given:
                raise InputError(f"{what} is for virtual hosts", expected="--local N with it")


VIRTUAL = options_as(
    "virtual",
    VirtualChoice,
    (
        click.option(
            "--local", type=click.IntRange(1, 254), metavar="N", help="N virtual hosts here."
        ),
        click.option(
            "--leaves",
            type=click.IntRange(1, 254),
            metavar="L",
            help="Virtual hosts on L switches, each with one cable to a spine.  [default: 1, all"
            " on one]",
        ),
        click.option(
            "--uplink",
            metavar="RATE",
            help="Limit each leaf's cable to the spine: 200mbit, in each direction.",
        ),
        click.option(
            "--rate",
            "rates",
            multiple=True,
            metavar="HOSTS=RATE",
            help="Limit the network of virtual hosts: node3=200mbit, 'node[1-8]=1gbit',"
            " node3:sending=1gbit.",
        ),
        click.option(
            "--delay",
            "delays",
            multiple=True,
            metavar="HOSTS=TIME",
            help="Delay each frame of virtual hosts: node3=200us, node3:receiving=1ms.",
        ),
        click.option(
            "--loss",
            "losses",
            multiple=True,
            metavar="HOSTS=SHARE",
            help="Lose a share of the frames of virtual hosts: node3=0.1%, node3:sending=1%.",
        ),
        click.option("--shared-home", is_flag=True, help="Virtual hosts share one home folder."),
    ),
)
