"""Options of container engines: which of them take the next word as their value.

SOURCE for podman and docker: `podman run --help` of podman 4.3.1 and `docker run --help` of docker
28.2.2, both also of `exec`. One set serves all: no option takes a value in one of them and none in
the other, and `docker` may be podman by another name.
"""

from dataclasses import dataclass

ENGINES = frozenset({"docker", "podman", "podman-hpc"})
STARTS = frozenset({"run", "create"})
"""Commands that take an image."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Names without dashes; those of one letter may stand together behind one dash."""

    valued: frozenset[str]
    flags: frozenset[str]


GLOBAL_OPTIONS = EngineOptions(
    frozenset({
        "cgroup-manager", "config", "conmon", "connection", "context", "events-backend",
        "hooks-dir", "host", "identity", "log-level", "namespace", "network-cmd-path",
        "network-config-dir", "root", "runroot", "runtime", "runtime-flag", "ssh",
        "storage-driver", "storage-opt", "tlscacert", "tlscert", "tlskey", "tmpdir", "url",
        "volumepath", "c", "H", "l",
    }),
    frozenset({
        "debug", "help", "noout", "remote", "syslog", "tls", "tlsverify",
        "version", "D", "r", "v",
    }),
)  # fmt: skip
"""Those in front of the command."""
_OF_RUN = EngineOptions(
    frozenset({
        "add-host", "annotation", "arch", "attach", "authfile", "blkio-weight",
        "blkio-weight-device", "cap-add", "cap-drop", "cgroup-conf", "cgroup-parent", "cgroupns",
        "cgroups", "chrootdirs", "cidfile", "conmon-pidfile", "cpu-count", "cpu-percent",
        "cpu-period", "cpu-quota", "cpu-rt-period", "cpu-rt-runtime", "cpu-shares", "cpus",
        "cpuset-cpus", "cpuset-mems", "detach-keys", "device", "device-cgroup-rule",
        "device-read-bps", "device-read-iops", "device-write-bps", "device-write-iops", "dns",
        "dns-opt", "dns-option", "dns-search", "domainname", "entrypoint", "env", "env-file",
        "env-merge", "expose", "gidmap", "gpus", "group-add", "health-cmd", "health-interval",
        "health-on-failure", "health-retries", "health-start-interval", "health-start-period",
        "health-timeout", "hostname", "hostuser", "image-volume", "init-ctr", "init-path",
        "io-maxbandwidth", "io-maxiops", "ip", "ip6", "ipc", "isolation", "kernel-memory", "label",
        "label-file", "link", "link-local-ip", "log-driver", "log-opt", "mac-address", "memory",
        "memory-reservation", "memory-swap", "memory-swappiness", "mount", "name", "net",
        "net-alias", "network", "network-alias", "oom-score-adj", "os", "passwd-entry",
        "personality", "pid", "pidfile", "pids-limit", "platform", "pod", "pod-id-file",
        "preserve-fds", "publish", "pull", "requires", "restart", "runtime", "sdnotify",
        "seccomp-policy", "secret", "security-opt", "shm-size", "stop-signal", "stop-timeout",
        "storage-opt", "subgidname", "subuidname", "sysctl", "systemd", "timeout", "tmpfs", "tz",
        "uidmap", "ulimit", "umask", "unsetenv", "user", "userns", "uts", "variant", "volume",
        "volume-driver", "volumes-from", "workdir",
        *"acehlmpuvw",
    }),
    frozenset({
        "detach", "disable-content-trust", "env-host", "help", "http-proxy", "init", "interactive",
        "no-healthcheck", "no-hosts", "oom-kill-disable", "passwd", "privileged", "publish-all",
        "quiet", "read-only", "read-only-tmpfs", "replace", "rm", "rmi", "rootfs", "sig-proxy",
        "tls-verify", "tty", "unsetenv-all", "use-api-socket",
        *"Pdiqt",
    }),
)  # fmt: skip
_OF_EXEC = EngineOptions(
    frozenset({"detach-keys", "env", "env-file", "preserve-fds", "user", "workdir", *"euw"}),
    frozenset({"detach", "interactive", "latest", "privileged", "tty", "help", *"dilt"}),
)
VALUED_OF_APPTAINER = frozenset({
    "add-caps", "app", "apply-cgroups", "authfile", "blkio-weight", "blkio-weight-device",
    "containlibs", "cpu-shares", "cpus", "cpuset-cpus", "cpuset-mems", "cwd", "dns", "docker-host",
    "drop-caps", "env-file", "fusemount", "home", "hostname", "memory", "memory-reservation",
    "memory-swap", "network", "network-args", "no-mount", "overlay", "pem-path", "pids-limit",
    "pwd", "scratch", "security", "shell", "tmpdir", "vm-cpu", "vm-ip", "vm-ram", "workdir",
    *"HSWos",
})  # fmt: skip
"""Of exec, run and shell. SOURCE: apptainer/apptainer 00e9b03, cmd/internal/cli/action_flags.go;
the manual page of `apptainer exec`."""
VALUED_OF_ENROOT = frozenset({"c", "conf", "rc"})
"""SOURCE: NVIDIA/enroot 085d479, doc/cmd/start.md."""
OPTIONS = {"run": _OF_RUN, "create": _OF_RUN, "exec": _OF_EXEC}
"""Those behind a command."""


def is_on(text: str) -> bool:
    """Whether a flag's value switches it on: `--privileged` has none.

    SOURCE: Go's strconv.ParseBool, which the engines use.
    """
    return text in ("", "1", "t", "T", "true", "TRUE", "True")
