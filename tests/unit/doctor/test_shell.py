"""Scripts are read as bash reads them: what is set, what is launched, and where it stands."""

import random
import subprocess
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.core.errors import InputError
from weft.doctor.job import HOLE, Job, JobSetting, SettingOrigin, number_of
from weft.doctor.readers.shell import read_script


def read(text: str) -> Job:
    return read_script("job.sh", text)


def only(text: str, name: str) -> JobSetting:
    (found,) = [one for one in read(text).settings if one.name == name]
    return found


def written(text: str, setting: JobSetting) -> str:
    assert setting.value_at is not None
    return text[setting.value_at.start : setting.value_at.end]


def test_quotes_and_continued_lines() -> None:
    text = "export A=\"x y\" B='p q' \\\n  C=a\\ b D=\"1\"'2'3\n"
    values = {one.name: one.value for one in read(text).settings}
    assert values == {"A": "x y", "B": "p q", "C": "a b", "D": "123"}
    assert written(text, only(text, "A")) == '"x y"'
    assert only(text, "C").at.line == 2


def test_what_is_not_known_is_a_hole() -> None:
    text = 'export A=$HOME/x B=$(hostname) C=${D:-1} E=${F} G="a$H b"\n'
    values = {one.name: one.value for one in read(text).settings}
    assert values == {
        "A": f"{HOLE}/x",
        "B": HOLE,
        "C": "1",
        "E": HOLE,
        "G": f"a{HOLE} b",
    }
    assert only(text, "A").known is None
    assert [one.name for one in read(text).settings if one.is_optional] == ["C"]


def test_variables_of_the_script_are_put_in() -> None:
    text = 'N=2\nM=$N$N\nexport A="${M}x" B=$M/$N\n'
    assert only(text, "A").value == "22x"
    assert only(text, "B").value == "22/2"


def test_a_variable_of_several_words_becomes_several() -> None:
    text = 'a="-x A=1  -x B=2"\nmpirun $a -x C="$a" ./p\n'
    found = [(one.name, one.value) for one in read(text).settings if one.launch == 0]
    assert found == [("A", "1"), ("B", "2"), ("C", "-x A=1  -x B=2")]
    assert [word.text for word in read(text).launches[0].program] == ["./p"]


def test_arrays() -> None:
    text = 'args=(-x A=1 -x "B=2 3")\nargs2=(./p q)\nmpirun "${args[@]}" "${args2[@]}"\n'
    job = read(text)
    assert [(one.name, one.value) for one in job.settings if one.launch == 0] == [
        ("A", "1"),
        ("B", "2 3"),
    ]
    assert [word.text for word in job.launches[0].program] == ["./p", "q"]


def test_assigned_exported_and_unset() -> None:
    ways = {one.name: one.origin for one in read("A=1\nB=2\nexport B\nexport C=3\n").settings}
    assert ways == {
        "A": SettingOrigin.ASSIGNED,
        "B": SettingOrigin.EXPORT,
        "C": SettingOrigin.EXPORT,
    }
    assert [one.name for one in read("export A=1 B=2\nunset A\n").settings] == ["B"]
    assert only("declare -x A=1\n", "A").origin is SettingOrigin.EXPORT
    assert only("set -a\nA=1\n", "A").origin is SettingOrigin.EXPORT
    assert only("export A\nA=1\n", "A").origin is SettingOrigin.EXPORT
    assert only("setenv A 1\n", "A").origin is SettingOrigin.EXPORT


def test_before_a_command_and_env() -> None:
    job = read("A=1 env B=2 C='3 4' exec ./p q\n")
    assert [(one.name, one.value, one.origin, one.launch) for one in job.settings] == [
        ("A", "1", SettingOrigin.BEFORE, 0),
        ("B", "2", SettingOrigin.BEFORE, 0),
        ("C", "3 4", SettingOrigin.BEFORE, 0),
    ]


def test_open_mpi() -> None:
    text = (
        "mpirun -np $((N*8)) --hostfile h --map-by ppr:8:node -x A -x B=1 --mca pml ucx"
        " -mca btl ^openib --bind-to numa ./p -x NOT=1\n"
    )
    job = read(text)
    (launch,) = job.launches
    assert launch.launcher == "mpirun"
    assert launch.passes == ("A", "B")
    assert launch.options["hostfile"].text == "h"
    assert [word.text for word in launch.program] == ["./p", "-x", "NOT=1"]
    assert {one.name: one.value for one in job.settings} == {
        "A": None,
        "B": "1",
        "OMPI_MCA_pml": "ucx",
        "OMPI_MCA_btl": "^openib",
    }


