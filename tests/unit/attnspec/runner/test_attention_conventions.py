"""Conventions of attention's features: each declared alternative is graded as declared, and named in the verdict."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import attnspec
from attnspec.cases import canonical_json
from attnspec_authoring.recipes import AuthoredCase, Source
from attnspec_authoring.regeneration import filled_document
from attnspec_reference import scaled_dot_product_attention

OPERATION = "scaled_dot_product_attention"
ALL = ("output", "weights", "logsumexp", "scores", "logits")


def inputs(*, keys=5, **more):
    draw = np.random.default_rng(3).integers
    shapes = {"query": (2, 4, 3, 4), "key": (2, 2, keys, 4), "value": (2, 2, keys, 2)}
    return {**{name: draw(-20, 20, shape) / 16 for name, shape in shapes.items()}, **more}


@pytest.fixture
def verdict(tmp_path):
    """The verdict on a function that declares conventions, for a case made of inputs and attributes."""
    numbers = itertools.count()

    def verdict(function, given, attributes=None, *, sensitive=(), dtype="float64", outputs=ALL, **conventions):
        folder = tmp_path / str(next(numbers))
        case = AuthoredCase(
            id="core/one",
            title="One case.",
            operation=OPERATION,
            clauses=("sdpa.output",),
            source=Source(section="conventions"),
            inputs=given,
            attributes=attributes or {},
            outputs=outputs,
            dtypes=(dtype,),
            conventions=sensitive,
        )
        (folder / "core").mkdir(parents=True)
        (folder / "core" / "one.json").write_text(canonical_json(filled_document(case)))
        holder = SimpleNamespace(**{OPERATION: function}, dtypes=(dtype,), conventions=conventions)
        (result,) = attnspec.validate(holder, golden=folder).results
        return result.verdict

    return verdict


def attention(**arguments):
    return scaled_dot_product_attention(**arguments)._asdict()


def changed(**changes):
    """The reference, some outputs of which are replaced by functions of all of them and of the arguments."""

    def attend(**arguments):
        returned = attention(**arguments)
        return {**returned, **{name: change(returned, arguments) for name, change in changes.items()}}

    return attend


class TestNoKeys:
    """Sk = 0: zero, NaN, or a refusal, apart from what a fully masked row is."""

    GIVEN = inputs(keys=0)
    NAN = staticmethod(changed(output=lambda returned, _: np.full_like(returned["output"], np.nan)))

    def test_zeros_are_normative(self, verdict):
        passed = verdict(attention, self.GIVEN, sensitive=("no_keys",))
        assert (passed.status, passed.under) == ("pass", None)
        assert verdict(self.NAN, self.GIVEN, sensitive=("no_keys",)).status == "fail"

    def test_nan_is_right_when_declared(self, verdict):
        passed = verdict(self.NAN, self.GIVEN, sensitive=("no_keys",), no_keys="nan")
        assert (passed.status, passed.under) == ("pass", "no_keys=nan")
        assert passed.ungraded == 2 * 4 * 3, "logsumexp is left open"
        assert verdict(attention, self.GIVEN, sensitive=("no_keys",), no_keys="nan").status == "fail"

    def test_what_is_declared_for_masked_rows_does_not_count(self, verdict):
        passed = verdict(attention, self.GIVEN, sensitive=("no_keys",), fully_masked_row="nan")
        assert (passed.status, passed.under) == ("pass", None)
        assert verdict(attention, self.GIVEN, sensitive=("no_keys",), fully_masked_row="refuse").status == "pass"

    def test_a_refusal_is_right_when_declared(self, verdict):
        def refuses(**arguments):
            raise ValueError("there is no key")

        passed = verdict(refuses, self.GIVEN, sensitive=("no_keys",), no_keys="refuse")
        assert (passed.status, passed.under) == ("pass", "no_keys=refuse")
        assert verdict(refuses, self.GIVEN, sensitive=("no_keys",)).status == "error"
        assert verdict(attention, self.GIVEN, sensitive=("no_keys",), no_keys="refuse").check == "rejects"

    def test_a_sink_leaves_no_choice(self, verdict):
        given = {**self.GIVEN, "sinks": np.array([1.0, 0.5, -1.0, 2.0])}
        assert verdict(attention, given, no_keys="nan").status == "pass"
        assert verdict(self.NAN, given, no_keys="nan").status == "fail"


LAST_ROW_DEAD = np.array([[True] * 5, [True, False, True, True, False], [False] * 5])


class TestEmptyLogsumexp:
    """The logsumexp of a query without keys: minus or plus infinity."""

    GIVEN = inputs(mask=LAST_ROW_DEAD)

    @staticmethod
    def plus_infinity(**arguments):
        returned = attention(**arguments)
        lost = returned["logsumexp"] == -np.inf
        return {**returned, "logsumexp": np.where(lost, np.inf, returned["logsumexp"])}

    def test_plus_infinity_is_right_when_declared_alone(self, verdict):
        assert verdict(attention, self.GIVEN).status == "pass"
        assert verdict(self.plus_infinity, self.GIVEN).output == "logsumexp"
        passed = verdict(self.plus_infinity, self.GIVEN, empty_logsumexp="plus_infinity")
        assert (passed.status, passed.under, passed.ungraded) == ("pass", "empty_logsumexp=plus_infinity", 0)
        assert verdict(attention, self.GIVEN, empty_logsumexp="plus_infinity").output == "logsumexp"

    def test_it_changes_nothing_where_every_query_has_a_key(self, verdict):
        passed = verdict(attention, inputs(), empty_logsumexp="plus_infinity")
        assert (passed.status, passed.under) == ("pass", None)

    def test_under_another_fully_masked_row_it_is_open_unless_declared(self, verdict):
        def nan_rows(**arguments):
            returned = attention(**arguments)
            lost = (returned["logsumexp"] == -np.inf)[..., None]
            return {
                **returned,
                "output": np.where(lost, np.nan, returned["output"]),
                "weights": np.where(lost, np.nan, returned["weights"]),
                "logsumexp": np.where(lost[..., 0], 17.0, returned["logsumexp"]),
            }

        passed = verdict(nan_rows, self.GIVEN, fully_masked_row="nan")
        assert (passed.status, passed.under, passed.ungraded) == ("pass", "fully_masked_row=nan", 8)
        both = verdict(nan_rows, self.GIVEN, fully_masked_row="nan", empty_logsumexp="plus_infinity")
        assert (both.status, both.output) == ("fail", "logsumexp")


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_logsumexp_to_the_base_2(dtype, verdict):
    def in_bits(returned, _):
        wide = returned["logsumexp"].astype(np.float64 if dtype == "float64" else np.float32)
        return (wide * wide.dtype.type(np.log2(np.e))).astype(returned["logsumexp"].dtype)

    given = inputs(mask=LAST_ROW_DEAD)
    passed = verdict(changed(logsumexp=in_bits), given, dtype=dtype, logsumexp_base="2")
    assert (passed.status, passed.under) == ("pass", "logsumexp_base=2")
    assert verdict(attention, given, dtype=dtype, logsumexp_base="2").output == "logsumexp"
    assert verdict(changed(logsumexp=in_bits), given, dtype=dtype).output == "logsumexp"
    without = verdict(attention, given, dtype=dtype, outputs=("output",), logsumexp_base="2")
    assert (without.status, without.under) == ("pass", None), "where it is not graded it is not named"


class TestAlibiByColumn:
    """FlashAttention's bias under causality: slope * j, which is the distance but for a constant in each row."""

    SLOPES = np.array([0.5, 0.25, 2.0, 0.0])

    @staticmethod
    def by_column(**arguments):
        """Written out, not derived from the reference's logits."""
        query, key, slopes = arguments["query"], arguments["key"], arguments["alibi_slopes"]
        offset = key.shape[2] - query.shape[2] if arguments.get("causal_alignment") == "bottom_right" else 0
        key, value = (np.repeat(arguments[name], 2, axis=1) for name in ("key", "value"))
        columns = np.arange(key.shape[2])
        allowed = columns <= np.arange(query.shape[2])[:, None] + offset
        logits = query @ key.swapaxes(-1, -2) / 2 + slopes[:, None, None] * columns
        logits = np.where(allowed, logits, -np.inf)
        largest = logits.max(axis=-1, keepdims=True)
        terms = np.exp(logits - largest)
        total = terms.sum(axis=-1, keepdims=True)
        return {
            "output": terms / total @ value,
            "weights": terms / total,
            "logsumexp": (largest + np.log(total))[..., 0],
            "logits": logits,
        }

    @pytest.mark.parametrize("alignment", ["top_left", "bottom_right"])
    def test_it_passes_when_declared(self, alignment, verdict):
        given = inputs(alibi_slopes=self.SLOPES)
        attributes = {"is_causal": True, "causal_alignment": alignment}
        passed = verdict(self.by_column, given, attributes, alibi_bias="column")
        assert (passed.status, passed.under) == ("pass", "alibi_bias=column"), passed.message
        wrong = verdict(self.by_column, given, attributes)
        assert (wrong.status, wrong.first_step) == ("fail", "logits")
        assert verdict(attention, given, attributes, alibi_bias="column").first_step == "logits"

    def test_without_causality_it_is_no_choice(self, verdict):
        passed = verdict(attention, inputs(alibi_slopes=self.SLOPES), alibi_bias="column")
        assert (passed.status, passed.under) == ("pass", None)

    def test_both_meet_in_one_verdict(self, verdict):
        def in_bits(**arguments):
            returned = self.by_column(**arguments)
            return {**returned, "logsumexp": returned["logsumexp"] * np.log2(np.e)}

        given = inputs(alibi_slopes=self.SLOPES)
        passed = verdict(in_bits, given, {"is_causal": True}, alibi_bias="column", logsumexp_base="2")
        assert (passed.status, passed.under) == ("pass", "alibi_bias=column, logsumexp_base=2"), passed.message


