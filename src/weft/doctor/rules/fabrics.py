"""Plug-ins and providers: libfabric on Slingshot and EFA, and the settings that avoid sockets."""

from collections.abc import Iterator

from weft.core.finding import Severity
from weft.doctor.case import DoctorCase, Found, mistake
from weft.doctor.job import JobSetting
from weft.doctor.numbers import whole
from weft.doctor.rules.values import edit

OFI_NAMES = ("aws libfabric", "libfabric", "ofi")
OLD_NAME = {"since": "before 1.13", "others": "later ones take it as another name"}
NEW_NAME = {"since": "from 1.13 on", "others": "NCCL does not find older ones by it, and ends"}
"""SOURCE: aws/aws-ofi-nccl 2daf7d3: nvidia_plugin_name_fixup."""
PROVIDERS = {"slingshot": ("cxi", "lnx"), "efa": ("efa",)}
OF_SOCKETS = ("tcp", "sockets", "udp", "net")
OF_FABRICS = ("FI_CXI_", "FI_EFA_", "CXI_")
CQ_SIZE = 131072
RENDEZVOUS = ("FI_CXI_RDZV_THRESHOLD", "FI_CXI_RDZV_GET_MIN", "FI_CXI_OFLOW_BUF_SIZE")


def rules(case: DoctorCase) -> Iterator[Found]:
    """All of this family."""
    yield from _split_words(case)
    yield from _plugin(case)
    yield from _provider(case)
    yield from _cxi(case)
    yield from _gone(case)


def _split_words(case: DoctorCase) -> Iterator[Found]:
    """NCCL_NET=AWS Libfabric without quotes: bash runs `Libfabric` with NCCL_NET=AWS."""
    for setting in case.settings("NCCL_NET"):
        text = case.job.text[setting.at.end : setting.at.end + 12]
        if setting.known == "AWS" and text.strip().lower().startswith("libfabric"):
            yield mistake("words-split", setting, better='NCCL_NET="AWS Libfabric"')


def _plugin(case: DoctorCase) -> Iterator[Found]:
    net, plugin = case.in_force("NCCL_NET"), case.in_force("NCCL_NET_PLUGIN")
    wanted = (net.known or "").lower() if net is not None else ""
    if plugin is not None and plugin.known:
        yield from _form(case, plugin)
        if net is not None and wanted in OFI_NAMES and not _may_be_ofi(plugin.known):
            yield mistake("plugin-contradicts", plugin, plugin=plugin.known, net=net.known or "")
        # With a demanded network it would be a contradiction.
        if plugin.known.lower() == "none" and net is None and case.fabric in PROVIDERS:
            yield mistake("plugin-off", plugin, edit(plugin, "ofi"), platform=case.machine())
    if net is not None and wanted in OFI_NAMES:
        names = OLD_NAME if wanted == "aws libfabric" else NEW_NAME
        yield mistake("plugin-name", net, **names)
        if case.fabric == "slingshot" and case.nodes == 1:
            yield mistake("network-for-one-node", net)
    if case.fabric in PROVIDERS and net is None and case.uses_nccl() and (case.nodes or 2) > 1:
        own = case.recipe.settings if case.recipe is not None else ()
        demanded = next((one.value for one in own if one.name == "NCCL_NET"), "AWS Libfabric")
        yield mistake("silent-sockets", _first(case).at, better=f'NCCL_NET="{demanded}"')


def _first(case: DoctorCase) -> JobSetting:
    """The first setting of NCCL's."""
    return next(one for one in case.job.settings if one.name.startswith("NCCL_"))


def _may_be_ofi(plugin: str) -> bool:
    """Neither a path nor NCCL's own name of a plug-in shows its content."""
    text = plugin.lower()
    return "ofi" in text or "fabric" in text or "/" in text or text.endswith(".so")


def _form(case: DoctorCase, plugin: JobSetting) -> Iterator[Found]:
    text = plugin.known or ""
    is_file = "/" in text or text.endswith(".so")
    detail = ", no list" if "," in text and not case.since("2.27.3") else ""
    if not detail and is_file and not case.since("2.21.5"):
        detail = ", no file"
    if detail:
        words = {"version": case.version, "file": f"libnccl-net-{text}.so", "detail": detail}
        yield mistake("plugin-too-new-a-form", plugin, **words)


