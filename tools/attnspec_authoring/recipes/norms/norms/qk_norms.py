"""QK-norm: over a head, over all heads, before the rotation; weights, precision, memory layouts, and refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.authoring import (
    EVERY_DTYPE,
    SINGLE_AND_DOUBLE,
    WITHOUT_FLOAT16,
    AuthoredCase,
    Rejects,
    headed,
    reported,
)
from attnspec_authoring.recipes.generator import decimals, grid, require_exact
from attnspec_authoring.recipes.norms.norms.rms_norms import (
    EPSILON,
    FIXED,
    HALF_SUM,
    LAYOUTS,
    MADE,
    OUTSIDE,
    OVERFLOW,
    PROFILE,
    STRICT,
    TINY,
    TWICE,
    UNUSED,
    behind_large,
    lost_in_turn,
    signs,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

ACROSS_HEADS = "vllm-project/vllm/pull/16311"
BY_HEAD = "vllm-project/vllm-metal/issues/691"
BY_DEFAULT = "EleutherAI/gpt-neox/pull/1367"
ORDER = "allenai/OLMo/issues/806"
OFFSET = "pytorch/executorch/pull/19901"
WRONG_NORM = "PaddlePaddle/FastDeploy/pull/3248"

ALL_HEADS: dict[str, Any] = {"over": "all_heads"}
TURNED: dict[str, Any] = {"pairs": 2}


@headed
def qk_norm(
    name: str,
    title: str,
    heads: tuple[int, int] = (2, 2),
    clauses: tuple[str, ...] = (),
    *,
    extents: tuple[int, int, int] = (1, 2, 4),
    pairs: int | None = None,
    over: str | None = None,
    offset: str | None = None,
    pairing: str | None = None,
    epsilon: float = EPSILON,
    times: float = 1.0,
    given: dict[str, NDArray[np.float64]] | None = None,
    dtypes: tuple[str, ...] = EVERY_DTYPE,
    report: str | None = None,
    **more: Any,
) -> AuthoredCase:
    """Make a case of QK-norm of query and key heads; `extents`: batch, tokens, features; `pairs`: those rotated."""
    case_id = f"{PROFILE}/qk_{name}"
    batch, tokens, width = extents
    inputs: dict[str, NDArray[np.float64]] = {}
    for each, count in zip(("query", "key"), heads, strict=True):
        inputs[each] = grid(f"{case_id}/{each}", (batch, count, tokens, width)) * times
    for each, count in zip(("query", "key"), heads, strict=True):
        length = width * (count if over == "all_heads" else 1)
        inputs[f"{each}_weight"] = grid(f"{case_id}/{each}_weight", (length,))
    if pairs is not None:
        inputs |= {each: grid(f"{case_id}/{each}", (batch, tokens, pairs)) / 2 for each in ("cos", "sin")}
    inputs |= given or {}
    stated = {"normalized_over": over, "weight_offset": offset, "pairing": pairing}
    also = [
        "mean_square",
        "weights",
        f"normalized_over.{'default' if over is None else over}",
        *({None: ["weight_offset.default"], "one": ["weight_offset.one"]}.get(offset, [])),
    ]
    if "cos" in inputs:
        also += ["order", "rotation", *({None: ["pairing.default"], "half": []}.get(pairing, [f"pairing.{pairing}"]))]
        also += ["unrotated"] if 2 * inputs["cos"].shape[-1] < width else []
    return AuthoredCase(
        id=case_id,
        title=f"QK-norm{' of all heads' * (over == 'all_heads')}{', rotated' * ('cos' in inputs)}: {title}",
        operation="qk_norm",
        clauses=tuple(f"qk_norm.{clause}" for clause in dict.fromkeys((*also, *clauses, "shape"))),
        source=MADE if report is None else reported(report),
        inputs={key: require_exact(array, dtypes, named=case_id) for key, array in inputs.items()},
        attributes={"epsilon": epsilon, **{key: value for key, value in stated.items() if value is not None}},
        outputs=("query_output", "key_output"),
        dtypes=dtypes,
        **more,
    )


def unlike(name: str, heads: int) -> NDArray[np.float64]:
    """Draw heads of very different sizes: what is normalized by another head's root is far off."""
    sizes = 2.0 ** np.arange(-2, 2 * heads - 2, 2)
    return grid(f"{PROFILE}/{name}", (1, heads, 2, 4)) * sizes[:, np.newaxis, np.newaxis]


