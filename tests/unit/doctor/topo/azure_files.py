"""What Azure's images hold for their machines: facts of the files, in tests/fixtures/topology."""

import csv
from pathlib import Path
from xml.etree import ElementTree

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "topology"
PLATFORMS = ("azure-ndv2", "azure-ndv4", "azure-ndv5")
Rows = list[dict[str, str]]


def published(name: str, platform: str) -> Rows:
    """Rows of published_`name`.csv for a platform, in the order of its file."""
    with (FOLDER / f"published_{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.pop("platform") == platform]
    assert rows
    return rows


def processors(text: str) -> Rows:
    """The same of a file: one row for each NUMA node. Another reader of XML than the one under
    test."""
    keys = ("numaid", "affinity", "arch", "vendor", "familyid", "modelid")
    return [{key: cpu.attrib[key] for key in keys} for cpu in ElementTree.fromstring(text)]


def devices(text: str) -> Rows:
    """One row for each PCI device, with the bus id of the bridge above it. Left out: ids of
    bridges, which are zeroes where the published files have them."""
    keys = ("busid", "class", "link_speed", "link_width")
    rows = []
    for cpu in ElementTree.fromstring(text):
        bridges = {child: pci.attrib["busid"] for pci in cpu.iter("pci") for child in pci}
        rows += [
            {
                "numaid": cpu.attrib["numaid"],
                "above": bridges.get(pci, ""),
                **{key: pci.attrib[key] for key in keys},
            }
            for pci in cpu.iter("pci")
        ]
    return rows
