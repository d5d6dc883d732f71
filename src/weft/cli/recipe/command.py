"""`weft recipe PLATFORM`: a launch command, the reason of each setting, and its source."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.lazy import CommandWithVerbs
from weft.cli.options import ANY_PATH, EXISTING_FILE, FOLDER, NODE_COUNT
from weft.cli.output import emit, format_option, table_text, talk
from weft.cli.recipe.tuning import TUNING_FORMS, tuning_recipe
from weft.core.errors import ExitCode, InputError
from weft.launch.launchers.container import CONTAINER_RUNTIMES

if TYPE_CHECKING:
    from weft.launch.prescription import Prescription

FORMS = ("mpirun", "srun", "sbatch", "modulefile")
CONTAINERS = tuple(CONTAINER_RUNTIMES)


class RecipeCommand(CommandWithVerbs):
    """A recipe of a platform, or one that is compiled: 'isolation'."""

    verbs = ("isolation",)
    folder = "recipe"


@click.command("recipe", cls=RecipeCommand)
@click.argument("platform", required=False)
@click.option("--nodes", type=NODE_COUNT, help="Nodes of the run; else NODES of the shell.")
@click.option(
    "--tasks-per-node", type=click.IntRange(1), help="Ranks a node; else one a GPU, or one a core."
)
@click.option("--sharp", is_flag=True, help="Reduce in the switches.")
@click.option("--loopback", is_flag=True, help="The test of all adapters of one node.")
@click.option("--benchmark", default="allreduce", show_default=True, metavar="B")
@click.option("--program", metavar="COMMAND", help="Command to launch instead of a benchmark.")
@click.option("--training", is_flag=True, help="A training job: no options of nccl-tests.")
@click.option("--nccl", metavar="VERSION", help="The version of NCCL that will run.")
@click.option("--for", "form", type=click.Choice(FORMS), help="Form of the output.")
@click.option("--image", default="", metavar="IMAGE", help="Launch into a container (Pyxis).")
@click.option(
    "--container",
    type=click.Choice(CONTAINERS),
    help="By this runtime: mounts, variables, devices and hooks, each with its reason.",
)
@click.option("--mount", "mounts", multiple=True, metavar="SRC:DST", help="Repeatable.")
@click.option("--explain", is_flag=True, help="Each variable with its reason and its source.")
@click.option(
    "--diff",
    "script",
    type=ANY_PATH,
    metavar="FILE",
    help="Compare a script with the recipe.",
)
@click.option(
    "--from",
    "run_dir",
    type=FOLDER,
    metavar="RUN",
    help="With --to: a study whose arms are algorithms of a library's collectives.",
)
@click.option(
    "--to",
    "tuning_form",
    type=click.Choice(TUNING_FORMS),
    help="A file with the best of them: Open MPI's rules, MPICH's selection, NCCL's tuner table.",
)
@click.option(
    "--library",
    type=EXISTING_FILE,
    help="With --to mpich-json: the libmpi.so of jobs; else that of the run's MPICH.",
)
@click.option("--dir", "folder", type=FOLDER, help="With --to: write the files there.")
@format_option
def command(platform: str | None, script: Path | None, format_: str, **options: Any) -> int:
    """Print a complete launch command, script or modulefile for PLATFORM.

    Without PLATFORM: the machines that have a recipe; 'here' is the recipe of this machine's links,
    with its own adapters. With --diff exit 1 where a script differs. 'weft recipe isolation' is the
    recipe of a fabric with several tenants.

    With --from and --to: per collective, ranks and size the algorithm that is faster than the
    library's own choice beyond doubt, and what the choice loses on launches that it was not made
    by. Exit 5 if no arm has a verdict.
    """
    if any(options[one] is not None for one in ("run_dir", "tuning_form", "library", "folder")):
        return _tuning(platform, options, format_)
    if platform is None:
        _list(format_)
        _say_own_recipe(format_)
        return int(ExitCode.GOOD)
    for name, option in (("container", "--container"), ("form", "--for")):
        if script is not None and options[name]:
            raise InputError(
                f"--diff and {option} exclude each other",
                expected="--diff to compare a script, or the other to print one",
            )
    prescription = _prescription(platform, options)
    if script is not None:
        return _diff(prescription, script, format_)
    text = _written(prescription, options)
    emit(
        format_,
        text=lambda: _explained(prescription, text) if options["explain"] else text,
        record=_record(prescription, text),
        rows=[_row(prescription, one) for one in prescription.settings],
    )
    return int(ExitCode.GOOD)


def _tuning(platform: str | None, options: dict[str, Any], format_: str) -> int:
    run_dir, form = options["run_dir"], options["tuning_form"]
    if run_dir is None or form is None:
        raise InputError(
            "--from, --to, --library and --dir go together", expected="--from RUN --to FORM"
        )
    if platform is not None:
        raise InputError(
            f"--from and '{platform}' exclude each other", expected="a run, or a platform"
        )
    return tuning_recipe(run_dir, form, options["library"], options["folder"], format_)


def _list(format_: str) -> None:
    from weft.catalog.load import launch_recipe, recipe_machines

    recipes = [launch_recipe(name) for name in recipe_machines()]
    rows = [
        {
            "name": one.name,
            "machine": one.title,
            "fabric": one.fabric,
            "date": one.date,
            "advice": "for its links" if one.is_advice else "its operators'",
        }
        for one in recipes
    ]
    cells = [[str(cell) for cell in row.values()] for row in rows]
    record = {"schema": "weft.recipes/1", "recipes": rows}
    emit(format_, text=lambda: table_text(list(rows[0]), cells, left=5), record=record, rows=rows)


def _say_own_recipe(format_: str) -> None:
    """Where this machine has a recipe, tell its command, apart from the data."""
    from weft.doctor.machine.detection.recipe import recipe_here

    try:
        recipe = recipe_here()
    except InputError:
        return
    if format_ == "text":
        talk(f"this machine: {recipe.title}; next: weft recipe here")


def _prescription(platform: str, options: dict[str, Any]) -> "Prescription":
    from weft.catalog.load import THIS_MACHINE, launch_recipe, variable_lists
    from weft.doctor.machine.detection.document import HERE
    from weft.doctor.machine.detection.recipe import recipe_here
    from weft.launch.prescription import Run, prescribe

    here = platform in (HERE, THIS_MACHINE)
    recipe = recipe_here() if here else launch_recipe(platform)
    if recipe.unknown:
        talk(f"not known of {recipe.name}: {', '.join(recipe.unknown)}; add what you know")
    if options["mounts"] and not options["image"]:
        raise InputError("--mount goes with --image", hint="name the image")
    if options["container"] and not options["image"]:
        raise InputError("--container goes with --image", hint="name the image")
    run = Run(
        nodes=1 if options["loopback"] and options["nodes"] is None else options["nodes"],
        sharp=options["sharp"],
        loopback=options["loopback"],
        training=options["training"],
        tasks=options["tasks_per_node"] or recipe.gpus_per_node or recipe.cores_per_node or 1,
        nccl=variable_lists()["nccl"].newest_of(options["nccl"]) if options["nccl"] else "",
        image=options["image"],
        mounts=options["mounts"],
    )
    return prescribe(recipe, run)


def _written(prescription: "Prescription", options: dict[str, Any]) -> str:
    from weft.launch import prescribed_text as texts

    starts_by_srun = options["image"] or prescription.recipe.launcher == "srun"
    form = options["form"] or ("srun" if starts_by_srun else "mpirun")
    if form in ("mpirun", "modulefile") and options["image"]:
        raise InputError(f"--for {form} cannot launch into a container", expected="srun or sbatch")
    if options["container"] and options["form"]:
        raise InputError("--container and --for give two forms", expected="one of them")
    if options["training"] and not options["program"]:
        raise InputError("--training needs the program", expected="--program 'bash train.sh'")
    command = (
        [options["program"]]
        if options["program"]
        else texts.program(prescription, options["benchmark"])
    )
    if options["container"]:
        from weft.cli.recipe.container_text import container_text

        return container_text(prescription, options["container"], " ".join(command))
    if form == "modulefile":
        return texts.as_modulefile(prescription)
    writer = {"mpirun": texts.as_mpirun, "srun": texts.as_srun, "sbatch": texts.as_sbatch}[form]
    return writer(prescription, command)


def _row(prescription: "Prescription", setting: Any) -> dict[str, Any]:
    return {
        "platform": prescription.recipe.name,
        "name": setting.name,
        "value": setting.value,
        "reason": setting.reason,
        "source": setting.source,
    }


def _record(prescription: "Prescription", text: str) -> dict[str, Any]:
    recipe = prescription.recipe
    return {
        "schema": "weft.recipe-answer/1",
        "platform": recipe.name,
        "date": recipe.date,
        "source": recipe.source,
        "text": text,
        "settings": [_row(prescription, one) for one in prescription.settings],
        "left_out": [{"name": one.setting.name, "why": one.why} for one in prescription.left],
        "errata": [one.model_dump() for one in recipe.errata],
        "notes": list(recipe.notes),
        "unknown": list(recipe.unknown),
    }


def _explained(prescription: "Prescription", text: str) -> str:
    recipe = prescription.recipe
    lines = [text, "", f"{recipe.title}, {recipe.date}: {recipe.source}", ""]
    for one in prescription.settings:
        lines += [f"{one.name}={one.value}", f"  {one.reason}", f"  source: {one.source}"]
    for hook in recipe.hooks:
        if hook.name in text:
            lines += [f"{hook.name}={hook.value}", f"  {hook.reason}", f"  source: {hook.source}"]
    if prescription.left:
        lines += ["", "left out for this version of NCCL:"]
        lines += [f"  {one.setting.name}: {one.why}" for one in prescription.left]
    if recipe.errata:
        lines += ["", "errata of the sources:"]
        lines += [f"  {one.printed} ({one.where}): {one.remark}" for one in recipe.errata]
    lines += [f"note: {note}" for note in recipe.notes]
    return "\n".join(lines)


def _diff(prescription: "Prescription", script: Path, format_: str) -> int:
    from weft.doctor.compare import compare
    from weft.doctor.readers.file import job_of

    job = job_of(script)
    rows = [asdict(one) for one in compare(job, prescription)]
    emit(
        format_,
        text=lambda: _diff_text(prescription, str(script), rows),
        record={
            "schema": "weft.recipe-diff/1",
            "platform": prescription.recipe.name,
            "file": str(script),
            "differences": rows,
        },
        rows=rows,
    )
    return int(ExitCode.VERDICT_BAD if rows else ExitCode.GOOD)


def _diff_text(prescription: "Prescription", script: str, rows: list[dict[str, Any]]) -> str:
    title = prescription.recipe.title
    if not rows:
        return f"SAME  {script} sets what the recipe of {title} sets"
    lines = [f"DIFFERS  {script} from the recipe of {title} in {len(rows)} places"]
    for row in rows:
        own = "not set" if row["script"] is None else row["script"] or "empty"
        wanted = "not set" if row["recipe"] is None else row["recipe"]
        lines += ["", f"{row['name']}  script: {own}  recipe: {wanted}", f"  {row['why']}"]
    return "\n".join(lines)