def over_a_head() -> tuple[AuthoredCase, ...]:
    """Normalize each head by itself: any numbers of heads, tokens and features."""
    same = grid("norms/same", (1, 2, 2, 4))
    return (
        qk_norm("head_plain", "two heads")(report=WRONG_NORM),
        qk_norm("head_stated", "over a head, as is said")(over="head", report=BY_DEFAULT),
        qk_norm("head_batch", "two entries of three tokens")((2, 1), extents=(2, 3, 2)),
        qk_norm("head_grouped", "four query heads and two key heads")((4, 2), extents=(1, 2, 3)),
        qk_norm("head_multi_query", "three query heads and one key head")((3, 1), extents=(1, 2, 3)),
        qk_norm("head_alone", "one head: all heads are one")((1, 1)),
        qk_norm("head_one_token", "one token")((2, 2), extents=(2, 1, 4)),
        qk_norm("head_width_7", "seven features")(extents=(1, 2, 7)),
        qk_norm("head_width_17", "seventeen features")((1, 1), extents=(1, 1, 17)),
        qk_norm("head_unlike", "heads of very different sizes")(
            given={"query": unlike("unlike_query", 2), "key": unlike("unlike_key", 2)}, report=ACROSS_HEADS
        ),
        qk_norm("head_unlike_grouped", "unlike heads, of which the key has fewer")(
            (3, 2),
            given={"query": unlike("unlike_3", 3), "key": unlike("unlike_2", 2)},
            over="head",
            report=ACROSS_HEADS,
        ),
        qk_norm("head_same_numbers", "queries and keys of the same numbers, with weights of their own")(
            given={"query": same, "key": same}
        ),
        qk_norm("head_shifted", "features with a mean of 4")(
            given={
                name: np.round(grid(f"norms/{name}_shifted", (1, 2, 2, 4)) * 16) / 32 + 4 for name in ("query", "key")
            }
        ),
        qk_norm("head_ones", "weights of 1: the tokens' own size alone")(
            given={"query_weight": np.ones(4), "key_weight": np.ones(4)}
        ),
    )


def over_all_heads() -> tuple[AuthoredCase, ...]:
    """Normalize the features of all heads together: orders of heads, features and weights."""
    return (
        qk_norm("all_heads_plain", "two heads, normalized together")(**ALL_HEADS, report=BY_HEAD),
        qk_norm("all_heads_batch", "two entries of two tokens")(extents=(2, 2, 3), **ALL_HEADS),
        qk_norm("all_heads_grouped", "four query heads and two key heads")((4, 2), extents=(1, 2, 3), **ALL_HEADS),
        qk_norm("all_heads_multi_query", "three query heads and one key head")((3, 1), extents=(1, 2, 4), **ALL_HEADS),
        qk_norm("all_heads_alone", "one head is all heads")((1, 1), extents=(1, 3, 4), **ALL_HEADS),
        qk_norm("all_heads_as_many_as_features", "three heads of three features")(
            (3, 3), extents=(1, 2, 3), **ALL_HEADS
        ),
        qk_norm("all_heads_as_many_as_tokens", "two heads, two tokens, two features")(
            (2, 2), extents=(2, 2, 2), **ALL_HEADS
        ),
        qk_norm("all_heads_one_token", "one token")((3, 2), extents=(1, 1, 5), **ALL_HEADS),
        qk_norm("all_heads_of_one_feature", "five heads of one feature")((5, 2), extents=(1, 2, 1), **ALL_HEADS),
        qk_norm("all_heads_unlike", "heads of very different sizes")(
            given={"query": unlike("all_query", 2), "key": unlike("all_key", 2)}, **ALL_HEADS, report=BY_HEAD
        ),
        qk_norm("all_heads_one", "weights less 1")(offset="one", **ALL_HEADS),
        qk_norm("all_heads_epsilon", "an epsilon of 0.5")((2, 1), ("epsilon",), epsilon=0.5, **ALL_HEADS),
        qk_norm("all_heads_nine", "nine heads of three features")((9, 2), extents=(1, 1, 3), **ALL_HEADS),
    )


