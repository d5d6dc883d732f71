"""Mistakes planted in weft's own recipes: a seeded choice of machine, form, version and mistake."""

import random
from collections.abc import Iterator, Sequence

from tests.unit.doctor.planters import (
    image_wins,
    integer,
    left_behind,
    masks,
    misspelt,
    newer,
    not_exported,
    not_mounted,
    of_ucx,
    only,
    out_of_range,
    removed,
    sets,
    twice,
    without,
)
from tests.unit.doctor.script import FORMS, VERSIONS, Planter, RecipeMistake, Script, clean_script

from weft.catalog.load import launch_recipe_names


def slingshot(script: Script) -> bool:
    return script.recipe.fabric == "slingshot" and script.of_nccl


def azure(script: Script) -> bool:
    return bool(script.recipe.ethernet_hcas)


def infiniband(script: Script) -> bool:
    return script.recipe.fabric == "infiniband" and script.of_nccl


PLANTERS: dict[str, Planter] = {
    "a name with a wrong letter": misspelt,
    "channels without their N": only(
        sets("unknown-name", "NCCL_MIN_CHANNELS", "32"), lambda one: one.form != "container"
    ),
    "overflow with a V": only(
        sets("unknown-name", "FI_CXI_OVFLOW_BUF_SIZE", "12582912"), lambda one: not infiniband(one)
    ),
    "a name of UCX": of_ucx,
    "a name that nobody has": sets("unfamiliar-name", "NCCL_NET_MAX_REQUESTS", "8"),
    "a time-out that nobody has": sets("unfamiliar-name", "NCCL_TIMEOUT", "600"),
    "a name of PyTorch": sets("other-name", "NCCL_ASYNC_ERROR_HANDLING", "1"),
    "an old name of CXI": only(
        sets("other-name", "FI_CXI_DISABLE_CQ_HUGETLB", "1"), lambda one: one.form != "container"
    ),
    "a name of tomorrow": newer,
    "a name of yesterday": removed,
    "a word": integer("word-for-number", "true"),
    "a unit": integer("suffix-on-number", "2M"),
    "an octal number": integer("octal-number", "010"),
    "a number of 20 digits": integer("number-too-large", "99999999999999999999"),
    "a number beyond its range": out_of_range,
    "a time-out beyond its range": sets("out-of-range", "NCCL_IB_TIMEOUT", "32"),
    "nothing": sets("empty-value", "NCCL_DEBUG_FILE", ""),
    "quotes in quotes": sets("quotes-in-value", "NCCL_DEBUG_FILE", "'/tmp/nccl.%h'"),
    "typographic quotes": sets(
        "typographic-quotes", "NCCL_DEBUG_FILE", "\u201c/tmp/nccl.%h\u201d", raw=True
    ),
    "a space behind": sets("spaces-around-value", "NCCL_DEBUG_FILE", "/tmp/nccl.%h "),
    "a family that is none": sets("unknown-word", "NCCL_SOCKET_FAMILY", "ipv4", "IPv6"),
    "a match mode that is none": only(
        sets("unknown-word", "FI_CXI_RX_MATCH_MODE", "sw"), slingshot
    ),
    "a level that is none": sets("debug-level", "NCCL_DEBUG", "DEBUG", "3", "VERBOSE"),
    "a subsystem that is none": sets("debug-subsystem", "NCCL_DEBUG_SUBSYS", "INIT,NETWORK"),
    "a distance in small letters": sets("level-word", "NCCL_NET_GDR_LEVEL", "phb", "sys"),
    "a distance as a number": sets("level-number", "NCCL_P2P_LEVEL", "2", "5"),
    "a sign inside the list": only(
        sets("sign-inside-list", "NCCL_SOCKET_IFNAME", "eth,^docker", "eth0,^lo"),
        lambda one: one.recipe.interface in ("", "eth0"),
    ),
    "an adapter of another machine": only(
        sets("no-such-device", "NCCL_IB_HCA", "^mlx4_0,mlx5_an"), azure
    ),
    "everything excluded": only(sets("excludes-everything", "NCCL_IB_HCA", "^mlx5"), azure),
    "the Ethernet function too": only(sets("ethernet-function", "NCCL_IB_HCA", "mlx5"), azure),
    "the loopback interface": sets("no-way-out", "NCCL_SOCKET_IFNAME", "lo", "docker0"),
    "the bootstrap over IPoIB": only(
        sets("ipoib-meeting", "NCCL_SOCKET_IFNAME", "ib0"),
        lambda one: one.recipe.interface.startswith("eth"),
    ),
    "no InfiniBand": only(sets("infiniband-off", "NCCL_IB_DISABLE", "1"), infiniband),
    "a switch of debugging": only(
        sets("debug-switch-left-on", "NCCL_P2P_DISABLE", "1"), lambda one: one.of_nccl
    ),
    "no GPUDirect RDMA": sets("gdr-off", "NCCL_NET_GDR_LEVEL", "LOC"),
    "GPUDirect RDMA too near": only(
        sets("gdr-too-near", "NCCL_NET_GDR_LEVEL", "PXB", "PIX"), slingshot
    ),
    "a GID on InfiniBand": only(sets("gid-on-infiniband", "NCCL_IB_GID_INDEX", "3"), infiniband),
    "many queue pairs": sets("many-queue-pairs", "NCCL_IB_QPS_PER_CONNECTION", "16", "128"),
    "small buffers": sets("small-buffers", "NCCL_BUFFSIZE", "65536"),
    "no ring": only(
        sets("algorithms-leave-none", "NCCL_ALGO", "NVLS", "^ring", "Tree"),
        lambda one: one.since("2.24.3"),
    ),
    "one collective only": only(
        sets("algorithms-of-named-only", "NCCL_ALGO", "allreduce:ring"),
        lambda one: one.since("2.31"),
    ),
    "an algorithm that is fixed": sets("algorithm-fixed", "NCCL_ALGO", "Ring"),
    "an algorithm that is none": sets("unknown-algorithm", "NCCL_ALGO", "Rings"),
    "CollNet that is off": only(
        sets("collnet-not-enabled", "NCCL_ALGO", "Ring,CollnetDirect"), infiniband
    ),
    "SHARP on other switches": only(
        sets("sharp-on-other-fabric", "NCCL_COLLNET_ENABLE", "1"),
        lambda one: one.of_nccl and one.recipe.fabric != "infiniband",
    ),
    "streaming that nobody uses": only(
        sets("sharp-without-collnet", "SHARP_COLL_ENABLE_SAT", "1"),
        lambda one: infiniband(one) and one.form != "container",
    ),
    "words that the shell cuts": only(
        sets("words-split", "NCCL_NET", "AWS Libfabric", raw=True),
        lambda one: slingshot(one) and one.form in ("srun", "sbatch"),
    ),
    "no network demanded": only(without("silent-sockets", "NCCL_NET", "NCCL_"), slingshot),
    "a plug-in that brings another network": only(
        sets("plugin-contradicts", "NCCL_NET_PLUGIN", "none"), slingshot
    ),
    "a list of plug-ins": only(
        sets("plugin-too-new-a-form", "NCCL_NET_PLUGIN", "ofi,none"),
        lambda one: not one.since("2.27.3") and one.recipe.fabric != "infiniband",
    ),
    "the provider of another fabric": only(
        sets("wrong-provider", "FI_PROVIDER", "tcp", "verbs"),
        lambda one: (
            one.recipe.fabric in ("slingshot", "efa")
            and one.of_nccl
            and (one.form != "container" or one.value("FI_PROVIDER") is not None)
        ),
    ),
    "rendezvous that does not fit": only(
        sets("rendezvous-does-not-fit", "FI_CXI_RDZV_THRESHOLD", "16000000"),
        lambda one: slingshot(one) and one.form != "container",
    ),
    "a monitor that misses memory": only(
        sets("cache-monitor", "FI_MR_CACHE_MONITOR", "memhooks", "disabled"), slingshot
    ),
    "matching in hardware": only(
        sets("hardware-matching", "FI_CXI_RX_MATCH_MODE", "hardware"),
        lambda one: (
            slingshot(one)
            and (one.form != "container" or one.value("FI_CXI_RX_MATCH_MODE") is not None)
        ),
    ),
    "a small queue": only(
        sets("small-completion-queue", "FI_CXI_DEFAULT_CQ_SIZE", "1024"),
        lambda one: (
            slingshot(one)
            and (one.form != "container" or one.value("FI_CXI_DEFAULT_CQ_SIZE") is not None)
        ),
    ),
    "LL128 allowed": only(
        without("ll128-on-slingshot", "NCCL_PROTO", "NCCL_"),
        lambda one: slingshot(one) and one.since("2.27.3"),
    ),
    "two owners of the GPU": only(
        sets("two-gpu-owners", "MPICH_GPU_SUPPORT_ENABLED", "1"),
        lambda one: slingshot(one) and one.recipe.library == "nccl",
    ),
    "no export": not_exported,
    "one name, two values": twice,
    "an environment left behind": left_behind,
    "a value of the image": image_wins,
    "a file outside the container": not_mounted,
    "a folder with a capital": only(
        sets("topology-missing", "NCCL_TOPO_FILE", "/opt/Microsoft/ndv5-topo.xml"),
        lambda one: one.recipe.name == "azure-ndv5" and one.form != "container",
    ),
    "a file without a folder": only(
        sets("topology-missing", "NCCL_TOPO_FILE", "topo.xml"), lambda one: one.form != "container"
    ),
    "the file of another machine": only(
        sets("topology-of-another-machine", "NCCL_TOPO_FILE", "/opt/microsoft/ndv2-topo.xml"),
        lambda one: bool(one.recipe.topology_file) and one.form != "container",
    ),
    "masks": masks,
    "InfiniBand on Ethernet": only(
        sets("transport-and-device", "UCX_NET_DEVICES", "eth0"),
        lambda one: (one.value("UCX_TLS") or "").startswith("rc"),
    ),
    "a number that MVAPICH2 does not take": only(
        sets("out-of-range", "MV2_SHOW_ENV_INFO", "3"),
        lambda one: one.value("MV2_SHOW_ENV_INFO") is not None,
    ),
    "a chunk that is cut": only(
        sets("chunk-cut", "NCCL_P2P_NET_CHUNKSIZE", "1048576"),
        lambda one: one.value("NCCL_P2P_NET_CHUNKSIZE") is None,
    ),
    "a short time-out": sets("short-timeout", "NCCL_IB_TIMEOUT", "10", "13"),
    "another service level": only(
        sets("service-level", "NCCL_IB_SL", "0", "2"), lambda one: one.recipe.name == "azure-ndv6"
    ),
    "SHARP without HCOLL": only(
        sets("sharp-without-hcoll", "HCOLL_ENABLE_SHARP", "2", "3"),
        lambda one: "coll_hcoll_enable" in one.text and one.form != "container",
    ),
    "a long log": only(
        sets("much-log", "NCCL_DEBUG", "INFO", "TRACE"),
        lambda one: one.nodes * one.recipe.gpus_per_node > 64,
    ),
}
"""What is done wrong, and how."""


def planted(n: int, seed: int) -> Iterator[RecipeMistake]:
    """`n` scripts with one mistake each; every planter in turn, on scripts chosen at random."""
    rng = random.Random(seed)
    names: Sequence[str] = launch_recipe_names()
    kinds = list(PLANTERS)
    made = 0
    while made < n:
        kind = kinds[made % len(kinds)]
        for _ in range(400):
            script = clean_script(
                rng.choice(names), rng.choice(FORMS), rng.choice(VERSIONS), rng.choice((2, 4, 16))
            )
            found = PLANTERS[kind](script, rng) if script is not None else None
            if script is not None and found is not None:
                yield RecipeMistake(kind, script, *found)
                break
        else:
            raise AssertionError(f"no script takes '{kind}'")
        made += 1
