"""An image that runs, with an NCCL that opens its plug-in, and a host with plug-in and libfabric.

The program /bin/probe prints the adapters that it sees and each file that it has loaded, and opens
the first adapter."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.unit.doctor.container.container_trees import (
    LIBRARY_FOLDER,
    NCCL_SOURCE,
    SlingshotNode,
    compile_library,
)

LIBC = Path("/") / LIBRARY_FOLDER / "libc.so.6"
OPENER = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
/* SOURCE: NVIDIA/nccl v2.18.3, src/net.cc: ncclNetPluginInit. */
void *open_net_plugin(void)
{
    const char *wanted = getenv("NCCL_NET_PLUGIN");
    char name[4096] = "libnccl-net.so";
    if (wanted != NULL && *wanted != 0)
        snprintf(name, sizeof name, "libnccl-net-%s.so", wanted);
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}
"""
PROBE = """
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int main(void)
{
    struct dirent *entry;
    DIR *devices = opendir("/dev");
    while (devices != NULL && (entry = readdir(devices)) != NULL)
        if (strncmp(entry->d_name, "cxi", 3) == 0)
            printf("device /dev/%s\\n", entry->d_name);
    void *nccl = dlopen("libnccl.so.2", RTLD_NOW);
    if (nccl == NULL) {
        printf("error %s\\n", dlerror());
        return 2;
    }
    void *(*open_net_plugin)(void) = (void *(*)(void))dlsym(nccl, "open_net_plugin");
    void *plugin = open_net_plugin();
    if (plugin == NULL) {
        printf("error %s\\n", dlerror());
        return 0;
    }
    struct link_map *map = NULL;
    dlinfo(plugin, RTLD_DI_LINKMAP, &map);
    while (map->l_prev != NULL)
        map = map->l_prev;
    for (; map != NULL; map = map->l_next) {
        struct stat file;
        if (map->l_name[0] == '/' && stat(map->l_name, &file) == 0)
            printf("loaded %s %lu %lu\\n", map->l_name, (unsigned long)file.st_dev,
                   (unsigned long)file.st_ino);
    }
    int (*use)(void) = (int (*)(void))dlsym(plugin, "use");
    printf("adapter %d\\n", use());
    return 0;
}
"""
PLUGIN = "int ncclNetPlugin_v6; int fi_getinfo(void); int use(void) { return fi_getinfo(); }"
LIBFABRIC = """
int cxil_open(void); int text_of(int);
int fi_getinfo(void) { return text_of(cxil_open()); }
const char *own = "cxip_getinfo";
"""
LIBCXI = """
#include <fcntl.h>
int queue_two(void); int site_own(void);
int cxil_open(void) { return open("/dev/cxi0", O_RDWR) + queue_two() + site_own(); }
"""
"""It opens the adapter: 0 comes from the other two."""
OLD_QUEUE = "int queue_one(void) { return 0; }"
QUEUE = f"{OLD_QUEUE} int queue_two(void) {{ return 0; }}"
OLD_VERSIONS = "QUEUE_1 { queue_one; };"
TEXT = "int text_of(int file) { return file; }"


def build_image(root: Path) -> None:
    """A shell, the probe, NCCL, one library too old for the host's, and one that will do."""
    SlingshotNode.add_libc(root)
    libraries = root / LIBRARY_FOLDER
    (root / "bin").mkdir()
    shutil.copy("/bin/sh", root / "bin/sh")
    argv = ["gcc", "-x", "c", "-", "-o", str(root / "bin/probe")]
    subprocess.run(argv, input=PROBE, text=True, check=True, capture_output=True)
    nccl = NCCL_SOURCE.replace("%s", "2.18.3") + OPENER
    compile_library(libraries / "libnccl.so.2", nccl, needs=[LIBC])
    compile_library(libraries / "libqueue.so.4", OLD_QUEUE, versions=OLD_VERSIONS)
    compile_library(libraries / "libtext.so.1", TEXT)
    (root / "usr/plugins").mkdir()
    (root / "plugins").symlink_to("usr/plugins")
    (root / "etc/ld.so.conf").write_text(f"/{LIBRARY_FOLDER}\n")
    subprocess.run(["/sbin/ldconfig", "-r", str(root)], check=True, timeout=60)


def build_host(root: Path, devices: Sequence[str]) -> None:
    """The plug-in, libfabric, and what it needs: one library only by its RUNPATH."""
    SlingshotNode.add_libc(root)
    fabric = root / "opt/fabric/lib"
    text = compile_library(fabric / "libtext.so.1", TEXT)
    both = f"{OLD_VERSIONS} QUEUE_2 {{ queue_two; }} QUEUE_1;"
    queue = compile_library(fabric / "libqueue.so.4", QUEUE, versions=both)
    own = compile_library(root / "opt/fabric/own/libsite.so.3", "int site_own(void) { return 0; }")
    cxi = compile_library(
        fabric / "libcxi.so.1",
        LIBCXI,
        needs=[queue, own, LIBC],
        options=["-Wl,--enable-new-dtags,-rpath,$ORIGIN/../own"],
    )
    libfabric = compile_library(fabric / "libfabric.so.1", LIBFABRIC, needs=[cxi, text])
    plugin = root / "opt/ofi/lib/libnccl-net-ofi.so"
    compile_library(plugin, PLUGIN, needs=[libfabric], soname="libnccl-net.so")
    (root / "opt/current").symlink_to("ofi")
    (root / "opt/absolute").symlink_to("/opt/ofi")
    (root / "opt/empty/folder").mkdir(parents=True)
    # For mounts in mounts: a runtime makes what is not there on the host itself.
    (root / "opt/empty/libnccl-net-ofi.so").touch()
    for name in devices:
        SlingshotNode.add_file(root / "dev" / name)