def test_hydra() -> None:
    job = read("mpiexec.hydra -n 4 -ppn 2 -genv A 1 -genv B=2 -genvlist C,D ./p\n")
    (launch,) = job.launches
    assert {one.name: one.value for one in job.settings} == {"A": "1", "B": "2"}
    assert launch.passes == ("C", "D")
    assert number_of(launch.options, "n") == 4
    assert number_of(launch.options, "ntasks-per-node") == 2


def test_srun_and_pyxis() -> None:
    text = (
        "#SBATCH -N 4\n#SBATCH --ntasks-per-node=8 --network=disable_rdzv_get # why\n"
        "srun -n 32 --export=ALL,A=1,B --container-image=i --container-mounts=/a:/b,/c \\\n"
        '  --container-env="X,Y" --cpu-bind=mask_cpu:"f,f0" bash -c "x && y"\n'
    )
    job = read(text)
    (launch,) = job.launches
    assert job.n_nodes == 4
    assert job.options["network"].text == "disable_rdzv_get"
    assert job.options["ntasks-per-node"].text == "8"
    assert launch.hands_on_all
    assert launch.passes == ("A", "B")
    assert launch.container is not None
    assert launch.container.image == "i"
    assert [word.text for word in launch.container.mounts] == ["/a:/b", "/c"]
    assert launch.container.passes == ("X", "Y")
    assert launch.options["cpu-bind"].text == "mask_cpu:f,f0"
    assert [word.text for word in launch.program] == ["bash", "-c", "x && y"]


def test_srun_without_all() -> None:
    assert not read("srun --export=A=1 ./p\n").launches[0].hands_on_all
    assert not read("srun --export=NONE ./p\n").launches[0].hands_on_all
    assert read("srun ./p\n").launches[0].hands_on_all


def test_containers() -> None:
    job = read("docker run --rm -e A=1 -e B --gpus all -v /x:/y:ro img ./p -e NOT\n")
    (launch,) = job.launches
    assert launch.container is not None
    assert launch.container.image == "img"
    assert [word.text for word in launch.container.mounts] == ["/x:/y:ro"]
    assert {one.name: one.value for one in job.settings} == {"A": "1", "B": None}
    assert [word.text for word in launch.program] == ["./p", "-e", "NOT"]


def test_both_branches_and_loops_and_functions() -> None:
    text = (
        "if [ x = y ]; then export A=1; else export B=2; fi\n"
        "for i in 1 2; do export C=$i; done\n"
        "f() { export D=4; }\nwhile true; do export E=5; done\n"
        "case x in y) export F=6;; esac\n(export G=7)\n"
    )
    values = {one.name: one.value for one in read(text).all_settings}
    assert values == {"A": "1", "B": "2", "C": HOLE, "D": "4", "E": "5", "F": "6", "G": "7"}


def test_places_count_characters_and_lines() -> None:
    text = "# \u00e9\u4e2d\U0001f600\nexport A=\u00e9 B=2\n"
    found = only(text, "B")
    assert text[found.at.start : found.at.end] == "B=2"
    assert (found.at.line, found.at.column) == (2, 12)


def test_what_is_no_shell_is_reported() -> None:
    assert read("export A='unclosed\n").unread
    assert not read("export A=1\n").unread


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    for one in read(text).settings:
        assert 0 <= one.at.start <= one.at.end <= len(text)


SHELL = st.lists(
    st.sampled_from(
        ["export ", "A", "=", "$A", "${A", "}", "$(", ")", "'", '"', "\\", "\n", " ", ";", "&&",
         "mpirun -x ", "srun --export=", "NCCL_DEBUG", "<<E", "E\n", "(", "[", "if ", "then ",
         "fi", "for ", "do ", "done", "|", "&", "`", "((", "))", "#SBATCH --x='", "é"]
    ),
    max_size=60,
).map("".join)  # fmt: skip


@given(SHELL)
def test_any_pieces_of_shell_are_read(text: str) -> None:
    job = read(text)
    for one in (*job.settings, *job.unread):
        at = one.at if isinstance(one, JobSetting) else one
        assert 0 <= at.start <= at.end <= len(text)


@pytest.mark.parametrize("operator", ["|", "<", ">", "&", ";", "(", "{"])
def test_runs_of_operators_are_read_at_once(operator: str) -> None:
    """The grammar alone takes tens of seconds over 40,000 of them."""
    started = time.process_time()
    job = read_script("x", f"export NCCL_DEBUG=WARN\n{operator * 40000}\nexport UCX_TLS=rc\n")
    assert time.process_time() - started < 2
    assert [one.name for one in job.settings][:1] == ["NCCL_DEBUG"]
    assert job.settings[-1].at.line == 3


def test_what_the_grammar_finds_no_sense_in_is_refused_in_time() -> None:
    """It alone takes a minute over half as many brackets."""
    started = time.process_time()
    with pytest.raises(InputError, match="no sense in it in reasonable time"):
        read_script("x", f"export NCCL_DEBUG=WARN\nsrun -x N={'a=(' * 40000}\n")
    assert time.process_time() - started < 10


