"""Plug-ins that a container needs for its fabric: whether the launch brings one in."""

import re
from collections.abc import Iterator
from dataclasses import replace
from posixpath import normpath

from weft.core.finding import Severity
from weft.doctor.case import DoctorCase, Found, mistake
from weft.doctor.container.launch.mounts import BindMount, mounts_of
from weft.doctor.job import HOLE, JobLaunch, JobSetting
from weft.launch.command_words import DOCKER_LIKE

OFI_NAMES = ("aws libfabric", "libfabric", "ofi")
SIGNS = ("FI_CXI_", "FI_EFA_", "OFI_NCCL_", "CXI_")
"""Prefixes of settings that only a job over libfabric has."""
PROVIDERS = ("cxi", "efa")
BROUGHT = re.compile(
    r"(?<![a-z])ofi(?![a-z])|libfabric|nccl[-_]?(?:net|plugin)|/opt/(?:amazon|cray)|libcxi", re.I
)
"""In a mount, a hook, a module or a path: the plug-in or its libraries."""
IMAGE_WITH = re.compile(
    r"(?<![a-z])(?:efa|ofi|aws|cxi|gib)(?![a-z])|amazonaws|slingshot|libfabric|dlami", re.I
)
STOCK = re.compile(
    r"(?:docker://)?(?:(?:docker\.io|nvcr\.io)[/#])?(?:nvidia|pytorch|library)/", re.I
)
"""Images of vendors, which know no adapter of a site. SOURCE: NVIDIA's images carry the plug-in of
HPC-X as libnccl-net.so, which uses InfiniBand only."""
FILES = (".sif", ".sqsh", ".simg", ".img")
BINDS = ("SINGULARITY_BIND", "SINGULARITY_BINDPATH", "APPTAINER_BIND", "APPTAINER_BINDPATH")
NAMES_OF_JOBS = ("job-name", "comment", "account", "partition", "output", "error")
"""Options that bring nothing into a container."""
DEMANDS = ("NCCL_NET", "NCCL_NET_PLUGIN")
"""With these a job without its plug-in ends, or says so."""
SELECTS = ("LD_LIBRARY_PATH", "LD_PRELOAD", "NCCL_NET_PLUGIN", "NCCL_CONF_FILE")
_END = r"(?:[-_/]v?\d[\w.]*)?(?:/(?:install|lib|lib64))*/?$"
BOTH = (
    re.compile(
        r"/libnccl-net[^/]*\.so[\d.]*$"
        r"|/(?:aws-ofi-[nr]?ccl|ofi-nccl|nccl-ofi|ofi|nccl[-_](?:net|plugin)(?:[-_]ofi)?)" + _END
    ),
    re.compile(r"/libfabric\.so[\d.]*$|/libfabric" + _END),
)
"""In a path of a mount: the plug-in for libfabric, and libfabric, by the name of a library or of
its folder."""
KNOWN_FOLDER = re.compile(r"/(?:usr|lib\w*|etc|opt/(?:amazon|hpcx|conda|nvidia|mellanox))(?:/|$)")
"""A folder that an image's loader or variables may know."""
_TELLS = re.compile(r"LD_|NCCL_|ldconfig|\.(?:ba)?sh\b|^--no-python$")
"""In the words of a command: it may select them itself."""
_PLAIN = re.compile(r"(?:\S*/)?(?:python[\d.]*|torchrun)")
"""Programs that select no plug-in before they start. Of another one only its file tells."""
_BRINGS = (
    *("module", "modules", "env-file", "env-host", "container-name", "environment"),
    *("entrypoint", "container-entrypoint"),
)
OF_INFINIBAND = ("NCCL_IB_", "NCCL_IBEXT_", "UCX_NET_DEVICES", "SHARP_", "NCCL_COLLNET_")


def rules(case: DoctorCase) -> Iterator[Found]:
    """All of this family."""
    yield from _unselected(case)
    sign = _sign(case)
    if sign is None:
        return
    for launch in case.job.launches:
        if _starts_image(launch) and not _may_be_brought(case, launch):
            image = launch.container.image if launch.container is not None else ""
            is_sure = STOCK.match(image) is not None and _is_cxi(case)
            severity = None if is_sure else Severity.WARNING
            words = {"image": image, "sign": sign.name}
            yield mistake("plugin-not-brought", launch.at, (), severity, **words)


def _unselected(case: DoctorCase) -> Iterator[Found]:
    """Mounts of both, the plug-in and libfabric, into an image of a vendor, which knows neither of
    their folders, in a job that names none of them."""
    job = case.job
    is_told = any(one.name in SELECTS for one in job.all_settings)
    if is_told or job.sourced or job.unseen or job.unread:
        return
    for launch in job.launches:
        container = launch.container
        if container is None or not _starts_image(launch) or not STOCK.match(container.image):
            continue
        if launch.doubts or _may_select(launch):
            continue
        words = [list(mounts_of([word.text], "")) for word in container.mounts]
        mounts = [one for found in words for one in found]
        if not all(words) or any(not one.is_known or _leads(one.target) for one in mounts):
            continue
        both = [
            next((f"{one.source}:{one.target}" for one in mounts if _is_named(sign, one)), "")
            for sign in BOTH
        ]
        if all(both):
            shown = " and ".join(dict.fromkeys(both))
            yield mistake(
                "plugin-mounted-unselected", launch.at, (), mounts=shown, image=container.image
            )


