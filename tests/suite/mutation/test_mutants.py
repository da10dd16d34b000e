"""The mutants of the reference: what is changed, and that a case notices."""

from dataclasses import replace

import pytest

import attnspec_reference
from attnspec.runner import run_suite
from attnspec_authoring.mutation import all_mutants, mutants_of, read_equivalents, try_mutant, try_mutants
from attnspec_authoring.mutation.mutants import source_of

MUTANTS = all_mutants()
EQUIVALENTS = read_equivalents()
MODULES = sorted({mutant.module for mutant in MUTANTS})

SOURCE = '''
def f(x: int | None = None, *, axis=-1):
    """Docstring with a - b."""
    message = f"{x - 1}"
    if x is None or x < 2:
        raise ValueError(f"{x + 1}")
    y = np.max(x, axis, keepdims=True)
    return y[..., :axis] * x
'''


def changes():
    return [mutant.id.removeprefix("m.f: ") for mutant in mutants_of("m", SOURCE)]


def first_of(module):
    """The first mutant of a module that is not listed as equivalent."""
    return next(mutant for mutant in MUTANTS if mutant.module == module and mutant.id not in EQUIVALENTS)


def test_a_case_notices_a_mutant_of_every_module(examiner):
    """That one notices all of them is what ``make mutation`` proves."""
    outcomes = [try_mutant(first_of(module), examiner) for module in MODULES]
    assert [outcome.id for outcome in outcomes if outcome.killed_by is None] == []
    # A module that no operation imports leaves nothing to validate, and proves nothing.
    assert [outcome.id for outcome in outcomes if "cannot be imported" in outcome.killed_by] == []


def test_mutants_are_tried_in_processes_of_their_own():
    mutants = [mutant for mutant in MUTANTS if mutant.module == "attention.split_heads" and "transpose" in mutant.id]
    outcomes = list(try_mutants(mutants, processes=1))
    assert [outcome.id for outcome in outcomes] == [mutant.id for mutant in mutants]
    assert all(outcome.killed_by for outcome in outcomes)


def test_a_mutant_that_answers_otherwise_each_time_is_killed(examiner):
    drawing = "glorot_normal.draw_standard_normal: np.random.default_rng(seed) -> np.random"
    (mutant,) = (mutant for mutant in MUTANTS if mutant.id == drawing)
    assert try_mutant(mutant, examiner).killed_by.endswith("repeatable")


def test_a_mutant_that_hangs_is_killed(examiner, monkeypatch):
    monkeypatch.setattr("attnspec_authoring.mutation.trials.SECONDS_ALLOWED", 1)
    mutant = next(mutant for mutant in MUTANTS if mutant.module == "attention.causal_mask")
    body = "def causal_mask(*, query_length, key_length=None, offset=0, additive=False):\n    while True: pass\n"
    outcome = try_mutant(replace(mutant, source=body), examiner)
    assert outcome.killed_by == "it was still running after 1 seconds"


def test_a_mutant_that_cannot_be_imported_is_killed(examiner):
    outcome = try_mutant(replace(MUTANTS[0], source="raise KeyError"), examiner)
    assert outcome.killed_by == "it cannot be imported: KeyError"


def test_the_unchanged_source_survives(examiner):
    module = "attention.softmax"
    source = source_of(module).read_text(encoding="utf-8")
    unchanged = replace(MUTANTS[0], module=module, source=source)
    assert try_mutant(unchanged, examiner).killed_by is None


def test_a_mutant_leaves_the_reference_alone(examiner):
    before = attnspec_reference.softmax
    try_mutant(next(mutant for mutant in MUTANTS if mutant.module == "precision"), examiner)
    from attnspec_reference import softmax

    assert softmax is before
    suite = replace(examiner.suite, cases=dict(list(examiner.suite.cases.items())[:20]))
    from attnspec.targets import load

    assert not any(result.is_wrong for result in run_suite(suite, load("reference")))


def test_every_mutant_has_an_id_of_its_own():
    assert len({mutant.id for mutant in MUTANTS}) == len(MUTANTS) > 1500


def test_what_is_listed_as_equivalent_exists():
    assert sorted(EQUIVALENTS.keys() - {mutant.id for mutant in MUTANTS}) == []
    assert all(reason.endswith(".") for reason in EQUIVALENTS.values())


def test_a_mutant_listed_twice_is_refused(tmp_path):
    entry = '[[equivalent]]\nreason = "It is."\nmutants = ["a.b: c -> d"]\n'
    (tmp_path / "list.toml").write_text(entry * 2)
    with pytest.raises(ValueError, match="twice"):
        read_equivalents(tmp_path / "list.toml")


@pytest.mark.parametrize(
    "change",
    [
        "None -> 0",
        "-1 -> 0",
        "-1 -> -2",
        "-1 -> 1",
        "x is None or x < 2 -> not (x is None or x < 2)",
        "x is None or x < 2 -> False",
        "x is None or x < 2 -> x is None and x < 2",
        "x is None or x < 2 -> x < 2",
        "x is None -> x is not None",
        "x < 2 -> x <= 2",
        "x < 2 -> x >= 2",
        "2 -> 3",
        "y = np.max(x, axis, keepdims=True) -> pass",
        "np.max -> np.min",
        "np.max(x, axis, keepdims=True) -> np.max(axis, x, keepdims=True)",
        "np.max(x, axis, keepdims=True) -> np.max(x, axis)",
        "np.max(x, axis, keepdims=True) -> x",
        "True -> False",
        "y[..., :axis] * x -> y[..., :axis] / x",
        "y[..., :axis] * x -> x",
        "y[..., :axis] -> y[..., :]",
        "y[..., :axis] -> y",
    ],
)
def test_one_spot_is_changed(change):
    assert change in changes()


@pytest.mark.parametrize("untouched", ["Docstring", "x - 1", "x + 1", "int | None", "message"])
def test_words_and_types_stay(untouched):
    assert not any(untouched in change for change in changes())


def test_the_source_holds_the_change_and_nothing_else():
    changed = {mutant.id: mutant.source for mutant in mutants_of("m", SOURCE)}
    assert changed["m.f: x < 2 -> x <= 2"] == SOURCE.replace("x < 2", "(x <= 2)")
    assert changed["m.f: y = np.max(x, axis, keepdims=True) -> pass"] == SOURCE.replace(
        "y = np.max(x, axis, keepdims=True)", "pass"
    )
