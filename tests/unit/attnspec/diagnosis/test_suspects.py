"""What failures without a name point at: mistakes that the catalogue does not hold, reported by the clause."""

from types import SimpleNamespace

import numpy as np
import pytest

import attnspec
from attnspec.cases import load_suite
from attnspec.diagnosis import UNKNOWN, diagnose, suspects
from attnspec.reports.entries import diagnosis_lines
from attnspec.reports.report import diagnosis_to_json
from attnspec_mistakes.labelled_mistakes import Judged, judged_cases
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention as reference


def a_third_of_the_width(query, arguments):
    return arguments | {"scale": arguments.get("scale", 3.0 / query.shape[-1])}


def half_the_softcap(_query, arguments):
    return arguments | ({"softcap": arguments["softcap"] / 2} if arguments.get("softcap") else {})


def a_wider_window(_query, arguments):
    left, right = arguments.get("window") or (None, None)
    return arguments | ({} if left is None else {"window": [left + 3, right]})


def steeper_slopes(_query, arguments):
    return arguments | ({"alibi_slopes": 1.7 * arguments["alibi_slopes"]} if "alibi_slopes" in arguments else {})


def sinks_of_another_base(_query, arguments):
    return arguments | ({"sinks": 0.6 * arguments["sinks"]} if "sinks" in arguments else {})


def longer_keys(_query, arguments):
    return arguments | ({"key_lengths": arguments["key_lengths"] + 2} if "key_lengths" in arguments else {})


STRANGE = {
    a_third_of_the_width: "sdpa.scale.default",
    half_the_softcap: "sdpa.softcap.definition",
    a_wider_window: "sdpa.window.left",
    steeper_slopes: "sdpa.alibi.distance",
    sinks_of_another_base: "sdpa.sinks.denominator",
    longer_keys: "sdpa.key_lengths.exclusion",
}


@pytest.mark.parametrize("steps", [False, pytest.param(True, marks=pytest.mark.proof)], ids=["output", "all_outputs"])
@pytest.mark.parametrize("change", [*STRANGE], ids=lambda change: change.__name__)
def test_a_parameter_that_no_list_holds_points_at_its_clause(change, steps, diagnosis_of_changed):
    first, *_ = diagnosis_of_changed(change, steps=steps)
    assert first.mistake == UNKNOWN
    assert first.clause is None
    assert first.certainty in ("most likely", "one of these")
    assert first.suspects[0].clause == STRANGE[change]
    assert first.suspects[0].is_reported
    assert STRANGE[change] in diagnosis_lines(diagnosis_to_json(first))[0]
    assert [suspect.likeness for suspect in first.suspects] == sorted(
        (suspect.likeness for suspect in first.suspects), reverse=True
    )


def test_nothing_that_is_right_is_accused(diagnosis_of_changed):
    assert diagnosis_of_changed(lambda _query, arguments: arguments) == ()


def test_the_cases_that_a_suspect_shares_are_counted(diagnosis_of_changed):
    first, *_ = diagnosis_of_changed(a_third_of_the_width)
    suspect = first.suspects[0]
    assert 0 < suspect.shared <= suspect.failing
    assert suspect.mistake in {mistake.id for mistake in attnspec_mistakes_of_scale()}


def attnspec_mistakes_of_scale():
    from attnspec_mistakes import CATALOGUE

    return [mistake for mistake in CATALOGUE if mistake.clause == "sdpa.scale.default"]


@pytest.mark.parametrize(("shared", "moves"), [(True, True), (False, False)], ids=["same_cases", "other_cases"])
def test_an_implementation_of_a_stranger_that_fails_the_same_cases_speaks_for_its_clause(shared, moves, monkeypatch):
    """Of those that nobody judged, the catalogue alone decides; then one stranger broke the second of its clauses."""
    monkeypatch.setattr(suspects, "judged_implementations", lambda _operation: ())
    alone = attnspec.validate(RaisesToAPower()).diagnosis[0]
    first, second, *_ = [suspect.clause for suspect in alone.suspects]
    results = attnspec.validate(RaisesToAPower()).results
    failing = frozenset(result.case.id for result in results if result.is_wrong)
    cases = failing if shared else judged_cases("softmax") - failing
    stranger = Judged("batch_0/one", (second,), cases)
    monkeypatch.setattr(suspects, "judged_implementations", lambda _operation: (stranger,))
    beside = attnspec.validate(RaisesToAPower()).diagnosis[0]
    assert beside.suspects[0].clause == (second if moves else first)
    assert all(0 <= suspect.likeness <= 1 for suspect in (*alone.suspects, *beside.suspects))


