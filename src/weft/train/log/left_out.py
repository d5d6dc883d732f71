"""Which steps of a run are the steady state, in words, and which were left out."""

import numpy as np

from weft.core.words import counted
from weft.stats.warm_up import SOURCE
from weft.train.log.judged_run import JudgedRun, percent


def left_out_words(judged: JudgedRun) -> str:
    """'steady from 4 to 200; left out: the first 3 steps, 61 % longer (MSER-1, White 1997)'."""
    run, steady = judged.run, judged.steady
    assert steady is not None
    first, last = (int(run.steps[at]) for at in (steady.first, -1))
    parts = []
    if steady.batch_change:
        step = int(run.steps[steady.batch_change])
        parts.append(f"those before {step:,}, where the batch changes")
    warm = steady.first - steady.batch_change
    if warm:
        time = float(np.median(run.times_s[steady.batch_change : steady.first]))
        ratio = time / steady.summary.median - 1
        word = "longer" if ratio > 0 else "shorter"
        noun = "reading" if run.n_steps.max() > 1 else "step"
        what = noun if warm == 1 else counted(warm, noun)
        how = f"{percent(abs(ratio))} {word} ({steady.method}, {SOURCE})"
        parts.append(f"the first {what}, {how}")
    left = "; left out: " + ", and ".join(parts) if parts else "; none left out"
    return f"steady from {first:,} to {last:,}{left}"
