"""An archive read through the low-level interface of its library.

Not through the package's classes: they refuse the archives of EZTrace, which define a group twice,
and make an object of each event.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import _otf2 as library

from weft.trace.otf2.archive import MOST_EVENTS
from weft.trace.otf2.definitions import ArchiveError, Definitions
from weft.trace.otf2.rank_calls import CollectiveEnd, Envelope, RankCalls

CHUNK = 100_000
"""Events read at once."""
ERRORS = (ArchiveError, library.Error)
UNKNOWN = ("", False)
ONE_SIDED = {"Put": 2, "Get": 2, "Atomic": 3, "CollectiveEnd": 4}
"""Where an operation on a window has its bytes."""


@dataclass
class Archive:
    """An archive as it was read: its definitions, the calls of each rank, how many events, and why
    it breaks off ("" where it does not)."""

    definitions: Definitions
    ranks: list[RankCalls]
    n_events: int = 0
    broken: str = ""
    elsewhere: Counter[int] = field(default_factory=Counter)


def read(anchor: str) -> Archive:
    """Read an archive. Raises ArchiveError, and the library's error where nothing can be read."""
    reader = library.Reader_Open(anchor)
    library.Reader_SetSerialCollectiveCallbacks(reader)
    definitions = Definitions()
    _read_definitions(reader, definitions)
    definitions.refuse()
    n_ranks = len(definitions.locations)
    archive = Archive(definitions, [RankCalls(rank, definitions) for rank in range(n_ranks)])
    _read_events(reader, archive)
    if archive.broken and not archive.n_events:
        raise ArchiveError(archive.broken)
    return archive


def _read_definitions(reader: Any, definitions: Definitions) -> None:
    callbacks = library.GlobalDefReaderCallbacks_New()
    for name, take in definitions.handlers.items():
        # The library hangs what it needs on the function, so each has to be one of its own.
        getattr(library, f"GlobalDefReaderCallbacks_Set{name}Callback")(callbacks, _own(take))
    of_all = library.Reader_GetGlobalDefReader(reader)
    library.Reader_RegisterGlobalDefCallbacks(reader, of_all, callbacks, None)
    library.Reader_ReadAllGlobalDefinitions(reader, of_all)
    library.Reader_CloseGlobalDefReader(reader, of_all)


_KEPT: list[Callable[..., None]] = []


def _own(take: Callable[..., None]) -> Callable[..., None]:
    def taken(*numbers: Any) -> None:
        take(*numbers)

    _KEPT.append(taken)
    return taken


def _read_events(reader: Any, archive: Archive) -> None:
    """All locations' events, merged in time with the clocks' offsets corrected, as far as they can
    be read."""
    locations = [*archive.definitions.threads]
    try:
        for location in locations:
            library.Reader_SelectLocation(reader, location)
        _open_files(reader, locations)
        events = library.Reader_GetGlobalEvtReader(reader)
        callbacks = library.GlobalEvtReaderCallbacks_New()
        for name, take in _Events(archive).handlers().items():
            setter = getattr(library, f"GlobalEvtReaderCallbacks_Set{name}Callback", None)
            if setter is not None:
                setter(callbacks, _own(take))
        library.GlobalEvtReader_SetCallbacks(events, callbacks, None)
        n = CHUNK
        while n == CHUNK:
            n = library.GlobalEvtReader_ReadEvents(events, CHUNK)
            archive.n_events += n
            if archive.n_events > MOST_EVENTS:
                raise ArchiveError(f"more than {MOST_EVENTS} events")
    except library.Error as error:
        archive.broken = str(error)
        # How many events of a chunk came before the error, the library does not say.
        archive.n_events += sum(len(rank.records) for rank in archive.ranks)


def _open_files(reader: Any, locations: list[int]) -> None:
    """Local definitions may be missing: then numbers in events are global ones."""
    try:
        library.Reader_OpenDefFiles(reader)
        has_definitions = True
    except library.Error:
        has_definitions = False
    library.Reader_OpenEvtFiles(reader)
    for location in locations:
        if has_definitions:
            local = library.Reader_GetDefReader(reader, location)
            if local:
                library.Reader_ReadAllLocalDefinitions(reader, local)
                library.Reader_CloseDefReader(reader, local)
        library.Reader_GetEvtReader(reader, location)
    if has_definitions:
        library.Reader_CloseDefFiles(reader)


