"""The plan of a library of NCCL in words: graphs, choices by size, and what differs."""

from collections.abc import Iterator, Sequence
from typing import Any

from weft.cli.output import table_text
from weft.core.units import format_size
from weft.core.words import counted
from weft.doctor.nccl_plan.nodes import NodesOf
from weft.doctor.nccl_plan.plan import NcclPlan, NodePlan, SearchGraph, TunedTime

PROTOCOL_WORDS = {"ll": "LL", "ll128": "LL128", "simple": "Simple"}
Same = list[tuple[list[int], Any]]


def plan_text(plans: Sequence[NcclPlan], of: NodesOf, collective: str, *, channels: bool) -> str:
    """The first plan; of two, what differs first."""
    plan = plans[0]
    where = of.file if of.differs else of.platform or of.file
    parts = [f"{_named_plan(plan)} on nodes of {where}, {counted(plan.n_gpus, 'GPU')} each"]
    if of.differs:
        parts.append(_other_nodes(of))
    parts += [_differences(plan, other, collective) for other in plans[1:]]
    parts += [_graphs(plan), _choices(plan, collective)]
    if channels:
        parts += [_channels(plan, one) for one in plan.by_nodes.values()]
    return "\n\n".join(parts)


def _other_nodes(of: NodesOf) -> str:
    return (
        f"WARNING  not nodes of {of.platform}: {of.differs}\n"
        f"  All figures below are for the nodes of the file; where it states no NVLinks or rates of"
        f" adapters,\n  those of {of.platform} count. Name the platform that the file is from, or"
        f" leave --platform out\n  for a file that NCCL_TOPO_DUMP_FILE made.\n"
        f"  next: weft doctor topo {of.file} --platform {of.platform}"
    )


def _named_plan(plan: NcclPlan) -> str:
    return f"weft's own search of NCCL {plan.version}" if plan.is_model else f"NCCL {plan.version}"


def _graphs(plan: NcclPlan) -> str:
    rows = [
        [_span(nodes), *cells]
        for nodes, graphs in _alike([(n, _graph_cells(one)) for n, one in plan.by_nodes.items()])
        for cells in graphs
    ]
    headers = ["nodes", "graph", "channels", "GB/s inside", "between", "farthest inside", "to nets"]
    return table_text(headers, rows, left=2, last=2)


def _graph_cells(plan: NodePlan) -> tuple[tuple[str, ...], ...]:
    is_one = plan.n_nodes == 1
    return tuple(
        (
            one.name,
            str(one.n_channels),
            f"{one.gb_s_inside:g}",
            "-" if is_one else f"{one.gb_s_between:g}",
            one.path_inside,
            "-" if is_one else one.path_between,
        )
        for one in plan.graphs.values()
    )


def _choices(plan: NcclPlan, collective: str) -> str:
    if plan.is_model:
        return (
            "this search has no algorithms by size: weft expect PLATFORM allreduce --nccl VERSION"
        )
    if not plan.has_times:
        return f"the tuner of NCCL {plan.version} cannot be asked: algorithms are not known"
    rows = [
        [_span(nodes), _of_sizes(sizes), words, estimate]
        for nodes, choices in _alike(
            [(n, _by_size(one, collective)) for n, one in plan.by_nodes.items()]
        )
        for sizes, words, estimate in _with_estimates(plan.by_nodes[nodes[-1]], collective, choices)
    ]
    return table_text(["nodes", collective, "chooses", "its estimate"], rows, left=4)


def _by_size(plan: NodePlan, collective: str) -> tuple[tuple[tuple[int, ...], str], ...]:
    """The algorithm of each stretch of sizes."""
    sizes = sorted(size for name, size in plan.times if name == collective)
    chosen = [(size, _words(plan.choice(collective, size))) for size in sizes]
    return tuple((tuple(found), words) for found, words in _alike(chosen))


def _with_estimates(
    plan: NodePlan, collective: str, choices: Sequence[tuple[tuple[int, ...], str]]
) -> Iterator[tuple[tuple[int, ...], str, str]]:
    for sizes, words in choices:
        last = plan.choice(collective, sizes[-1])
        yield (
            sizes,
            words,
            "" if last is None else f"{_time(last.time_us)} for {format_size(sizes[-1])}",
        )


def _time(us: float) -> str:
    return f"{us / 1e3:.3g} ms" if us >= 1e3 else f"{us:.3g} us"


def _words(choice: TunedTime | None) -> str:
    return "-" if choice is None else f"{choice.algorithm} {PROTOCOL_WORDS[choice.protocol]}"


def _alike(pairs: Sequence[tuple[int, Any]]) -> Same:
    """Neighbours with the same value, together."""
    found: Same = []
    for key, value in pairs:
        if found and found[-1][1] == value:
            found[-1][0].append(key)
        else:
            found.append(([key], value))
    return found


def _span(numbers: Sequence[int]) -> str:
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


def _of_sizes(sizes: Sequence[int]) -> str:
    first, last = format_size(sizes[0]), format_size(sizes[-1])
    return f"{first} to {last}" if len(sizes) > 1 else first


