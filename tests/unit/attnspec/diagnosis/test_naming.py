"""Naming mistakes that an engine makes which shares no code with the catalogue."""

from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

import attnspec
from attnspec_mistakes import CATALOGUE

CLAUSES = {mistake.id: mistake.clause for mistake in CATALOGUE}

SAMPLE = [
    "softmax.last_axis_always",
    "causal_mask.own_position_excluded",
    "split_heads.interleaved",
    "combine_heads.not_transposed",
    "sdpa.scale_missing",
    "sdpa.heads_tiled",
    "sdpa.mask_subtracted",
    "sdpa.causal_one_ahead",
    "sdpa.fully_masked_row_nan",
    "single_head.output_projection_missing",
    "multi_head.value_bias_dropped",
    "multi_head.combine_interleaved",
    "context_vector.scale_missing",
]

PAIRS = [
    ("sdpa.causal_one_ahead", "sdpa.heads_tiled"),
    ("sdpa.scale_missing", "sdpa.mask_subtracted"),
    ("sdpa.causal_strict", "sdpa.boolean_mask_inverted"),
    ("multi_head.split_not_transposed", "multi_head.scale_missing"),
    ("single_head.softmax_over_queries", "single_head.scale_missing"),
    ("context_vector.scale_missing", "context_vector.weights_on_features"),
]


def test_the_engine_is_right_without_mistakes(engine):
    import attnspec

    requested = engine(steps=True)
    assert attnspec.validate(requested, dtypes="float64").wrong == ()
    assert attnspec.validate(engine(unfused=True), dtypes="bfloat16", profile=["core", "layout"]).wrong == ()
    assert len(requested.known & CLAUSES.keys()) >= 100


def named_in():
    """Every mistake of the sample in three dtypes; most are proofs, which take their time."""
    for number, mistake in enumerate(SAMPLE):
        yield pytest.param(mistake, "float64", id=mistake, marks=() if number % 2 == 0 else pytest.mark.proof)
        for dtype in () if mistake.startswith("causal_mask") else ("float32", "bfloat16"):
            quick = mistake == "context_vector.scale_missing"
            yield pytest.param(mistake, dtype, id=f"{mistake}-{dtype}", marks=() if quick else pytest.mark.proof)


@pytest.mark.parametrize(("mistake", "dtype"), [*named_in()])
def test_the_mistake_is_named_first_and_nothing_else_without_it(mistake, dtype, diagnosis_of):
    first = diagnosis_of(mistake, dtype=dtype)[0]
    assert first.mistake == mistake
    assert first.clause == CLAUSES[mistake]
    assert first.sentence
    assert first.remedy
    assert 0 < first.explains <= first.of
    other = diagnosis_of(mistake, without=frozenset({mistake}), dtype=dtype)[0]
    assert other.mistake != mistake
    assert other.clause in (None, CLAUSES[mistake])
    assert other.facts


@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_of_two_mistakes_at_once_no_other_is_named(pair, diagnosis_of):
    entries = diagnosis_of(*pair)
    named = {entry.mistake for entry in entries} - {"unknown"}
    assert named <= set(pair)
    assert {entry.clause for entry in entries if entry.certainty == "it is"} <= {CLAUSES[mistake] for mistake in pair}
    assert entries[0].explains >= entries[-1].explains


def test_two_mistakes_that_meet_in_few_cases_are_both_named_each_with_its_own(diagnosis_of):
    entries = diagnosis_of("sdpa.causal_one_ahead", "sdpa.heads_tiled")
    assert {entry.mistake: entry.certainty for entry in entries} == {
        "sdpa.causal_one_ahead": "it is",
        "sdpa.heads_tiled": "it is",
    }
    assert sum(entry.explains for entry in entries) <= entries[0].of


def test_a_mistake_that_would_break_passing_cases_is_a_hint_and_no_name(diagnosis_with):
    from attnspec.reports.entries import diagnosis_lines
    from attnspec.reports.report import diagnosis_to_json
    from attnspec_reference import scaled_dot_product_attention

    def without_causality_in_grouped_heads(output, **arguments):
        if not arguments.get("is_causal") or arguments["query"].shape[1] == arguments["key"].shape[1]:
            return output
        arguments.pop("is_causal")
        return scaled_dot_product_attention(**arguments).output

    entry = diagnosis_with(without_causality_in_grouped_heads)
    assert entry.mistake == "unknown"
    hint = next(candidate for candidate in entry.candidates if candidate.mistake.id == "sdpa.causal_ignored")
    assert hint.reproduced > 0 < hint.contradicted
    said = diagnosis_lines(diagnosis_to_json(entry))
    assert any("(alone, this mistake, sdpa.causal_ignored, gives" in line for line in said)
    assert any("but would break cases that pass" in line for line in said)


