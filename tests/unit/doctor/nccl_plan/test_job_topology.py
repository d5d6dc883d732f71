"""What the driver would add to a topology file, and files to which nothing is added."""

import pytest
from tests.unit.doctor.topo.cases import CASES

from weft.catalog.load import platform
from weft.core.errors import InputError
from weft.doctor.nccl_plan.job_topology import job_topology
from weft.doctor.nccl_plan.nodes import topology_of
from weft.doctor.topo.graph import Known
from weft.doctor.topo.judge import known_of
from weft.doctor.topo.xml import read_topology

NDV5 = known_of(platform("azure-ndv5"))
LINK = 'class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"'
CPU = 'affinity="0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"'
DUMP = f"""<system version="1">
  <cpu host_hash="0x5" numaid="0" {CPU}>
    <pci busid="0000:01:00.0" {LINK}>
      <gpu dev="1" sm="80" rank="0" gdr="0">
        <nvlink target="0000:02:00.0" count="4" tclass="0x030200"/>
      </gpu>
    </pci>
    <pci busid="0000:02:00.0" {LINK}>
      <gpu dev="0" sm="80" rank="1" gdr="0"/>
    </pci>
    <nic><net name="eth0" dev="0" speed="100000" port="0" guid="0x9" maxconn="65536" gdr="0"/></nic>
  </cpu>
</system>
"""


def test_gpus_nvlinks_and_adapters_of_a_platform_are_added() -> None:
    job = topology_of("azure-ndv5", None)
    assert (job.sm, job.has_nvswitch, len(job.bus_ids), len(job.nets)) == (90, True, 8, 8)
    assert job.bus_ids[0] == 0x100000
    assert job.text.count('<nvlink target="0000:ee:00.0" count="18" tclass="0x068000"/>') == 8
    assert job.text.count('speed="400000"') == 8
    for rank in range(8):
        assert f'<gpu dev="{rank}" sm="90" rank="{rank}" gdr="1">' in job.text
    again = job_topology(read_topology("again", job.text), Known())
    assert again == job


def test_a_dump_of_nccl_keeps_what_it_says() -> None:
    job = job_topology(read_topology("dump", DUMP), NDV5)
    assert job.nets == ("eth0",)
    assert (job.sm, job.has_nvswitch) == (80, False)
    # Ranks follow NCCL's dev.
    assert job.bus_ids == (0x0002000, 0x0001000)
    assert 'dev="1" sm="80" rank="1" gdr="0"' in job.text
    assert 'host_hash="0x5"' in job.text
    assert 'speed="100000"' in job.text


@pytest.mark.parametrize(
    ("text", "known", "says"),
    [
        ('<system version="1"><cpu numaid="0"/></system>', NDV5, "no GPU"),
        ('<system version="1"><cpu', NDV5, "gives up"),
        ("", NDV5, "gives up"),
        (topology_of("azure-ndv5", None).text.replace(' sm="90"', ""), Known(), "capability"),
    ],
)
def test_what_no_driver_is_here_to_tell_is_refused(text: str, known: Known, says: str) -> None:
    with pytest.raises(InputError, match=says):
        job_topology(read_topology("some file", text), known)


def test_files_of_the_rules_are_read_or_refused() -> None:
    for one in CASES:
        for text in (one.text, one.right):
            try:
                job = job_topology(read_topology("case", text), NDV5)
            except InputError:
                continue
            assert len(job.bus_ids) == job.text.count("<gpu ")
