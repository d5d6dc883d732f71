"""The whole judgement of a result file: rows, causes, thresholds, verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from weft.catalog.machine.generic import Hardware
from weft.catalog.machine.platform import Platform
from weft.catalog.tools import NCCL_TOOLS
from weft.core.errors import InputError
from weft.core.work.progress import each
from weft.judge.anomalies.table_agreement import across_tables
from weft.judge.causes.causes import CauseCase, likely_causes
from weft.judge.expectation.conditions import Given
from weft.judge.expectation.expected_value import predictor
from weft.judge.expectation.link_generations import adapters_taken
from weft.judge.expectation.platform_choice import PlatformChoice, link_classes, place_of
from weft.judge.expectation.same_condition import FleetFiles, OwnFleet, own_fleet_remark
from weft.judge.log import NO_LOG, Log
from weft.judge.model import FileJudgement, JudgedRow, LikelyCause, RowState
from weft.judge.path_class.evidence import PathEvidence, evidence_of
from weft.judge.path_class.fit import fit_of
from weft.judge.path_class.statement import statement_of
from weft.judge.rows import JudgedTable, judge_table
from weft.judge.rules import rules
from weft.judge.sentences import findings_of, next_command
from weft.judge.thresholds import field_verdicts
from weft.results.model import ResultFile, Table


def judge_results(
    results: ResultFile,
    *,
    platform: str | Platform | None = None,
    hardware: Hardware | None = None,
    n_nodes: int | None = None,
    tasks_per_node: int | None = None,
    memory: str | None = None,
    nccl_version: str | None = None,
    log: Log = NO_LOG,
    evidence: PathEvidence | None = None,
    against: FleetFiles | None = None,
) -> FileJudgement:
    """Is each row of a file normal, and if not, what fits best?

    What the caller says goes before what the file says. `log` is what `log_of` finds in the file:
    settings, and evidence for or against causes. `evidence` is what the rows, here and in files of
    the same run, say of the path; it decides where no platform does. `against` are files of the
    own fleet: what they reached goes before what is published and what is computed. Raises
    InputError where the platform does not exist or the file has no row.
    """
    if not any(table.rows for table in results.tables):
        raise InputError("the file has tables but no row", where=results.path)
    evidence = evidence or evidence_of(results.tables)
    if n_nodes is None and fit_of(evidence).transports == ("memory",):
        # No link is as fast as these messages: they never left their host.
        n_nodes = 1
    variables = {**results.environment, **(log.variables or {})}
    given = Given(n_nodes, tasks_per_node, memory or "", nccl_version or "", variables)
    place = place_of(results, platform, hardware)
    ask = predictor(place.platform) if place.platform is not None else None
    most = _most_ranks(results.tables)
    fleet = _fleet(results.path, against, given, place)
    n_rows = [len(table.rows) for table in results.tables]
    tables = [
        judge_table(
            table,
            replace(given, ranks_of_run=most.get(table.test)),
            place.platform,
            ask,
            rules(),
            link_class=place.is_link_class,
            fleet=fleet,
        )
        for table in each(results.tables, "judging tables", weights=n_rows)
    ]
    rows = _rows_of(tables, across_tables(results.tables, rules()))
    causes = _causes(rows, place, log, evidence)
    remarks = dict.fromkeys((*results.remarks, *(r for table in tables for r in table.remarks)))
    if fleet is not None:
        remarks[own_fleet_remark(rows, fleet, rules())] = None
    name = place.platform.name if place.platform else ""
    evidence = replace(evidence, n_nodes=n_nodes or evidence.n_nodes)
    path_class = statement_of(results.path, evidence, fit_of(evidence))
    return FileJudgement(
        path=results.path,
        platform=name,
        platform_because=place.because,
        findings=findings_of(rows, place, causes, path_class),
        rows=rows,
        causes=causes,
        field=field_verdicts(rows, name) if name else (),
        remarks=tuple(remarks),
        generic=_generic(results.tables, given, place),
        unread=results.unread,
        n_unread=results.n_unread,
        next_command=next_command(results.path, rows, place, causes, path_class),
    )


def _fleet(
    path: str, against: FleetFiles | None, given: Given, place: PlatformChoice
) -> OwnFleet | None:
    if against is None:
        return None
    return against.under(given, place.platform, link_class=place.is_link_class).without(path)


def _rows_of(
    tables: Sequence[JudgedTable], contradicted: Mapping[int, str]
) -> tuple[JudgedRow, ...]:
    """The rows of all tables, those marked that another table of the file contradicts."""
    return tuple(
        replace(row, odd=True, contradictory=True, note=contradicted[id(row.row)])
        if id(row.row) in contradicted
        else row
        for table in tables
        for row in table.rows
    )


def _most_ranks(tables: Sequence[Table]) -> dict[str, int]:
    """The most ranks of any table of each test: sub-tables have a part of them."""
    most: dict[str, int] = {}
    for table in tables:
        most[table.test] = max(most.get(table.test, 0), table.n_ranks or 0)
    return most


def _generic(tables: Sequence[Table], given: Given, place: PlatformChoice) -> tuple[str, ...]:
    """Adapters that NCCL's tables take; only they have a line, so others load no link class."""
    if not any(table.tool in NCCL_TOOLS for table in tables):
        return ()
    if place.platform is None:
        return adapters_taken(tables, given, link_classes(), rules())
    if place.is_link_class:
        return adapters_taken(tables, given, [place.platform], rules())
    return ()


def _causes(
    rows: Sequence[JudgedRow], place: PlatformChoice, log: Log, evidence: PathEvidence
) -> tuple[LikelyCause, ...]:
    if place.platform is None:
        return ()
    ask = predictor(place.platform)
    case = CauseCase(rows, place.platform, ask, rules(), log.lines, evidence.proofs)
    impossible = likely_causes(case, RowState.IMPOSSIBLE)
    return impossible or likely_causes(case, RowState.LOW)