def _channels(plan: NcclPlan, of: NodePlan) -> str:
    lines = [f"{of.n_nodes} node{'s' if of.n_nodes > 1 else ''}"]
    for graph in of.graphs.values():
        told = [
            (i, _channel(plan, graph, i, inside=of.n_nodes == 1)) for i in range(graph.n_channels)
        ]
        lines += [f"  {graph.name} {_span(numbers)}: {words}" for numbers, words in _alike(told)]
    return "\n".join(lines)


def _channel(plan: NcclPlan, graph: SearchGraph, i: int, *, inside: bool) -> str:
    # NVLink SHARP has no order of GPUs: one of them meets the adapter.
    own = graph.gpus[i][:1] if graph.name == "nvls" else graph.gpus[i]
    gpus = " ".join(map(str, own))
    if inside:
        return f"GPUs {gpus}"
    nets = [plan.nets[one] if one < len(plan.nets) else str(one) for one in graph.nets[i]]
    return f"{nets[0]} > GPUs {gpus} > {nets[1]}"


def _differences(one: NcclPlan, other: NcclPlan, collective: str) -> str:
    lines = [f"from {_named_plan(one)} to {'NCCL ' if one.is_model else ''}{other.version}:"]
    changed = []
    for n, plan in one.by_nodes.items():
        after = other.by_nodes[n]
        was, now = dict(_named(_graph_cells(plan))), dict(_named(_graph_cells(after)))
        graphs = [
            f"{name}: {_graph_words(was.get(name))} -> {_graph_words(now.get(name))}"
            for name in dict.fromkeys([*was, *now])
            if was.get(name) != now.get(name)
        ]
        changed.append((n, (*graphs, *_other_choices(plan, after, collective))))
    unknown = [plan for plan in (one, other) if not plan.has_times]
    same = "the graphs stay the same" if unknown else "nothing changes"
    for nodes, differing in _alike(changed):
        noun = "node" if nodes == [1] else "nodes"
        lines += [f"  {_span(nodes)} {noun}: {line}" for line in differing or (same,)]
    if unknown:
        versions = " and ".join(dict.fromkeys(plan.version for plan in unknown))
        lines.append(f"  algorithms by size not compared: those of NCCL {versions} are not known")
    return "\n".join(lines)


def _named(cells: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    return ((name, rest) for name, *found in cells for rest in [tuple(found)])


def _graph_words(cells: tuple[str, ...] | None) -> str:
    if cells is None:
        return "none"
    n, inside, between, *_ = cells
    return f"{n} channels of {inside} GB/s" + ("" if between == "-" else f" ({between} between)")


def _other_choices(before: NodePlan, after: NodePlan, collective: str) -> Iterator[str]:
    sizes = sorted(size for name, size in before.times if name == collective)
    pairs = [
        (size, (_words(before.choice(collective, size)), _words(after.choice(collective, size))))
        for size in sizes
        if after.choice(collective, size) is not None
    ]
    for found, (was, now) in _alike(pairs):
        if was != now:
            yield f"{collective} of {_of_sizes(found)}: {was} -> {now}"


def plan_record(plans: Sequence[NcclPlan], of: NodesOf, collective: str) -> dict[str, Any]:
    """The plan whole; of two, both."""
    return {
        "nodes_of": of.file if of.differs else of.platform or of.file,
        "topology_differs": of.differs,
        "plans": [_record(one, collective) for one in plans],
    }


def _record(plan: NcclPlan, collective: str) -> dict[str, Any]:
    return {
        "version": plan.version,
        "is_model": plan.is_model,
        "gpus_per_node": plan.n_gpus,
        "nets": list(plan.nets),
        "tuner_asked": plan.has_times,
        "plans": [
            {
                "nodes": n,
                "graphs": [_graph_record(graph) for graph in one.graphs.values()],
                "choices": [
                    {
                        "size_bytes": size,
                        "algorithm": found[0].algorithm,
                        "protocol": found[0].protocol,
                        "time_us": round(found[0].time_us, 3),
                    }
                    for (name, size), found in one.times.items()
                    if name == collective and found
                ],
            }
            for n, one in plan.by_nodes.items()
        ],
    }


def _graph_record(graph: SearchGraph) -> dict[str, Any]:
    return {
        "graph": graph.name,
        "channels": [
            {"gpus": list(gpus), "nets": list(nets)}
            for gpus, nets in zip(graph.gpus, graph.nets, strict=True)
        ],
        "gb_s_inside": graph.gb_s_inside,
        "gb_s_between": graph.gb_s_between,
        "path_inside": graph.path_inside,
        "path_between": graph.path_between,
        "cross_nic": graph.cross_nic,
    }


def plan_rows(plans: Sequence[NcclPlan], collective: str) -> list[dict[str, Any]]:
    """A row a library, number of nodes and size: what it takes."""
    return [
        {
            "version": plan.version,
            "nodes": n,
            "collective": collective,
            "size_bytes": size,
            "algorithm": found[0].algorithm,
            "protocol": found[0].protocol,
            "time_us": round(found[0].time_us, 3),
        }
        for plan in plans
        for n, one in plan.by_nodes.items()
        for (name, size), found in one.times.items()
        if name == collective and found
    ]
