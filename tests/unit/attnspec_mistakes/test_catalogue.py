"""The catalogue: every mistake says what it is in words that the specification knows, and is a mistake of its own.

That each is noticed, by which cases and in which dtypes, is the business of ``tests/unit/attnspec_authoring/proof``.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from itertools import product
from pathlib import Path
from types import ModuleType

import ml_dtypes
import numpy as np
import pytest

import attnspec_reference
from attnspec.contract import OPERATIONS as CONTRACT
from attnspec.contract.arrangement import Circumstances
from attnspec.contract.declarations import CHOICES
from attnspec.families.lookup import family_of
from attnspec_mistakes import CATALOGUE, mistakes_of
from attnspec_mistakes.kill_matrix import KEPT_IN, NOTICED, noticed_cases
from attnspec_mistakes.mistake import mistakes_in
from attnspec_mistakes.patches import by_name

ROOT = Path(__file__).resolve().parents[3]
CLAUSES = {
    clause
    for page in (ROOT / "spec" / "operations").glob("*/*.md")
    for clause in re.findall(r"^- `([a-z0-9_.]+)` — ", page.read_text(encoding="utf-8"), re.MULTILINE)
}
ERRATA = set(
    re.findall(r"^### `(E\d+\.\w+)` — ", (ROOT / "spec" / "errata.md").read_text(encoding="utf-8"), re.MULTILINE)
)
CHANGES_DTYPE = {
    "absorbed.output_not_narrowed",
    "latent.output_not_narrowed",
    "sdpa.output_in_float64",
    "sdpa.output_not_narrowed",
    "sdpa_backward.gradients_in_float64",
    "sdpa_backward.values_in_float32",
}
OPERATIONS = sorted({mistake.operation for mistake in CATALOGUE})


def copied(arguments):
    return {name: value.copy() if isinstance(value, np.ndarray | list) else value for name, value in arguments.items()}


def laid_out(mistake, arguments):
    """The arguments as a mistake takes them that is made in some layouts alone, or None where it has none for them."""
    if mistake.layout is None:
        return copied(arguments)
    inputs = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
    attributes = {name: value for name, value in arguments.items() if name not in inputs}
    layout = family_of(mistake.operation).layouts()[mistake.layout]
    repacked = layout(mistake.operation, copied(inputs), attributes, Circumstances())
    return None if isinstance(repacked, str) else copied({**repacked.inputs, **repacked.attributes})


def outcome(mistake, arguments):
    """What a mistake gives by name, or None where the shapes do not allow it."""
    given = laid_out(mistake, arguments)
    if given is None:
        return None
    try:
        with np.errstate(all="ignore"):
            return by_name(mistake.function(**given))
    except (ArithmeticError, IndexError, ValueError):
        return None


def reference(mistake, arguments):
    given = laid_out(mistake, arguments)
    if given is None:
        return None
    there = attnspec_reference.IN_LAYOUT.get(mistake.layout, {})
    return by_name(there.get(mistake.operation, getattr(attnspec_reference, mistake.operation))(**given))


def in_dtype(arguments, dtype):
    """The same arguments, float tensors in another dtype."""
    return {
        name: value.astype(dtype) if getattr(value, "dtype", None) == np.float64 else value
        for name, value in copied(arguments).items()
    }


def test_the_catalogue_is_complete_and_its_ids_are_unique():
    ids = [mistake.id for mistake in CATALOGUE]
    assert len(ids) >= 170
    assert sorted(set(ids)) == sorted(ids)
    assert sum(len(mistakes_of(operation)) for operation in attnspec_reference.__all__) == len(ids)


@pytest.mark.parametrize(
    ("texts", "functions", "named"),
    [
        (["softmax.a", "softmax.b"], ["softmax.a"], "softmax.b"),
        (["softmax.a"], ["softmax.a", "softmax.c"], "softmax.c"),
        (["softmax.a", "softmax.b"], ["softmax.b", "softmax.a"], "their order"),
    ],
)
def test_a_text_has_a_function_and_a_function_a_text_in_the_same_order(tmp_path, texts, functions, named):
    words = dict.fromkeys(("clause", "sentence", "engineer", "remedy"), "Words.")
    module = ModuleType("softmaxes")
    module.__file__ = str(tmp_path / "softmaxes.py")
    (tmp_path / "softmaxes.json").write_text(json.dumps(dict.fromkeys(texts, words)))
    module.FUNCTIONS = dict.fromkeys(texts, dict)
    assert [mistake.id for mistake in mistakes_in(module)] == texts
    module.FUNCTIONS = dict.fromkeys(functions, dict)
    with pytest.raises(ValueError, match=f"softmaxes.json and FUNCTIONS of softmaxes differ in {named}:"):
        mistakes_in(module)


def test_texts_lie_one_field_a_line():
    files = sorted((ROOT / "reference_impl" / "attnspec_mistakes").glob("*/**/*.json"))
    assert len(files) > 20
    for path in files:
        text = path.read_text("utf-8")
        assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n", path


def test_every_operation_has_mistakes():
    of_layouts = {function.__name__ for there in attnspec_reference.IN_LAYOUT.values() for function in there.values()}
    operations = {name for name in attnspec_reference.__all__ if name.islower()} - of_layouts
    assert {mistake.operation for mistake in CATALOGUE} == operations


def test_a_mistake_bears_the_name_of_its_operation_and_of_a_clause_of_it():
    for mistake in CATALOGUE:
        short_name = CONTRACT[mistake.operation].short_name
        assert re.fullmatch(rf"{short_name}\.[a-z0-9_]+", mistake.id)
        assert mistake.clause.startswith(f"{short_name}.")
        assert mistake.clause in CLAUSES, mistake.id


def test_a_mistake_refers_to_what_exists():
    for mistake in CATALOGUE:
        assert mistake.erratum is None or mistake.erratum in ERRATA, mistake.id
        assert mistake.source is None or mistake.source.startswith("https://"), mistake.id


def test_a_convention_that_a_remedy_names_can_be_declared():
    named = [found for mistake in CATALOGUE for found in re.findall(r"convention (\w+)=([^ .]+)", mistake.remedy)]
    assert len(named) > 5
    assert not [(name, choice) for name, choice in named if choice not in CHOICES[name]]


def test_a_mistake_is_reported_in_three_plain_sentences():
    for mistake in CATALOGUE:
        for sentence in (mistake.sentence, mistake.engineer, mistake.remedy):
            assert sentence.endswith("."), mistake.id
            assert 15 < len(sentence) < 120, (mistake.id, sentence)
        assert re.match(r"[A-Z0-9]|float64|present_key", mistake.sentence), mistake.id
        assert mistake.engineer not in (mistake.sentence, mistake.remedy), mistake.id


def test_no_two_mistakes_of_an_operation_say_the_same_to_a_student():
    alike = Counter((mistake.operation, mistake.sentence) for mistake in CATALOGUE)
    assert [reported for reported, count in alike.items() if count > 1] == []


def test_a_mistake_must_show_in_a_dtype_that_exists():
    for mistake in CATALOGUE:
        assert mistake.shows_in, mistake.id
        assert set(mistake.shows_in) <= {"float64", "float32", "float16", "bfloat16"}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_a_mistake_keeps_the_dtype_of_its_inputs_and_the_inputs(operation, dtype, probes):
    for mistake, probe in product(mistakes_of(operation), probes[operation][:3]):
        arguments = laid_out(mistake, in_dtype(probe, dtype))
        if arguments is None:
            continue
        given = arguments.copy()
        before = copied(arguments)
        try:
            with np.errstate(all="ignore"):
                returned = by_name(mistake.function(**arguments))
        except (ArithmeticError, IndexError, ValueError):
            continue
        unchanged = all(same(given[name], value) for name, value in before.items())
        assert unchanged or mistake.clause.endswith(".inputs_unchanged"), mistake.id
        has_floats = any(getattr(value, "dtype", None) == np.float64 for value in probe.values())
        if has_floats and mistake.id not in CHANGES_DTYPE:
            assert {array.dtype for array in returned.values()} <= {np.dtype(dtype)}, mistake.id


def same(given, before):
    """Whether an argument holds what it did before, NaN included."""
    return given.tobytes() == before.tobytes() if isinstance(before, np.ndarray) else given == before


def test_a_mistake_names_its_outputs_as_the_reference_does(probes):
    for mistake in CATALOGUE:
        probe = probes[mistake.operation][0]
        given = outcome(mistake, probe)
        assert given is None or list(given) == list(reference(mistake, probe)), mistake.id


@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_two_mistakes_are_one(operation, probes):
    """Two mistakes that agree to the last bit on every probe could never be distinguished."""
    prints = {}
    for mistake in mistakes_of(operation):
        if mistake.begin is None and mistake.clause not in UNSEEN_ON_PROBES and "float64" in mistake.shows_in:
            prints[mistake.id] = tuple(fingerprint(outcome(mistake, probe)) for probe in probes[operation])
    one_of_each = {mistake.layout: mistake for mistake in mistakes_of(operation)}
    right = {
        layout: tuple(fingerprint(reference(mistake, copied(probe))) for probe in probes[operation])
        for layout, mistake in one_of_each.items()
    }
    layout = {mistake.id: mistake.layout for mistake in mistakes_of(operation)}
    unseen = [identifier for identifier, seen in prints.items() if seen == right[layout[identifier]]]
    # Long rows, half precision or sizes that meet a block: some mistakes show in golden cases alone.
    noticed = {mistake for dtype in KEPT_IN for mistake, cases in noticed_cases(operation, dtype).items() if cases}
    assert [identifier for identifier in unseen if identifier not in noticed] == [], (
        f"no probe shows it, nor a case in {NOTICED.name}; run `attnspec mistakes --matrix --write-noticed`"
    )
    alike = Counter((layout[identifier], seen) for identifier, seen in prints.items() if identifier not in unseen)
    assert [identifier for identifier, seen in prints.items() if alike[layout[identifier], seen] > 1] == []


UNSEEN_ON_PROBES = {
    # What these break is no number of the outputs, or an input that no probe holds.
    *(
        clause
        for clause in CLAUSES
        if ".rejects." in clause or ".quantized." in clause or clause.endswith((".inputs_unchanged", ".memory_layout"))
    ),
}


def fingerprint(outputs):
    """Numbers and shapes of outputs, to about ten digits, or None where there were none."""
    if outputs is None:
        return None
    return tuple(
        (name, array.shape, " ".join(map("{:.9e}".format, np.asarray(array, dtype=float).ravel().tolist())))
        for name, array in outputs.items()
    )


def test_a_mistake_that_remembers_begins_anew_each_time():
    remembering = [mistake for mistake in CATALOGUE if mistake.begin is not None]
    clauses = {mistake.clause for mistake in remembering}
    assert clauses == {clause for clause in CLAUSES if clause.endswith(".repeatable")} | {"glorot_normal.seed"}
    for mistake in remembering:
        assert mistake.begin() is not mistake.begin()


@pytest.mark.parametrize("mistake", [m for m in CATALOGUE if m.clause.endswith(".repeatable")], ids=lambda m: m.id)
def test_a_mistake_that_remembers_is_right_when_it_is_called_first(mistake, probes):
    begun = mistake.begin()
    for probe in probes[mistake.operation]:
        right = reference(mistake, copied(probe))
        first = by_name(mistake.begin()(**copied(probe)))
        assert all(np.array_equal(first[name], array, equal_nan=True) for name, array in right.items())
        # What was remembered of another probe may not fit this one: it may be refused, but never the first time.
        with suppress(ValueError):
            begun(**copied(probe))


def test_importing_the_catalogue_needs_numpy_alone():
    script = (
        "import sys, attnspec_reference; before = set(sys.modules); import attnspec_mistakes; "
        "new = {name.split('.')[0] for name in set(sys.modules) - before}; "
        "print(*(new - {'attnspec_reference', 'attnspec_mistakes'} - set(sys.stdlib_module_names)))"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == ""
