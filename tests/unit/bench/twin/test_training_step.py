"""A step of training: gradients of published sizes, buckets, and what computing hides."""

from dataclasses import replace

import pytest

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.training_step import TrainingStep, buckets_of, training_step
from weft.catalog.libraries.training_model import ModelPart, synthetic_benchmarks
from weft.catalog.load import platform
from weft.core.errors import InputError

STAGES = {"resnet50": (3, 4, 6, 3), "resnet101": (3, 4, 23, 3)}


def resnet(blocks: tuple[int, ...]) -> list[tuple[int, int]]:
    """(parameters, multiplications) of each part. SOURCE: He et al. 2015, table 1, with batch
    normalisation, and the stride of a stage in its first 3 x 3 convolution (version 1.5)."""
    parts = [(64 * 3 * 49 + 2 * 64, 64 * 3 * 49 * 112**2)]
    n_in, size = 64, 56
    for stage, (n_blocks, width) in enumerate(zip(blocks, (64, 128, 256, 512), strict=True)):
        parameters = multiplications = 0
        for block in range(n_blocks):
            out = size // 2 if block == 0 and stage > 0 else size
            convolutions = [
                (n_in * width, size, width),
                (9 * width * width, out, width),
                (4 * width * width, out, 4 * width),
            ]
            if block == 0:
                convolutions.append((n_in * 4 * width, out, 4 * width))
            for weights, side, n_out in convolutions:
                parameters += weights + 2 * n_out
                multiplications += weights * side**2
            n_in, size = 4 * width, out
        parts.append((parameters, multiplications))
    return [*parts, (2048 * 1000 + 1000, 2048 * 1000)]


@pytest.mark.parametrize("name", STAGES)
def test_a_models_parts_are_those_of_its_paper(name: str) -> None:
    model = synthetic_benchmarks().model(name)
    assert [(one.parameters, one.multiplications) for one in model.parts] == resnet(STAGES[name])
    stated = {"resnet50": 25_557_032, "resnet101": 44_549_160}
    assert model.gradient_bytes == 4 * stated[name]


def test_an_unmeasured_rate_is_that_of_the_other_model_by_multiplications() -> None:
    known = synthetic_benchmarks()
    models = [known.model(name) for name in ("resnet50", "resnet101")]
    work = [sum(part.multiplications for part in model.parts) for model in models]
    rates = [model.images_per_s["ampere"].value for model in models]
    assert rates[1] == pytest.approx(rates[0] * work[0] / work[1], rel=0.001)


BACKWARD_NS = 43.4e6


@pytest.mark.parametrize("framework", ["horovod", "ddp"])
@pytest.mark.parametrize("name", STAGES)
def test_buckets_hold_all_gradients_and_go_out_when_all_of_them_are_ready(
    framework: str, name: str
) -> None:
    known = synthetic_benchmarks()
    model, joins = known.model(name), known.framework(framework)
    sent = 0
    for size, ready_ns in buckets_of(model, joins, BACKWARD_NS):
        assert 0 < size <= joins.bytes.value
        sent += size
        assert model.backward_share(sent) * BACKWARD_NS <= ready_ns + 1e-3
    assert sent == model.gradient_bytes


def test_horovod_sends_what_became_ready_in_each_cycle() -> None:
    """SOURCE: horovod/horovod, CHANGELOG.md, v0.21.0: a cycle of 1 ms, a threshold of 128 MB."""
    known = synthetic_benchmarks()
    model = known.model("resnet101")
    found = list(buckets_of(model, known.framework("horovod"), BACKWARD_NS))
    assert [ready_ns for _, ready_ns in found] == [1e6 * cycle for cycle in range(1, 45)]
    for (size, ready_ns), (_, before_ns) in zip(found[1:], found, strict=False):
        ready = [model.ready_bytes(at_ns / BACKWARD_NS) for at_ns in (before_ns, ready_ns)]
        assert size == ready[1] - ready[0]


def test_a_cycle_with_more_than_the_fusion_buffer_holds_is_cut() -> None:
    known = synthetic_benchmarks()
    model, horovod = known.model("resnet101"), known.framework("horovod")
    # 178 MB in one cycle of 1 ms.
    found = list(buckets_of(model, horovod, 0.5e6))
    assert found == [(128 << 20, 1e6), (model.gradient_bytes - (128 << 20), 1e6)]


def test_pytorch_sends_buckets_of_25_mib_after_a_first_of_one() -> None:
    known = synthetic_benchmarks()
    model = known.model("resnet50")
    sizes = [size for size, _ in buckets_of(model, known.framework("ddp"), BACKWARD_NS)]
    # 102,228,128 B.
    assert sizes == [1 << 20, *[25 << 20] * 3, 102_228_128 - (76 << 20)]


def test_gradients_are_ready_from_the_last_part_on() -> None:
    model = synthetic_benchmarks().model("resnet101")
    parts = [
        ModelPart(name="first", parameters=1, multiplications=30),
        ModelPart(name="last", parameters=3, multiplications=10),
    ]
    model = model.model_copy(update={"parts": tuple(parts)})
    shares = [model.backward_share(n_bytes) for n_bytes in (0, 6, 12, 14, 16)]
    assert shares == [0, 0.125, 0.25, 0.625, 1]
    # Whole gradients of four bytes.
    assert [model.ready_bytes(share) for share in (0, 0.125, 0.25, 0.99, 1)] == [0, 4, 12, 12, 16]


def test_buckets_of_one_size_are_simulated_once() -> None:
    step = TrainingStep((8, 4, 8), (1.0, 2.0, 3.0), 3.0, 32)
    assert step.sizes == (8, 4)


def test_a_bucket_waits_for_its_gradients_and_for_the_one_before() -> None:
    step = TrainingStep(buckets=(8, 8), ready_ns=(50.0, 100.0), compute_ns=100.0, batch=32)
    # The first is hidden; of the second 20 ns follow the computing.
    assert step.time_ns((30.0, 20.0)) == 120.0
    # The second waits for the first until 150.
    assert step.time_ns((100.0, 20.0)) == 170.0
    assert step.metrics((0.0, 0.0), 4)["scaling_efficiency"] == 1.0


def trial(**options: object) -> Trial:
    return Trial("t", "training_step", (0,), ("n001", "n002"), 1, {}, {}, options)


@pytest.mark.parametrize("name", ["training_step", "training_step_ddp"])
def test_a_twin_trains_and_tells_images_a_second(name: str) -> None:
    twin = TwinBackend(platform("alps-a100"), 2)
    asked = replace(trial(gpu_network="ofi-gpudirect", model="resnet50"), benchmark=name)
    (sample,) = twin.measure(Launch(asked, 0, 0))
    share = sample.metrics["scaling_efficiency"]
    assert 0.5 < share <= 1
    assert sample.metrics["images_per_s"] == pytest.approx(2 * 938 * share)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("alps-a100", {}, "training_step without GPUs"),
        ("fat-tree", {"gpu_network": "ofi"}, "training_step without GPUs"),
        ("alps-a100", {"gpu_network": "ofi", "model": "resnet5"}, "no model 'resnet5'"),
        ("alps-a100", {"gpu_network": "ofi", "framework": "ddpp"}, "no framework 'ddpp'"),
        ("alps-gh200", {"gpu_network": "ofi"}, "no rate of resnet101 on GPUs of hopper"),
    ],
)
def test_a_step_that_cannot_be_is_refused(
    name: str, options: dict[str, object], message: str
) -> None:
    defaults = {"model": "resnet101", "framework": "horovod"}
    with pytest.raises(InputError, match=message):
        training_step(platform(name), trial(**options), defaults)
