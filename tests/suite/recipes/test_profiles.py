"""The authored cases of all profiles but the documents, against the spec pages and the rules of their making."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from fnmatch import fnmatchcase
from itertools import combinations, product
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from attnspec.base.errors import RecipeError
from attnspec.contract import OPERATIONS
from attnspec.contract.declarations import CHOICES
from attnspec.contract.dtypes import INPUT_DTYPES, QUANTIZED_DTYPES
from attnspec.grading import is_clause_of_run
from attnspec_authoring.recipes import EVERY_DTYPE, authored_cases
from attnspec_authoring.recipes.attention.attention import Sizes, attention, counting, probe, probe_sizes
from attnspec_authoring.recipes.attention.pairwise import LEVELS, ROWS

ROOT = Path(__file__).parents[3]
CASES = authored_cases()
BY_ID = {case.id: case for case in CASES}
NEW = [case for case in CASES if case.source.document is None]
NEW_PROFILES = {case.profile for case in NEW}
VALID = [case for case in NEW if case.rejects is None]
EVERY_ATTENTION = [case for case in VALID if case.operation == "scaled_dot_product_attention"]
# What is ordinary by rule is another matter than what meets whatever else there is.
ATTENTION = [case for case in EVERY_ATTENTION if case.profile != "pairs"]
PAIRWISE = sorted((case for case in ATTENTION if "/pairs_" in case.id), key=lambda case: case.id[-2:])
NUMPY_DTYPES = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
AT_LEAST = {
    "core": 40,
    "masking": 50,
    "causal": 30,
    "grouped_query": 20,
    "window": 40,
    "softcap": 25,
    "cache": 30,
    "varlen": 25,
    "paged": 15,
    "sinks": 20,
    "alibi": 20,
    "logsumexp": 20,
    "backward": 120,
    "layout": 60,
    "self_attention": 40,
    "stress": 45,
    "tails": 40,
    "pairs": 220,
    "nonfinite": 30,
    "memory": 40,
    "quantized": 90,
    "rejects": 30,
    "merge": 150,
    "rotary": 150,
    "caches": 100,
}
BUG_CLASSES = {
    "A masking polarity": "masking/true_may_be_attended",
    "B fully masked rows": "masking/dead_middle_row",
    "C sentinels and masked NaN": "stress/gap_of_sixteen_thousand_boolean",
    "D causal alignment": "causal/fewer_queries_bottom_right",
    "E causal with a cache": "cache/past_causal",
    "F scale": "masking/bias_is_not_scaled",
    "G softcap order": "softcap/hidden_key_is_not_capped",
    "H grouped heads": "grouped_query/which_head",
    "I layout of heads": "layout/combine_heads_two",
    "J last tile": "tails/keys_33_winner_last",
    "K online softmax": "stress/rising_17",
    "L overflow": "stress/raw_products_beyond_float16",
    "M accumulation": "stress/uniform_ones_513",
    "N mask broadcast": "masking/boolean_rank_4_batch",
    "O window": "window/bounds_2_0",
    "P ALiBi": "alibi/causal_powers",
    "R packed sequences": "varlen/packed",
    "T logsumexp": "logsumexp/two_equal_scores",
    "U sinks": "sinks/hundred",
    "X strides": "memory/heads_last_query",
    "Y edits in place": "memory/readonly_mask",
    "Z state between calls": "core/scale_half",
    "AA neighbours": "causal/square_as_mask",
    "AB empty": "masking/no_keys",
    "AD dtype of the result": "core/plain",
    "AE unusual widths": "core/value_width_5_2",
    "AF paths that disagree": "layout/multi_head_causal_and_mask",
}
# Alone in having a length that another one has, because it belongs to others that cut the same tensors.
CUT = {
    # The smallest sizes that show what they are about, or equal ones because that is what they are about.
    "cache/one_query_fills_window",
    "memory/mixed",
    "varlen/as_many_heads_as_entries",
    "quantized/as_many_heads_as_entries",
    "paged/ends_of_pages_of_12",
    "paged/ends_of_pages_of_64",
    "paged/shared_prefix_window",
    "quantized/sums_e4m3_32",
    "quantized/sums_e5m2_64",
    "quantized/sums_of_values",
    "quantized/width_128_of_query",
    "window/left_beyond_the_keys",
    "window/right_beyond_the_keys",
    "cache/six_tokens_from_4_to_5",
    "varlen/alone_1",
    "core/width_133",
    "self_attention/as_many_entries_as_tokens",
    "self_attention/causal_one_head",
    "core/value_width_1_133",
}


CUT_BY_PATTERN = (
    # Scales whose owner could be mistaken need as many entries as heads or queries; the others are as small as they.
    "quantized/*_scale",
    "quantized/*_scale_of_as_many_entries",
    "quantized/*_scale_of_entries_like_query_heads",
    "quantized/heads_in_a_row*",
    "quantized/*alone*",
    "quantized/query_and_*",
    "quantized/list_of_heads_of_every_scale",
    "quantized/one_number_in_a_table",
    "quantized/scales_of_*_entries*",
    "quantized/unlike_owners*",
    # Long sequences, of which there is one for each size of a page or order of memory, are as few as show it.
    "memory/*_sequences*",
    "paged/window_*",
)


def is_cut(case_id) -> bool:
    return case_id in CUT or any(fnmatchcase(case_id, pattern) for pattern in CUT_BY_PATTERN)


def clauses_of_the_spec() -> set[str]:
    pages = (ROOT / "spec" / "operations").glob("*/*.md")
    pattern = re.compile(r"^- `([a-z0-9_.]+)` — ", re.MULTILINE)
    return {clause for page in pages for clause in pattern.findall(page.read_text(encoding="utf-8"))}


def lengths(case) -> dict[str, int]:
    batch, heads, queries, width = case.inputs["query"].shape
    shared, keys = case.inputs["key"].shape[1:3]
    value_width = case.inputs["value"].shape[3]
    return {"B": batch, "Hq": heads, "Hkv": shared, "Sq": queries, "Sk": keys, "E": width, "Ev": value_width}


def attended_one_by_one(case) -> tuple[np.ndarray, np.ndarray]:
    """Return key by key who may attend to whom, and which queries are graded; the spec page, read aloud."""
    inputs, attributes = case.inputs, case.attributes
    size = lengths(case)
    past = inputs["past_key"].shape[2] if "past_key" in inputs else 0
    columns = past + size["Sk"]
    attended = np.zeros((size["B"], size["Hq"], size["Sq"], columns), np.bool_)
    graded = np.zeros(attended.shape[:3], np.bool_)
    mask = inputs.get("mask")
    full = None if mask is None else np.broadcast_to(mask, attended.shape)
    left, right = attributes.get("window") or (None, None)
    for b, h, i in np.ndindex(*attended.shape[:3]):
        counted = inputs["key_lengths"][b] if "key_lengths" in inputs else columns
        count = inputs["query_lengths"][b] if "query_lengths" in inputs else size["Sq"]
        position = i + (counted - count if attributes.get("causal_alignment") == "bottom_right" else past)
        graded[b, h, i] = i < count
        for j in range(columns):
            allowed = j < counted
            allowed &= not attributes.get("is_causal") or j <= position
            allowed &= left is None or j >= position - left
            allowed &= right is None or j <= position + right
            if full is not None:
                allowed &= bool(full[b, h, i, j]) if full.dtype == np.bool_ else full[b, h, i, j] != -np.inf
            attended[b, h, i, j] = allowed
    return attended, graded


def test_there_are_enough_cases_in_every_profile() -> None:
    counts = Counter(case.profile for case in NEW)
    assert {profile: counts[profile] for profile in AT_LEAST if counts[profile] < AT_LEAST[profile]} == {}
    assert len(NEW) >= 450
    assert len(CASES) >= 520


def test_ids_and_titles_are_unique() -> None:
    assert len(BY_ID) == len(CASES)
    assert not [title for title, count in Counter(case.title for case in CASES).items() if count > 1]


@pytest.mark.parametrize("profile", sorted(NEW_PROFILES))
def test_titles_sources_and_names(profile) -> None:
    for case in (case for case in NEW if case.profile == profile):
        assert re.fullmatch(r"[a-z_]+/[a-z0-9_]+", case.id)
        assert case.title == case.title.strip()
        assert "\n" not in case.title
        assert not case.title.endswith(".")
        assert case.source.section or case.source.url.startswith("https://github.com/")
        operation = OPERATIONS[case.operation]
        assert set(case.inputs) <= {*operation.inputs, *operation.optional_inputs}
        assert set(case.attributes) <= set(operation.attributes)
        assert set(case.outputs) <= set(operation.outputs)
        assert operation.outputs[0] in case.outputs
        assert set(case.conventions) <= set(CHOICES)
        assert len(set(case.clauses)) == len(case.clauses) > 0


def test_every_clause_of_the_spec_has_a_case_and_every_clause_of_a_case_exists() -> None:
    of_runs = {clause for clause in clauses_of_the_spec() if is_clause_of_run(clause)}
    assert {clause for case in CASES for clause in case.clauses} == clauses_of_the_spec() - of_runs


def test_every_class_of_bugs_has_a_case_that_links_to_one() -> None:
    for case_id in BUG_CLASSES.values():
        assert BY_ID[case_id].source.url, case_id


@pytest.mark.parametrize("profile", sorted({case.profile for case in ATTENTION}))
def test_lengths_differ(profile) -> None:
    for case in (case for case in ATTENTION if case.profile == profile and not is_cut(case.id)):
        size = lengths(case)
        pairs = [("B", "Sq"), ("B", "Sk"), ("Hq", "Sq"), ("Hq", "Sk")]
        if not case.id.endswith("batch_equals_heads"):
            pairs.append(("B", "Hq"))
        equal = [(one, other) for one, other in pairs if size[one] == size[other] and size[one]]
        assert not equal, case.id
        if size["Hq"] != size["Hkv"]:
            assert size["Hq"] // size["Hkv"] != size["Hkv"], case.id


def test_queries_and_keys_are_equally_many_only_where_positions_repetition_or_narrow_signatures_ask_for_it() -> None:
    for case in ATTENTION:
        size = lengths(case)
        positional = {"is_causal", "window"} & set(case.attributes) or {"alibi_slopes", "past_key"} & set(case.inputs)
        if size["Sq"] == size["Sk"] and not positional:
            expected = ("core/self_attention", "causal/square", "memory/", "varlen/", "sinks/halves_a_single_key")
            expected += ("nonfinite/nan_in_query_of_one_key_and_one_query", "self_attention/")
            assert case.id.startswith(expected) or case.id.endswith("_square"), case.id


def test_values_are_as_wide_as_keys_by_default() -> None:
    unequal = [case for case in ATTENTION if lengths(case)["E"] != lengths(case)["Ev"]]
    assert len(unequal) < len(ATTENTION) / 8
    assert {case.profile for case in unequal} >= {"core", "masking", "causal", "grouped_query", "window", "cache"}
    default = [case for case in ATTENTION if lengths(case)["E"] == 3]
    assert len(default) > len(ATTENTION) / 2
    widths = {lengths(case)["E"] for case in ATTENTION}
    assert {1, 2, 3, 5, 7, 8, 33} <= widths
    assert max(widths) > 64


def test_the_core_has_few_shapes() -> None:
    core = [case for case in CASES if case.profile == "core"]
    assert len({tuple(array.shape for array in case.inputs.values()) for case in core}) <= 40


@pytest.mark.parametrize("profile", sorted(NEW_PROFILES - {"pairs"}))
def test_inputs_are_exact_in_every_dtype_offered(profile) -> None:
    for case in (case for case in NEW if case.profile == profile):
        for name, array in case.inputs.items():
            assert array.dtype.name in INPUT_DTYPES, (case.id, name)
            if array.dtype.name in QUANTIZED_DTYPES:
                assert f"{name.removeprefix('past_').removesuffix('_pool')}_scale" in case.inputs, (case.id, name)
            for dtype in case.dtypes if array.dtype == np.float64 else ():
                with np.errstate(over="ignore"):
                    kept = array.astype(NUMPY_DTYPES[dtype]).astype(np.float64)
                np.testing.assert_array_equal(kept, array, err_msg=f"{case.id}, {name} in {dtype}")


def test_float_attributes_are_exact_in_half_precision_where_it_is_offered() -> None:
    for case in NEW:
        for name, number in case.attributes.items():
            if {"float16", "bfloat16"} & set(case.dtypes) and isinstance(number, float):
                assert float(ml_dtypes.bfloat16(number)) == number, (case.id, name)


def products(case, name, numbers):
    """Numbers times the scales of the key heads that they belong to, heads being those of the query."""
    scale, shared = case.inputs.get(f"{name}_scale"), lengths(case)["Hkv"]
    if scale is None:
        return numbers
    whole = np.broadcast_to(scale, (lengths(case)["B"], shared)).astype(np.float64)
    return numbers.astype(np.float64) * np.repeat(whole, numbers.shape[1] // shared, axis=1)[..., None, None]


def test_scaled_scores_stay_within_float16_where_it_is_offered() -> None:
    for case in EVERY_ATTENTION:
        if "float16" not in case.dtypes or case.profile == "nonfinite" or not case.inputs["key"].size:
            continue
        width = lengths(case)["E"]
        scale = case.attributes.get("scale")
        key = np.repeat(case.inputs["key"], lengths(case)["Hq"] // lengths(case)["Hkv"], axis=1)
        query, key = products(case, "query", case.inputs["query"]), products(case, "key", key)
        scores = query @ key.swapaxes(-1, -2) * (width**-0.5 if scale is None else scale)
        # One group of cases is about the most negative number itself, which float16 holds.
        largest = 65504 if case.id.startswith("stress/lowest_logits_of_float16") else 6e4
        assert np.abs(scores).max(initial=0.0) <= largest, case.id


def is_finite(name, array) -> bool:
    """Minus infinity is a word of a mask."""
    return bool((np.isfinite(array) | ((name == "mask") & np.isneginf(array.astype(np.float64)))).all())


def test_only_nonfinite_holds_numbers_that_are_not_finite() -> None:
    for case in NEW:
        floats = {name: array for name, array in case.inputs.items() if array.dtype.kind not in "bi"}
        elsewhere = case.profile in ("backward", "merge", "latent")
        if OPERATIONS[case.operation].family in ("caches", "norms", "rotary") or elsewhere:
            # One profile holds all that there is of these.
            continue
        if case.operation == "softmax":
            assert not any(np.isnan(array).any() or np.isposinf(array).any() for array in floats.values())
            continue
        assert all(map(is_finite, floats, floats.values())) == (case.profile != "nonfinite"), case.id


def test_past_and_lengths_are_never_combined() -> None:
    for case in NEW:
        if "past_key" in case.inputs:
            assert not {"key_lengths", "query_lengths"} & set(case.inputs), case.id


@pytest.mark.parametrize("profile", sorted({case.profile for case in EVERY_ATTENTION}))
def test_conventions_follow_from_who_may_attend(profile) -> None:
    for case in (case for case in EVERY_ATTENTION if case.profile == profile):
        # A second reading of the rules; the longest cases would take seconds here.
        if np.prod([lengths(case)[axis] for axis in ("B", "Hq", "Sq", "Sk")]) > 3000:
            continue
        attended, graded = attended_one_by_one(case)
        without_keys = bool((~attended.any(axis=-1) & graded).any())
        dead = without_keys and "sinks" not in case.inputs
        columns = attended.shape[-1]
        assert ("fully_masked_row" in case.conventions) == (dead and columns > 0), case.id
        assert ("no_keys" in case.conventions) == (without_keys and columns == 0), case.id
        assert ("empty_logsumexp" in case.conventions) == (dead and "logsumexp" in case.outputs), case.id
        stated = "causal_alignment" in case.attributes
        assert stated == ("causal_alignment" in case.conventions), case.id
        nonfinite = not all(map(is_finite, case.inputs, case.inputs.values()))
        assert nonfinite == ("nonfinite_input" in case.conventions), case.id
        if "logsumexp_base" in case.conventions:
            assert "logsumexp" in case.outputs
        if "alibi_bias" in case.conventions:
            assert {"logsumexp", "logits"} & set(case.outputs)
            assert "alibi_slopes" in case.inputs


def test_nan_that_nobody_may_attend_is_a_convention() -> None:
    expected = {
        "nonfinite/nan_in_key": False,
        "nonfinite/causal_future": True,
        "nonfinite/hidden_by_boolean_mask_nan": True,
        "nonfinite/beyond_key_lengths": True,
        "nonfinite/beyond_query_lengths": False,
        "nonfinite/float_mask_beside_nan": False,
    }
    assert {case_id: "masked_nonfinite" in BY_ID[case_id].conventions for case_id in expected} == expected


def test_equal_shapes_with_unequal_values_for_every_operation_and_feature() -> None:
    alike = defaultdict(set)
    for case in VALID:
        shapes = tuple((name, array.shape) for name, array in sorted(case.inputs.items()))
        values = tuple(array.tobytes() for _, array in sorted(case.inputs.items()))
        alike[case.operation, case.profile, shapes, repr(sorted(case.attributes.items()))].add(values)
    repeated = {(operation, profile) for (operation, profile, *_), values in alike.items() if len(values) > 1}
    attention_profiles = {
        "core",
        "causal",
        "grouped_query",
        "window",
        "softcap",
        "cache",
        "varlen",
        "alibi",
        "logsumexp",
    }
    assert {profile for _, profile in repeated} >= attention_profiles
    operations = {operation for operation, _ in repeated}
    without_input = {name for name, operation in OPERATIONS.items() if not operation.takes}
    assert operations == set(OPERATIONS) - without_input


def test_a_refusal_has_a_valid_counterpart() -> None:
    for case in (case for case in NEW if case.rejects):
        counterpart = BY_ID[case.rejects.counterpart]
        assert counterpart.rejects is None
        assert counterpart.operation == case.operation
        assert set(case.dtypes) <= set(counterpart.dtypes)
        assert case.rejects.reason.endswith(".")
        name, choice = case.rejects.convention or ("input_checks", "strict")
        assert choice in CHOICES[name]


def test_refusals_differ_from_their_counterparts_in_few_inputs() -> None:
    for case in (case for case in NEW if case.rejects and case.operation == "scaled_dot_product_attention"):
        counterpart = BY_ID[case.rejects.counterpart]
        changed = {name for name, array in case.inputs.items() if not np.array_equal(array, counterpart.inputs[name])}
        assert 0 < len(changed) <= 3, case.id


@pytest.mark.parametrize("kind", ["fortran", "heads_last", "reversed", "gapped", "broadcast", "readonly"])
def test_every_memory_order_is_required_of_every_tensor(kind) -> None:
    required = {name for case in NEW for name, memory_order in case.memory_order.items() if memory_order == kind}
    assert required >= {"query", "key", "value", "mask"}
    for case in NEW:
        for name, memory_order in case.memory_order.items():
            if memory_order == "broadcast":
                assert len(case.inputs[name]) > 1
                assert (case.inputs[name] == case.inputs[name][:1]).all(), case.id


def test_samples_lie_within_their_output() -> None:
    sampled = [case for case in ATTENTION if case.sample]
    assert sampled
    for case in sampled:
        size = lengths(case)
        count = {"output": size["Ev"], "weights": size["Sk"]}
        for name, indices in case.sample.items():
            assert name in case.outputs
            assert list(indices) == sorted(set(indices))
            assert indices[-1] < size["B"] * size["Hq"] * size["Sq"] * count[name]
            assert len(indices) > 20


def test_tails_cover_every_length() -> None:
    keys = {lengths(case)["Sk"] for case in ATTENTION if case.profile == "tails"}
    assert keys >= {1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257}
    assert max(lengths(case)["Sq"] for case in ATTENTION) > 64
    assert max(lengths(case)["Sk"] for case in ATTENTION) > 512


@pytest.mark.parametrize(
    "case", [case for case in ATTENTION if case.id.endswith("_winner_last")], ids=lambda case: case.id
)
def test_the_last_key_wins(case) -> None:
    group = case.inputs["query"].shape[1] // case.inputs["key"].shape[1]
    scores = case.inputs["query"] @ np.repeat(case.inputs["key"], group, axis=1).swapaxes(-1, -2)
    assert (scores.argmax(axis=-1) == scores.shape[-1] - 1).all()
    negative = BY_ID.get(case.id.replace("winner_last", "all_negative"))
    if negative is not None:
        scores = negative.inputs["query"] @ np.repeat(negative.inputs["key"], group, axis=1).swapaxes(-1, -2)
        assert scores.max() < 0


def test_a_probe_shows_who_was_attended() -> None:
    sizes = probe_sizes(2, 3, 1, 4, 3, past=2)
    made = probe(sizes)
    values = np.concatenate([made["past_value"], made["value"]], axis=2)
    np.testing.assert_array_equal(values[1, 0], np.eye(5))
    assert not made["query"].any()
    assert not made["key"].any()
    powers = counting(Sizes(1, 2, 2, 3, 4, width=1, past=2))
    assert powers["past_value"].ravel().tolist()[:2] == [1.0, 2.0]
    assert powers["value"].ravel().tolist()[:4] == [4.0, 8.0, 16.0, 32.0]
    with pytest.raises(RecipeError, match="at most 6 keys"):
        counting(Sizes(1, 2, 2, 3, 7))


def test_the_builder_refuses_what_a_case_must_not_do() -> None:
    sizes = Sizes(1, 2, 2, 4, 5)
    with pytest.raises(RecipeError, match="causal_alignment"):
        attention("core/wrong", "Wrong")(sizes, is_causal=True)
    with pytest.raises(RecipeError, match="causal_alignment"):
        attention("core/wrong", "Wrong")(sizes, causal_alignment="top_left")
    with pytest.raises(RecipeError, match="float16 does not hold"):
        attention("core/wrong", "Wrong")(sizes, mask=np.full((4, 5), 1e6))


def test_every_pair_of_levels_meets_in_a_pairwise_case() -> None:
    assert len(set(ROWS)) == len(ROWS) == len(PAIRWISE)
    assert all(level in levels for row in ROWS for level, levels in zip(row, LEVELS.values(), strict=True))
    met = {pair for row in ROWS for pair in combinations(enumerate(row), 2)}
    for (first, left), (second, right) in combinations(enumerate(LEVELS.values()), 2):
        for one, other in product(left, right):
            assert ((first, one), (second, other)) in met, (one, other)


def test_the_pairwise_rows_are_those_of_the_library() -> None:
    allpairspy = pytest.importorskip("allpairspy")
    given = {tuple(row) for row in allpairspy.AllPairs([list(levels) for levels in LEVELS.values()])}
    met = {pair for row in given for pair in combinations(enumerate(row), 2)}
    assert met == {pair for row in ROWS for pair in combinations(enumerate(row), 2)}


def test_the_pairwise_cases_have_what_their_rows_say() -> None:
    for row, case in zip(ROWS, PAIRWISE, strict=True):
        levels = dict(zip(LEVELS, row, strict=True))
        mask = case.inputs.get("mask")
        kind = "none" if mask is None else f"{'boolean' if mask.dtype == np.bool_ else 'float'}_{mask.ndim}"
        assert kind == levels["mask"]
        assert bool(case.attributes.get("is_causal")) == (levels["causal"] != "off")
        if levels["causal"] != "off":
            assert case.attributes["causal_alignment"] == levels["causal"]
        assert ("past_key" in case.inputs) == (levels["cache"] == "past")
        assert ("key_lengths" in case.inputs) == (levels["cache"] == "key_lengths")
        assert ("sinks" in case.inputs) == (levels["sinks"] == "on")
        assert ("alibi_slopes" in case.inputs) == (levels["alibi"] == "on")
        assert ("logsumexp" in case.outputs) == (levels["logsumexp"] == "on")
        assert (lengths(case)["Hq"] != lengths(case)["Hkv"]) == (levels["heads"] == "grouped")
        assert (lengths(case)["E"] != lengths(case)["Ev"]) == (levels["value_width"] == "wider")
        assert lengths(case)["Sk"] == int(levels["keys"])
        scales = {"default": None, "explicit": 0.75, "zero": 0.0, "negative": -0.5}
        assert case.attributes.get("scale") == scales[levels["scale"]]
        assert case.dtypes == EVERY_DTYPE


def test_recipes_give_the_same_arrays_every_time() -> None:
    for first, second in zip(CASES, authored_cases.__wrapped__(), strict=True):
        assert first.id == second.id
        for name, array in first.inputs.items():
            again = second.inputs[name]
            assert (array.dtype, array.shape, array.tobytes()) == (again.dtype, again.shape, again.tobytes())