def _provider(case: DoctorCase) -> Iterator[Found]:
    allowed = PROVIDERS.get(case.fabric)
    setting = case.in_force("FI_PROVIDER")
    if allowed is None and setting is not None and setting.known:
        yield from _sockets(case, setting)
    if allowed is None or setting is None or not setting.known:
        return
    listed = setting.known.removeprefix("^").split(",")
    takes = [one.partition(";")[0] for one in listed]
    hit = any(one in allowed for one in takes)
    if hit != setting.known.startswith("^"):
        return
    effect = "sockets" if "tcp" in takes or "sockets" in takes else "no device"
    words = {"platform": case.machine(), "wanted": allowed[0], "effect": effect}
    yield mistake("wrong-provider", setting, edit(setting, allowed[0]), **words)


def _sockets(case: DoctorCase, setting: JobSetting) -> Iterator[Found]:
    """A provider of sockets, beside settings of another one where there are some."""
    provider = (setting.known or "").partition(";")[0]
    if provider not in OF_SOCKETS or case.nodes == 1:
        return
    signs = [one.name for one in case.job.settings if one.name.startswith(OF_FABRICS)]
    severity = case.across_nodes(setting) if signs else Severity.WARNING
    yield mistake("provider-of-sockets", setting, (), severity)


def _cxi(case: DoctorCase) -> Iterator[Found]:
    yield from _rendezvous(case)
    proto = case.in_force("FI_CXI_RDZV_PROTO")
    if proto is not None and proto.known in ("alt_read", "alt-read"):
        launches = case.job.launches
        network = [
            one.get("network") for one in (case.job.options, *(one.options for one in launches))
        ]
        scheduled = bool(case.job.options) or any(one.launcher == "srun" for one in launches)
        if scheduled and not any(word and "disable_rdzv_get" in word.text for word in network):
            yield mistake("alt-read-needs-job", proto)
    setting = case.in_force("FI_CXI_RX_MATCH_MODE")
    if setting is not None and setting.known == "hardware":
        yield mistake("hardware-matching", setting, edit(setting, "hybrid"))
    setting = case.in_force("FI_CXI_DEFAULT_CQ_SIZE")
    size = whole(setting.known or "") if setting is not None else None
    if setting is not None and size is not None and 0 < size < CQ_SIZE:
        edits = edit(setting, str(CQ_SIZE))
        yield mistake("small-completion-queue", setting, edits, value=str(size))
    yield from _monitor(case)
    is_nccl = case.recipe is not None and case.recipe.library == "nccl" and case.uses_nccl()
    if case.fabric != "slingshot" or not is_nccl:
        return
    if case.since("2.27.3") and case.in_force("NCCL_PROTO") is None:
        yield mistake("ll128-on-slingshot", _first(case).at)
    setting = case.in_force("MPICH_GPU_SUPPORT_ENABLED")
    if setting is not None and setting.known == "1":
        yield mistake("two-gpu-owners", setting, edit(setting, "0"))


def _rendezvous(case: DoctorCase) -> Iterator[Found]:
    """The larger of the two is blamed if it is set, or else the one that is."""
    values: dict[str, int] = {}
    blamed: list[tuple[int, JobSetting]] = []
    for name in RENDEZVOUS:
        variable = case.variable(name)
        default = int(variable.defaults[-1][1]) if variable is not None else 0
        setting = case.in_force(name)
        number = whole(setting.known or "") if setting is not None else None
        values[name] = default if number is None else number
        if setting is not None:
            blamed.append((values[name] if "_RDZV_" in name else 0, setting))
    threshold, least, buffer = values.values()
    if blamed and threshold + least > buffer:
        words = {"threshold": str(threshold), "least": str(least), "buffer": str(buffer)}
        setting = max(blamed, key=lambda one: one[0])[1]
        yield mistake("rendezvous-does-not-fit", setting, **words)


def _monitor(case: DoctorCase) -> Iterator[Found]:
    setting = case.in_force("FI_MR_CACHE_MONITOR")
    if setting is None or case.fabric not in ("slingshot", "") or not case.uses_nccl():
        return
    if setting.known == "kdreg2":
        yield mistake("monitor-of-the-kernel", setting)
    effect = {
        "memhooks": "it misses memory that CUDA and Python give back: stale data are sent",
        "disabled": "no cache: every transfer registers its memory anew",
    }.get(setting.known or "")
    if effect is not None:
        words = {"effect": effect, "or_kdreg": " or kdreg2"}
        yield mistake("cache-monitor", setting, edit(setting, "userfaultfd"), **words)


def _gone(case: DoctorCase) -> Iterator[Found]:
    for setting in case.job.settings:
        variable, library = case.variable(setting.name), case.library(setting.name)
        if variable is not None and library is not None and variable.not_needed:
            source = variable.source or library.source
            yield mistake("not-needed-any-more", setting, why=variable.not_needed, source=source)
