"""Lists of interfaces and devices."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from weft.doctor.case import DoctorCase, Found, mistake
from weft.doctor.job import JobSetting
from weft.doctor.rules.values import edit

NOWHERE = ("lo", "docker0", "virbr0", "podman0", "cni0")


@dataclass(frozen=True, slots=True)
class DeviceNames:
    """A list of names as NCCL reads it: one sign for all, then prefixes or exact names."""

    excludes: bool
    is_exact: bool
    parts: tuple[str, ...]

    def takes(self, device: str) -> bool:
        """Whether a device is used."""
        hit = any(
            device == part if self.is_exact else device.startswith(part) for part in self.parts
        )
        return hit != self.excludes


def names_of(text: str) -> DeviceNames:
    """SOURCE: NVIDIA/nccl v2.30.7, src/misc/utils.cc and src/transport/net_ib: ^ first, then =."""
    excludes = text.startswith("^")
    names = text.removeprefix("^")
    is_exact = names.startswith("=")
    parts = tuple(part.split(":")[0] for part in names.removeprefix("=").split(",") if part)
    return DeviceNames(excludes, is_exact, parts)


def rules(case: DoctorCase) -> Iterator[Found]:
    """All of this family."""
    for setting in case.settings("NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME"):
        if setting.known:
            yield from _signs(setting)
            if setting.name == "NCCL_IB_HCA":
                yield from _adapters(case, setting)
            elif setting.name == "NCCL_SOCKET_IFNAME":
                yield from _interfaces(case, setting)


def _signs(setting: JobSetting) -> Iterator[Found]:
    text = setting.known or ""
    parts = text.split(",")
    wrong = [part for part in parts[1:] if part[:1] in ("^", "=")]
    if not wrong:
        return
    sign = "^" if "^" in wrong[0] + parts[0] else "="
    better = sign + ",".join(part.lstrip("^=") for part in parts)
    yield mistake("sign-inside-list", setting, edit(setting, better), part=wrong[0], better=better)


def _adapters(case: DoctorCase, setting: JobSetting) -> Iterator[Found]:
    names = names_of(setting.known or "")
    yield from _ambiguous(case, setting, names)
    recipe = case.recipe
    if recipe is None and not names.excludes:
        yield from _absent(setting, case.adapters, case.adapters, "/sys/class/infiniband")
    if recipe is None or not recipe.hcas:
        return
    devices, source = (*recipe.hcas, *recipe.ethernet_hcas), "the platform's recipe"
    yield from _absent(setting, devices, recipe.hcas, source, recipe.title)
    taken = [one for one in recipe.hcas if names.takes(one)]
    ethernet = [one for one in recipe.ethernet_hcas if names.takes(one)]
    if not taken and (names.excludes or ethernet):
        listed = ", ".join(recipe.ethernet_hcas) or "none"
        yield mistake("excludes-everything", setting, devices=_short(recipe.hcas), ethernet=listed)
    elif ethernet:
        edits, better = edit(setting, f"^{ethernet[0]}"), f"NCCL_IB_HCA=^{ethernet[0]}"
        yield mistake("ethernet-function", setting, edits, device=ethernet[0], better=better)


def _absent(
    setting: JobSetting,
    devices: Sequence[str],
    shown: Sequence[str],
    source: str,
    platform: str = "this machine",
) -> Iterator[Found]:
    """Names that are asked for and that no device of a machine has."""
    names = names_of(setting.known or "")
    for part in names.parts if devices else ():
        if not any(DeviceNames(False, names.is_exact, (part,)).takes(one) for one in devices):
            words = {"platform": platform, "source": source, "devices": _short(shown)}
            yield mistake("no-such-device", setting, **words, part=part)


def _short(names: Sequence[str]) -> str:
    return ", ".join(names if len(names) <= 3 else (names[0], "...", names[-1]))


def _ambiguous(case: DoctorCase, setting: JobSetting, names: DeviceNames) -> Iterator[Found]:
    if names.is_exact:
        return
    recipe = case.recipe
    devices = (*recipe.hcas, *recipe.ethernet_hcas) if recipe is not None else ()
    for part in names.parts:
        others = [one for one in devices if re.match(rf"{re.escape(part)}\d", one)]
        # Of unknown devices: mlx5_1 in a list of eight or more, where there is mlx5_10, too.
        is_prefix = bool(others) if devices else part.endswith("_1") and len(names.parts) >= 8
        if not is_prefix or not re.search(r"\d$", part):
            continue
        sign = "^=" if names.excludes else "="
        better = sign + (setting.known or "").lstrip("^")
        words = {"part": part, "others": ", ".join(others) or f"{part}0 to {part}9"}
        yield mistake("prefix-matches-more", setting, edit(setting, better), **words, better=better)
        return


def _interfaces(case: DoctorCase, setting: JobSetting) -> Iterator[Found]:
    text = setting.known or ""
    names = names_of(text)
    if names.excludes:
        return
    interface = case.recipe.interface if case.recipe is not None else ""
    yield from _absent(setting, case.interfaces, case.interfaces, "/sys/class/net")
    for part in names.parts:
        if part in NOWHERE and case.nodes != 1:
            hint = f", {interface}" if interface else ""
            edits, severity = edit(setting, interface or None), case.across_nodes(setting)
            yield mistake("no-way-out", setting, edits, severity, part=part, interface=hint)
    if interface and not interface.startswith("ib") and text.startswith("ib"):
        words = {"platform": case.machine(), "interface": interface}
        yield mistake("ipoib-meeting", setting, edit(setting, interface), **words)
