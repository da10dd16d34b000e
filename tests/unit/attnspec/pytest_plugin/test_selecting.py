"""Which tests a run of pytest with this plugin runs: what pytest remembers, and markers."""

import pytest

pytest_plugins = ["pytester"]

SOFTMAX = "--attnspec-select=documents/001/softmax_*"
WRONG = ("--attnspec=wrong.py", SOFTMAX)
TWO = ("-p", "xdist", "-n", "2")


def names(result):
    """The items that ``-v`` names, with what came of each."""
    reported = {}
    for line in result.outlines:
        words = line.split()
        node = next((word for word in words if word.startswith("attnspec/")), None)
        outcome = next((word for word in words if word in ("PASSED", "FAILED", "XFAIL", "SKIPPED")), None)
        if node is not None and outcome is not None and " - " not in line:
            reported[node] = outcome
    return reported


@pytest.mark.parametrize("distributed", [(), TWO, (*TWO, "--dist=loadfile"), (*TWO, "--dist=worksteal")])
def test_what_failed_last_is_run_alone(run, distributed):
    first = run(*WRONG, *distributed, remembers=True).parseoutcomes()
    assert first["failed"] > 3
    assert first["passed"] > 1
    again = run(*WRONG, *distributed, "--lf", remembers=True)
    assert again.parseoutcomes()["failed"] == first["failed"]
    assert "passed" not in again.parseoutcomes()


def test_what_failed_last_comes_first(run):
    before = names(run(*WRONG, "-v", remembers=True))
    assert next(iter(before.values())) == "PASSED"
    after = names(run(*WRONG, "-v", "--ff", remembers=True))
    assert before == after
    assert [*after.values()] == sorted(before.values())


def test_what_was_repaired_is_forgotten(run, pytester, right):
    run(*WRONG, remembers=True)
    pytester.makepyfile(wrong=right)
    failed = run(*WRONG, "--lf", remembers=True).parseoutcomes()
    assert failed["passed"] > 3
    assert "failed" not in failed
    everything = run(*WRONG, "--lf", remembers=True).parseoutcomes()
    assert everything["passed"] > failed["passed"]


def test_what_failed_last_is_remembered_beside_other_tests(run, pytester):
    pytester.makepyfile(test_own="def test_right():\n    pass\ndef test_wrong():\n    assert 0\n")
    first = run(*WRONG, "test_own.py", remembers=True).parseoutcomes()
    again = run(*WRONG, "test_own.py", "--lf", remembers=True).parseoutcomes()
    assert again["failed"] == first["failed"]
    assert "passed" not in again


def test_it_goes_on_stepwise(run):
    first = run(*WRONG, "--sw", remembers=True).parseoutcomes()
    assert first["failed"] == 1
    again = run(*WRONG, "--sw", remembers=True)
    assert again.parseoutcomes()["failed"] == 1
    assert "passed" not in again.parseoutcomes()
    skipping = run(*WRONG, "--sw", "--sw-skip", "-v", remembers=True)
    assert [*names(skipping).values()] == ["FAILED", "FAILED"]


def test_it_stops_at_the_first_failures(run):
    assert run(*WRONG, "-x").parseoutcomes()["failed"] == 1
    assert run(*WRONG, "--maxfail=3").parseoutcomes()["failed"] == 3


def test_items_are_deselected_by_their_id(run):
    outcomes = run(*WRONG, "--deselect=attnspec/documents::documents/001/softmax_of_rows").parseoutcomes()
    assert outcomes["deselected"] == 2


@pytest.mark.parametrize("expression", ["documents and float32", "softmax and float32 and not masking"])
def test_markers_of_profile_operation_and_dtype_select(run, expression):
    reported = names(run("--attnspec=right.py", SOFTMAX, "--strict-markers", "-v", "-m", expression))
    assert len(reported) > 3
    assert {name.partition("[")[2] for name in reported} == {"float32]"}


def test_a_marker_distinguishes_these_tests_from_others(run, pytester):
    pytester.makepyfile(test_own="import pytest\n@pytest.mark.documents\ndef test_own():\n    pass\n")
    both = ("--attnspec=right.py", SOFTMAX, "test_own.py", "-m")
    everything = run(*both, "documents").parseoutcomes()["passed"]
    assert run(*both, "documents and not attnspec").parseoutcomes()["passed"] == 1
    assert run(*both, "documents and attnspec").parseoutcomes()["passed"] == everything - 1


def test_markers_are_listed_with_what_they_mean(run):
    reported = run("--attnspec=right.py", "--markers")
    for line in (
        "@pytest.mark.attnspec: a case of attnspec",
        "@pytest.mark.masking: a case of attnspec's profile masking",
        "@pytest.mark.causal_mask: a case of attnspec's operation causal_mask",
        "@pytest.mark.bfloat16: a case of attnspec in bfloat16",
    ):
        assert line in reported.outlines
    assert "@pytest.mark.attnspec: a case of attnspec" not in run("--markers").outlines


def test_a_conftest_marks_known_failures_by_name(run, pytester):
    pytester.makeconftest(
        """
        import pytest

        KNOWN = {"documents/001/softmax_of_rows[float32]": "rows are for later"}

        def pytest_collection_modifyitems(items):
            for item in items:
                if item.name in KNOWN:
                    item.add_marker(pytest.mark.xfail(reason=KNOWN[item.name], strict=True))
        """
    )
    result = run(*WRONG, "-rx", "--attnspec-dtype=float32")
    result.stdout.fnmatch_lines(["XFAIL attnspec/documents::documents/001/softmax_of_rows?float32?*rows are for later"])
    failed = result.parseoutcomes()["failed"]
    result.stdout.fnmatch_lines([f"softmax: {failed} went wrong"])
    right = run("--attnspec=right.py", SOFTMAX, "--attnspec-dtype=float32")
    assert right.parseoutcomes()["failed"] == 1
    right.stdout.fnmatch_lines(["*XPASS(strict)* rows are for later"])