@pytest.mark.parametrize("name", ["NCCL_NET$", "NCCL_NET${A}", "9", "a-b", "NCCL_${A}"])
def test_setenv_sets_names_only(name: str) -> None:
    job = read(f"setenv {name} 1\nsetenv UCX_TLS rc\n")
    assert [one.name for one in job.settings] == ["UCX_TLS"]


def test_a_name_that_only_the_job_knows_is_no_setting() -> None:
    job = read_script("x", "mpirun -x NCCL_$NAME=1 -x UCX_TLS=rc -hostfile h ./a\n")
    assert [one.name for one in job.settings] == ["UCX_TLS"]
    assert any(HOLE in name for name in job.launches[0].passes)


INNER = """export NCCL_DEBUG=WARN
srun --container-image=i --container-env=NCCL_DEBUG bash -c '
  export NCCL_IB_HCAS=mlx5
  NCCL_ALGO=Ring python train.py
'
srun --container-image=i --container-env=NCCL_DEBUG ./a
"""


def test_commands_of_a_shell_of_their_own() -> None:
    job = read(INNER)
    found = {one.name: one for one in job.settings}
    inner = found["NCCL_IB_HCAS"]
    assert (inner.value, inner.launch, inner.at.line, inner.origin) == (
        "mlx5",
        0,
        3,
        SettingOrigin.EXPORT,
    )
    assert written(INNER, inner) == "mlx5"
    assert not inner.at.exact
    assert (found["NCCL_ALGO"].origin, found["NCCL_ALGO"].at.line) == (SettingOrigin.BEFORE, 4)
    assert [one.launcher for one in job.launches] == ["srun", "", "srun"]


def test_what_a_shell_of_its_own_sets_ends_with_it() -> None:
    text = "A=1\nbash -lc 'export A=2 B=$A; unset C'\nexport D=$A C=1 E=$B\n"
    values = {one.name: one.value for one in read(text).settings if one.name in "DE"}
    assert values == {"D": "1", "E": HOLE}
    assert [one.name for one in read(text).settings].count("C") == 1
    deep = "bash -c '" * 3 + "export A=1"
    assert not read(deep).launches
    assert len(read("bash -c 'export A=1'\n" * 50).settings) == 16


PARTS = (
    *("${A}", "${B}", '"$A q"', '"${B}"', "'s t'", '"\'"', "x", "9", "_y"),
    *("$A,", "$B/", "$A:", "$B.", "$A-z", "$B=", "$A$B,", "@", "%", "+", ",", "/", ":"),
)


def test_words_are_those_that_bash_makes_of_them() -> None:
    """`${A},$B,$C` is one word, though the grammar makes two of it."""
    rng = random.Random(9)
    texts = [
        " ".join(
            "".join(rng.choice(PARTS) for _ in range(rng.randint(1, 6)))
            for _ in range(rng.randint(1, 3))
        )
        for _ in range(1000)
    ]
    head = "A=a1\nB='b 2'\n"
    calls = "".join(f"printf '%s\\0' {text}; printf '\\1'\n" for text in texts)
    said = subprocess.run(
        ["bash"], input=f"set -f\n{head}{calls}", capture_output=True, text=True, check=True
    )
    for text, words in zip(texts, said.stdout.split("\1"), strict=False):
        (launch,) = read(f"{head}srun -- ./p {text}\n").launches
        assert [word.text for word in launch.program] == ["./p", *words.split("\0")[:-1]], text


def test_a_value_that_the_grammar_cuts_is_not_known() -> None:
    for text in ("export P=${A},$B,$C D=1\n", "P=${A},$B,$C\nD=1\n"):
        job = read(text)
        assert only(text, "P").known is None
        assert only(text, "D").known == "1"
        assert not job.launches


def test_containers_of_names_that_only_the_job_knows() -> None:
    text = "srun --container-image=i --container-mounts ${T},$R,$S/c:/c --container-env=A ./p\n"
    (launch,) = read(text).launches
    assert launch.container is not None
    assert [word.text for word in launch.container.mounts] == [HOLE, HOLE, f"{HOLE}/c:/c"]
    assert launch.container.passes == ("A",)
    assert [word.text for word in launch.program] == ["./p"]


def test_assignments_on_one_line_end_with_it() -> None:
    """The grammar takes `A=1 B=2` and the next line for one command."""
    text = "A=1 B=2\nexport C=3 D=$A\n\nE=1 F=2 \\\n  ./run\n"
    job = read(text)
    assert {one.name: one.value for one in job.settings if one.name in "CD"} == {"C": "3", "D": "1"}
    assert only(text, "C").at.line == 2
    assert [one.name for one in job.settings if one.launch is not None] == ["E", "F"]
