"""What strangers made wrong, and what is reported to them: the clause first, and no surer than it may be."""

import math
from functools import cache
from typing import ClassVar

import numpy as np
import pytest

import attnspec
from attnspec.reports.entries import diagnosis_lines
from attnspec.reports.report import diagnosis_to_json

PROFILES = ("core", "masking", "causal", "window", "softcap", "logsumexp", "grouped_query", "stress", "nonfinite")


class TextbookAttention:
    """Scaled dot-product attention with masks, causality, windows, a softcap and grouped heads, and nothing else.

    Each method is a step; a mistaken implementation replaces one of them.
    """

    dtypes = ("float64",)
    conventions: ClassVar = {"masked_nonfinite": "propagates"}
    all_outputs = False

    def default_scale(self, width):
        return 1 / math.sqrt(width)

    def dot_products(self, query, key):
        return query @ np.swapaxes(key, -1, -2)

    def capped(self, scores, softcap):
        return softcap * np.tanh(scores / softcap)

    def in_window(self, distance, window):
        left, right = window
        reached = np.ones(distance.shape, bool)
        if left is not None:
            reached &= distance <= left
        if right is not None:
            reached &= -distance <= right
        return reached

    def masked(self, scores, mask):
        return np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask

    def weighed(self, logits):
        """Return weights, where a row without keys holds zeros, and the natural logarithms of their denominators."""
        largest = logits.max(-1, keepdims=True, initial=-np.inf)
        exponentials = np.exp(logits - np.where(np.isfinite(largest), largest, 0))
        total = exponentials.sum(-1, keepdims=True)
        return exponentials / np.where(total == 0, 1, total), (np.log(total) + largest)[..., 0]

    def scaled_dot_product_attention(
        self, query, key, value, *, mask=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
        window=None,
    ):  # fmt: skip
        dtype = query.dtype
        key, value = (np.repeat(array, query.shape[1] // max(array.shape[1], 1), axis=1) for array in (key, value))
        scale = self.default_scale(query.shape[-1]) if scale is None else scale
        scores = self.dot_products(query, key) * query.dtype.type(scale)
        logits = self.capped(scores, softcap) if softcap else scores
        if mask is not None:
            logits = self.masked(logits, mask)
        queries, keys = logits.shape[-2:]
        offset = keys - queries if causal_alignment == "bottom_right" else 0
        distance = np.arange(queries)[:, np.newaxis] + offset - np.arange(keys)
        if is_causal:
            logits = np.where(distance >= 0, logits, -np.inf)
        if window is not None:
            logits = np.where(self.in_window(distance, window), logits, -np.inf)
        with np.errstate(all="ignore"):
            weights, logsumexp = self.weighed(logits)
        given = {"output": weights @ value, "weights": weights, "logsumexp": logsumexp, "scores": scores}
        if not self.all_outputs:
            return given["output"].astype(dtype)
        if self.conventions.get("logsumexp_base") == "2":
            given["logsumexp"] = given["logsumexp"] * math.log2(math.e)
        return {name: array.astype(dtype) for name, array in given.items()}


class TextbookHeads:
    """Multi-head attention without masks, causality or biases; how heads are split and merged can be replaced."""

    dtypes = ("float64",)

    def split(self, x, heads):
        return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)

    def merged(self, x):
        return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)

    def multi_head_attention(self, query, key, value, w_query, w_key, w_value, w_output, *, num_heads, scale=None):
        query, key, value = (
            self.split(x @ weight, num_heads) for x, weight in ((query, w_query), (key, w_key), (value, w_value))
        )
        scores = query @ key.swapaxes(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
        exponentials = np.exp(scores - scores.max(-1, keepdims=True))
        return self.merged(exponentials / exponentials.sum(-1, keepdims=True) @ value) @ w_output


@cache
def report_on(implementation, select=None):
    if select is not None:
        return attnspec.validate(implementation, select=select)
    return attnspec.validate(implementation, profile=PROFILES)


def diagnosed(implementation, select=None):
    return report_on(implementation, select).diagnosis


def clauses_reported(entry):
    """The clauses of which an entry speaks, the likeliest first."""
    return [entry.clause] if entry.clause else [suspect.clause for suspect in entry.suspects if suspect.is_reported]


def lines(entry):
    return diagnosis_lines(diagnosis_to_json(entry))


class DividedByTheWidth(TextbookAttention):
    def default_scale(self, width):
        return 1 / width


class DividedByTheWidthWithAllOutputs(DividedByTheWidth):
    all_outputs = True


class DividedByTheWidthInBaseTwo(DividedByTheWidthWithAllOutputs):
    conventions = TextbookAttention.conventions | {"logsumexp_base": "2"}


class WithNanRows(TextbookAttention):
    conventions = TextbookAttention.conventions | {"fully_masked_row": "nan"}

    def weighed(self, logits):
        weights, logsumexp = super().weighed(logits)
        empty = np.isneginf(logits).all(-1, keepdims=True) & (logits.shape[-1] > 0)
        return np.where(empty, np.nan, weights), logsumexp


class DividedByTheWidthWithNanRows(DividedByTheWidth, WithNanRows):
    """A mistake beside a declared convention."""


class InvertedMask(TextbookAttention):
    def masked(self, scores, mask):
        return super().masked(scores, ~mask if mask.dtype == bool else mask)


class InvertedMaskWithNanRows(InvertedMask, WithNanRows):
    """Rows that the inverted mask leaves without keys are NaN, too."""


@pytest.mark.parametrize(
    "implementation",
    [
        DividedByTheWidth,
        DividedByTheWidthWithAllOutputs,
        DividedByTheWidthInBaseTwo,
        DividedByTheWidthWithNanRows,
    ],
)
def test_a_scale_is_named_whatever_is_returned_and_declared(implementation):
    (entry,) = diagnosed(implementation)
    assert (entry.mistake, entry.clause) == ("sdpa.scale_one_over_width", "sdpa.scale.default")
    assert entry.certainty == "it is"
    assert entry.undeclared is None


@pytest.mark.parametrize("implementation", [InvertedMask, InvertedMaskWithNanRows])
def test_an_inverted_mask_is_named(implementation):
    (entry,) = diagnosed(implementation)
    assert (entry.mistake, entry.certainty) == ("sdpa.boolean_mask_inverted", "it is")


class NanRowsUndeclared(WithNanRows):
    conventions = TextbookAttention.conventions


class NanRowsDeclared(WithNanRows):
    """What is declared is done, and nothing is wrong."""


def test_a_convention_that_nobody_declared_is_offered_once():
    (entry,) = diagnosed(NanRowsUndeclared)
    assert entry.clause == "sdpa.fully_masked_row"
    assert (entry.undeclared.convention, entry.undeclared.choice) == ("fully_masked_row", "nan")
    assert entry.undeclared.dtypes == ()
    offers = [line for line in lines(entry) if "fully_masked_row=nan" in line]
    assert len(offers) == 1
    assert "--convention fully_masked_row=nan" in offers[0]
    assert report_on(NanRowsDeclared).wrong == ()


class BaseTwoUndeclared(TextbookAttention):
    all_outputs = True

    def weighed(self, logits):
        weights, logsumexp = super().weighed(logits)
        return weights, logsumexp * math.log2(math.e)


def test_the_base_of_a_logarithm_is_offered():
    first = diagnosed(BaseTwoUndeclared)[0]
    assert first.clause == "sdpa.logsumexp"
    assert (first.undeclared.convention, first.undeclared.choice) == ("logsumexp_base", "2")


class UnscaledWithBooleanMasks:
    """The textbook without a scale, for Boolean masks alone: a float mask is read as one."""

    dtypes = ("float64",)
    conventions = TextbookAttention.conventions

    def scaled_dot_product_attention(self, query, key, value, *, mask=None):
        if query.shape[1] != key.shape[1] or key.shape[2] == 0:
            raise NotImplementedError
        scores = query @ np.swapaxes(key, -1, -2)
        if mask is not None:
            scores = np.where(mask != 0, scores, -1e30)
        exponentials = np.exp(scores - scores.max(-1, keepdims=True))
        return exponentials / exponentials.sum(-1, keepdims=True) @ value


def test_a_missing_scale_beside_a_misread_mask_is_reported_first():
    first = diagnosed(UnscaledWithBooleanMasks)[0]
    assert clauses_reported(first)[0] == "sdpa.scale.default"
    assert first.certainty in ("it is", "most likely")


class LoweredByABillion(TextbookAttention):
    """As a mask of ones and zeros is used in homework."""

    def masked(self, scores, mask):
        return scores + (1 - mask) * -1e9 if mask.dtype == bool else scores + mask


def test_a_mask_of_large_numbers_points_at_masks():
    first = diagnosed(LoweredByABillion)[0]
    assert clauses_reported(first)[0] in ("sdpa.mask.boolean", "sdpa.fully_masked_row")
    assert first.certainty in ("most likely", "one of these")
    assert any("a Boolean mask" in fact for fact in first.facts)


class HeadsSplitByReshape(TextbookHeads):
    def split(self, x, heads):
        return x.reshape(x.shape[0], heads, x.shape[1], -1)


class HeadsMergedByReshape(TextbookHeads):
    def merged(self, x):
        return x.reshape(x.shape[0], x.shape[2], -1)


class HeadsSplitAndMergedByReshape(HeadsSplitByReshape, HeadsMergedByReshape):
    """Each alone is in the catalogue; both at once give numbers that neither gives."""


def diagnosed_heads(implementation):
    return attnspec.validate(implementation, select=["*"]).diagnosis


@pytest.mark.parametrize(
    ("implementation", "clause"),
    [(HeadsSplitByReshape, "multi_head.split"), (HeadsMergedByReshape, "multi_head.combine")],
)
def test_heads_that_a_reshape_mixes_up_are_named(implementation, clause):
    first = diagnosed_heads(implementation)[0]
    assert (first.clause, first.certainty) == (clause, "it is")


def test_heads_that_two_reshapes_mix_up_are_two_mistakes():
    first = diagnosed_heads(HeadsSplitAndMergedByReshape)[0]
    assert first.sentence.startswith("Two mistakes at once.")
    assert {first.candidates[0].mistake.id} == {"multi_head.split_not_transposed+multi_head.combine_not_transposed"}


class WithoutMaximum(TextbookAttention):
    def weighed(self, logits):
        exponentials = np.exp(logits)
        total = exponentials.sum(-1, keepdims=True)
        return exponentials / np.where(total == 0, 1, total), np.log(total)[..., 0]


def test_an_overflow_to_nan_is_reported_as_that_and_not_as_an_edited_input():
    entries = diagnosed(WithoutMaximum)
    assert entries[0].clause == "sdpa.softmax.stability"
    assert not any(clause.endswith("inputs_unchanged") for entry in entries for clause in clauses_reported(entry))


class Leaking(TextbookAttention):
    """NaN times 0 is NaN, and nothing of it is declared."""

    conventions: ClassVar = {}


def test_nan_in_one_case_identifies_nothing():
    (entry,) = diagnosed(Leaking, "nonfinite/window")
    assert entry.mistake == "unknown"
    assert entry.certainty == "it lies in"
    assert clauses_reported(entry) == []
    assert entry.of == 1


def test_one_case_is_never_sure():
    (entry,) = diagnosed(DividedByTheWidth, "core/plain")
    assert clauses_reported(entry) in ([], ["sdpa.scale.default"])
    assert entry.certainty != "it is"


class ScaledWrongFromSomeWidth(TextbookAttention):
    def default_scale(self, width):
        return 1 / math.sqrt(min(width, 64))


class CutAt128Features(TextbookAttention):
    def dot_products(self, query, key):
        return super().dot_products(query[..., :128], key[..., :128])


@pytest.mark.parametrize(("implementation", "width"), [(ScaledWrongFromSomeWidth, 64), (CutAt128Features, 128)])
def test_a_width_from_which_on_something_is_wrong_is_said(implementation, width):
    (entry,) = diagnosed(implementation)
    assert any(f"queries and keys of more than {width} features" in fact for fact in entry.facts)
    assert not any("single query" in fact for fact in entry.facts)
    assert entry.certainty != "it is"


class TwoMistakes(TextbookAttention):
    def capped(self, scores, softcap):
        return np.clip(scores, -softcap, softcap)

    def in_window(self, distance, window):
        left, right = window
        return super().in_window(distance, (None if left is None else left + 1, right))


def test_two_mistakes_are_reported_each_with_its_cases():
    entries = diagnosed(TwoMistakes)
    reported = {entry.clause: entry for entry in entries}
    assert list(reported) == ["sdpa.window.left", "sdpa.softcap.definition"]
    assert all(entry.certainty == "it is" for entry in entries)
    assert sum(entry.explains for entry in entries) <= entries[0].of
    assert "softcap" in reported["sdpa.softcap.definition"].failures[0][0]


class ScaleAndSoftcap(DividedByTheWidth):
    capped = TwoMistakes.capped


def test_a_second_smaller_mistake_is_reported_beside_the_first():
    first, second = diagnosed(ScaleAndSoftcap)[:2]
    assert (first.clause, first.certainty) == ("sdpa.scale.default", "it is")
    assert clauses_reported(second)[0] == "sdpa.softcap.definition"


class Demoted(TextbookAttention):
    dtypes = ("float64", "float32")

    def scaled_dot_product_attention(
        self, query, key, value, *, mask=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
        window=None,
    ):  # fmt: skip
        dtype = query.dtype
        query, key, value = (array.astype(np.float32) for array in (query, key, value))
        mask = mask.astype(np.float32) if mask is not None and mask.dtype == np.float64 else mask
        with np.errstate(over="ignore"):
            output = super().scaled_dot_product_attention(
                query, key, value, mask=mask, is_causal=is_causal, causal_alignment=causal_alignment, scale=scale,
                softcap=softcap, window=window,
            )  # fmt: skip
        return output.astype(dtype)


class DemotedWithClippedScores(Demoted):
    capped = TwoMistakes.capped


def test_a_dtype_that_is_wrong_as_a_whole_is_one_sentence():
    (entry,) = diagnosed(Demoted)
    assert (entry.clause, entry.certainty) == ("sdpa.precision.accumulation", "it is")
    assert (entry.undeclared.convention, entry.undeclared.choice) == ("accumulation", "float32")
    said = [line for line in lines(entry) if "accumulation=float32" in line]
    assert len(said) == 1
    assert "--convention accumulation=float32" in said[0]


def test_a_dtype_that_is_wrong_as_a_whole_does_not_bury_the_rest():
    first, second = diagnosed(DemotedWithClippedScores)
    assert first.clause == "sdpa.precision.accumulation"
    assert first.undeclared.dtypes == ("float64",)
    assert second.clause == "sdpa.softcap.definition"


def test_what_is_no_news_is_not_said():
    said = [line for entry in diagnosed(WithoutMaximum) + diagnosed(TwoMistakes) for line in lines(entry)]
    assert not any("always right" in line or " 0% are NaN" in line for line in said)


def test_everything_that_is_said_is_in_the_report_as_fields():
    document = diagnosis_to_json(diagnosed(UnscaledWithBooleanMasks)[0])
    assert all(candidate["reproduced"] > 0 for candidate in document["candidates"])
    hints = [line for line in diagnosis_lines(document) if "gives the numbers of" in line]
    assert len(hints) == (0 if document["sentence"] else min(len(document["candidates"]), 3))