def before_the_rotation() -> tuple[AuthoredCase, ...]:
    """Rotate what was normalized: both pairings, partial rotations, weights that show the order."""
    right = {"cos": np.zeros((1, 2, 2)), "sin": np.ones((1, 2, 2))}
    powers = {
        "query_weight": 2.0 ** np.array([2.0, -1.0, -3.0, 1.0]),
        "key_weight": 2.0 ** np.array([-2.0, 1.0, 3.0, 0.0]),
    }
    still = {"cos": np.ones((1, 2, 2)), "sin": np.zeros((1, 2, 2))}
    ones = {"query_weight": np.ones(4), "key_weight": np.ones(4)}
    return (
        qk_norm("order_default", "no pairing stated")(**TURNED, report=ORDER),
        qk_norm("order_half", "halves")(**TURNED, pairing="half", report=ORDER),
        qk_norm("order_interleaved", "neighbours")(**TURNED, pairing="interleaved", report=ORDER),
        qk_norm("order_batch", "two entries at other positions")(extents=(2, 2, 4), **TURNED, pairing="half"),
        qk_norm("order_grouped", "four query heads and two key heads")((4, 2), **TURNED),
        qk_norm("order_one_token", "one token of two entries, as in decoding")((2, 1), extents=(2, 1, 4), **TURNED),
        qk_norm("order_three_tokens", "three tokens, neighbours")(
            (1, 1), extents=(1, 3, 6), pairs=3, pairing="interleaved"
        ),
        qk_norm("order_right_angle", "every pair by a right angle")(given=right, report=ORDER),
        qk_norm("order_right_angle_interleaved", "every pair of neighbours by a right angle")(
            given={**right, **powers}, pairing="interleaved"
        ),
        qk_norm("order_unlike_weights", "weights of very different sizes")(**TURNED, given=powers, report=ORDER),
        qk_norm("order_ones", "weights of 1, where a rotation of all features shows no order")(**TURNED, given=ones),
        qk_norm("order_still", "tables that turn nothing")(given=still),
        qk_norm("order_partial", "four of six features, halves")(extents=(1, 2, 6), **TURNED, pairing="half"),
        qk_norm("order_partial_interleaved", "four of seven features, neighbours")(
            (2, 1), extents=(1, 2, 7), **TURNED, pairing="interleaved"
        ),
        qk_norm("order_partial_one_pair", "two of five features")((1, 2), extents=(1, 2, 5), pairs=1),
        qk_norm("order_all_heads", "all heads normalized together, halves")(**TURNED, **ALL_HEADS, report=BY_HEAD),
        qk_norm("order_all_heads_interleaved", "all heads normalized together, neighbours")(
            (3, 2), **TURNED, **ALL_HEADS, pairing="interleaved"
        ),
        qk_norm("order_all_heads_partial", "all heads normalized together, two of three features")(
            (2, 2), extents=(1, 2, 3), pairs=1, **ALL_HEADS, pairing="half"
        ),
        qk_norm("order_one", "weights less 1, halves")(**TURNED, offset="one", report=OFFSET),
        qk_norm("order_one_interleaved", "weights less 1, neighbours")(
            (2, 1), **TURNED, offset="one", pairing="interleaved"
        ),
        qk_norm("order_epsilon", "an epsilon of 1")(**TURNED, clauses=("epsilon",), epsilon=1.0),
        qk_norm("order_everything", "all heads, weights less 1, neighbours, an epsilon of 0.25")(
            (3, 2), ("epsilon",), **TURNED, **ALL_HEADS, offset="one", pairing="interleaved", epsilon=0.25
        ),
    )


