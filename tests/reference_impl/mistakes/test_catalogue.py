"""The catalogue: every mistake is one, and says what it is in words that the specification knows."""

import re
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import attnspec_reference
from attnspec_reference.departures import by_name
from attnspec_reference.mistakes import CATALOGUE, mistakes_of

ROOT = Path(__file__).resolve().parents[3]
SHORT_NAMES = {
    "scaled_dot_product_attention": "sdpa",
    "single_head_attention": "single_head",
    "multi_head_attention": "multi_head",
}
CLAUSES = {
    clause
    for page in (ROOT / "spec" / "operations").glob("*.md")
    for clause in re.findall(r"^- `([a-z0-9_.]+)` — ", page.read_text(encoding="utf-8"), re.MULTILINE)
}
ERRATA = set(
    re.findall(r"^### `(E\d+\.\w+)` — ", (ROOT / "spec" / "errata.md").read_text(encoding="utf-8"), re.MULTILINE)
)
each_mistake = pytest.mark.parametrize("mistake", CATALOGUE, ids=lambda mistake: mistake.id)


def outcome(mistake, arguments):
    """What a mistake gives by name, or None where the shapes do not allow it."""
    try:
        return by_name(mistake.function(**arguments))
    except ValueError:
        return None


def reference(mistake, arguments):
    return by_name(getattr(attnspec_reference, mistake.operation)(**arguments))


def differs(given, wanted, tolerance):
    return given.shape != wanted.shape or not np.allclose(
        given.astype(float), wanted.astype(float), rtol=tolerance, atol=tolerance, equal_nan=True
    )


def in_dtype(arguments, dtype):
    """The same arguments, float tensors in another dtype."""
    return {
        name: value.astype(dtype) if getattr(value, "dtype", None) == np.float64 else value
        for name, value in arguments.items()
    }


def test_the_catalogue_is_complete_and_its_ids_are_unique():
    ids = [mistake.id for mistake in CATALOGUE]
    assert len(ids) > 100
    assert sorted(set(ids)) == sorted(ids)
    assert sum(len(mistakes_of(operation)) for operation in attnspec_reference.__all__) == len(ids)
    assert mistakes_of("glorot_normal") == ()


@each_mistake
def test_a_mistake_bears_the_name_of_its_operation_and_of_a_clause_of_it(mistake):
    short_name = SHORT_NAMES.get(mistake.operation, mistake.operation)
    assert re.fullmatch(rf"{short_name}\.[a-z0-9_]+", mistake.id)
    assert mistake.clause.startswith(f"{short_name}.")
    assert mistake.clause in CLAUSES


@each_mistake
def test_a_mistake_refers_to_what_exists(mistake):
    assert mistake.erratum is None or mistake.erratum in ERRATA
    assert mistake.source is None or mistake.source.startswith("https://")


@each_mistake
def test_a_mistake_is_told_in_two_plain_sentences(mistake):
    for sentence in (mistake.sentence, mistake.remedy):
        assert re.match(r"[A-Z]", sentence)
        assert sentence.endswith(".")
        assert 15 < len(sentence) < 120


@each_mistake
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_mistake_differs_from_the_reference(mistake, dtype, probes):
    different = set()
    for probe in probes[mistake.operation]:
        arguments = in_dtype(probe, dtype)
        given, wanted = outcome(mistake, arguments), reference(mistake, arguments)
        different |= {name for name in given or () if differs(given[name], wanted[name], 1e-3)}
    assert different
    later_steps_only = {"sdpa.logsumexp_without_maximum", "sdpa.logsumexp_base_two"}
    only_returned = {"single_head.weights_overwrite_scores", "multi_head.weights_averaged"}
    if mistake.id not in later_steps_only | only_returned:
        assert next(iter(wanted)) in different


@each_mistake
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_a_mistake_keeps_the_dtype_of_its_inputs_and_the_inputs(mistake, dtype, probes):
    for probe in probes[mistake.operation]:
        arguments = in_dtype(probe, dtype)
        before = {name: np.copy(value) for name, value in arguments.items()}
        given = outcome(mistake, arguments)
        assert all(np.array_equal(arguments[name], value, equal_nan=False) for name, value in before.items())
        if mistake.operation != "causal_mask":
            assert {array.dtype for array in (given or {}).values()} <= {np.dtype(dtype)}


@each_mistake
def test_a_mistake_names_its_outputs_as_the_reference_does(mistake, probes):
    probe = probes[mistake.operation][0]
    given = outcome(mistake, probe)
    assert given is None or list(given) == list(reference(mistake, probe))


def test_no_two_mistakes_are_one(probes):
    """Two mistakes that agree on every probe could never be told apart."""
    alike = []
    for operation in probes:
        outcomes = {
            mistake.id: [outcome(mistake, probe) for probe in probes[operation]] for mistake in mistakes_of(operation)
        }
        names = list(outcomes)
        alike += [
            {first, second}
            for i, first in enumerate(names)
            for second in names[i + 1 :]
            if all(
                (a is None) == (b is None) and (a is None or all(not differs(a[name], b[name], 1e-9) for name in a))
                for a, b in zip(outcomes[first], outcomes[second], strict=True)
            )
        ]
    assert alike == []


def test_importing_the_catalogue_needs_numpy_alone():
    script = (
        "import sys, attnspec_reference; before = set(sys.modules); import attnspec_reference.mistakes; "
        "new = {name.split('.')[0] for name in set(sys.modules) - before}; "
        "print(*(new - {'attnspec_reference'} - set(sys.stdlib_module_names)))"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == ""