class _Events:
    """Hands the library's events to the ranks whose they are."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._names = archive.definitions.names
        self._rank_at = {
            location: archive.ranks[rank] for location, rank in archive.definitions.rank_of.items()
        }

    def handlers(self) -> Mapping[str, Callable[..., None]]:
        """What takes each kind of event, by its name in the library."""
        event, message, end = self._event, self._message, self._collective
        return {
            "Enter": self._enter,
            "Leave": self._leave,
            "CallingContextEnter": self._enter_context,
            "CallingContextLeave": self._leave_context,
            "BufferFlush": event(RankCalls.flush),
            "MpiSend": message(RankCalls.send),
            "MpiRecv": message(RankCalls.recv),
            "MpiIsend": message(RankCalls.isend),
            "MpiIsendComplete": event(RankCalls.complete),
            "MpiIrecvRequest": event(RankCalls.irecv_request),
            "MpiIrecv": message(RankCalls.irecv),
            "MpiRequestCancelled": event(RankCalls.cancelled),
            "MpiCollectiveEnd": end(RankCalls.collective),
            "NonBlockingCollectiveRequest": event(RankCalls.icollective_request),
            "NonBlockingCollectiveComplete": end(RankCalls.icollective),
            "MpiProbe": event(
                lambda calls, time, *numbers: calls.probe(
                    time, Envelope._make((*numbers[:3], 0)), numbers[3]
                )
            ),
            "MpiMrecv": event(RankCalls.mrecv),
            "MpiImrecvRequest": event(RankCalls.imrecv_request),
            "MpiImrecv": event(RankCalls.imrecv),
            **{f"Rma{name}": self._one_sided(at) for name, at in ONE_SIDED.items()},
        }

    def _enter(self, location: int, time: int, _: Any, __: Any, region: int, *___: Any) -> None:
        calls = self._rank_at.get(location)
        if calls is not None:
            name, is_mpi = self._names.get(region, UNKNOWN)
            calls.enter(time, name, is_mpi=is_mpi)

    def _leave(self, location: int, time: int, _: Any, __: Any, region: int, *___: Any) -> None:
        calls = self._rank_at.get(location)
        if calls is not None:
            calls.leave(time, is_mpi=self._names.get(region, UNKNOWN)[1])

    def _enter_context(self, location: int, time: int, *more: Any) -> None:
        region = self._archive.definitions.contexts.get(more[2], -1)
        self._enter(location, time, None, None, region)

    def _leave_context(self, location: int, time: int, *more: Any) -> None:
        region = self._archive.definitions.contexts.get(more[2], -1)
        self._leave(location, time, None, None, region)

    def _event(self, method: Callable[..., None]) -> Callable[..., None]:
        """For a method of the rank; of another thread of its process only the number is kept."""
        archive, threads = self._archive, self._archive.definitions.threads

        def take(location: int, time: int, _: Any, __: Any, *numbers: Any) -> None:
            calls = self._rank_at.get(location)
            if calls is None:
                archive.elsewhere[threads.get(location, -1)] += 1
            else:
                method(calls, time, *(getattr(one, "value", one) for one in numbers))

        return take

    def _message(self, method: Callable[..., None]) -> Callable[..., None]:
        return self._event(
            lambda calls, time, *numbers: method(calls, time, Envelope(*numbers[:4]), *numbers[4:])
        )

    def _collective(self, method: Callable[..., None]) -> Callable[..., None]:
        return self._event(
            lambda calls, time, *numbers: method(
                calls, time, CollectiveEnd(*numbers[:5]), *numbers[5:]
            )
        )

    def _one_sided(self, at: int) -> Callable[..., None]:
        return self._event(lambda calls, time, *numbers: calls.one_sided(time, numbers[at]))
