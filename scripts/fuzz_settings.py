"""Readers of settings, fed like those of results: scripts, modulefiles, nccl.conf, EDFs, manifests
and environments. They do everything that the linter does with the text."""

import json
import random
from collections.abc import Iterator
from functools import partial

from fuzz_mutations import Reader, mutated_sample

from weft.catalog.libraries.launch_recipe import LaunchRecipe
from weft.catalog.load import launch_recipe, launch_recipe_names, variable_lists
from weft.doctor.case import DoctorCase
from weft.doctor.coverage import coverage_of
from weft.doctor.edits import fixed
from weft.doctor.job import HOLE, Job, JobKind, TextPlace
from weft.doctor.lint import Complaint, as_finding, lint
from weft.doctor.readers.conf import read_environment
from weft.doctor.readers.file import read_job
from weft.doctor.sarif import sarif
from weft.launch import prescribed_text as texts
from weft.launch.prescription import Run, prescribe

LAUNCHES = (
    "srun -N 4 --container-image=i --container-env=NCCL_DEBUG,UCX_TLS --cpu-bind=map_cpu:0*2,8 ./a",
    "NCCL_DEBUG=INFO docker run -e NCCL_IB_HCA --env-file f -v /a:/b image ./a",
    "#SBATCH --export=NONE\nset -a\nsrun apptainer exec --cleanenv --env A=b i.sif ./a",
    'args=(-x "NCCL_NET=AWS Libfabric" --mca btl ^openib)\nmpirun -hostfile h "${args[@]}" ./a',
    "mpiexec.hydra -genvlist PATH -genv NCCL_DEBUG WARN ./a | tee log",
    "if true; then export NCCL_DEBUG=${LEVEL:-WARN}; else unset NCCL_DEBUG; fi\ncat <<X\nA=b\nX",
    "for i in 1 2; do NCCL_ALGO=Ring srun sarus run image ./a; done; setenv UCX_TLS rc,ud",
    "srun --container-mounts ${A},$B,$C:/c --container-env=D bash -c 'export E=1; F=2 mpirun ./a'",
    "export NCCL_IB_HCA==mlx5_1,mlx5_10:1 NCCL_TOPO_FILE=/a.xml\nenroot start -e A=b image",
)
MANIFEST = """apiVersion: v1
kind: Pod
spec:
  containers:
  - image: i
    command: [mpirun, -np, "16", -x, NCCL_DEBUG]
    env:
    - {{name: {0}, value: "{1}"}}
    - name: NCCL_IB_GID_INDEX
      valueFrom: {{fieldRef: {{fieldPath: x}}}}
    - name: UCX_TLS
      value: $(OTHER)
---
env: {{{0}: "{1}", A: &a [*a, 1]}}
"""
EDF = """image = "i#x:y"
mounts = ["/a:/b", "/c"]
[env]
{0} = "{1}"
NCCL_DEBUG = "WARN" # why
[annotations.com.hooks]
cxi.enabled = "true"
"""
DOCKERFILE = """FROM i AS x
ARG NCCL_VERSION=2
ENV {0}="{1}" \\
 # why

    UCX_TLS=rc
ENV NCCL_DEBUG WARN
RUN --mount=type=cache,target=/c echo "NCCL_IB_TC=106" >> /etc/nccl.conf && export NCCL_ALGO=Ring
COPY <<E /f
export NCCL_NET_GDR_LEVEL=PHB
E
CMD ["mpirun", "-x", "NCCL_IB_HCA=mlx5", "./a"]
"""
CHART = """apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata:
  name: {{{{ include "x" . }}}}
spec:
  Worker: {{replicas: 2}}
  data:
    nccl.conf: |
      {0}={1}
    a.sh: |-
      cat > f <<E
      export NCCL_DEBUG=INFO
      E
      if a; then export {0}='{1}'; else export NCCL_IB_DISABLE=1; fi
      mpirun -x NCCL_DEBUG {{{{ .Values.x }}}} ./a
  args: ['mpirun -x {0} -x
    NCCL_IB_HCA=mlx5 ./a']
  environment: ["NCCL_DEBUG=INFO"]
"""
BRANCHES = (
    "f() { export NCCL_DEBUG=$1; }\nif a; then f; elif b; then export NCCL_ALGO=Ring; fi\nsrun a",
    "case $1 in a) export NCCL_NET=IB;; *) export NCCL_NET=Socket;; esac\n[ $a ] && export B=1",
    "export NCCL_IB_TIMEOUT=${NCCL_IB_TIMEOUT:-22} A=${B:=c}\nNCCL_DEBUG = INFO\n. ./env.sh",
    "ssh h 'export NCCL_DEBUG=INFO; mpirun a'\necho 'NCCL_DEBUG=WARN' >> nccl.conf\n(export C=1)",
    "export NCCL_DEBUG = INFO\r\nbash run.sh -e NCCL_IB_HCA=mlx5 \\\r\n  -e UCX_TLS=rc\r\n",
)
MARKDOWN = """# Run `{0}` so
```bash
export {0}={1} NCCL_DEBUG=INFO
mpirun -np 16 -x {0} ./a
```
  ~~~console
  $ export UCX_TLS=rc \\
      NCCL_ALGO=Ring
  NCCL_DEBUG=INFO
  ~~~
```yaml
env:
- {{name: {0}, value: "{1}"}}
```
```dockerfile
ENV {0}="{1}"
```
"""
LMOD = """help([[x]])
local root = "/opt" -- why
--[[ setenv("NCCL_NET", "IB") ]]
setenv("{0}", "{1}")
pushenv('NCCL_DEBUG', root .. "x") if a then setenv("NCCL_IB_TC", 106) end
"""
SAMPLED = 64
"""Of so many inputs one is linted twice and written as SARIF and JSON."""
_LISTS = variable_lists()
_RECIPES = [launch_recipe(name) for name in launch_recipe_names()]


