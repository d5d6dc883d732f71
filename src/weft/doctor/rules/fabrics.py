"""Plug-ins and providers: libfabric on Slingshot and EFA, and what keeps a job off sockets."""

from collections.abc import Iterator

from weft.doctor.case import DoctorCase, Found
from weft.doctor.job import JobSetting, SettingOrigin
from weft.doctor.numbers import whole
from weft.doctor.rules.values import edit

OFI_NAMES = ("aws libfabric", "libfabric", "ofi")
OLD_NAME = {"since": "before 1.13", "others": "later ones take it as another name"}
NEW_NAME = {"since": "from 1.13 on", "others": "NCCL does not find older ones by it, and ends"}
"""SOURCE: aws/aws-ofi-nccl 2daf7d3: nvidia_plugin_name_fixup."""
PROVIDERS = {"slingshot": ("cxi", "lnx"), "efa": ("efa",)}
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
            words = {"name": "NCCL_NET", "value": "AWS", "better": 'NCCL_NET="AWS Libfabric"'}
            yield Found("words-split", words, setting.at, setting)


def _plugin(case: DoctorCase) -> Iterator[Found]:
    net, plugin = case.in_force("NCCL_NET"), case.in_force("NCCL_NET_PLUGIN")
    wanted = (net.known or "").lower() if net is not None else ""
    if plugin is not None and plugin.known:
        yield from _form(case, plugin)
        if net is not None and wanted in OFI_NAMES and not _may_be_ofi(plugin.known):
            words = {"plugin": plugin.known, "net": net.known or ""}
            yield Found("plugin-contradicts", words, plugin.at, plugin)
    yield from _plugin_off(case, net, plugin)
    if net is not None and wanted in OFI_NAMES:
        names = OLD_NAME if wanted == "aws libfabric" else NEW_NAME
        yield Found("plugin-name", {"value": net.known or "", **names}, net.at, net)
    if net is not None and wanted in OFI_NAMES and case.fabric == "slingshot" and case.nodes == 1:
        words = {"name": net.name, "value": net.known or ""}
        yield Found("network-for-one-node", words, net.at, net)
    if case.fabric in PROVIDERS and net is None and case.uses_nccl() and (case.nodes or 2) > 1:
        first = next(one for one in case.job.settings if one.name.startswith("NCCL_"))
        own = case.recipe.settings if case.recipe is not None else ()
        demanded = next((one.value for one in own if one.name == "NCCL_NET"), "AWS Libfabric")
        yield Found("silent-sockets", {"better": f'NCCL_NET="{demanded}"'}, first.at)


def _may_be_ofi(plugin: str) -> bool:
    """A path says nothing of what is inside, nor does NCCL's own name of a plug-in."""
    text = plugin.lower()
    return "ofi" in text or "fabric" in text or "/" in text or text.endswith(".so")


def _plugin_off(
    case: DoctorCase, net: JobSetting | None, plugin: JobSetting | None
) -> Iterator[Found]:
    """Without a demanded network, which would be a contradiction."""
    is_off = plugin is not None and (plugin.known or "").lower() == "none" and net is None
    if plugin is not None and is_off and case.fabric in PROVIDERS and case.recipe is not None:
        words = {"platform": case.recipe.title, "value": plugin.known or ""}
        yield Found("plugin-off", words, plugin.at, plugin, edit(plugin, "ofi"))


def _form(case: DoctorCase, plugin: JobSetting) -> Iterator[Found]:
    text = plugin.known or ""
    words = {"version": case.version, "file": f"libnccl-net-{text}.so"}
    if "," in text and not case.since("2.27.3"):
        yield Found("plugin-too-new-a-form", {**words, "detail": ", no list"}, plugin.at, plugin)
    elif ("/" in text or text.endswith(".so")) and not case.since("2.21.5"):
        yield Found("plugin-too-new-a-form", {**words, "detail": ", no file"}, plugin.at, plugin)


def _provider(case: DoctorCase) -> Iterator[Found]:
    allowed = PROVIDERS.get(case.fabric)
    setting = case.in_force("FI_PROVIDER")
    if allowed is None or setting is None or not setting.known or case.recipe is None:
        return
    listed = setting.known.removeprefix("^").split(",")
    takes = [one.partition(";")[0] for one in listed]
    hit = any(one in allowed for one in takes)
    if hit != setting.known.startswith("^"):
        return
    effect = "sockets" if "tcp" in takes or "sockets" in takes else "no device"
    words = {
        "platform": case.recipe.title,
        "wanted": allowed[0],
        "value": setting.known,
        "effect": effect,
    }
    yield Found("wrong-provider", words, setting.at, setting, edit(setting, allowed[0]))


