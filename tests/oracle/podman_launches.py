"""Launches by podman of three images that differ in their variables: does the plug-in open?"""

import shlex
from dataclasses import dataclass

PROBE = "/bin/probe"
FOLDERS = "/opt/ofi/lib:/opt/fabric/lib"
IMAGES = {
    "bare": (),
    "right": (f"LD_LIBRARY_PATH={FOLDERS}", "NCCL_NET_PLUGIN=ofi"),
    "lost": ("LD_LIBRARY_PATH=/usr/local/lib", "NCCL_NET_PLUGIN=other"),
}
"""By name, the variables in the image's configuration."""

MOUNTS = "-v /opt/ofi:/opt/ofi -v /opt/fabric:/opt/fabric"
DEVICE = "--device /dev/cxi0"
LIBRARIES = f"-e LD_LIBRARY_PATH={FOLDERS}"
PLUGIN = "-e NCCL_NET_PLUGIN=ofi"
PAIRS = f"LD_LIBRARY_PATH={FOLDERS} NCCL_NET_PLUGIN=ofi"
EXPORTS = f"export {PAIRS}\n"
NAMES = "-e LD_LIBRARY_PATH -e NCCL_NET_PLUGIN"
RUN = f"podman run {MOUNTS} {DEVICE}"
WITH_DEVICE, WITH_MOUNTS = f"podman run {DEVICE}", f"podman run {MOUNTS}"
PLUGIN_FILE = "/opt/ofi/lib/libnccl-net-ofi.so"
WRITABLE = "mount -o remount,bind,rw /opt\n"
"""The node's /opt: a runtime makes a mount point inside a mount there."""
AS_DEFAULT = f"{PLUGIN_FILE}:/usr/lib/x86_64-linux-gnu/libnccl-net.so"


@dataclass(frozen=True)
class PodmanLaunch:
    """A launch of one of the images: the words before the image, and behind its program. `opens`
    by podman-run(1): whether the plug-in opens an adapter. `end` is what the script has behind
    it."""

    image: str
    before: str
    opens: bool
    behind: str = ""

    program: str = PROBE
    end: str = ""

    @property
    def text(self) -> str:
        start = f"{self.before} localhost/{self.image}:1 {self.program} {self.behind}"
        return f"{start}{self.end}\n"


def in_shell(image: str, text: str, *, opens: bool) -> PodmanLaunch:
    """The program behind commands of the container's shell."""
    return PodmanLaunch(image, RUN, opens, program=f"/bin/sh -c {shlex.quote(text)}")


def with_folders(mounts: str, path: str, *, opens: bool) -> PodmanLaunch:
    """The bare image with mounts and an LD_LIBRARY_PATH."""
    value = shlex.quote(f"LD_LIBRARY_PATH={path}")
    return PodmanLaunch("bare", f"{WITH_DEVICE} {PLUGIN} -e {value} {mounts}", opens)


