"""Two calls of every verb, shown at the end of its help, in man pages and in docs/reference."""

import click

EXAMPLES: dict[str, tuple[str, str]] = {
    "": ("weft judge latency.txt", "weft check --hosts 'node[1-16]'"),
    "check": (
        "weft check --hosts 'node[1-16]'",
        "weft check --twin fat-tree --nodes 16 --plant random",
    ),
    "bench": (
        "weft bench allreduce --hosts 'node[1-16]' --sizes 8:4M",
        "weft bench latency bandwidth --twin azure-hbv2 --nodes 2",
    ),
    "bench rdma-pairs": (
        "weft bench rdma-pairs node1 node2",
        "weft bench rdma-pairs gpu1 gpu2 --memory gpu --rails mlx5_0:1,mlx5_1:1",
    ),
    "study": (
        "weft study list",
        "weft study run smoke --twin fat-tree --nodes 4",
    ),
    "study list": ("weft study list", "weft study list --format json"),
    "study factors": ("weft study factors", "weft study factors sharp"),
    "study show": ("weft study show smoke", "weft study show my-study.toml --format json"),
    "study plan": (
        "weft study plan smoke --hosts 'node[1-4]'",
        "weft study plan isolation --twin fat-tree --nodes 64 --budget 10m",
    ),
    "study run": (
        "weft study run smoke --hosts 'node[1-4]'",
        "weft study run --resume smoke --dir runs/smoke-1 --hosts 'node[1-4]'",
    ),
    "study submit": (
        "weft study submit smoke --partition batch --time 30",
        "weft study submit smoke --dir runs/smoke-1 --dry-run",
    ),
    "study status": (
        "weft study status runs/smoke-1",
        "weft study status runs/smoke-1 --format json",
    ),
    "study block": ("weft study block runs/smoke-1", "weft study block runs/smoke-1 --block 3"),
    "compare": (
        "weft compare runs/study-1",
        "weft compare runs/before runs/after --tolerance 2%",
    ),
    "bisect": (
        "weft bisect good.env bad.env -- mpirun -n 2 osu_latency",
        "weft bisect old.sh new.sh --figure 'step time: {} ms' -- ./train.sh",
    ),
    "history": (
        "weft history runs/nightly --html fabric.html --openmetrics weft.prom",
        "weft history runs/check-1 runs/check-2 --order given",
    ),
    "report": ("weft report runs/check-1", "weft report runs/study-1 runs/study-2 -o both.html"),
    "export": (
        "weft export runs/check-1 --to junit -o check.xml",
        "weft export runs --to csv -o runs.csv",
    ),
    "judge": (
        "weft judge latency.txt bandwidth.txt --platform azure-hbv2",
        "mpirun -n 2 osu_bw | weft judge - --link '200 Gb/s'",
    ),
    "import": (
        "weft import latency.txt -o runs/latency",
        "weft import --arm sharp=off off-*.log --arm sharp=on on-*.log",
    ),
    "record": (
        "weft record -- mpirun -n 8 ./app",
        "weft record --dir runs/app -- srun -n 64 ./app input.nml",
    ),
    "replay": (
        "weft replay runs/app --twin fat-tree --nodes 8",
        "weft replay runs/app --twin frontera --nodes 64 --scale 8x",
    ),
    "train": ("weft train read job.log", "weft train compare before.log after.log"),
    "train read": (
        "weft train read job.log",
        "weft train read job.log --sequence 4096 --batch 512 --gpus 64",
    ),
    "train expect": (
        "weft train expect azure-ndv5 --model llama-3-8b --gpus 64",
        "weft train expect azure-ndv5 --model llama-3-8b --gpus 64 --twin --trace step",
    ),
    "train plan": (
        "weft train plan azure-ndv5 --model llama-3-8b --gpus 64",
        "weft train plan azure-ndv5 --model grok-1 --gpus 1024 --sweep 256:1024",
    ),
    "train compare": (
        "weft train compare before.log after.log",
        "weft train compare gpus64.log gpus128.log --gpus 64,128",
    ),
    "expect": (
        "weft expect azure-hbv2 bandwidth",
        "weft expect azure-ndv5 all_reduce_perf --gpus 64 --size 8:1G",
    ),
    "fabric": (
        "weft fabric audit ibnetdiscover.out",
        "weft fabric trace node1 node2 ibnetdiscover.out opensm-lfts.dump",
    ),
    "fabric show": (
        "weft fabric show ibnetdiscover.out",
        "weft fabric show ibnetdiscover.out opensm-lfts.dump --load shift:1 --report net.html",
    ),
    "fabric trace": (
        "weft fabric trace node1 node2 ibnetdiscover.out opensm-lfts.dump",
        "weft fabric trace node1 node2 ibnetdiscover.out --engine ftree",
    ),
    "fabric audit": (
        "weft fabric audit ibnetdiscover.out",
        "weft fabric audit ibnetdiscover.out perfquery.out --before perfquery-earlier.out",
    ),
    "fabric congestion": (
        "weft fabric congestion ibnetdiscover.out perfquery.2 --before perfquery.1",
        "weft fabric congestion *.out --before earlier.out --jobs squeue.txt",
    ),
    "fabric channels": (
        "weft fabric channels ibnetdiscover.out opensm-lfts.dump --log nccl.log",
        "weft fabric channels ibnetdiscover.out --engine ftree --log nccl.log -o hosts.txt",
    ),
    "fabric route": (
        "weft fabric route ibnetdiscover.out opensm-lfts.dump",
        "weft fabric route ibnetdiscover.out --engine updn --engine ftree",
    ),
    "fabric what-if": (
        "weft fabric what-if ibnetdiscover.out opensm-lfts.dump --without 'spine[03-04]'",
        "weft fabric what-if *.out *.dump --without-cable 'leaf03[5]' --jobs squeue.txt",
    ),
    "fabric export": (
        "weft fabric export ibnetdiscover.out --to slurm -o topology.conf",
        "weft fabric export ibnetdiscover.out --to json -o fabric.json",
    ),
    "fabric generate": (
        "weft fabric generate frontera --nodes 512 -o frontera.json",
        "weft fabric generate fat-tree --nodes 16 --whole -o small.json",
    ),
    "cluster": ("weft cluster up --local 4", "weft cluster status"),
    "cluster up": (
        "weft cluster up 'node[1-16]'",
        "weft cluster up --local 4 --delay node3=1ms",
    ),
    "cluster status": ("weft cluster status", "weft cluster status local"),
    "cluster template": (
        "weft cluster template azure --sku HB120rs_v3 --nodes 4",
        "weft cluster template azure --sku HB176rs_v4 --nodes 16 --ssh-from 192.0.2.0/24",
    ),
    "cluster down": ("weft cluster down local", "weft cluster down --all"),
    "recipe": (
        "weft recipe azure-ndv5 --nodes 4 --for sbatch --program './app input.nml'",
        "weft recipe --from runs/collectives --to ompi-rules --dir tuned",
    ),
    "recipe isolation": (
        "weft recipe isolation --tenants tenants.toml --fabric net.out --twin frontera",
        "weft recipe isolation --tenants tenants.toml --fabric net.out --twin frontera --as-read",
    ),
    "doctor": ("weft doctor", "weft doctor env job.sh"),
    "doctor log": (
        "weft doctor log job.log",
        "zcat job.log.gz | weft doctor log - --env job.sh",
    ),
    "doctor env": (
        "weft doctor env job.sh --platform azure-ndv5",
        "weft doctor env --explain NCCL_IB_HCA",
    ),
    "doctor container": (
        "weft doctor container image.sqsh --script job.sh",
        "weft doctor container image.sqsh --recipe alps-gh200 --emit edf",
    ),
    "doctor topo": (
        "weft doctor topo topo.xml --platform azure-ndv5",
        "weft doctor topo --generate this-machine -o topo.xml",
    ),
    "doctor nccl-plan": (
        "weft doctor nccl-plan libnccl.so.2 --platform azure-ndv5",
        "weft doctor nccl-plan --nccl 2.27.3 --topo topo.xml --nodes 1,2",
    ),
    "platform": ("weft platform list", "weft platform show azure-hbv2"),
    "platform detect": (
        "weft platform detect --out node.toml",
        "weft platform detect --hosts 'node[1-16]'",
    ),
    "platform fit": (
        "weft platform fit latency.txt bandwidth.txt -o mine.toml",
        "weft platform fit runs/week-1 --healthy runs/week-2 --base azure-hbv2",
    ),
    "platform list": ("weft platform list", "weft platform list --format csv"),
    "platform show": (
        "weft platform show azure-hbv2",
        "weft platform show azure-hbv2 --figures --source OSU",
    ),
}
"""By the words behind `weft`. A file in them is one that the reader has under another name."""


def add_examples(command: click.Command, path: str) -> click.Command:
    """The command at a path such as 'study run', with its examples, and so those below it."""
    if path in EXAMPLES:
        lines = "\n".join(f"  {example}" for example in EXAMPLES[path])
        command.epilog = f"\b\nExamples:\n{lines}"
    for name, below in getattr(command, "commands", {}).items():
        add_examples(below, f"{path} {name}".strip())
    return command
