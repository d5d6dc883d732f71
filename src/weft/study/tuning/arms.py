"""The arms of a study that are algorithms of one collective, and the arm that leaves the choice to
the library."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from weft.bench.result_scale import is_imported
from weft.catalog.factors.factor import catalogue_factor, factor_names
from weft.core.errors import InputError
from weft.core.words import counted
from weft.study.comparison.cells import arm_name, study_of
from weft.study.plan.model import Factor, FactorSetting, Study
from weft.study.run.backend_record import backend_of
from weft.study.run.store import StudyRun
from weft.study.tuning.algorithm import TunedAlgorithm, TunedLibrary, is_selection

ALGORITHM_OPTION = "algorithm"
"""The option of a twin's benchmarks that names an algorithm of the engine."""


@dataclass(frozen=True, slots=True)
class AlgorithmArms:
    """Arms of `benchmark` that differ in its algorithm alone. `default` leaves the choice to the
    library; `left_out` differ in something else, too."""

    benchmark: str
    collective: str
    default: str
    algorithms: Mapping[str, TunedAlgorithm]
    left_out: tuple[str, ...] = ()


def algorithm_arms(run: StudyRun, library: TunedLibrary) -> list[AlgorithmArms]:
    """Those of each benchmark of the run that `library` has algorithms of.

    Raises InputError where cells failed or are missing, where another library was measured, where
    no arm is an algorithm, and where no arm leaves the choice to the library.
    """
    study = _study(run)
    _refuse_other_library(run, library)
    _refuse_lost_cells(run)
    found = [
        arms
        for use in study.benchmarks
        if use.name in library.collectives
        and (arms := _of_benchmark(run, study, library, use.name)) is not None
    ]
    if not found:
        names = ", ".join(factor.name for factor in study.factors) or "none"
        raise InputError(
            f"no arm of this study is an algorithm of {library.title}; its factors: {names}",
            where=str(run.directory),
            expected=f"a factor whose settings set {library.example}, or the like",
            hint="'weft study factors' lists the factors that do",
        )
    return found


def _study(run: StudyRun) -> Study:
    study = None if is_imported(run.meta) else study_of(run)
    if study is None:
        raise InputError(
            "this run holds no study",
            where=str(run.directory),
            expected="the run directory of 'weft study run', with algorithms as its arms",
        )
    return study


def _refuse_other_library(run: StudyRun, library: TunedLibrary) -> None:
    backend = backend_of(run)
    measured = str(backend.facts.get("mpi", ""))
    if backend.is_twin or not measured or not library.implementation:
        return
    if measured != library.implementation:
        version = backend.facts.get("mpi_version") or measured
        raise InputError(
            f"this run measured {version}, not {library.title}",
            where=str(run.directory),
            expected=f"a run with {library.title} (weft study run --mpi), or another --to",
        )


def _refuse_lost_cells(run: StudyRun) -> None:
    arms = {launch.trial.id: arm_name(launch.trial.arm) for launch in run.launches}
    failed: dict[str, int] = {}
    for one in run.failures:
        place = f"{one.trial.split('-', 1)[-1]} with {arms.get(one.trial, '?')}"
        failed[place] = failed.get(place, 0) + 1
    if failed:
        listed = "; ".join(
            f"{place}: {counted(n, 'launch', 'launches')}" for place, n in failed.items()
        )
        raise InputError(
            f"launches failed: {listed}",
            where=str(run.directory),
            expected="a study without failed launches: a lost launch may be the slowest",
            hint="leave the settings that fail out of the study, and run it again",
        )
    if not run.complete:
        raise InputError(
            f"{counted(run.n_unfinished, 'launch', 'launches')} of this run did not run yet",
            where=str(run.directory),
            expected="a complete run",
            hint="go on with weft study run --resume",
        )


def _of_benchmark(
    run: StudyRun, study: Study, library: TunedLibrary, benchmark: str
) -> AlgorithmArms | None:
    collective = library.collectives[benchmark]
    own = [one for one in study.factors if _varies(one, library, benchmark)]
    if not own:
        return None
    held = {one.name: one.settings[0].name for one in study.factors if one not in own}
    default, algorithms, left_out = "", {}, []
    for settings in itertools.product(*(factor.settings for factor in study.factors)):
        chosen = {f.name: s.name for f, s in zip(study.factors, settings, strict=True)}
        compared = {f.name: chosen[f.name] for f in study.factors if not f.condition}
        name = arm_name(compared)
        moved = any(chosen[factor] != held[factor] for factor in held if factor in compared)
        if moved or any(_is_of_engine(one, benchmark) for one in settings):
            left_out.append(name)
            continue
        variables: dict[str, str] = {}
        for setting in settings:
            variables |= _variables(setting, benchmark)
        algorithm = library.read(variables, collective)
        if algorithm is not None:
            algorithms[name] = algorithm
        elif not default:
            default = name
    if not default:
        raise InputError(
            f"no arm of {benchmark} leaves the choice to {library.title}",
            where=str(run.directory),
            expected="such an arm: the file overrides the library only where that is slower",
            hint="add a setting that sets no algorithm, first of all",
        )
    return AlgorithmArms(benchmark, collective, default, algorithms, tuple(dict.fromkeys(left_out)))


def _varies(factor: Factor, library: TunedLibrary, benchmark: str) -> bool:
    """Whether settings of a factor are algorithms of the benchmark. Raises InputError where they
    differ in other variables, too."""
    collective = library.collectives[benchmark]
    by_name = {one.name: _variables(one, benchmark) for one in factor.settings}
    if factor.condition or all(library.read(one, collective) is None for one in by_name.values()):
        return False
    others = {
        name: {key: value for key, value in one.items() if not is_selection(key)}
        for name, one in by_name.items()
    }
    first = next(iter(others.values()))
    for name, one in others.items():
        if one != first:
            changed = sorted(key for key in {*one, *first} if one.get(key) != first.get(key))
            raise InputError(
                f"setting '{name}' of factor '{factor.name}' also changes {', '.join(changed)}",
                where="the study of the run",
                expected="settings that differ in the algorithm alone",
            )
    return True


def _is_of_engine(setting: FactorSetting, benchmark: str) -> bool:
    """Whether it is an algorithm of a twin that no variable is known to choose on a machine."""
    return ALGORITHM_OPTION in setting.options and not _variables(setting, benchmark)


def _variables(setting: FactorSetting, benchmark: str) -> dict[str, str]:
    """The variables of a setting on a machine. A twin's setting that names an algorithm of the
    engine has those of the catalogue's factor of this benchmark's algorithms."""
    variables = {**setting.env, **(setting.live.env if setting.live is not None else {})}
    factor = f"{benchmark}-{ALGORITHM_OPTION}"
    if variables or ALGORITHM_OPTION not in setting.options or factor not in factor_names():
        return variables
    asked = setting.options[ALGORITHM_OPTION]
    for one in catalogue_factor(factor).settings:
        if one.live is not None and one.options.get(ALGORITHM_OPTION) == asked:
            return dict(one.live.env)
    return variables