class TestMaskedNonfinite:
    """NaN and infinities in excluded positions: no effect, or what they touch is not graded, and counted."""

    @staticmethod
    def poisoned(name, number=np.nan):
        mask = np.ones((3, 5), dtype=bool)
        mask[1:, 2] = False
        given = inputs(mask=mask, key_lengths=np.array([5, 4]))
        # Key 4 of the second batch entry lies beyond its length: excluded from every query.
        given[name][1, 0, 4, 1] = number
        return given

    @staticmethod
    def multiplying(**arguments):
        """Excluded keys get the weight 0, and are multiplied all the same."""
        returned = attention(**arguments)
        value = np.repeat(arguments["value"], 2, axis=1)
        logits = np.where(returned["logits"] == -np.inf, -np.inf, 0) + returned["scores"]
        terms = np.exp(logits - logits.max(axis=-1, keepdims=True))
        weights = terms / terms.sum(axis=-1, keepdims=True)
        return {"output": weights @ value, "weights": weights}

    @pytest.mark.parametrize("number", [np.nan, np.inf])
    @pytest.mark.parametrize(("name", "open_elements"), [("key", 6 * (2 + 5)), ("value", 6)])
    def test_what_it_reaches_is_open_when_declared(self, name, open_elements, number, verdict):
        given = self.poisoned(name, number)
        outputs = ("output", "weights")
        assert verdict(attention, given, outputs=outputs).under is None
        assert verdict(self.multiplying, given, outputs=outputs).status == "fail"
        passed = verdict(self.multiplying, given, outputs=outputs, masked_nonfinite="propagates")
        assert (passed.status, passed.under) == ("pass", "masked_nonfinite=propagates"), passed.message
        assert passed.ungraded == open_elements
        clean = verdict(attention, given, outputs=outputs, masked_nonfinite="propagates")
        assert (clean.status, clean.ungraded) == ("pass", open_elements)

    def test_what_it_does_not_touch_is_graded(self, verdict):
        def spoils_its_batch(**arguments):
            returned = self.multiplying(**arguments)
            return {"output": np.where(np.isnan(returned["output"]).any(axis=(1, 2, 3), keepdims=True), np.nan, 1.0)}

        given = self.poisoned("key")
        assert verdict(spoils_its_batch, given, masked_nonfinite="propagates").status == "fail"

    def test_where_it_may_be_attended_it_is_no_choice(self, verdict):
        given = inputs()
        given["key"][0, 1, 2, 0] = np.nan

        def cleaned(**arguments):
            return {"output": np.nan_to_num(attention(**arguments)["output"])}

        assert verdict(attention, given, masked_nonfinite="propagates").under is None
        assert verdict(cleaned, given, masked_nonfinite="propagates").status == "fail"

    def test_a_mean_over_all_keys_takes_in_the_excluded_ones(self, verdict):
        given = self.poisoned("value")
        given["mask"] = LAST_ROW_DEAD

        def uniform(**arguments):
            returned = attention(**arguments)
            lost = (returned["logsumexp"] == -np.inf)[..., None]
            mean = np.repeat(arguments["value"].mean(axis=-2, keepdims=True), 2, axis=1)
            return {"output": np.where(lost, mean, returned["output"])}

        passed = verdict(uniform, given, fully_masked_row="uniform")
        assert (passed.status, passed.under, passed.ungraded) == ("pass", "fully_masked_row=uniform", 2)


def test_padding_alone_is_no_row_without_keys(verdict):
    """Queries beyond their length are not expected, so no convention about dead rows is named for them."""
    given = inputs(query_lengths=np.array([3, 1]))
    attributes = {"is_causal": True, "causal_alignment": "bottom_right", "window": [0, 0]}
    passed = verdict(attention, given, attributes, outputs=("output",), fully_masked_row="nan")
    assert (passed.status, passed.under, passed.ungraded) == ("pass", None, 2 * 4 * 2)
