"""MPI of a container: which library a program loads, whose ABI it has, and whether it takes what
srun gives its ranks to find each other (PMI)."""

from dataclasses import dataclass
from functools import cached_property

from weft.core.finding import Severity
from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.loads import report_loads
from weft.doctor.container.chain.pmi import (
    GIVES,
    MpiStartup,
    PmiEffect,
    SrunPlugin,
    mpi_startup,
    plugin_of,
)
from weft.doctor.container.chain.process_lines import start_log
from weft.doctor.container.chain.report import (
    Chain,
    ChainFault,
    ChainLink,
    is_known,
    open_parts,
)
from weft.doctor.container.image.tree import NodeKind
from weft.doctor.container.launch.startup import MPI_TYPE
from weft.doctor.container.loader.closure import Closure, LoadedFile
from weft.doctor.container.loader.elf import ElfError

ABIS = {
    "libmpi.so.12": "MPICH ABI",
    "libmpich.so.12": "MPICH ABI by Debian's name",
    "libmpi.so.40": "Open MPI ABI",
    "libmpi_abi.so.0": "ABI of the MPI standard",
    "libmpi_abi.so.1": "ABI of the MPI standard",
}
"""By the name that programs need. SOURCE: read in MPICH 4.0.2 and 5.0.2, Open MPI 4.1.4 and 5.0.11,
Intel MPI 2021.16; MPICH ABI Compatibility Initiative."""
NOT_STARTED = "not start"


@dataclass(frozen=True, slots=True)
class MpiFault:
    """A fault, and what ranks will do by it."""

    fault: ChainFault
    ranks: str


def follow_mpi(case: ContainerCase, chain: Chain) -> tuple[MpiFault, ...]:
    """Add links, faults and warnings of MPI; nothing where the container has no MPI library, and
    the program asks for none."""
    before = list(chain.faults)
    _report_hooks(case, chain)
    refused = tuple(MpiFault(one, NOT_STARTED) for one in chain.faults if one not in before)
    path = started_program(case)
    closure = case.loader.run(path) if path else Closure()
    broken = _program_faults(case, chain, closure) if closure.files else ()
    return (*refused, *broken, *MpiChain(case, chain, mpi_libraries(case), closure).follow())


def _program_faults(case: ContainerCase, chain: Chain, closure: Closure) -> tuple[MpiFault, ...]:
    """What keeps the program of a launch from its start, be it of MPI or not. A program with a
    loader of its own, as of Nix or Conda, finds libraries in other folders."""
    program, before = closure.files[0], list(chain.faults)
    loader, own = case.directories.interpreter, program.facts.interpreter
    found = case.view.resolve(own) if own else loader
    if found is None or loader is None or found.path != loader.path:
        return ()
    report_loads(chain, program, closure, _lost_mpi(closure))
    chain.start_log = start_log(case.view, next(iter(case.plan.startup.program)), closure)
    return tuple(MpiFault(one, NOT_STARTED) for one in chain.faults if one not in before)


def _lost_mpi(closure: Closure) -> str:
    """The MPI that a program needs and does not find, "" where it finds it or needs none."""
    return next((one.name for one in closure.missing if one.name in ABIS), "")


def _report_hooks(case: ContainerCase, chain: Chain) -> None:
    for hook in case.plan.mpi_hooks:
        reason = hook.refusal(case.directories.cache.names)
        if reason:
            names = ", ".join(one.rpartition("/")[2] for one in hook.libraries)
            chain.fault("mpi-hook-refuses", hook=hook.program, reason=reason, names=names)


def put_first(chain: Chain, found: tuple[MpiFault, ...]) -> None:
    """Name those faults first that stay: ranks meet them before anything of NCCL."""
    stay = [one for one in found if one.fault in chain.faults]
    ends = any(one.ranks == NOT_STARTED for one in stay)
    if chain.start_log is not None and chain.start_log.lines and not ends:
        chain.start_log = None
    if stay:
        first = [one.fault for one in stay]
        chain.faults[:] = [*first, *(one for one in chain.faults if one not in first)]
        chain.network = stay[0].ranks


def mpi_libraries(case: ContainerCase) -> tuple[LoadedFile, ...]:
    """MPI libraries of the container for its own architecture, mounted ones first, each once."""
    found: dict[str, LoadedFile] = {}
    for one in case.libraries("libmpi"):
        if mpi_name(one) and one.facts.fits(case.program.facts):
            found.setdefault(one.located.path, one)
    return tuple(found.values())