def _may_select(launch: JobLaunch) -> bool:
    """Whether the launch may hand on variables that select the plug-in, or its program sets them:
    a script, a wrapper, an entry point."""
    container = launch.container
    passes = (*launch.passes, *((container.passes or ()) if container is not None else ()))
    is_handed_on = any(HOLE in one or "*" in one or one in SELECTS for one in passes)
    brings = any(one.startswith("com.hooks.") or one in _BRINGS for one in launch.options)
    is_plain = bool(launch.program) and _PLAIN.fullmatch(launch.program[0].text) is not None
    may_tell = any(_TELLS.search(word.text) for word in launch.program)
    return is_handed_on or brings or may_tell or not is_plain


def _leads(target: str) -> bool:
    """Whether an image's loader may look there."""
    return not target.startswith("/") or KNOWN_FOLDER.match(normpath(target)) is not None


def _is_named(sign: re.Pattern[str], mount: BindMount) -> bool:
    return any(sign.search(one) for one in (mount.source, mount.target))


def plugin_gap(case: DoctorCase) -> tuple[str, str] | None:
    """(what is not known, what would tell) of containers that may lack their network's plug-in."""
    jobs = (case.job, *case.job.parts)
    settings = case.job.all_settings
    is_told = case.recipe is not None and case.recipe.fabric not in ("slingshot", "efa")
    if is_told or case.nodes == 1 or not any(one.name.startswith("NCCL_") for one in settings):
        return None
    if any(one.name.startswith(OF_INFINIBAND) or one.name in DEMANDS for one in settings):
        return None
    for job in jobs:
        part = replace(case, job=job)
        for launch in job.launches:
            is_open = _sign(part) is None or _may_be_brought(part, launch)
            if _starts_image(launch) and is_open and not _is_brought(part, launch):
                image = launch.container.image if launch.container is not None else ""
                shown = image if image and HOLE not in image else "the image"
                would_tell = "`weft doctor log` of a run with NCCL_DEBUG=INFO, or --platform"
                return f"whether {shown} holds the plug-in of the nodes' network", would_tell
    return None


def _sign(case: DoctorCase) -> JobSetting | None:
    """The first setting that shows a job over libfabric."""
    for setting in case.job.settings:
        value = (setting.known or "").lower()
        is_named = setting.name == "NCCL_NET" and value in OFI_NAMES
        is_provider = setting.name == "FI_PROVIDER" and value in PROVIDERS
        if setting.name.startswith(SIGNS) or is_named or is_provider:
            return setting
    return None


def _is_cxi(case: DoctorCase) -> bool:
    names = any(one.name.startswith(("FI_CXI_", "CXI_")) for one in case.job.settings)
    return names or case.value("FI_PROVIDER") == "cxi" or case.fabric == "slingshot"


def _starts_image(launch: JobLaunch) -> bool:
    """Whether a launch starts programs of an image."""
    command = launch.options.get("command")
    is_other = command is not None and command.text == "exec" and launch.launcher in DOCKER_LIKE
    return (
        launch.container is not None
        and not is_other
        and launch.launcher not in ("sarus", "shifter")
    )


def _may_be_brought(case: DoctorCase, launch: JobLaunch) -> bool:
    """Whether the plug-in may be there, as far as the file tells: also an image of the user's own
    on disk, or one that only the running job knows."""
    image = launch.container.image if launch.container is not None else ""
    mounts = launch.container.mounts if launch.container is not None else ()
    is_unknown = not image or any(HOLE in one for one in (image, *(word.text for word in mounts)))
    return is_unknown or image.endswith(FILES) or _is_brought(case, launch)


def _is_brought(case: DoctorCase, launch: JobLaunch) -> bool:
    """Whether a mount, an option, a path or the image's own name brings the plug-in in."""
    image = launch.container.image if launch.container is not None else ""
    mounts = launch.container.mounts if launch.container is not None else ()
    words = [word.text for word in mounts]
    words += [
        f"{name} {one.text}"
        for name, one in launch.options.items()
        if one.text != "false" and name not in NAMES_OF_JOBS
    ]
    paths = ("LD_LIBRARY_PATH", "LD_PRELOAD", "NCCL_NET_PLUGIN", *BINDS)
    words += [one.value or "" for one in case.settings(*paths)]
    return IMAGE_WITH.search(image) is not None or any(BROUGHT.search(word) for word in words)
