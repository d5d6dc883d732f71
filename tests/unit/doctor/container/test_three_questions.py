"""The three questions of Madonna (SC23): libfabric in the container, plug-in mounted, selected."""

from collections.abc import Iterator
from itertools import chain as chained
from itertools import combinations
from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import MOUNTS, PATH, verdict_of
from tests.unit.doctor.container.container_trees import SlingshotNode

from weft.core.finding import Severity

REASONS = {
    "fabric": "libfabric-absent",
    "plugin": "plugin-not-mounted",
    "name": "plugin-not-selected",
}
LOST = list(chained.from_iterable(combinations(REASONS, number) for number in range(4)))
FORMS = ("flags", "pyxis", "apptainer", "podman", "edf", "cdi", "sarus")


def launch(
    folder: Path, form: str, mounts: list[str], variables: dict[str, str]
) -> dict[str, object]:
    """The options that say the same in another form."""
    pairs = [f"{name}={value}" for name, value in variables.items()]
    exports = "".join(f"export {one}\n" for one in pairs)
    devices = [f"/dev/cxi{number}" for number in range(4)]
    script = folder / "job.sh"
    if form == "flags":
        return {"mounts": [*mounts, *(f"{one}:{one}" for one in devices)], "env": pairs}
    if form == "pyxis":
        script.write_text(
            f"{exports}srun --container-image=i --container-mounts={','.join(mounts)} ./a"
        )
    elif form == "apptainer":
        prefixed = "".join(f"export APPTAINERENV_{one}\n" for one in pairs)
        script.write_text(f"{prefixed}srun apptainer exec -B {','.join(mounts)} i.sif ./a")
    elif form == "podman":
        words = [f"--device {one}" for one in devices] + [f"-v {one}" for one in mounts]
        script.write_text(
            f"podman run {' '.join(words)} {' '.join(f'-e {one}' for one in pairs)} i ./a"
        )
    elif form == "sarus":
        words = [
            f"--mount=type=bind,source={x.split(':')[0]},target={x.split(':')[1]}" for x in mounts
        ]
        words += [f"--device={one}" for one in devices]
        script.write_text(f"{exports}srun sarus run {' '.join(words)} i ./a")
    elif form == "edf":
        listed = ", ".join(f'"{one}"' for one in [*mounts, *(f"{one}:{one}" for one in devices)])
        own = "".join(f'{name} = "{value}"\n' for name, value in variables.items())
        path = folder / "a.toml"
        path.write_text(f'image = "i"\nmounts = [{listed}]\n[env]\n{own}')
        return {"edf": path}
    else:
        path = folder / "a.json"
        nodes = ", ".join(f'{{"path": "{one}"}}' for one in devices)
        binds = ", ".join(
            f'{{"hostPath": "{one.split(":")[0]}", "containerPath": "{one.split(":")[1]}"}}'
            for one in mounts
        )
        env = ", ".join(f'"{one}"' for one in pairs)
        path.write_text(
            '{"cdiVersion": "0.6.0", "kind": "hpe.com/cxi", "devices": [{"name": "all", '
            f'"containerEdits": {{"env": [{env}], "deviceNodes": [{nodes}], '
            f'"mounts": [{binds}]}}}}]}}'
        )
        return {"cdi": path}
    return {"script": script}


def ids() -> Iterator[tuple[str, tuple[str, ...]]]:
    return ((form, lost) for form in FORMS for lost in LOST)


@pytest.mark.parametrize(("form", "lost"), list(ids()))
def test_each_alone_and_together_is_bad_for_exactly_its_reason(
    node: SlingshotNode, tmp_path: Path, form: str, lost: tuple[str, ...]
) -> None:
    mounts = [
        one for one, name in zip(MOUNTS, ("plugin", "fabric"), strict=True) if name not in lost
    ]
    variables = {"LD_LIBRARY_PATH": PATH} | ({} if "name" in lost else {"NCCL_NET_PLUGIN": "ofi"})
    if not mounts:
        SlingshotNode.add_file(node.host / "scratch/x")
        mounts = ["/scratch:/scratch"]
    options = launch(tmp_path, form, mounts, variables)
    verdict, rules = verdict_of(node.image, node.host, **options)
    assert rules == {REASONS[one] for one in lost}
    assert verdict is (Severity.BAD if lost else Severity.GOOD)


def test_a_script_that_mounts_both_and_selects_nothing_is_bad(
    node: SlingshotNode, tmp_path: Path
) -> None:
    """The command line that `weft doctor env` passed: two mounts, and no NCCL_NET_PLUGIN."""
    script = tmp_path / "job.sh"
    script.write_text(
        "#SBATCH -N 2\nexport FI_CXI_DISABLE_HOST_REGISTER=1\n"
        f"export LD_LIBRARY_PATH={PATH}\n"
        "srun --container-image=nvcr.io#nvidia/pytorch:22.12 "
        f"--container-mounts={','.join(MOUNTS)} ./a\n"
    )
    verdict, rules = verdict_of(node.image, node.host, script=script)
    assert (verdict, rules) == (Severity.BAD, {"plugin-not-selected"})
