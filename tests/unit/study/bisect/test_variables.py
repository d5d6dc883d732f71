"""What differs between two environments, and what the launches in between get."""

from weft.study.bisect.variables import DifferingVariable, differences, environment_of

AROUND = {"PATH": "/bin", "HOME": "/h", "EXTRA": "kept", "A": "outer", "SLURM_JOB_ID": "3"}


def test_added_removed_and_changed_variables_differ() -> None:
    found = differences({"A": "1", "B": "2", "C": "3"}, {"A": "1", "B": "9", "D": "4"}, AROUND)
    values = [("B", "2", "9"), ("C", "3", None), ("D", None, "4")]
    assert found.variables == tuple(DifferingVariable(*one) for one in values)
    assert [one.change for one in found.variables] == [
        "B=9 (good: 2)", "C not set (good: 3)", "D=4 (good: not set)",
    ]  # fmt: skip


def test_the_jobs_and_the_sessions_own_names_are_left_out_with_the_reason() -> None:
    bad = {"SLURM_JOB_ID": "8", "PMI_RANK": "1", "PWD": "/x", "MINE_1": "2", "UCX_TLS": "tcp"}
    found = differences({}, bad, AROUND, ["MINE_*"])
    assert [one.name for one in found.variables] == ["UCX_TLS"]
    assert dict(found.left_out) == {
        "MINE_1": "--ignore",
        "PMI_RANK": "names this job, not a setting",
        "PWD": "of the login session, not a setting",
        "SLURM_JOB_ID": "names this job, not a setting",
    }


def test_a_path_is_a_cause_like_others_but_never_missing() -> None:
    other = differences({"PATH": "/a:/bin"}, {"PATH": "/b:/bin"}, AROUND)
    assert [one.name for one in other.variables] == ["PATH"]
    added = differences({}, {"PATH": "/b:/bin", "LD_LIBRARY_PATH": "/l"}, AROUND)
    assert [(one.name, one.good) for one in added.variables] == [
        ("LD_LIBRARY_PATH", None), ("PATH", "/bin"),
    ]  # fmt: skip
    assert environment_of({}, {"PATH": "/b"}, AROUND, ())["PATH"] == "/bin"


def test_a_launch_has_this_environment_and_that_of_its_cell() -> None:
    good, bad = {"A": "1", "C": "3"}, {"A": "2", "SLURM_JOB_ID": "8"}
    found = differences(good, bad, AROUND).variables
    assert environment_of(good, bad, AROUND, ()) == {**AROUND, "A": "1", "C": "3"}
    assert environment_of(good, bad, AROUND, found) == {**AROUND, "A": "2"}


def test_secrets_are_masked() -> None:
    (token,) = differences({"API_TOKEN": "abcd1234"}, {"API_TOKEN": "efgh5678"}, {}).variables
    assert token.change == "API_TOKEN=[redacted] (good: [redacted])"
    assert token.to_record() == {"name": "API_TOKEN", "good": "[redacted]", "bad": "[redacted]"}


def test_a_long_list_of_folders_is_shown_by_what_differs() -> None:
    same = [f"/opt/software/package{n}/bin" for n in range(9)]
    good, bad = ":".join(["/old/bin", *same]), ":".join(["/new/bin", *same])
    assert DifferingVariable("PATH", good, bad).change == "PATH gains /new/bin, loses /old/bin"
    turned = ":".join(reversed(same))
    order = DifferingVariable("PATH", ":".join(same), turned).change
    assert order == "PATH has its folders in another order"
    plain = DifferingVariable("NOTE", "a" * 70, "b" * 70).change
    assert plain == f"NOTE={'b' * 70} (good: {'a' * 70})"


def test_a_value_of_several_lines_is_shown_on_one() -> None:
    assert DifferingVariable("NOTE", "a\nb", None).change == "NOTE not set (good: a\\nb)"