def mpi_name(file: LoadedFile) -> str:
    """The key of ABIS by which a program gets a file, "" where it is no MPI. Its SONAME may differ
    from the name of the file, by which ld.so finds it.

    SOURCE: eth-cscs/sarus d3404bb, src/hooks/mpi/MpiHook.cpp: libmpi.so.12 of Cray MPICH has the
    SONAME libmpich_gnu_71.so.3.
    """
    names = (file.name.rpartition("/")[2], file.facts.soname)
    return next((one for one in names if one in ABIS), "")


def started_program(case: ContainerCase) -> str:
    """The path of the program that a launch starts in the container, "" where that is no program
    that weft finds."""
    first = next(iter(case.plan.startup.program), "")
    if not first or not is_known(first) or not is_known(case.value("LD_PRELOAD")):
        return ""
    folders = case.value("PATH").split(":") if is_known(case.value("PATH")) else []
    paths = [first] if "/" in first else [f"{one}/{first}" for one in folders]
    found = (case.view.resolve(one) for one in paths if one.startswith("/"))
    file = next((one for one in found if one and one.node.kind is NodeKind.FILE), None)
    try:
        fits = file is not None and case.view.facts(file).fits(case.program.facts)
    except ElfError:
        return ""
    return file.path if file is not None and fits else ""


