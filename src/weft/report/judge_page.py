"""`weft judge FILE --report PAGE`: one judged file as one HTML page, verdict first."""

from dataclasses import replace
from pathlib import Path

from weft.judge.model import FileJudgement
from weft.report.model import RunPage
from weft.report.page import write_page
from weft.report.sections import judged_evidence, judged_tables


def write_judge_page(judgement: FileJudgement, out: Path) -> Path:
    """Write the page and return its path. Raises MissingError on a disk that refuses."""
    write_page(out, [judge_page(judgement)], verb="judge", option="--report FILE")
    return out


def judge_page(judgement: FileJudgement) -> RunPage:
    """The page before any HTML."""
    first, *others = judgement.findings
    if judgement.next_command and first.next_command is None:
        first = replace(first, next_command=judgement.next_command)
    sections = (
        judged_tables.figures_section(judged_tables.groups_of(judgement), judgement),
        judged_evidence.causes_section(judgement),
        judged_evidence.generic_section(judgement),
        judged_evidence.field_section(judgement),
        judged_evidence.coverage_section(judgement),
        judged_evidence.sources_section(judgement),
    )
    return RunPage(
        id="file",
        title=Path(judgement.path).name or "a result file",
        subtitle=_subtitle(judgement),
        findings=(first, *others),
        caveats=judgement.remarks,
        sections=tuple(section for section in sections if section is not None),
    )


def _subtitle(judgement: FileJudgement) -> str:
    if not judgement.platform:
        return f"{judgement.path}, compared with no platform. {judgement.platform_because}".strip()
    because = f" ({judgement.platform_because})" if judgement.platform_because else ""
    return f"{judgement.path}, compared with platform {judgement.platform}{because}."