def test_mistakes_that_the_output_cannot_distinguish_are_both_named(diagnosis_of):
    """Swapping the weight matrices of query and key transposes the scores: only the scores' inputs would show it."""
    entries = diagnosis_of("single_head.scores_transposed")
    assert {entry.mistake for entry in entries} == {
        "single_head.scores_transposed",
        "single_head.query_and_key_weights_swapped",
    }


def test_the_steps_distinguish_them(diagnosis_of):
    entries = diagnosis_of("single_head.scores_transposed", steps=True)
    assert [entry.mistake for entry in entries] == ["single_head.scores_transposed"]


def test_a_mistake_in_an_output_that_is_not_expected_is_named(diagnosis_of):
    entries = diagnosis_of("sdpa.logsumexp_base_two", steps=True)
    assert [entry.mistake for entry in entries] == ["sdpa.logsumexp_base_two"]


def test_nothing_is_diagnosed_where_nothing_fails(engine):
    import attnspec

    assert attnspec.validate(engine(), select="causal/*").diagnosis == ()


def test_what_a_mistake_leaves_over_is_reported_as_unknown(diagnosis_of):
    """NaN in rows without keys comes on top of another mistake: the first is named, and the rest is not lost."""
    entries = diagnosis_of("sdpa.weights_not_normalised", "sdpa.fully_masked_row_nan")
    assert [entry.mistake for entry in entries] == ["sdpa.weights_not_normalised", "unknown"]
    first, rest = entries
    assert first.explains + rest.explains <= first.of == rest.of
    assert "Every wrong number is NaN." in rest.facts
    assert (rest.undeclared.convention, rest.undeclared.choice) == ("fully_masked_row", "nan")


def test_rounding_too_coarsely_is_no_mistake_that_leaves_the_case_as_it_is(engine):
    """In half precision wrong numbers lie near right ones: many mistakes give those in cases that they do not touch."""
    import ml_dtypes

    import attnspec

    class Coarse(engine):
        def scaled_dot_product_attention(self, query, key, value, **arguments):
            output = super().scaled_dot_product_attention(query, key, value, **arguments)
            return output.astype(ml_dtypes.bfloat16).astype(output.dtype)

    report = attnspec.validate(Coarse(), profile="core", dtypes="float16")
    assert report.wrong
    assert [entry.mistake for entry in report.diagnosis] == ["unknown"]


def test_a_convention_that_is_not_kept_is_no_mistake(engine):
    """The catalogue is normative: where nothing but a declared alternative is wrong, it says nothing."""
    import attnspec

    report = attnspec.validate(
        engine(), profile="masking", dtypes="float64", conventions={"fully_masked_row": "uniform"}
    )
    assert report.wrong
    assert [entry.mistake for entry in report.diagnosis] == ["unknown"]
    assert "Every wrong number is 0." in report.diagnosis[0].facts


def test_a_declared_convention_that_is_not_kept_names_no_mistake(engine):
    import attnspec

    class NanUnderFloatMasks(engine):
        """Declares the mean of all values for a query without keys, and gives NaN."""

        conventions: ClassVar = {"fully_masked_row": "uniform"}

        def scaled_dot_product_attention(self, query, key, value, **arguments):
            output = super().scaled_dot_product_attention(query, key, value, **arguments)
            if "mask" in arguments:
                output[..., 1, :] = np.nan
            return output

    (entry,) = attnspec.validate(NanUnderFloatMasks(), select=["masking/dead_row_float", "core/plain"]).diagnosis
    assert entry.mistake == "unknown"
    assert not any(fact.startswith("Alone, ") for fact in entry.facts)
    assert not any("NaN or infinity among the inputs" in fact for fact in entry.facts)


def test_memory_that_is_misread_is_named():
    """The numbers of such a mistake depend on how the inputs lie in memory: it must get them as the case did."""
    from types import SimpleNamespace

    import attnspec

    def in_the_order_of_memory(x, axis=-1):
        x = np.array(x.ravel(order="K")).reshape(x.shape)
        exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
        return exponentials / exponentials.sum(axis=axis, keepdims=True)

    own = SimpleNamespace(softmax=in_the_order_of_memory)
    report = attnspec.validate(own, select=["memory/softmax_*", "layout/softmax_*"], dtypes="float64")
    (entry,) = report.diagnosis
    assert (entry.mistake, entry.clause) == ("softmax.strides_ignored", "softmax.memory_layout")
    assert entry.explains == entry.of == len(report.wrong) > 0


def test_what_is_graded_by_its_properties_has_a_diagnosis_without_a_mistake():
    constant = SimpleNamespace(glorot_normal=lambda fan_in, fan_out, seed: np.full((fan_in, fan_out), 0.5))
    report = attnspec.validate(constant)
    assert {entry.mistake for entry in report.diagnosis} == {"unknown"}
