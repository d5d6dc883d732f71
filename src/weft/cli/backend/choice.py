"""The options that name where a verb measures, as one value."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from weft.bench.twin.fault import GRAMMAR
from weft.cli.options import HOSTFILE, NODE_COUNT, Decorator, NumberRange, Several, options_as
from weft.core.errors import InputError
from weft.launch.launchers.container import BARE, CONTAINER_RUNTIMES
from weft.topology.dead_cables import ROUTINGS


@dataclass(frozen=True, slots=True)
class BackendChoice:
    """The values of the shared options."""

    twin: str | None = None
    nodes: int | None = None
    fabric: tuple[str, ...] = ()
    hosts: str | None = None
    hostfile: Path | None = None
    cluster: str | None = None
    mpi: str | None = None
    rails: str | None = None
    plant: tuple[str, ...] = ()
    seed: int = 1
    mock: bool = False
    launcher: str | None = None
    fidelity: str | None = None
    extrapolate: float | None = None
    routing: str | None = None
    container: str | None = None
    image: str | None = None
    mount: tuple[str, ...] = ()
    recipe: str | None = None
    without: tuple[str, ...] = ()
    """Hosts of those named that are gone; no option says them."""
    cabled: bool = False
    """Whether a twin is cabled as its machine is; studies say so."""

    @property
    def rail_names(self) -> tuple[str, ...]:
        """The devices of `--rails`, by local rank. Raises InputError where one has no name."""
        return rail_names(self.rails)

    @property
    def mpis(self) -> tuple[str | None, ...]:
        """The MPIs of `--mpi`; None: the embedded one. Raises InputError for an empty name."""
        names = tuple(name.strip() for name in (self.mpi or "embedded").split(","))
        if not all(names):
            raise InputError(f"--mpi '{self.mpi}' names an empty MPI", expected="MPICC,MPICC,...")
        return tuple(None if name == "embedded" else name for name in names)

    @property
    def launches(self) -> "list[BackendChoice]":
        """The choices of one MPI, launcher and container each; more than one only where an option
        names several. Raises InputError where two do."""
        several: dict[str, list[Any]] = {
            "mpi": [name or "embedded" for name in self.mpis],
            "launcher": (self.launcher or "").split(","),
            "container": (self.container or "").split(","),
        }
        more = [option for option, names in several.items() if len(names) > 1]
        if not more:
            return [self]
        if len(more) > 1:
            raise InputError(
                f"--{more[0]} and --{more[1]} both name several",
                expected="several of one option, and one of each other",
            )
        (option,) = more
        return [replace(self, **{option: name}) for name in several[option]]

    @property
    def compared(self) -> str | None:
        """The option that names several, None where none does."""
        for option in ("mpi", "launcher", "container"):
            if "," in (getattr(self, option) or ""):
                return option
        return None


_LAUNCHERS = ("srun", "mpiexec")
KUBERNETES = "kubernetes"
_DEFAULT = "Default: srun for the nodes of a Slurm job; of MPICH 5 its mpiexec."
LAUNCHER = click.option(
    "--launcher",
    type=click.Choice(_LAUNCHERS),
    help=f"srun, or the MPI's own launcher. {_DEFAULT}",
)
CONTAINER_OPTIONS = ("container", "image", "mount", "recipe")
_OPTIONS: dict[str, Decorator] = {
    "twin": click.option(
        "--twin", metavar="PLATFORM", help="Measure a simulated fabric, not this machine."
    ),
    "nodes": click.option("--nodes", type=NODE_COUNT, help="How many nodes the twin has."),
    "fabric": click.option(
        "--fabric",
        multiple=True,
        metavar="FILE",
        help="The real fabric, from what its own tools printed ('weft fabric'); once a file. A "
        "twin is built of it; 'weft check' of real hosts names its cables.",
    ),
    "hosts": click.option(
        "--hosts", metavar="NODESET", help="Hosts to measure, such as node[1-64,70]."
    ),
    "hostfile": HOSTFILE,
    "cluster": click.option(
        "--cluster", metavar="NAME", help="Hosts that 'weft cluster up' brought up."
    ),
    "mpi": click.option(
        "--mpi",
        metavar="MPICC",
        help="'site' or the mpicc to build and launch with; 'study run' and 'bench' compare "
        "several, between commas. Default: the embedded MPICH ('embedded').",
    ),
    "rails": click.option(
        "--rails", metavar="DEVICES", help="Network devices by local rank: mlx5_0:1,..."
    ),
    "plant": click.option(
        "--plant",
        multiple=True,
        metavar="FAULT",
        help=f"Twin only: a fault, once each: {GRAMMAR}; or 'random', drawn anew each time; or "
        "'random:SEED', the same again.",
    ),
    "fidelity": click.option(
        "--fidelity",
        type=click.Choice(["packet", "flow", "auto"]),
        help="Twin only: every packet, messages as flows that share links fairly, or whichever "
        "the work allows. Default: packet.",
    ),
    "extrapolate": click.option(
        "--extrapolate",
        metavar="SHARE",
        type=NumberRange(1e-9, 0.5),
        help="Twin only: simulate a part of a size or a ring whose times repeat within this share "
        "(such as 0.01), and estimate the error of the remaining times. Default: simulate all.",
    ),
    "routing": click.option(
        "--routing",
        type=click.Choice(ROUTINGS),
        help="Twin of a --fabric with a planted dead cable: tables around it as an engine of "
        "OpenSM fills them; moved: its entries move to another shortest path; unchanged: they "
        "stay. Default: the engine that filled the tables, else moved.",
    ),
    "seed": click.option(
        "--seed", type=int, default=1, show_default=True, help="Seed of every draw."
    ),
    "launcher": click.option(
        "--launcher",
        type=Several((*_LAUNCHERS, KUBERNETES)),
        help="srun, or the MPI's own launcher; 'study run' and 'bench' compare both: "
        f"srun,mpiexec. {_DEFAULT} kubernetes, of 'weft check --with nccl|rccl' alone: pods on "
        "the nodes of a cluster, by kubectl.",
    ),
    "container": click.option(
        "--container",
        type=Several(tuple(CONTAINER_RUNTIMES), (BARE,)),
        help="Start each rank in a container, by this runtime; 'study run' and 'bench' compare "
        "several, and without one: none,podman.",
    ),
    "image": click.option(
        "--image", metavar="IMAGE", help="With --container, or kubernetes: its image."
    ),
    "mount": click.option(
        "--mount",
        multiple=True,
        metavar="SRC:DST",
        help="With --container: a mount more; with :ro behind it read-only. Repeatable.",
    ),
    "recipe": click.option(
        "--recipe",
        metavar="PLATFORM",
        help="With --container: mounts, devices, variables and hooks of 'weft recipe PLATFORM'.",
    ),
    "mock": click.option("--mock", is_flag=True, hidden=True),
}


def rail_names(rails: str | None) -> tuple[str, ...]:
    """The devices that `--rails` lists. Raises InputError where one has no name."""
    if rails is None:
        return ()
    names = tuple(name.strip() for name in rails.split(","))
    if not all(names):
        raise InputError(
            f"--rails '{rails}' names an empty device", expected="devices: mlx5_0:1,..."
        )
    return names


OF_TWINS = ("twin", "nodes", "fabric", "plant", "fidelity", "extrapolate", "routing", "seed")
backend_options = options_as("choice", BackendChoice, tuple(_OPTIONS.values()))
"""Add the shared options; the command receives them as one `choice: BackendChoice`."""
twin_options = options_as("choice", BackendChoice, tuple(_OPTIONS[name] for name in OF_TWINS))
"""The same for a verb that only a twin can do."""


def require_twin(choice: BackendChoice, options: Mapping[str, object]) -> None:
    """Raises InputError for an option that has a value and only a simulated fabric can heed."""
    given = [option for option, value in options.items() if value]
    if given and choice.twin is None and not choice.mock:
        raise InputError(
            f"{given[0]} needs a twin",
            expected="--twin PLATFORM with it",
            hint="'weft platform list' names the platforms",
        )


def container_options(choice: BackendChoice) -> dict[str, object]:
    """By option its value, None where it was not given."""
    return {f"--{name}": getattr(choice, name) or None for name in CONTAINER_OPTIONS}
