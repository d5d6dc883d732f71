"""Additions to a launch: each with its reason."""

from dataclasses import dataclass

FOLDER = "/opt/hostfabric/lib"
"""Where the libraries of the host stand in the container."""


@dataclass(frozen=True, slots=True)
class AddedMount:
    """A path of the host at a path of the container."""

    source: str
    target: str
    reason: str
    is_read_only: bool = True


@dataclass(frozen=True, slots=True)
class AddedDevice:
    """A device file of the host, at the same path in the container."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class AddedVariable:
    """A variable of the container, or an annotation."""

    name: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class Additions:
    """All that a launch adds. `hooks` are annotations that switch hooks on. `linker_hook` is a
    program of the host that puts FOLDER into the container's ld.so.cache; "" where LD_LIBRARY_PATH
    names it."""

    mounts: tuple[AddedMount, ...] = ()
    devices: tuple[AddedDevice, ...] = ()
    variables: tuple[AddedVariable, ...] = ()
    hooks: tuple[AddedVariable, ...] = ()
    linker_hook: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the launch is right as it stands."""
        return not (self.mounts or self.devices or self.variables)

    @property
    def reasons(self) -> tuple[tuple[str, str], ...]:
        """Each entry with its reason."""
        return (
            *((one.source, one.reason) for one in self.mounts),
            *((one.path, one.reason) for one in self.devices),
            *((one.name, one.reason) for one in self.variables),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """A line for each reason: the entries that have it, and the reason."""
        by_reason: dict[str, list[str]] = {}
        for entry, reason in self.reasons:
            by_reason.setdefault(reason, []).append(entry)
        return tuple(f"{', '.join(own)}: {reason}" for reason, own in by_reason.items())
