"""`weft check --with nccl|rccl --launcher kubernetes`: nodes, their GPUs, the site's manifest."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.cli.backend.choice import CONTAINER_OPTIONS, KUBERNETES, BackendChoice
from weft.cli.backend.opening import live_nodes
from weft.cli.options import refuse_together
from weft.cli.output import talk
from weft.core.documents.text_file import read_text_file
from weft.core.errors import InputError, MissingError
from weft.core.natural import natural_key
from weft.core.nodeset import fold
from weft.core.units import parse_duration
from weft.core.words import nearest

if TYPE_CHECKING:
    from weft.bench.nccl.backend import NcclBackend
    from weft.bench.nccl.program import NcclTests
    from weft.cli.check.nccl import NcclChoice
    from weft.launch.kubernetes.kubectl import Kubectl

GPUS = {"nccl": "nvidia.com/gpu", "rccl": "amd.com/gpu"}
"""The resource that is a GPU, as the device plugins of NVIDIA and AMD name it."""
START_LIMIT = "5m"
"""Default of --start-limit: an image of some GB is pulled in a few minutes."""
MOST_BYTES = 1 << 20
TEMPLATE = "kubernetes/mpijob.yaml"


class PodPlace:
    """A cluster of Kubernetes as the place of nccl-tests. Raises InputError, MissingError."""

    launcher_kind = KUBERNETES

    def __init__(self, nccl: "NcclChoice", choice: BackendChoice, n_gpus: int | None) -> None:
        from weft.launch.kubernetes.kubectl import find_kubectl
        from weft.launch.kubernetes.mpijob import PodSite

        kept = {f"--{name}": getattr(choice, name) or None for name in CONTAINER_OPTIONS}
        kept.pop("--image")
        more = {"--mpi": choice.mpi, "--cluster": choice.cluster, **kept}
        refuse_together("--launcher kubernetes", more, "the MPI of the image")
        gpu = GPUS[str(nccl.library)]
        self.path = nccl.tests or "all_reduce_perf"
        self.site = PodSite(
            template=_template(nccl.manifest, choice.image),
            image=choice.image or "",
            gpu=gpu,
            start_limit_s=parse_duration(nccl.start_limit or START_LIMIT),
        )
        self.kubectl = find_kubectl(nccl.namespace)
        is_named = choice.hosts is not None or choice.hostfile is not None
        named = live_nodes(choice) if is_named else None
        if named is None or n_gpus is None:
            named, n_gpus = _nodes_of(self.kubectl, named, n_gpus, gpu)
        self.nodes = named
        self.gpus_per_node: int | None = n_gpus

    def backend(self, tests: "NcclTests", adapters: tuple[str, ...]) -> "NcclBackend":
        """The backend of these nodes. Raises InputError where a GPU would have to be chosen."""
        from weft.bench.nccl.kubernetes import KubernetesNccl

        if adapters:
            raise InputError(
                "nodes have several adapters in this fabric, and a pod cannot choose its GPU",
                where="--fabric",
                expected="nodes of one adapter; without --fabric nodes are named, and no cables",
            )
        return KubernetesNccl(self.kubectl, self.nodes, tests, self.site)


def _template(manifest: Path | None, image: str | None) -> dict[str, Any]:
    """The site's MPIJob, or weft's own. Raises InputError."""
    import yaml

    from weft.catalog.toml_file import catalogue_text
    from weft.doctor.readers.kubernetes import ManifestLoader
    from weft.launch.kubernetes.mpijob import LAUNCHER, WORKER, refuse_template

    expected = "one MPIJob in YAML, such as --dry-run prints"
    if manifest is None:
        text, where = catalogue_text(TEMPLATE)
    else:
        where = str(manifest)
        text = read_text_file(manifest, expected=expected, most_bytes=MOST_BYTES)
    try:
        documents = [one for one in yaml.load_all(text, ManifestLoader) if one is not None]
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        what = f"no YAML: {' '.join(str(error).split())}"
        raise InputError(what, where=where, expected=expected) from error
    if len(documents) != 1:
        raise InputError(f"{len(documents)} documents", where=where, expected=expected)
    found: dict[str, Any] = documents[0]
    refuse_template(found, where)
    try:
        json.dumps(found)
    except (TypeError, ValueError) as error:
        # YAML reads 2026-01-31 as a date.
        what = f"a value that JSON does not have: {error}"
        raise InputError(what, where=where, expected=expected, hint="put it into quotes") from error
    replicas = [found["spec"]["mpiReplicaSpecs"][role] for role in (LAUNCHER, WORKER)]
    containers = [one["template"]["spec"]["containers"][0] for one in replicas]
    if not image and not all(one.get("image") for one in containers):
        raise InputError(
            "no image for the pods",
            expected="--image NAME: nccl-tests, Open MPI and sshd in it",
            hint="or --manifest FILE with an image for Launcher and Worker",
        )
    return found


def _nodes_of(
    kubectl: "Kubectl", named: tuple[str, ...] | None, n_gpus: int | None, gpu: str
) -> tuple[tuple[str, ...], int]:
    """The nodes, all that offer GPUs where none are named, and the GPUs that most of them offer: a
    node with fewer has lost one. Raises InputError, MissingError."""
    from weft.launch.kubernetes.pods import left_out, offering

    listed = kubectl.nodes()
    if named is None:
        offers = offering(listed, gpu)
        nodes = tuple(sorted(offers, key=natural_key))
        for reason, out in left_out(listed, gpu).items():
            talk(f"weft: left out, because {reason}: {fold(out)} (--hosts names nodes)")
    else:
        names = {str(one["metadata"]["name"]) for one in listed}
        unknown = [node for node in named if node not in names]
        if unknown:
            near = nearest(unknown[0], names)
            raise InputError(
                f"the cluster has no node {fold(unknown)}",
                expected="names that 'kubectl get nodes' prints",
                hint=None if near is None else f"'{near}'?",
            )
        offers, nodes = offering(listed, gpu, usable=False), named
    counts = Counter(offers[node] for node in nodes if node in offers)
    if not counts:
        raise MissingError(
            f"no node offers {gpu}",
            where="kubectl get nodes",
            expected="the device plugin of the GPUs on every node, ready and not cordoned",
            hint="--with rccl is for AMD's GPUs, --with nccl for NVIDIA's",
        )
    n = n_gpus or max(counts, key=lambda n: (counts[n], n))
    fewer = [node for node in nodes if offers.get(node, 0) < n]
    if fewer:
        talk(f"weft: fewer than {n} {gpu} on {fold(fewer)}: no pod will start there")
    return nodes, n
