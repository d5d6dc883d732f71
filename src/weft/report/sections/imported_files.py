"""The origin of imported figures: files, tools, conditions; and rows with line numbers."""

from collections.abc import Mapping
from typing import Any

from weft.core.units import format_significant, format_size
from weft.report.model import ReportTable, Section, cut_table
from weft.study.imported_file import ImportedFile
from weft.study.run.backend_record import backend_of
from weft.study.run.store import StudyRun


def section(run: StudyRun) -> Section:
    """The files of the run and every row as it was read."""
    return Section(
        "Files",
        (
            "raw/ holds the files as they were, but for masked secrets; a row's line number leads "
            "to what its tool printed. MB is always 10^6 bytes here.",
        ),
        tables=(_files(run),),
        folded=(_rows(run),),
    )


def _files(run: StudyRun) -> ReportTable:
    files = map(ImportedFile.of_record, backend_of(run).facts.get("files", ()))
    columns = ("file", "arm", "tool", "tests", "conditions", "SHA-256")
    rows = [
        (
            file.name,
            file.arm or "-",
            ", ".join(file.tools),
            ", ".join(file.tests),
            _pairs_text(file.conditions) or "-",
            file.sha256[:16],
        )
        for file in files
    ]
    return cut_table("Files", columns, rows)


def _rows(run: StudyRun) -> ReportTable:
    columns = ("raw/", "#line", "test", "#size", "figures", "labels")
    rows = [
        (
            str(sample.evidence.get("file", "?")),
            str(sample.evidence.get("line", "?")),
            str(sample.evidence.get("test", "?")),
            format_size(sample.size_bytes),
            ", ".join(f"{name} {format_significant(v)}" for name, v in sample.metrics.items()),
            _pairs_text({**sample.evidence.get("labels", {}), **sample.evidence.get("other", {})})
            or "-",
        )
        for sample in run.samples
    ]
    return cut_table("Rows as they were read", columns, rows)


def _pairs_text(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