@dataclass
class MpiChain:
    """The search for the MPI of a launch, and what it finds. `libraries` are all that there are,
    `loaded` is what the program loads, nothing where it is not known."""

    case: ContainerCase
    chain: Chain
    libraries: tuple[LoadedFile, ...]
    loaded: Closure

    def follow(self) -> tuple[MpiFault, ...]:
        """The program's own MPI where the launch names a program that needs one; else every MPI,
        of which it is not known whether the program uses it."""
        before = list(self.chain.faults)
        effect = None
        if _lost_mpi(self.loaded) or any(map(mpi_name, self.loaded.files)):
            effect = self._follow_program(self.loaded)
        else:
            self._follow_all()
        new = [one for one in self.chain.faults if one not in before]
        by_pmi = effect.ranks if effect is not None else ""
        return tuple(
            MpiFault(one, by_pmi if one.rule.id == "pmi-unfit" else NOT_STARTED) for one in new
        )

    @cached_property
    def _is_open(self) -> bool:
        """Whether a part of the launch that is not known may bring another MPI."""
        return self.case.has_unknown_folders or bool(open_parts(self.case))

    @cached_property
    def _plugin(self) -> SrunPlugin | None:
        return plugin_of(self.case)

    def _follow_program(self, closure: Closure) -> PmiEffect | None:
        """The effect of a plug-in that does not fit."""
        chain, program = self.chain, closure.files[0]
        chain.would_show.append("an MPI that the program cannot load, or of another ABI")
        lost = _lost_mpi(closure)
        used = next(filter(mpi_name, closure.files), None)
        if lost:
            self._report_lost(lost, program)
        needs = f"{ABIS[lost if used is None else mpi_name(used)]}; {program.opened} needs it"
        chain.link("MPI", used, needs, is_broken=not closure.is_whole, is_first=True)
        if used is None:
            return None
        self._report_unused(used, program)
        startup = mpi_startup(self.case, used, closure)
        if startup is not None and self._plugin is not None:
            chain.would_show.append("a plug-in of srun that this MPI does not take")
        effect = self._effect(startup)
        if effect is not None and self._leaves_open(effect):
            effect = None
        self._link_plugin(startup, is_broken=effect is not None)
        if effect is not None:
            self._report_unfit("pmi-unfit", used, startup)
        return effect

    def _follow_all(self) -> None:
        case, chain = self.case, self.chain
        plugin = self._plugin
        is_asked_for = plugin is not None and not plugin.is_default and plugin.name != "none"
        for name in dict.fromkeys(map(mpi_name, self.libraries)):
            closure = case.loader.dlopen(name, case.program)
            used = next((one for one in closure.files if one.answers(name)), None)
            if used is None:
                there = next(one for one in self.libraries if mpi_name(one) == name)
                no_path = f"{ABIS[name]}; no path leads to {name}"
                chain.link("MPI", there, no_path, is_first=True)
                continue
            chain.link("MPI", used, ABIS[name], is_first=True)
            if not closure.is_whole and not self._is_open:
                reason = _reason_of(closure)
                chain.fault("mpi-does-not-load", library=used.opened, reason=reason)
            startup = mpi_startup(case, used, closure)
            self._link_plugin(startup)
            if is_asked_for and not self._is_open:
                self._report_unfit("pmi-unfit-if-used", used, startup)

    def _effect(self, startup: MpiStartup | None) -> PmiEffect | None:
        """What the plug-in does to an MPI, None where it fits, or that is not known."""
        if startup is None or self._plugin is None or self.case.plan.n_ranks == 1:
            return None
        return startup.unfit.get(self._plugin.name)

    def _leaves_open(self, effect: PmiEffect) -> bool:
        """Whether it is not known that this plug-in starts several ranks; the questions."""
        plugin, is_one = self._plugin, self.case.plan.least_ranks == 1
        assert plugin is not None
        unfit = f"{plugin.named_by} does not fit this MPI"
        if plugin.is_default:
            self.chain.gap(
                f"which MPI plug-in srun takes ({unfit}, and {MPI_TYPE} may be set where the job "
                "is submitted)",
                "--mpi=NAME of srun in the job script",
            )
        if is_one:
            self.chain.gap(
                f"how many ranks there are ({unfit}, and of several {effect.sentence})",
                "-n of srun in the job script",
            )
        return plugin.is_default or is_one

    def _report_unfit(self, rule: str, used: LoadedFile, startup: MpiStartup | None) -> None:
        effect, plugin = self._effect(startup), self._plugin
        if effect is None or startup is None or plugin is None:
            return
        self.chain.fault(
            rule,
            named_by=plugin.named_by,
            gives=GIVES[plugin.name],
            library=used.opened,
            product=startup.product,
            takes=startup.takes,
            effect=effect.sentence,
            better=startup.better,
        )

    def _link_plugin(self, startup: MpiStartup | None, *, is_broken: bool = False) -> None:
        plugin = self._plugin
        if plugin is None:
            return
        takes = "weft does not know what this MPI takes"
        if startup is not None:
            takes = f"{startup.product} takes {startup.takes}"
        severity = Severity.BAD if is_broken else Severity.GOOD
        detail = f"{plugin.named_by}: {GIVES[plugin.name]}; {takes}"
        self.chain.links.append(ChainLink("PMI", "", detail, severity))

    def _report_lost(self, name: str, program: LoadedFile) -> None:
        same = next((one for one in self.libraries if mpi_name(one) == name), None)
        if same is not None:
            detail = f"; it is at {same.opened}, and no path leads there"
            self.chain.fault("dependency-missing", name=name, file=program.opened, detail=detail)
            return
        if not self.libraries:
            detail = "; the container has no MPI library"
            self.chain.fault("dependency-missing", name=name, file=program.opened, detail=detail)
            return
        others = [f"{one.opened} ({ABIS[mpi_name(one)]})" for one in self.libraries]
        words = {"name": name, "abi": ABIS[name], "others": ", ".join(others)}
        self.chain.fault("mpi-other-abi", program=program.opened, **words)

    def _report_unused(self, used: LoadedFile, program: LoadedFile) -> None:
        """Warn where the launch mounts an MPI of the host, and the program loads the image's."""
        mounted = [one for one in self.libraries if one.located.origin]
        if used.located.origin or not mounted or self._is_open:
            return
        name, abi = mpi_name(used), ABIS[mpi_name(used)]
        same = next((one for one in mounted if mpi_name(one) == name), None)
        one = same or mounted[0]
        why = f"the program needs {name} ({abi}), the mounted one is {mpi_name(one)}"
        better = f"mount an MPI of the host with the {abi}, or build the program with the host's"
        if same is not None:
            why = f"the image's comes first ({used.by})"
            folder = one.opened.rpartition("/")[0]
            better = f"put {folder} first into LD_LIBRARY_PATH of the container"
        words = {"used": used.opened, "why": why, "better": better}
        self.chain.fault("mpi-host-unused", mounted=one.opened, program=program.opened, **words)


def _reason_of(closure: Closure) -> str:
    """Why a library does not load, by the first thing that ends it."""
    for lost in closure.missing:
        return f"{lost.path}: {lost.reason}" if lost.reason else f"{lost.name} is not found"
    one = next(one for one in closure.versions if one.is_fatal)
    return f"{one.asked_by.opened} needs {one.version}, which {one.offered_by.opened} lacks"