def test_cases_of_another_folder_are_compared_by_the_clauses_that_they_list(tmp_path):
    """Of cases that nobody tried the mistakes on, nothing is known but what they are about."""
    shipped = load_suite(profiles=("core", "masking"))
    for case in shipped.cases:
        position = tmp_path / f"{case}_of_mine.json"
        position.parent.mkdir(exist_ok=True)
        text = (shipped.folder / f"{case}.json").read_text(encoding="utf-8")
        position.write_text(text.replace(f'"id": "{case}"', f'"id": "{case}_of_mine"'), encoding="utf-8")

    class Doubled:
        dtypes = ("float64",)

        def scaled_dot_product_attention(self, query, key, value, mask=None):
            scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
            if mask is not None:
                scores = scores + (np.where(mask, 0.0, 2.0) if mask.dtype == bool else mask)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            return weights / weights.sum(-1, keepdims=True) @ value

    first = attnspec.validate(Doubled(), golden=tmp_path).diagnosis[0]
    assert first.suspects[0].clause == "sdpa.mask.boolean"


class Plain:
    """Softmax alone, with something that no number shows."""

    dtypes = ("float64",)

    def softmax(self, x, axis=-1):
        x = np.asarray(x)
        shifted = np.exp(x - x.max(axis, keepdims=True)) if x.size else x
        return shifted / shifted.sum(axis, keepdims=True)


class RaisesToAPower(Plain):
    def softmax(self, x, axis=-1):
        result = super().softmax(x, axis)
        return result**1.1


class EditsItsInput(Plain):
    def softmax(self, x, axis=-1):
        result = super().softmax(x, axis)
        if x.flags.writeable:
            x *= 2.0
        return result


class HandsOutOneBuffer(Plain):
    def __init__(self):
        self.buffers = {}

    def softmax(self, x, axis=-1):
        result = super().softmax(x, axis)
        buffer = self.buffers.setdefault(result.shape, np.empty(result.shape))
        buffer[...] = result
        return buffer


class ReadsInTheOrderOfMemory(Plain):
    def softmax(self, x, axis=-1):
        return super().softmax(x.ravel("K").reshape(x.shape) if x.ndim else x, axis)


class CutsWhatIsLeft:
    """Heads of a width that does not go up are taken, and what is left is dropped."""

    dtypes = ("float64",)

    def split_heads(self, x, num_heads):
        width = x.shape[-1] // num_heads
        return x[..., : width * num_heads].reshape(*x.shape[:2], num_heads, width).transpose(0, 2, 1, 3)


@pytest.mark.parametrize(
    ("implementation", "clause", "certainty"),
    [
        (EditsItsInput, "softmax.inputs_unchanged", "it is"),
        (HandsOutOneBuffer, "softmax.repeatable", "it is"),
        (ReadsInTheOrderOfMemory, "softmax.memory_layout", "it is"),
        (CutsWhatIsLeft, "split_heads.rejects.divisible", "it is"),
    ],
)
def test_what_a_check_says_is_reported_as_the_clause(implementation, clause, certainty):
    first = attnspec.validate(implementation()).diagnosis[0]
    reported = first.clause or first.suspects[0].clause
    assert (reported, first.certainty) == (clause, certainty)
    assert clause in " ".join(diagnosis_lines(diagnosis_to_json(first))[:2])


def test_errors_point_at_a_clause_too():
    class NoCapsPlease(Plain):
        def softmax(self, x, axis=-1):
            if axis is None:
                raise TypeError("an axis is needed")
            return super().softmax(x, axis)

    first = attnspec.validate(NoCapsPlease()).diagnosis[0]
    assert first.suspects[0].clause == "softmax.axis.whole"


def test_no_failure_has_no_diagnosis():
    assert diagnose(()) == ()


PROFILES = ("core", "masking", "cache", "logsumexp")


def changed(output, change):
    """Return attention that is right but for one of its outputs."""

    def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, **others):
        given = reference(query, key, value, mask, past_key, past_value, **others)._asdict()
        return given | {output: change(given[output])}

    return SimpleNamespace(scaled_dot_product_attention=scaled_dot_product_attention)


@pytest.mark.parametrize(
    ("output", "change", "clause"),
    [
        ("weights", np.sqrt, "sdpa.weights"),
        ("logsumexp", lambda array: array + 0.25, "sdpa.logsumexp"),
        ("present_key", lambda array: array[:, :, ::-1], "sdpa.past.present"),
        ("scores", lambda array: 2 * array, "sdpa.scores"),
    ],
)
def test_an_output_that_alone_is_wrong_points_at_its_clause(output, change, clause):
    first, *_ = attnspec.validate(changed(output, change), profile=PROFILES).diagnosis
    reported = [suspect.clause for suspect in first.suspects if suspect.is_reported]
    assert clause in (first.clause, *reported[:1])


def test_a_wrong_first_output_is_not_blamed_on_the_others():
    first, *_ = attnspec.validate(changed("output", lambda array: 3 * array), profile=PROFILES).diagnosis
    assert "sdpa.logsumexp" not in [suspect.clause for suspect in first.suspects if suspect.is_reported]