VARIABLES = {
    "of the image": PodmanLaunch("right", RUN, True),
    "none": PodmanLaunch("bare", RUN, False),
    "wrong ones of the image": PodmanLaunch("lost", RUN, False),
    "of the script": PodmanLaunch("bare", EXPORTS + RUN, False),
    "of the script, wrong ones of the image": PodmanLaunch("lost", EXPORTS + RUN, False),
    "options": PodmanLaunch("bare", f"{RUN} {LIBRARIES} {PLUGIN}", True),
    "options, wrong ones of the image": PodmanLaunch("lost", f"{RUN} {LIBRARIES} {PLUGIN}", True),
    "wrong path by option": PodmanLaunch("right", f"{RUN} -e LD_LIBRARY_PATH=/a", False),
    "empty path by option": PodmanLaunch("right", f"{RUN} --env=LD_LIBRARY_PATH=", False),
    "wrong plug-in by option": PodmanLaunch("right", f"{RUN} -e NCCL_NET_PLUGIN=a", False),
    "no plug-in by option": PodmanLaunch("right", f"{RUN} -e NCCL_NET_PLUGIN=", False),
    "last option": PodmanLaunch("right", f"{RUN} -e LD_LIBRARY_PATH=/a {LIBRARIES}", True),
    "last option wrong": PodmanLaunch("right", f"{RUN} {LIBRARIES} -e LD_LIBRARY_PATH=/a", False),
    "behind the program": PodmanLaunch("bare", RUN, False, f"{LIBRARIES} {PLUGIN}"),
    "in a function": PodmanLaunch(
        "bare", f'start() {{ {RUN} {PLUGIN} {LIBRARIES} "$@"; }}\nstart', True
    ),
    "from a variable of the shell": PodmanLaunch(
        "bare", f'ofi={FOLDERS}\n{RUN} {PLUGIN} -e "LD_LIBRARY_PATH=$ofi"', True
    ),
    "semicolons": with_folders(MOUNTS, "/opt/ofi/lib;/opt/fabric/lib", opens=True),
    "quotes in the value": with_folders(MOUNTS, f'"{FOLDERS}"', opens=False),
    "a user": PodmanLaunch("right", f"podman run -u 0:0 {MOUNTS} {DEVICE}", True),
    "a memory limit's place": PodmanLaunch(
        "right", f"podman run --pull never -h node -l a=b {MOUNTS} {DEVICE}", True
    ),
    "letters that stand together": PodmanLaunch(
        "bare",
        f"podman run -v/opt/ofi:/opt/ofi -iv /opt/fabric:/opt/fabric {DEVICE}"
        f" -eLD_LIBRARY_PATH={FOLDERS} -ie NCCL_NET_PLUGIN=ofi",
        True,
    ),
    "of the host by name": PodmanLaunch("lost", f"{EXPORTS}{RUN} {NAMES}", True),
    "in front of podman by name": PodmanLaunch("lost", f"{PAIRS} {RUN} {NAMES}", True),
    "by env in front by name": PodmanLaunch("lost", f"env {PAIRS} {RUN} {NAMES}", True),
    "by a name that the host lacks": PodmanLaunch("right", f"{RUN} -e LD_LIBRARY_PATH", True),
    "by a star": PodmanLaunch("bare", f"{EXPORTS}{RUN} -e LD_LIBRARY_PATH -e 'NCCL_*'", True),
    "all of the host": PodmanLaunch("lost", f"{EXPORTS}{RUN} --env-host", True),
    "not all of the host": PodmanLaunch("lost", f"{EXPORTS}{RUN} --env-host=false", False),
    "one unset": PodmanLaunch("right", f"{RUN} --unsetenv LD_LIBRARY_PATH", False),
    "all unset": PodmanLaunch("right", f"{RUN} --unsetenv-all", False),
    "unset and set": PodmanLaunch("right", f"{RUN} --unsetenv LD_LIBRARY_PATH {LIBRARIES}", True),
    "unset by the shell inside": in_shell("right", f"unset LD_LIBRARY_PATH; {PROBE}", opens=False),
    "exported inside": in_shell("bare", f"export {PAIRS}; {PROBE}", opens=True),
    "in front of the program inside": in_shell("bare", f"{PAIRS} exec {PROBE}", opens=True),
    "in words of the script": PodmanLaunch(
        "bare", f'set -- {MOUNTS} {DEVICE} {LIBRARIES}\npodman run "$@" {PLUGIN}', True
    ),
    "global options": PodmanLaunch(
        "right", f"podman --log-level error container run {MOUNTS} {DEVICE}", True
    ),
    "within a time": PodmanLaunch("right", f"timeout -k 5 90 {RUN}", True),
    "created": PodmanLaunch(
        "right",
        f"podman create --name one {MOUNTS} {DEVICE}",
        True,
        end=" > /dev/null\npodman start -a one",
    ),
    "a space in the value": with_folders(MOUNTS, f"/a b:{FOLDERS}", opens=True),
}
OTHER_MOUNTS = {
    "none": PodmanLaunch("right", WITH_DEVICE, False),
    "the folder above": PodmanLaunch("right", f"{WITH_DEVICE} -v /opt:/opt", True),
    "keys": PodmanLaunch(
        "right",
        f"{WITH_DEVICE} --mount type=bind,src=/opt/ofi,dst=/opt/ofi"
        " --mount=type=bind,ro=true,target=/opt/fabric,source=/opt/fabric",
        True,
    ),
    "flags": PodmanLaunch(
        "right",
        f"{WITH_DEVICE} --volume=/opt/ofi/:/opt/ofi/:ro,rslave -v /opt//fabric:/opt/fabric:ro",
        True,
    ),
    "other folders": with_folders("-v /opt/ofi/lib:/a -v /opt/fabric:/b", "/a:/b/lib", opens=True),
    "no folder of RUNPATH": with_folders(
        "-v /opt/ofi/lib:/a -v /opt/fabric/lib:/b", "/a:/b", opens=False
    ),
    "onto a link of the image": with_folders(
        "-v /opt/ofi/lib:/plugins/a -v /opt/fabric:/b", "/usr/plugins/a:/b/lib", opens=True
    ),
    "from a link of the host": with_folders(
        "-v /opt/current/lib:/a -v /opt/fabric:/b", "/a:/b/lib", opens=True
    ),
    "a relative link inside": with_folders(
        "-v /opt:/a", "/a/current/lib:/a/fabric/lib", opens=True
    ),
    "an absolute link inside": with_folders(
        "-v /opt:/a", "/a/absolute/lib:/a/fabric/lib", opens=False
    ),
    "a plug-in as the default": PodmanLaunch(
        "bare",
        f"{WITH_DEVICE} -v /opt/fabric:/b -e LD_LIBRARY_PATH=/b/lib -v {AS_DEFAULT}",
        True,
    ),
    "a file in a mount": with_folders(
        f"-v /opt/empty:/b -v {PLUGIN_FILE}:/b/libnccl-net-ofi.so -v /opt/fabric:/c",
        "/b:/c/lib",
        opens=True,
    ),
    "a mount in a mount": with_folders(
        "-v /opt/empty:/b -v /opt/ofi/lib:/b/folder -v /opt/fabric:/c",
        "/b/folder:/c/lib",
        opens=True,
    ),
    "a mount in a later one": with_folders(
        "-v /opt/ofi/lib:/b/folder -v /opt/empty:/b -v /opt/fabric:/c",
        "/b/folder:/c/lib",
        opens=True,
    ),
    "a mount over a mount": PodmanLaunch("right", f"{RUN} -v /opt/empty:/opt/ofi/lib", False),
    "one path alone": PodmanLaunch("right", f"{WITH_DEVICE} -v /opt", False),
    "two in one": PodmanLaunch(
        "right", f"{WITH_DEVICE} -v /opt/ofi:/opt/ofi,/opt/fabric:/opt/fabric", False
    ),
    "the key type last": PodmanLaunch(
        "right",
        f"{WITH_DEVICE} --mount type=bind,src=/opt/ofi,dst=/opt/ofi"
        " --mount ro=true,target=/opt/fabric,source=/opt/fabric,type=bind",
        True,
    ),
    "a target with dots": PodmanLaunch(
        "right", f"{WITH_DEVICE} -v /opt/ofi:/opt/ofi -v /opt/fabric:/opt/x/../fabric", True
    ),
    "an absent source": PodmanLaunch("right", f"{RUN} -v /opt/absent:/a", False),
    "a file onto a folder": PodmanLaunch("right", f"{RUN} -v {PLUGIN_FILE}:/usr/plugins", False),
    "a folder onto a file": PodmanLaunch(
        "right", f"{RUN} -v /opt/empty:/usr/lib/x86_64-linux-gnu/libtext.so.1", False
    ),
    "a folder onto a file of a mount": PodmanLaunch(
        "right", f"{RUN} -v /opt/empty:{PLUGIN_FILE}", False
    ),
    "two at one place": PodmanLaunch("right", f"{RUN} -v /opt/empty:/opt/ofi", False),
    "the same twice": PodmanLaunch("right", f"{RUN} -v /opt/ofi:/opt/ofi", True),
    "in a mount that gets its place": PodmanLaunch(
        "right", f"{WRITABLE}{RUN} -v /opt/empty:/a -v /opt/ofi:/a/new", True
    ),
    "in a read-only mount without its place": PodmanLaunch(
        "right", f"{WRITABLE}{RUN} -v /opt/empty:/a:ro -v /opt/ofi:/a/other", False
    ),
    "in a read-only mount by keys": PodmanLaunch(
        "right",
        f"{WRITABLE}{RUN} --mount type=bind,src=/opt/empty,dst=/a,ro=true -v /opt/ofi:/a/third",
        False,
    ),
    "in a read-only mount with its place": PodmanLaunch(
        "right", f"{RUN} -v /opt:/a:ro -v /opt/ofi:/a/empty", True
    ),
    "relative folders elsewhere": with_folders(MOUNTS, "ofi/lib:fabric/lib", opens=False),
}
DEVICES = {
    "none": PodmanLaunch("right", WITH_MOUNTS, False),
    "permissions": PodmanLaunch("right", f"{WITH_MOUNTS} --device=/dev/cxi0:/dev/cxi0:rw", True),
    "another name": PodmanLaunch("right", f"{WITH_MOUNTS} --device /dev/cxi0:/dev/other", False),
    "a folder": PodmanLaunch("right", f"{WITH_MOUNTS} --device /dev", True),
    "a volume": PodmanLaunch("right", f"{WITH_MOUNTS} -v /dev/cxi0:/dev/cxi0", True),
    "all": PodmanLaunch("right", f"{WITH_MOUNTS} --privileged", True),
    "not all": PodmanLaunch("right", f"{WITH_MOUNTS} --privileged=false", False),
    "behind the program": PodmanLaunch("right", WITH_MOUNTS, False, DEVICE),
    "in a variable": PodmanLaunch("right", f'A="{DEVICE}"\n{WITH_MOUNTS} $A', True),
    "in an array": PodmanLaunch("right", f'A=({MOUNTS} {DEVICE})\npodman run "${{A[@]}}"', True),
    "a variable as the path": PodmanLaunch(
        "right", f"D=/dev/cxi0\n{WITH_MOUNTS} --device $D", True
    ),
    "in quotes": PodmanLaunch("right", f'{WITH_MOUNTS} "--device" "/dev/cxi0"', True),
}
LAUNCHES = {
    f"{kind}: {name}": launch
    for kind, launches in (
        ("variables", VARIABLES), ("mounts", OTHER_MOUNTS), ("devices", DEVICES)
    )
    for name, launch in launches.items()
}  # fmt: skip