def setting_readers() -> list[Reader]:
    """A reader for each kind of file."""
    return [
        Reader(
            f"settings: {kind}",
            pieces,
            mutated_sample,
            partial(setting_outcome, kind),
            kind.value,
        )
        for kind, pieces in setting_pieces().items()
    ]


def setting_pieces() -> dict[JobKind, tuple[str, ...]]:
    """Samples of all kinds of files that set something, mostly from weft's own recipes."""
    pieces: dict[JobKind, list[str]] = {kind: [] for kind in JobKind}
    for recipe in _RECIPES:
        prescription = prescribe(recipe, Run(nodes=4, tasks=recipe.gpus_per_node or 8))
        command = texts.program(prescription, "allreduce")
        pieces[JobKind.SCRIPT] += [
            texts.as_mpirun(prescription, command),
            texts.as_sbatch(prescription, command),
        ]
        pieces[JobKind.MODULEFILE].append(texts.as_modulefile(prescription))
        rows = [f"{one.name}={one.value}" for one in prescription.settings]
        pieces[JobKind.CONF].append("\n".join(["# of this machine", *rows]))
        pieces[JobKind.LIVE].append("\n".join(rows))
        pairs = [(one.name, one.value.replace("$", "")) for one in prescription.settings]
        pieces[JobKind.EDF] += [EDF.format(*pair) for pair in pairs[:3]]
        for document in (MANIFEST, CHART):
            pieces[JobKind.KUBERNETES] += [document.format(*pair) for pair in pairs[:2]]
        pieces[JobKind.DOCKERFILE] += [DOCKERFILE.format(*pair) for pair in pairs[:3]]
        pieces[JobKind.MARKDOWN] += [MARKDOWN.format(*pair) for pair in pairs[:2]]
        pieces[JobKind.MODULEFILE] += [LMOD.format(*pair) for pair in pairs[:2]]
    pieces[JobKind.SCRIPT] += [*LAUNCHES, *BRANCHES]
    pieces[JobKind.OTHER] = ["import os\nos.environ['NCCL_DEBUG'] = 'INFO'\n"]
    return {kind: tuple(found) for kind, found in pieces.items()}


def setting_outcome(kind: JobKind, data: bytes, i: int) -> tuple[bool, str]:
    """Read, lint, correct and read again: whether anything is set, and the fault of that.
    Raises InputError for a document that is none."""
    text = data.decode("utf-8", "replace")
    job = _job(kind, text)
    case = DoctorCase(job, _LISTS, _machine(data), "2.26.5")
    complaints = lint(case)
    coverage = coverage_of(case)
    reason = next(_wrong(job, complaints), "")
    if not coverage.gaps and not coverage.would_show:
        reason = reason or "a GOOD without evidence"
    if not reason and kind is not JobKind.LIVE:
        better, _ = fixed(job.text, complaints)
        if better != job.text:
            _job(kind, better)
    if not reason and i % SAMPLED == 0:
        json.dumps(sarif([("input", complaints)], "0"))
        json.dumps([as_finding(one, "input").to_record() for one in complaints], allow_nan=False)
        if lint(DoctorCase(_job(kind, text), _LISTS, case.recipe, "2.26.5")) != complaints:
            reason = "a second reading differs"
    return bool(job.all_settings) or kind is JobKind.OTHER, reason


def _machine(data: bytes) -> LaunchRecipe | None:
    """One that depends on the input alone."""
    chosen = random.Random(data).randrange(len(_RECIPES) + 1)  # noqa: S311 no secret depends on it
    return _RECIPES[chosen] if chosen < len(_RECIPES) else None


def _job(kind: JobKind, text: str) -> Job:
    if kind is not JobKind.LIVE:
        return read_job("input", text, kind)
    pairs = (row.partition("=") for row in text.replace("\0", "").split("\n"))
    return read_environment({name: value for name, _, value in pairs if name})


def _wrong(job: Job, complaints: list[Complaint]) -> Iterator[str]:
    """Places outside of the text, sentences with holes in them."""
    jobs = (job, *job.parts)
    places = [one.at for one in job.all_settings]
    places += [one.value_at for one in job.all_settings if one.value_at is not None]
    places += [one.at for part in jobs for one in part.launches]
    places += [place for part in jobs for place in part.local]
    for complaint in complaints:
        found = complaint.found
        places += [found.at, *(edit.at for edit in found.edits)]
        for sentence in (complaint.happens, complaint.fix, complaint.source):
            if HOLE in sentence:
                yield f"{found.rule}: a sentence with a hole"
    for place in places:
        if not is_inside(place, job.text):
            yield f"a place outside of the text: {place}"


def is_inside(place: TextPlace, text: str) -> bool:
    """Whether a text has the place."""
    inside = 0 <= place.start <= place.end <= len(text)
    return inside and 1 <= place.line <= text.count("\n") + 1 and place.column >= 1
