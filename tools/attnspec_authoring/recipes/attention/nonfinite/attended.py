"""NaN and infinities in attention, where they may be attended and where they may not, and where they are kept.

No other profile of attention holds one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import BOTTOM_CAUSAL, HIDDEN, Sizes, attention, float_mask, profile
from attnspec_authoring.recipes.attention.documents.document_002_multi_head_module import nan_in_query
from attnspec_authoring.recipes.attention.layout.heads import counted, layout
from attnspec_authoring.recipes.authoring import row, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

nonfinite = profile("nonfinite")

PLAIN = Sizes(3, 2, 2, 4, 5)
SMALL = Sizes(1, 2, 2, 4, 5)
SQUARE = Sizes(1, 2, 2, 5, 5)
NAN = float("nan")
INFINITY = float("inf")
ATTENDED = ("sdpa.nonfinite_input",)
EXCLUDED = ("sdpa.masked_nonfinite",)
Spot = tuple[int | slice, ...]
ALL = slice(None)


def spoilt(case_id: str, sizes: Sizes, **spots: tuple[Spot, float] | list[tuple[Spot, float]]) -> dict[str, Any]:
    """Draw tensors and put numbers that are not finite at indices of them."""
    tensors = sizes.drawn(case_id)
    for name, put in spots.items():
        for spot, number in put if isinstance(put, list) else [put]:
            tensors[name][spot] = number
    return tensors


def attended_cases() -> tuple[AuthoredCase, ...]:
    """Put one number that is not finite where some queries may attend to it: they follow, the others stay clean."""
    spots = (
        row("nan_in_query", "NaN in one query: its row becomes NaN, no other")(
            PLAIN, {"query": ((1, 0, 2, 1), NAN)}, "intel/torch-xpu-ops/pull/5022"
        ),
        row("infinities_in_queries", "Infinity in one query and minus infinity in another")(
            PLAIN, {"query": [((1, 1, 0, 1), INFINITY), ((0, 1, 3, 2), -INFINITY)]}, None
        ),
        row("nan_in_key", "NaN in one key: every query of its head becomes NaN")(
            PLAIN, {"key": ((2, 1, 3, 0), NAN)}, None
        ),
        row("infinity_in_key", "Infinity in one key")(PLAIN, {"key": ((0, 0, 1, 1), INFINITY)}, None),
        row("nan_in_value", "NaN in one feature of one value: the other features stay clean")(
            PLAIN, {"value": ((1, 0, 2, 1), NAN)}, None
        ),
        row("infinity_in_value", "Infinity in one value")(PLAIN, {"value": ((1, 1, 0, 2), INFINITY)}, None),
        row("both_infinities_in_values", "Infinities of both signs in the same feature of two values")(
            PLAIN, {"value": [((0, 0, 1, 0), INFINITY), ((0, 0, 4, 0), -INFINITY), ((2, 1, 3, 1), -INFINITY)]}, None
        ),
        row("whole_entry_of_nan", "A whole batch entry of NaN")(
            PLAIN, {"value": ((1,), NAN), "key": ((1,), NAN)}, None
        ),
        row("grouped_head", "NaN in one shared head reaches its three query heads")(
            Sizes(1, 6, 2, 4, 5), {"key": ((0, 1, 2, 0), NAN)}, None
        ),
        *(
            row(f"nan_in_{tensor}_of_one_key", f"NaN in the {tensor} of a single key: its weight is NaN, and not 1")(
                Sizes(3, 2, 2, 4, 1), {tensor: ((1, 0, 0, 1), NAN)}, None
            )
            for tensor in ("query", "key", "value")
        ),
        row("nan_in_query_of_one_key_and_one_query", "NaN in one query beside a single key")(
            Sizes(3, 2, 2, 1, 1), {"query": ((1, 0, 0, 1), NAN)}, None
        ),
        row("nan_in_past_of_one_key", "NaN in a past key, the only one")(
            Sizes(3, 2, 2, 4, 0, past=1), {"past_key": ((1, 0, 0, 0), NAN)}, None
        ),
        row("nan_in_past", "NaN in a past key")(Sizes(3, 2, 2, 4, 4, past=3), {"past_key": ((1, 0, 2, 0), NAN)}, None),
    )
    return tuple(
        nonfinite(f"{name}", title)(
            sizes,
            clauses=ATTENDED,
            report=report,
            outputs=("output", "weights") if name == "grouped_head" or "one_key" in name else ("output",),
            **spoilt(f"nonfinite/{name}", sizes, **put),
        )
        for name, title, sizes, put, report in spots
    )


def first_scores() -> Iterator[AuthoredCase]:
    """Give the first keys the score minus infinity: a running maximum begins there, and finds finite ones behind."""
    for hidden, keys in ((1, 5), (4, 7), (9, 12), (17, 20), (66, 69)):
        case_id = f"nonfinite/minus_infinity_for_the_first_{hidden}"
        sizes = Sizes(1, 2, 1, 3, keys, 2)
        tensors = sizes.drawn(case_id)
        tensors["query"][..., 0] = np.abs(tensors["query"][..., 0]) + 1.0
        tensors["key"][:, :, :hidden, 0] = -INFINITY
        yield attention(
            case_id, f"Scores of minus infinity for the first {hidden} of {keys} keys, which all may be attended"
        )(sizes, clauses=ATTENDED, also="weights logsumexp", **tensors)


def moved_cases() -> Iterator[AuthoredCase]:
    """Split and combine heads of numbers that are not finite: they are moved, and nothing beside them is touched."""
    for name, number in (("nan", NAN), ("infinity", INFINITY), ("minus_infinity", -INFINITY)):
        of_tokens, of_heads = counted((2, 3, 6), 1), counted((2, 3, 2, 2), 1)
        of_tokens[1, 0, 3], of_heads[0, 1, 1, 0] = number, number
        said = name.replace("_", " ")
        yield from (
            layout(name, f"{said} in one feature")(of_tokens.shape, num_heads=3, profile="nonfinite", x=of_tokens),
            layout(name, f"{said} in one feature")(of_heads.shape, profile="nonfinite", x=of_heads),
        )


def attended_under_rules() -> tuple[AuthoredCase, ...]:
    """Put one where a mask, a cap or a sink is in play and does not exclude it."""
    case = table(attention, sizes=SMALL, clauses=ATTENDED)
    seen = np.ones((4, 5), np.bool_)
    seen[1, 2] = False
    steps = "nonfinite/all_steps"
    one = (np.arange(4).reshape(4, 1) == 2) & (np.arange(5) == 3)
    of_a_key = (np.arange(5) == 3).reshape(1, 1, 1, 5)
    masks_with_nan: tuple[tuple[str, str, NDArray[Any], dict[str, Any]], ...] = (
        ("of_queries", "at one query and key", np.where(one, NAN, 0.25), {}),
        ("of_a_head", "at one head", np.where(np.arange(2).reshape(2, 1, 1) == 1, NAN, np.ones((2, 4, 5))), {}),
        ("of_a_key", "at one key of all queries", np.where(of_a_key, NAN, 0.5), {}),
        ("beside_a_sink", "beside sinks", np.where(one, NAN, 0.5), {"sinks": [0.5, 1.0]}),
    )
    return (
        case("nonfinite/float_mask_beside_nan", "A float mask hides other keys than the one that holds NaN")(
            mask=np.where(np.arange(5) == 1, HIDDEN, float_mask("nonfinite/beside", (4, 5), hides=False)),
            **spoilt("nonfinite/float_mask_beside_nan", SMALL, value=((0, 1, 3, 0), NAN)),
        ),
        *(
            case(
                f"nonfinite/nan_in_float_mask_{name}",
                f"NaN in a float mask, {what}: the queries to which it is added become NaN, no other",
            )(mask=mask, **more)
            for name, what, mask, more in masks_with_nan
        ),
        case("nonfinite/float_mask_beside_nan_query", "A float mask with minus infinity and a query of NaN")(
            mask=np.where(np.arange(5) == 1, HIDDEN, float_mask("nonfinite/beside", (4, 5), hides=False)),
            **spoilt("nonfinite/float_mask_beside_nan_query", SMALL, query=((0, 0, 2, ALL), NAN)),
        ),
        nonfinite("one_row_may_not", "Every query but one may attend to a key of NaN")(
            SMALL,
            clauses=(*ATTENDED, *EXCLUDED),
            mask=seen,
            **spoilt("nonfinite/one_row_may_not", SMALL, key=((0, ALL, 2), NAN), value=((0, ALL, 2), NAN)),
        ),
        case("nonfinite/softcap", "A cap on a score of NaN")(
            softcap=2.0, **spoilt("nonfinite/softcap", SMALL, query=((0, 0, 2, 1), NAN))
        ),
        case("nonfinite/sinks", "A sink does not swallow NaN")(
            sinks=[0.5, 1.0], **spoilt("nonfinite/sinks", SMALL, key=((0, 0, 2, 1), NAN))
        ),
        case("nonfinite/scale_zero", "Zero times infinity is NaN")(
            scale=0.0, **spoilt("nonfinite/scale_zero", SMALL, query=((0, 0, 2, 1), INFINITY))
        ),
        case(steps, "Every step with a query of NaN")(
            also="weights logsumexp scores logits", **spoilt(steps, SMALL, query=((0, 1, 1, 0), NAN))
        ),
        nonfinite("one_key", "A single key with an infinite value")(
            Sizes(3, 2, 2, 4, 1),
            clauses=ATTENDED,
            **spoilt("nonfinite/one_key", Sizes(3, 2, 2, 4, 1), value=((1, 0, 0, 1), INFINITY)),
        ),
    )


def causal_cases() -> tuple[AuthoredCase, ...]:
    """Put one into the last keys: earlier queries may not attend to it, later ones may."""
    case = table(nonfinite, sizes=SQUARE, clauses=(*ATTENDED, *EXCLUDED))
    return (
        case("causal_future", "NaN in the last key and value: only the last query may attend to it")(
            is_causal=True,
            **spoilt("nonfinite/causal_future", SQUARE, key=((ALL, ALL, 4), NAN), value=((ALL, ALL, 4), NAN)),
        ),
        case("causal_future_value", "Infinity in the values of the last two keys, causal")(
            is_causal=True, **spoilt("nonfinite/causal_future_value", SQUARE, value=((ALL, 1, slice(3, 5)), INFINITY))
        ),
        case("window", "NaN in the first key: queries whose window does not reach it stay clean")(
            report="vllm-project/vllm/pull/30887",
            window=[1, 1],
            **spoilt("nonfinite/window", SQUARE, key=((ALL, ALL, 0), NAN), value=((ALL, ALL, 0), NAN)),
        ),
    )


def excluded_cases() -> Iterator[AuthoredCase]:
    """Put them where no query may attend: nothing shows."""
    case = table(attention, sizes=SMALL, clauses=EXCLUDED)
    allowed = np.broadcast_to(np.arange(5) != 3, (4, 5))
    masks = {"boolean": allowed, "float": np.where(allowed, 0.5, HIDDEN)}
    reports = {("boolean", "nan"): "pytorch/pytorch/issues/101967"}
    for kind, mask in masks.items():
        for name, number in (("nan", NAN), ("infinity", INFINITY), ("minus_infinity", -INFINITY)):
            case_id = f"nonfinite/hidden_by_{kind}_mask_{name}"
            yield case(
                case_id,
                f"{name.replace('_', ' ').capitalize() if name != 'nan' else 'NaN'} in a key and value that a "
                f"{'Boolean' if kind == 'boolean' else kind} mask hides",
            )(
                report=reports.get((kind, name)),
                mask=mask,
                **spoilt(case_id, SMALL, key=((ALL, ALL, 3), number), value=((ALL, ALL, 3), number)),
            )
    lengths = [5, 2, 3]
    behind = spoilt(
        "nonfinite/beyond_key_lengths",
        PLAIN,
        key=[((1, ALL, slice(2, 5)), NAN), ((2, ALL, slice(3, 5)), INFINITY)],
        value=[((1, ALL, slice(2, 5)), NAN), ((2, ALL, slice(3, 5)), -INFINITY)],
    )
    yield from (
        case("nonfinite/hidden_value_alone", "NaN in a hidden value whose key is finite")(
            also="weights", mask=allowed, **spoilt("nonfinite/hidden_value_alone", SMALL, value=((ALL, ALL, 3), NAN))
        ),
        case("nonfinite/hidden_key_alone", "NaN in a hidden key whose value is finite")(
            also="logsumexp", mask=allowed, **spoilt("nonfinite/hidden_key_alone", SMALL, key=((ALL, ALL, 3), NAN))
        ),
        nonfinite("beyond_key_lengths", "NaN and infinities in keys and values beyond the lengths")(
            PLAIN, clauses=EXCLUDED, report="Dao-AILab/flash-attention/issues/1745", key_lengths=lengths, **behind
        ),
        nonfinite("beyond_key_lengths_causal", "NaN beyond the lengths, causal and aligned to the last counted key")(
            PLAIN, clauses=EXCLUDED, report="pytorch/xla/pull/9219", key_lengths=lengths, **BOTTOM_CAUSAL, **behind
        ),
        nonfinite(
            "one_query_beyond_key_lengths",
            "NaN behind the lengths of keys that three query heads share, one query, a cap and sinks",
        )(
            Sizes(2, 3, 1, 1, 4, 1),
            clauses=EXCLUDED,
            report="pytorch/pytorch/issues/101967",
            key=np.array([[0.5, -1.0, 0.25, 1.0], [1.0, NAN, NAN, NAN]]).reshape(2, 1, 4, 1),
            value=np.array([[1.0, 2.0, 4.0, 8.0], [8.0, NAN, NAN, NAN]]).reshape(2, 1, 4, 1),
            key_lengths=[4, 1],
            sinks=[0.5, -0.5, 1.0],
            softcap=2.0,
        ),
        nonfinite("beyond_query_lengths", "NaN in queries beyond the lengths: those that count stay clean")(
            PLAIN,
            clauses="query_lengths.rows",
            query_lengths=[4, 2, 1],
            **spoilt(
                "nonfinite/beyond_query_lengths",
                PLAIN,
                query=[((1, ALL, slice(2, 4)), NAN), ((2, ALL, slice(1, 4)), NAN)],
            ),
        ),
        nonfinite("future_of_everyone", "NaN in keys that stand behind every query")(
            Sizes(3, 2, 2, 4, 6),
            clauses=EXCLUDED,
            is_causal=True,
            causal_alignment="top_left",
            **spoilt(
                "nonfinite/future_of_everyone",
                Sizes(3, 2, 2, 4, 6),
                key=((ALL, ALL, slice(4, 6)), NAN),
                value=((ALL, ALL, slice(4, 6)), NAN),
            ),
        ),
        nonfinite("hidden_past", "NaN in a past key that a mask hides")(
            Sizes(3, 2, 2, 4, 4, past=3),
            clauses=EXCLUDED,
            mask=np.broadcast_to(np.arange(7) != 1, (1, 7)),
            **spoilt(
                "nonfinite/hidden_past",
                Sizes(3, 2, 2, 4, 4, past=3),
                past_key=((ALL, ALL, 1), NAN),
                past_value=((ALL, ALL, 1), NAN),
            ),
        ),
        case("nonfinite/hidden_with_softcap_and_sinks", "NaN in a hidden key with a cap and sinks")(
            mask=allowed,
            softcap=1.5,
            sinks=[0.5, 1.0],
            **spoilt("nonfinite/hidden_with_softcap_and_sinks", SMALL, key=((ALL, ALL, 3), NAN)),
        ),
        nonfinite("dead_row", "A row without keys whose hidden keys hold NaN")(
            SMALL,
            clauses=(*EXCLUDED, "sdpa.fully_masked_row"),
            mask=allowed & (np.arange(4) != 2)[:, np.newaxis],
            **spoilt("nonfinite/dead_row", SMALL, key=((ALL, ALL, 3), NAN), value=((ALL, ALL, 3), NAN)),
        ),
        nonfinite("no_row_may", "A mask hides every key, and all of them hold NaN")(
            Sizes(2, 3, 3, 4, 5),
            clauses=(*EXCLUDED, "sdpa.fully_masked_row"),
            mask=np.zeros((4, 5), np.bool_),
            **spoilt("nonfinite/no_row_may", Sizes(2, 3, 3, 4, 5), key=((), NAN), value=((), NAN)),
        ),
    )


PRESENT = ("output", "present_key", "present_value")
CLAUSES = ("sdpa.past.present",)
NUMBERS = {
    "nan": ("NaN", float("nan")),
    "infinity": ("Infinity", float("inf")),
    "minus_infinity": ("Minus infinity", -float("inf")),
}


def holding(case_id: str, sizes: Sizes, names: tuple[str, ...], number: float) -> dict[str, Any]:
    """Draw tensors and put a number into the second token of some of them."""
    tensors = sizes.drawn(case_id)
    for name in names:
        tensors[name][:, :, 1, 0] = number
    return tensors


def kept_cases() -> Iterator[AuthoredCase]:
    """Return such keys and values, attended and hidden, new ones and past ones."""
    without, past = Sizes(1, 2, 1, 4, 5), Sizes(1, 2, 1, 4, 5, past=3)
    hides: dict[str, Any] = {"mask": np.arange(5) != 1}
    hides_past: dict[str, Any] = {"mask": np.arange(8) % 3 != 1}
    for kind, (what, number) in NUMBERS.items():
        spots: tuple[tuple[str, Sizes, tuple[str, ...], dict[str, Any]], ...] = (
            ("values", without, ("value",), {}),
            ("hidden keys and values", without, ("key", "value"), hides),
            ("past values", past, ("past_value",), {}),
            ("new values after a past", past, ("value",), {}),
            ("hidden past keys and values", past, ("past_key", "past_value"), hides_past),
        )
        for where, sizes, names, mask in spots:
            case_id = f"nonfinite/present_{kind}_in_{where.replace(' ', '_')}"
            tensors = holding(case_id, sizes, names, number)
            shown: dict[str, Any] = {name: np.broadcast_to(array, (4, array.size)) for name, array in mask.items()}
            title = f"{what} in {where}, which are given back"
            yield attention(case_id, title)(sizes, clauses=CLAUSES, outputs=PRESENT, **tensors, **shown)


def many_keys_cases() -> Iterator[AuthoredCase]:
    """Return NaN among so many keys that they are taken in parts, for one query and for three."""
    for queries, keys in ((1, 21), (1, 131), (3, 67)):
        for name in ("key", "value"):
            sizes = Sizes(2, 4, 1, queries, keys)
            case_id = f"nonfinite/nan_in_{name}_of_{keys}_keys"
            tensors = sizes.drawn(case_id)
            tensors[name][0, 0, keys // 2, 1] = float("nan")
            yield attention(case_id, f"NaN in one of {keys} {name}s that every query may attend, of {queries} queries")(
                sizes, clauses="nonfinite_input", **tensors
            )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of attention, with the one that a document refuses."""
    return (
        *attended_cases(),
        *many_keys_cases(),
        *first_scores(),
        *moved_cases(),
        *attended_under_rules(),
        *causal_cases(),
        *excluded_cases(),
        *kept_cases(),
        nan_in_query(),
    )