def _cxi(case: DoctorCase) -> Iterator[Found]:
    yield from _rendezvous(case)
    proto = case.in_force("FI_CXI_RDZV_PROTO")
    if proto is not None and proto.known in ("alt_read", "alt-read"):
        network = [
            case.job.options.get("network"),
            *(one.options.get("network") for one in case.job.launches),
        ]
        asked = [word.text for word in network if word is not None]
        scheduled = bool(case.job.options) or any(
            one.launcher == "srun" for one in case.job.launches
        )
        if scheduled and not any("disable_rdzv_get" in text for text in asked):
            yield Found("alt-read-needs-job", {}, proto.at, proto)
    setting = case.in_force("FI_CXI_RX_MATCH_MODE")
    if setting is not None and setting.known == "hardware":
        yield Found("hardware-matching", {}, setting.at, setting, edit(setting, "hybrid"))
    setting = case.in_force("FI_CXI_DEFAULT_CQ_SIZE")
    size = whole(setting.known or "") if setting is not None else None
    if setting is not None and size is not None and 0 < size < CQ_SIZE:
        words = {"value": str(size)}
        yield Found(
            "small-completion-queue", words, setting.at, setting, edit(setting, str(CQ_SIZE))
        )
    yield from _monitor(case)
    protocol = case.in_force("NCCL_PROTO")
    if (
        case.fabric == "slingshot"
        and case.uses_nccl()
        and case.since("2.27.3")
        and protocol is None
        and case.recipe is not None
        and case.recipe.library == "nccl"
    ):
        first = next(one for one in case.job.settings if one.name.startswith("NCCL_"))
        yield Found("ll128-on-slingshot", {}, first.at)
    setting = case.in_force("MPICH_GPU_SUPPORT_ENABLED")
    beside = case.recipe is not None and case.recipe.library == "nccl" and case.uses_nccl()
    if setting is not None and setting.known == "1" and beside and case.fabric == "slingshot":
        yield Found("two-gpu-owners", {}, setting.at, setting, edit(setting, "0"))


def _rendezvous(case: DoctorCase) -> Iterator[Found]:
    """The larger of the two is blamed where it is set, or else what is."""
    values: dict[str, int] = {}
    blamed: list[tuple[int, JobSetting]] = []
    for name in RENDEZVOUS:
        variable = case.variable(name)
        default = int(variable.defaults[-1][1]) if variable is not None else 0
        setting = case.in_force(name)
        number = whole(setting.known or "") if setting is not None else None
        values[name] = default if number is None else number
        if setting is not None and setting.way is not SettingOrigin.ASSIGNED:
            blamed.append((values[name] if "_RDZV_" in name else 0, setting))
    threshold, least, buffer = values.values()
    if blamed and threshold + least > buffer:
        words = {"threshold": str(threshold), "least": str(least), "buffer": str(buffer)}
        setting = max(blamed, key=lambda one: one[0])[1]
        yield Found("rendezvous-does-not-fit", words, setting.at, setting)


def _monitor(case: DoctorCase) -> Iterator[Found]:
    setting = case.in_force("FI_MR_CACHE_MONITOR")
    if setting is None or case.fabric not in ("slingshot", "") or not case.uses_nccl():
        return
    if setting.known == "kdreg2":
        yield Found("monitor-of-the-kernel", {}, setting.at, setting)
    effect = {
        "memhooks": "it misses memory that CUDA and Python give back: stale data are sent",
        "disabled": "no cache: every transfer registers its memory anew",
    }.get(setting.known or "")
    if effect is not None:
        words = {"value": setting.known or "", "effect": effect, "or_kdreg": " or kdreg2"}
        yield Found("cache-monitor", words, setting.at, setting, edit(setting, "userfaultfd"))


def _gone(case: DoctorCase) -> Iterator[Found]:
    for setting in case.job.settings:
        variable, library = case.variable(setting.name), case.library(setting.name)
        if variable is not None and library is not None and variable.not_needed:
            source = variable.source or library.source
            words = {"name": setting.name, "why": variable.not_needed, "source": source}
            yield Found("not-needed-any-more", words, setting.at, setting)
