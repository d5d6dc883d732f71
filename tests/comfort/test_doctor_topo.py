"""`weft doctor topo`: a slow bridge whose link the file does not state is never called good."""

import random
import re
from pathlib import Path

from tests.comfort.draws import NOT_GOOD, each_draw

from weft.cli import run

FIELD = Path(__file__).parents[1] / "fixtures" / "field_topology"
HEALTHY = ("topo_8p1h.xml", "topo_8p6l_4nic.xml")
_ATTRIBUTE = re.compile(r'\s(\w+)="[^"]*"')


@each_draw
def test_a_link_that_the_file_does_not_state_is_never_good(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        text = (FIELD / draw.choice(HEALTHY)).read_text()
        name = draw.choice(["link_speed", "class"])
        places = [found for found in _ATTRIBUTE.finditer(text) if found[1] == name]
        for found in reversed(draw.sample(places, draw.randint(1, len(places)))):
            text = text[: found.start()] + " " + text[found.end() :]
        file = tmp_path / f"{seed}.xml"
        file.write_text(text)
        assert run(["doctor", "topo", str(file)]) in NOT_GOOD, (seed, name)


@each_draw
def test_a_healthy_file_is_never_bad(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        lines = (FIELD / draw.choice(HEALTHY)).read_text().splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("<system"))
        found = lines[: start + 1]
        for line in lines[start + 1 :]:
            if draw.random() < 0.1:
                found.append(draw.choice(["", "<!-- a note -->", "   "]))
            found.append(draw.choice(["", "  ", "    "]) + line.strip())
        file = tmp_path / f"{seed}.xml"
        file.write_bytes(draw.choice(["\n", "\r\n"]).join(found).encode())
        assert run(["doctor", "topo", str(file)]) == 0, seed
