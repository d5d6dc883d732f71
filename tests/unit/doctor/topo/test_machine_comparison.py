"""A file beside the machine that it is for: each kind of difference is found, and no other."""

import pytest

from weft.catalog.load import platform
from weft.doctor.topo.judge import complaints_of
from weft.doctor.topo.machine_comparison import differences_from
from weft.doctor.topo.node import node_of_platform, topology_text
from weft.doctor.topo.source.file import node_of_text
from weft.doctor.topo.xml import read_topology

NDV5 = node_of_platform(platform("azure-ndv5"))
TEXT = topology_text(NDV5)
PAIR = ("0003:00:00.0", "0008:00:00.0")


def differences(text: str) -> list[tuple[str, str]]:
    file = read_topology("topo.xml", text)
    assert not file.is_refused
    return [
        (one.rule.id, one.happens)
        for one in complaints_of(file, None, differences_from(file, NDV5, "ndv5"))
    ]


def changed(*pairs: tuple[str, str]) -> str:
    text = TEXT
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


DIFFERENCES = (
    ("topo-not-there", changed(("0003:00:00.0", "0004:00:00.0")), "ndv5 has no GPU 0004:00:00.0:"),
    ("topo-not-in-file", changed(("0103:00:00.0", "0109:00:00.0")), "adapter 0103:00:00.0 of"),
    (
        "topo-other-numa",
        changed(('numaid="1"', 'numaid="2"')),
        "Numaid 2 of the file has GPU 0009:00:00.0 000a:00:00.0 000b:00:00.0 000c:00:00.0, adapter",
    ),
    (
        "topo-other-class",
        changed(('"0101:00:00.0" class="0x020700"', '"0101:00:00.0" class="0x030200"')),
        "class 0x030200 in the file and 0x020700 on ndv5",
    ),
    (
        "topo-other-link",
        changed(("32.0 GT/s PCIe", "16.0 GT/s PCIe")),
        "NCCL counts 24 GB/s for GPU 0001:00:00.0",
    ),
    ("topo-other-processor", changed(("GenuineIntel", "AuthenticAMD")), "Vendor is AuthenticAMD"),
    (
        "topo-other-cpus",
        changed(("00000000,0000ffff,ffffffff", "00000000,00000000,ffffffff")),
        "Numaid 0 has CPUs 0-31 in the file and 0-47 on ndv5",
    ),
    (
        "topo-other-neighbours",
        changed((PAIR[0], "x"), (PAIR[1], PAIR[0]), ('"x"', f'"{PAIR[1]}"')),
        "GPU 0003:00:00.0 shares bridges with 0104:00:00.0 in the file and with 0103:00:00.0 on",
    ),
)
"""(rule, a file that breaks it, what its sentence says)."""


def test_a_file_of_the_machine_does_not_differ() -> None:
    assert {rule for rule, _ in differences(TEXT)} == {"topo-made-up-bridges"}


@pytest.mark.parametrize(("rule", "text", "says"), DIFFERENCES, ids=lambda word: str(word)[:20])
def test_each_difference_is_found(rule: str, text: str, says: str) -> None:
    sentences = [sentence for found, sentence in differences(text) if found == rule]
    assert any(says in sentence for sentence in sentences)
    assert "{" not in "".join(sentences)


def test_what_a_description_does_not_tell_is_no_difference() -> None:
    """lspci knows neither processors nor, of a virtual machine, bridges."""
    devices = [(one, "0302", "10de:2330") for one in ("0001", "0002", "0003", "0008")]
    devices += [(one, "0207", "15b3:101e") for one in ("0101", "0102", "0103", "0104")]
    text = "".join(
        f"{domain}:00:00.0 A device [{class_}]: Somebody [{ids}]\n\tNUMA node: 0\n\n"
        for domain, class_, ids in devices
    )
    file = read_topology("topo.xml", TEXT[: TEXT.index('  <cpu numaid="1"')] + "</system>")
    assert list(differences_from(file, node_of_text(text, "lspci"), "here")) == []


FLIPPED = (
    ('"00000000,0000ffff,ffffffff"', "numa 0's"),
    ('"ffffffff,ffff0000,00000000"', '"00000000,0000ffff,ffffffff"'),
    ("numa 0's", '"ffffffff,ffff0000,00000000"'),
)
MISTAKES = (
    ("azure-ndv5", FLIPPED, ["topo-other-cpus", "topo-other-cpus"]),
    (
        "azure-ndv2",
        (('"00000000,000fffff"', '"0000ffff,0000ffff"'),
         ('"000000ff,fff00000"', '"0000ffff,0000ffff"')),
        ["topo-other-cpus", "topo-affinity-overlap", "topo-other-cpus"],
    ),
    (
        "azure-ndv4",
        (('numaid="0"', 'numaid="x"'), ('numaid="1"', 'numaid="0"'), ('numaid="x"', 'numaid="1"')),
        ["topo-other-cpus", "topo-other-numa", "topo-other-cpus", "topo-other-numa"],
    ),
)  # fmt: skip
"""What Azure's published files once had wrong, and rules that say so. SOURCE: Azure/azhpc-images,
pull requests 391 (NDv5: masks flipped, corrected in January 2025), 393 (NDv2: both NUMA nodes with
one mask, January 2025) and microsoft/superbenchmark, pull request 592 (NDv4: NUMA nodes swapped,
December 2023)."""


@pytest.mark.parametrize(("name", "change", "rules"), MISTAKES, ids=[name for name, *_ in MISTAKES])
def test_mistakes_that_were_published_are_found(
    name: str, change: tuple[tuple[str, str], ...], rules: list[str]
) -> None:
    node = node_of_platform(platform(name))
    text = topology_text(node)
    for old, new in change:
        assert old in text
        text = text.replace(old, new)
    file = read_topology("topo.xml", text)
    found = [one.rule.id for one in complaints_of(file, None, differences_from(file, node, name))]
    assert [rule for rule in found if rule != "topo-made-up-bridges"] == rules
