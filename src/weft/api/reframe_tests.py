"""ReFrame tests that run weft: load this file with `reframe -c`, copy it, or derive from it.

It imports nothing of weft, so ReFrame and weft may live in two environments: `weft` names the
program. weft starts its ranks itself, in the nodes of the job or on those that `options` name.
"""

import json
import shlex
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.backends import getlauncher
from reframe.core.builtins import parameter, run_before, sanity_function, variable
from reframe.core.exceptions import SanityError

UNITS = {"_us": "us", "_mb_s": "MB/s", "_gb_s": "GB/s", "_mps": "M/s"}
"""The unit of a metric by the end of its name, without a statistic such as `_p50`."""


class WeftTest(rfm.RunOnlyRegressionTest):
    """What the tests share: the program, its options, the nodes of the job."""

    weft = variable(str, value="weft")
    options = variable(typ.List[str], value=[])
    job_nodes = variable(int, value=2)
    valid_systems = ["*"]  # noqa: RUF012
    valid_prog_environs = ["*"]  # noqa: RUF012

    def call_weft(self, *words: str) -> None:
        """Run `weft` with these words and the options."""
        self.executable = self.weft
        self.executable_opts = [shlex.quote(word) for word in (*words, *self.options)]
        if self.current_partition.scheduler.registered_name != "local":
            self.num_tasks, self.num_tasks_per_node = self.job_nodes, 1

    @run_before("run")
    def start_ranks_by_weft(self) -> None:
        """weft calls the launcher of the site; ReFrame's would start weft once a rank."""
        self.job.launcher = getlauncher("local")()

    def answer(self) -> dict[str, Any]:
        """What weft printed: JSON. Sanity fails with weft's own error where there is none."""
        folder = Path(self.stagedir)
        try:
            text = (folder / sn.evaluate(self.stdout)).read_text()
            found: dict[str, Any] = json.loads(text)
        except ValueError:
            said = (folder / sn.evaluate(self.stderr)).read_text().strip()
            raise SanityError(said or "weft printed no JSON") from None
        return found


@rfm.simple_test
class WeftBench(WeftTest):
    """One benchmark on the job's nodes; a performance variable for each size."""

    descr = "latency and bandwidth of the interconnect, by weft bench"
    benchmark = parameter(["latency", "bandwidth", "allreduce", "alltoall"])
    sizes = variable(str, value="8,64K,1M")
    repeats = variable(int, value=3)

    @run_before("run")
    def set_command(self) -> None:
        """`weft bench BENCHMARK --sizes ... --repeats ... --format json`."""
        asked = ["--sizes", self.sizes, "--repeats", str(self.repeats), "--dir", "run"]
        self.call_weft("bench", self.benchmark, *asked, "--format", "json")

    @sanity_function
    def every_launch_has_a_result(self) -> Any:
        """Whether no launch failed and none is missing."""
        found = self.answer()
        n_launches, n_failed = found["n_launches"], found["n_failed"]
        return sn.all(
            [
                sn.assert_eq(n_failed, 0, f"{n_failed} of {n_launches} launches failed"),
                sn.assert_true(found["rows"], "weft measured no value"),
            ]
        )

    @run_before("performance")
    def set_values(self) -> None:
        """The median of each size over the launches."""
        self.perf_variables = {
            perf_name(row["metric"], row["size_bytes"]): sn.make_performance_function(
                sn.defer(row["median"]), perf_unit(row["metric"])
            )
            for row in self.answer()["rows"]
        }


@rfm.simple_test
class WeftCheck(WeftTest):
    """`weft check` of the job's nodes: fails with the sentence that names the component."""

    descr = "all pairs of nodes, and the component that explains the slow ones, by weft check"
    job_nodes = 8

    @run_before("run")
    def set_command(self) -> None:
        """`weft check --format json`."""
        self.call_weft("check", "--no-report", "--dir", "run", "--format", "json")

    @sanity_function
    def no_component_is_slow(self) -> Any:
        """Whether the verdict is good; an unknown one fails, too."""
        found = self.answer()
        sentence = found["findings"][0]["sentence"]
        return sn.assert_eq(found["exit_code"], 0, sentence)


def perf_name(metric: str, size_bytes: int) -> str:
    """'latency_us_p50_at_65536_bytes'; without sizes the metric alone."""
    return f"{metric}_at_{size_bytes}_bytes" if size_bytes else metric


def perf_unit(metric: str) -> str:
    """The unit in the name of a metric; '1' for a ratio or a count."""
    known = (unit for end, unit in UNITS.items() if f"{metric}_".find(f"{end}_") > 0)
    return next(known, "1")