def numbers() -> tuple[AuthoredCase, ...]:
    """Hold epsilons, weights less 1, and numbers beyond half precision."""
    precise = ("precision",)
    beyond = {name: signs(f"{name}_beyond", 20)[np.newaxis] * 64 for name in ("query", "key")}
    behind = {name: behind_large(f"{name}_behind", 30)[np.newaxis] for name in ("query", "key")}
    # The second head of a token is summed after the first.
    heads = {name: behind_large(f"{name}_heads", 31).reshape(1, 2, 1, 16) for name in ("query", "key")}
    lost = {name: lost_in_turn(f"{name}_lost")[:, np.newaxis] for name in ("query", "key")}
    digits = {name: decimals(f"norms/{name}_digits", (1, 1, 1, 4)) for name in ("query", "key")}
    return (
        qk_norm("epsilon_0", "an epsilon of 0")(clauses=("epsilon",), epsilon=0.0, report=UNUSED),
        qk_norm("epsilon_half", "an epsilon of 0.5")(clauses=("epsilon",), epsilon=0.5, report=OUTSIDE),
        qk_norm("epsilon_two", "an epsilon of 2")((3, 1), ("epsilon",), epsilon=2.0, report=UNUSED),
        qk_norm("epsilon_1e_5_small", "small features beside the epsilon of Llama 2")(
            clauses=("epsilon",), epsilon=1e-5, times=2.0**-8, dtypes=SINGLE_AND_DOUBLE, report=FIXED
        ),
        qk_norm("one_plain", "weights less 1")(offset="one", report=OFFSET),
        qk_norm("one_small", "weights less 1 that are near to 0")(
            (2, 1),
            given={f"{name}_weight": grid(f"norms/{name}_small", (4,)) / 32 for name in ("query", "key")},
            offset="one",
            report=OFFSET,
        ),
        qk_norm("one_zeros", "weights less 1 that are all 0")(
            given={"query_weight": np.zeros(4), "key_weight": np.zeros(4)}, offset="one", report=TWICE
        ),
        qk_norm("one_batch", "weights less 1 of two entries")(extents=(2, 1, 3), offset="one"),
        qk_norm("zero_stated", "weights as they are, by a stated offset")(offset="zero", over="head"),
        qk_norm("squares_beyond_float16", "features whose squares float16 does not hold")(
            clauses=precise, times=256.0, report=OVERFLOW
        ),
        qk_norm("squares_beyond_float16_turned", "features whose squares float16 does not hold")(
            clauses=precise, times=512.0, **TURNED
        ),
        qk_norm("sum_beyond_float16", "twenty squares whose sum float16 does not hold")(
            (1, 1), precise, extents=(1, 1, 20), given=beyond, report=HALF_SUM
        ),
        qk_norm("small_behind_large", "thirty small squares behind a large one, of which bfloat16 adds none")(
            (1, 1), precise, extents=(1, 1, 31), given=behind, report=HALF_SUM
        ),
        qk_norm("small_behind_large_all_heads", "small squares of both heads behind a large one")(
            (2, 2), precise, extents=(1, 1, 16), given=heads, **ALL_HEADS
        ),
        qk_norm("lost_in_turn", "squares that are lost one by one beside a large one")(
            (1, 1), precise, extents=(2, 2, 3), given=lost, dtypes=SINGLE_AND_DOUBLE
        ),
        qk_norm("tiny_in_float16", "features of which one over the root is beyond float16")(
            (1, 1), precise, extents=(1, 1, 2), times=TINY, epsilon=0.0
        ),
        qk_norm("tiny_in_float16_all_heads", "tiny features beside an epsilon that float16 takes for 0")(
            (2, 1), ("epsilon", "precision"), extents=(1, 1, 2), times=TINY, epsilon=2.0**-40, **ALL_HEADS
        ),
        qk_norm("large", "features around a million")(clauses=precise, times=2.0**20, dtypes=WITHOUT_FLOAT16),
        qk_norm("large_turned", "features around a hundred thousand")(
            (2, 1), precise, times=2.0**17, **TURNED, dtypes=WITHOUT_FLOAT16
        ),
        qk_norm("digits", "features of which no dtype holds any")(
            (1, 1),
            extents=(1, 1, 4),
            given=digits,
            **TURNED,
            dtypes=("float64",),
        ),
    )


