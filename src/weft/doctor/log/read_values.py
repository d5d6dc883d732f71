"""Values that ranks read and NCCL refuses or misreads, by the rules of `weft doctor env`."""

from collections.abc import Iterator

from weft.bench.logs.ranks import JobLog
from weft.catalog.libraries.setting_rules import setting_rules
from weft.catalog.load import variable_lists
from weft.core.finding import Finding, Severity
from weft.doctor.case import DoctorCase
from weft.doctor.facts import VariableFacts
from weft.doctor.job import NOWHERE, Job, JobKind, JobSetting, SettingOrigin
from weft.doctor.lint import Complaint
from weft.doctor.log.network import finding, share
from weft.doctor.rules import values


def judge_read_values(log: JobLog) -> Iterator[Finding]:
    """Values out of range and the like: bad, as `weft doctor env` says of the same setting."""
    versions = [one.split("+")[0].split(" ")[1] for one in log.versions if one.startswith("NCCL ")]
    for name, by_value in log.echoed.items():
        for value, ranks in by_value.items():
            setting = JobSetting(name, value, SettingOrigin.LIVE, NOWHERE)
            job = Job("the log", "", JobKind.LIVE, (setting,))
            case = DoctorCase(job, variable_lists(), nccl=versions[0] if versions else "")
            for found in values.rules(case):
                complaint = Complaint(setting_rules()[found.rule], found)
                if complaint.severity is Severity.BAD:
                    yield finding(
                        Severity.BAD,
                        f"{name}={value}: {complaint.happens} {share(log, ranks)} read it",
                        f"do: {complaint.fix}",
                        facts=VariableFacts(name, value),
                    )