def calls() -> tuple[AuthoredCase, ...]:
    """Hold every memory layout, and one argument that is changed alone in a second call."""
    same = grid("norms/one_array", (1, 2, 2, 4))
    one_weight, one_table = grid("norms/one_weight", (4,)), grid("norms/one_table", (1, 2, 2)) / 2
    of_batch: dict[str, Any] = {"extents": (2, 2, 2), "pairs": 1}
    return (
        *(
            qk_norm(f"{layout}_{name}", f"{name} {how}")(
                **of_batch, memory_order=dict.fromkeys(inputs, layout), pairing="half"
            )
            for layout, how in LAYOUTS.items()
            for name, inputs in (("tokens", ("query", "key")), ("tables", ("cos", "sin")))
            if (name == "tokens" and layout != "prefix") or layout == "fortran"
        ),
        qk_norm("fortran_tables_interleaved", "tables of neighbours with the first axis first in memory")(
            (1, 1),
            extents=(2, 2, 2),
            pairs=1,
            memory_order={"cos": "fortran", "sin": "fortran"},
            pairing="interleaved",
        ),
        *(
            qk_norm(f"gapped_weights{name}", f"weights with gaps in memory{how}")(
                (2, 1), memory_order={"query_weight": "gapped", "key_weight": "gapped"}, **more
            )
            for name, how, more in (("", "", {}), ("_all_heads", ", of all heads", ALL_HEADS))
        ),
        qk_norm("heads_last", "heads that lie behind the tokens in memory")(
            extents=(1, 2, 4), memory_order={"query": "heads_last", "key": "heads_last"}
        ),
        qk_norm("heads_last_all_heads", "heads behind the tokens in memory, normalized together")(
            (3, 2), extents=(1, 2, 4), memory_order={"query": "heads_last", "key": "heads_last"}, **ALL_HEADS
        ),
        qk_norm("heads_last_gapped", "heads side by side for each token, with gaps between tokens")(
            (3, 3), extents=(1, 2, 4), memory_order={"query": "heads_last_gapped", "key": "heads_last_gapped"}
        ),
        qk_norm("one_array", "one array is given as queries and keys")(
            given={"query": same, "key": same}, memory_order={"query": "shared", "key": "shared"}
        ),
        qk_norm("one_array_as_weights", "one array is given as both weights")(
            given={"query_weight": one_weight, "key_weight": one_weight},
            memory_order={"query_weight": "shared", "key_weight": "shared"},
        ),
        qk_norm("one_array_as_tables", "one array is given as cosines and sines")(
            given={"cos": one_table, "sin": one_table}, memory_order={"cos": "shared", "sin": "shared"}
        ),
        *(
            qk_norm(f"other_{name}", f"{name} is changed alone in a second call")(
                (2, 1), extents=(1, 2, 6), pairs=3, changed_argument=ChangedArgument(name, reversed=True)
            )
            for name in ("query", "query_weight", "cos", "sin")
        ),
        qk_norm("other_weights_all_heads", "weights of all heads are changed alone in a second call")(
            (2, 1), **ALL_HEADS, changed_argument=ChangedArgument("query_weight", reversed=True)
        ),
        qk_norm("other_tables_interleaved", "cosines of neighbours are changed alone in a second call")(
            (1, 2), **TURNED, pairing="interleaved", changed_argument=ChangedArgument("cos", reversed=True)
        ),
        qk_norm("other_epsilon", "epsilon is changed alone in a second call")(
            epsilon=0.5, changed_argument=ChangedArgument("epsilon", 4.0)
        ),
        qk_norm("other_epsilon_smaller", "epsilon is smaller in a second call")(
            (1, 1), **TURNED, epsilon=1.0, changed_argument=ChangedArgument("epsilon", 0.125)
        ),
        qk_norm("other_offset", "the offset is changed alone in a second call")(
            (1, 1), offset="one", changed_argument=ChangedArgument("weight_offset", "zero")
        ),
        qk_norm("other_pairing", "the pairing is changed alone in a second call")(
            (1, 1), **TURNED, pairing="interleaved", changed_argument=ChangedArgument("pairing", "half")
        ),
    )


def refused() -> tuple[AuthoredCase, ...]:
    """Hold queries, keys, weights and tables that do not fit, and unknown words, each beside what is right."""
    plain = next(case for case in over_a_head() if case.id.endswith("head_stated"))
    turned = next(case for case in before_the_rotation() if case.id.endswith("order_half"))
    query, key, weight = (plain.inputs[name] for name in ("query", "key", "query_weight"))
    cos, sin = (turned.inputs[name] for name in ("cos", "sin"))

    def refusal(
        name: str, clause: str, reason: str, *without: str, attributes: dict[str, Any] | None = None, **changed: Any
    ) -> AuthoredCase:
        valid = turned if clause in ("tables", "pairing") else plain
        inputs = {key: array for key, array in {**valid.inputs, **changed}.items() if key not in without}
        return AuthoredCase(
            id=f"{PROFILE}/qk_rejects_{name}",
            title=f"QK-norm: refused, {reason[0].lower()}{reason[1:-1]}",
            operation="qk_norm",
            clauses=(f"qk_norm.rejects.{clause}",),
            source=MADE,
            inputs=inputs,
            attributes={**valid.attributes, **(attributes or {})},
            outputs=("query_output", "key_output"),
            dtypes=EVERY_DTYPE,
            rejects=Rejects(reason, valid.id, None if attributes else STRICT),
        )

    return (
        refusal("no_heads", "rank", "Query and key have no axis of heads.", query=query[:, 0], key=key[:, 0]),
        refusal("query_without_heads", "rank", "The query has no axis of heads.", query=query[:, 0]),
        refusal(
            "key_of_other_width",
            "tokens",
            "The key is narrower than the query.",
            key=key[..., :3],
            key_weight=plain.inputs["key_weight"][:3],
        ),
        refusal("key_of_one_token", "tokens", "The key has one token, the query two.", key=key[:, :, :1]),
        refusal("one_weight", "weight", "There is one weight for four features.", query_weight=weight[:1]),
        refusal("one_key_weight", "weight", "There is one weight for the key.", key_weight=weight[:1]),
        refusal("key_weight_of_two", "weight", "There are two weights for four features.", key_weight=weight[:2]),
        refusal("weights_of_all_heads", "weight", "There are weights for all heads.", query_weight=np.tile(weight, 2)),
        refusal("cosines_alone", "tables", "There are no sines.", "sin"),
        refusal("sines_alone", "tables", "There are no cosines.", "cos"),
        refusal("unlike_tables", "tables", "There are fewer sines than cosines.", sin=sin[..., :1]),
        refusal("tables_of_one_token", "tables", "The tables have one token.", cos=cos[:, :1], sin=sin[:, :1]),
        refusal(
            "tables_of_three_pairs",
            "tables",
            "Three pairs are more than four features make.",
            cos=grid("norms/cos_wide", (1, 2, 3)) / 2,
            sin=grid("norms/sin_wide", (1, 2, 3)) / 2,
        ),
        refusal(
            "tables_of_two_pairs",
            "tables",
            "Two pairs are more than two features make.",
            query=query[..., :2],
            key=key[..., :2],
            query_weight=weight[:2],
            key_weight=weight[2:],
        ),
        refusal(
            "normalized_over_all",
            "normalized_over",
            "There is no set of features 'all'.",
            attributes={"normalized_over": "all"},
            query_weight=np.tile(weight, 2),
            key_weight=np.tile(weight, 2),
        ),
        *(
            refusal(f"{attribute}_{name}", attribute, f"There is no {what} {word!r}.", attributes={attribute: word})
            for attribute, what, words in (
                ("normalized_over", "set of features", (("heads", "heads"), ("capital", "Head"))),
                ("weight_offset", "offset", (("two", "two"), ("plus_one", "plus_one"))),
                ("pairing", "pairing", (("neox", "neox"), ("capital", "Half"))),
            )
            for name, word in words
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of QK-norm."""
    return (*over_a_head(), *over_all_heads(), *before_the_rotation(), *numbers(), *calls(), *refused())
