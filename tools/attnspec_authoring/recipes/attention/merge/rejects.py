"""What is refused, beside a valid counterpart that differs only in what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import made_for
from attnspec_authoring.recipes.attention.merge.parts import NAMES, PROFILE, drawn, merging
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, Rejects, headed, row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

STRICT = ("input_checks", "strict")
SHAPE = (2, 2, 3, 2)
UNLIKE = (2, 3, 4, 2)
"""As many batch entries, heads and queries as of nothing else: who reads one for the other has another shape."""


def of_other_sizes() -> tuple[AuthoredCase, ...]:
    """Return what has more or fewer numbers than is due."""
    valid, wider = drawn("rejects_twin", SHAPE), drawn("rejects_wider", (3, 3, 4, 3))
    rank, outputs, logarithms = ("rank", "outputs", "logsumexp")
    wrong = (
        row("no_batch", "Outputs without a batch axis are refused")(
            rank, "The outputs have three axes.", {name: array[0] for name, array in valid.items()}, True
        ),
        row("logarithms_of_four_axes", "Logarithms of four axes are refused")(
            rank,
            "The logarithms have four axes.",
            {name: valid[name][..., None] for name in ("logsumexp_a", "logsumexp_b")},
            True,
        ),
        row("logarithms_of_two_axes", "Logarithms of two axes are refused")(
            rank, "logsumexp_b has two axes.", {"logsumexp_b": valid["logsumexp_b"][0]}, True
        ),
        row("other_width", "Outputs of unlike width are refused")(
            outputs, "output_b has three features, output_a two.", {"output_b": wider["output_b"][:2, :2, :3]}, False
        ),
        row("one_feature", "One feature for two is refused")(
            outputs, "output_b has one feature, output_a two.", {"output_b": valid["output_b"][..., :1]}, True
        ),
        row("other_queries", "A second part of other queries is refused")(
            outputs,
            "The second part has four queries, the first three.",
            {"output_b": wider["output_b"][:2, :2, :, :2], "logsumexp_b": wider["logsumexp_b"][:2, :2]},
            False,
        ),
        row("one_query_for_all", "A second part of one query for three is refused")(
            outputs,
            "The second part has one query, the first three.",
            {"output_b": valid["output_b"][:, :, :1], "logsumexp_b": valid["logsumexp_b"][:, :, :1]},
            True,
        ),
        row("one_head_for_all", "A second part of one head for two is refused")(
            outputs,
            "The second part has one head, the first two.",
            {"output_b": valid["output_b"][:, :1], "logsumexp_b": valid["logsumexp_b"][:, :1]},
            True,
        ),
        row("other_logarithms", "Logarithms of four queries for three are refused")(
            logarithms,
            "logsumexp_a has four queries, the outputs three.",
            {"logsumexp_a": wider["logsumexp_a"][:2, :2]},
            False,
        ),
        row("logarithms_of_other_heads", "Logarithms of three heads for two are refused")(
            logarithms,
            "logsumexp_b has three heads, the outputs two.",
            {"logsumexp_b": wider["logsumexp_b"][:2, :, :3]},
            False,
        ),
        row("one_logarithm_for_all_heads", "One logarithm for two heads is refused")(
            logarithms, "logsumexp_a has one head, the outputs two.", {"logsumexp_a": valid["logsumexp_a"][:, :1]}, True
        ),
        row("one_logarithm_for_all_entries", "One logarithm for two batch entries is refused")(
            logarithms,
            "logsumexp_b has one batch entry, the outputs two.",
            {"logsumexp_b": valid["logsumexp_b"][:1]},
            True,
        ),
        row("one_logarithm_for_all_queries", "One logarithm for three queries is refused")(
            logarithms,
            "Both logarithms have one query, the outputs three.",
            {name: valid[name][:, :, :1] for name in ("logsumexp_a", "logsumexp_b")},
            True,
        ),
    )
    return (
        merging("rejects_twin", "valid twin of what is refused")(SHAPE),
        *(refused(name, title)("rejects_twin", valid, *others) for name, title, *others in wrong),
    )


def of_other_order() -> tuple[AuthoredCase, ...]:
    """Return what has as many numbers as is due, in another order of axes or in fewer, longer ones."""
    counterpart = "rejects_twin_of_unlike_axes"
    valid = drawn(counterpart, UNLIKE)
    batch, heads, queries, width = UNLIKE
    logarithms = {name: valid[name] for name in ("logsumexp_a", "logsumexp_b")}
    both_parts = {name: valid[name].swapaxes(1, 2).copy() for name in ("output_a", "output_b")}
    wrong = (
        row("queries_before_heads", "Logarithms with queries before heads are refused")(
            "logsumexp",
            "The logarithms are (B, S, H).",
            {name: array.swapaxes(1, 2).copy() for name, array in logarithms.items()},
            False,
        ),
        row("queries_before_heads_in_one", "A second logarithm with queries before heads is refused")(
            "logsumexp", "logsumexp_b is (B, S, H).", {"logsumexp_b": valid["logsumexp_b"].swapaxes(1, 2).copy()}, False
        ),
        row("heads_before_entries", "A first logarithm with heads before batch entries is refused")(
            "logsumexp", "logsumexp_a is (H, B, S).", {"logsumexp_a": valid["logsumexp_a"].swapaxes(0, 1).copy()}, False
        ),
        row("entries_joined_with_heads", "Logarithms that join batch entries with heads are refused")(
            "logsumexp",
            "The logarithms are (1, B H, S).",
            {name: array.reshape(1, batch * heads, queries) for name, array in logarithms.items()},
            False,
        ),
        row("heads_joined_with_queries", "A first logarithm that joins heads with queries is refused")(
            "logsumexp",
            "logsumexp_a is (B, 1, H S).",
            {"logsumexp_a": valid["logsumexp_a"].reshape(batch, 1, heads * queries)},
            False,
        ),
        row("flat_logarithms", "Logarithms in one axis are refused")(
            "rank", "The logarithms are (B H S).", {name: array.reshape(-1) for name, array in logarithms.items()}, True
        ),
        row("output_queries_first", "A second output with queries before heads is refused")(
            "outputs", "output_b is (B, S, H, Ev).", {"output_b": both_parts["output_b"]}, False
        ),
        row(
            "outputs_queries_first",
            "Outputs with queries before heads are refused beside logarithms with heads before queries",
        )("logsumexp", "The outputs are (B, S, H, Ev), the logarithms (B, H, S).", both_parts, False),
        row("output_features_first", "A first output with features before queries is refused")(
            "outputs", "output_a is (B, H, Ev, S).", {"output_a": valid["output_a"].swapaxes(2, 3).copy()}, False
        ),
        row("flat_output", "An output that joins heads with features is refused")(
            "rank",
            "output_b is (B, S, H Ev).",
            {"output_b": valid["output_b"].swapaxes(1, 2).reshape(batch, queries, heads * width)},
            True,
        ),
    )
    return (
        merging(counterpart, "valid twin of what is refused for the order of its axes")(UNLIKE),
        *(refused(name, title)(counterpart, valid, *others) for name, title, *others in wrong),
    )


@headed
def refused(
    name: str,
    title: str,
    counterpart: str,
    valid: Mapping[str, NDArray[Any]],
    clause: str,
    reason: str,
    changed: Mapping[str, NDArray[Any]],
    strict: bool,
) -> AuthoredCase:
    """Make a case that is refused: its valid counterpart, but for some of the inputs."""
    return AuthoredCase(
        id=f"{PROFILE}/rejects_{name}",
        title=f"Merge states: {title}",
        operation="merge_states",
        clauses=(f"merge.rejects.{clause}",),
        source=made_for(PROFILE),
        inputs={**valid, **changed},
        dtypes=EVERY_DTYPE,
        rejects=Rejects(reason, f"{PROFILE}/{counterpart}", STRICT if strict else None),
    )


COUNTERPART = "rejects_twin_by_axis"
SHAPE_BY_AXIS = (2, 3, 2, 2)
AXES = ("entry", "head", "query", "feature")


def of_one_axis() -> Iterator[AuthoredCase]:
    """Return each input with one axis of length 1, and with one that is longer than is due."""
    valid = drawn(COUNTERPART, SHAPE_BY_AXIS)
    for name in NAMES:
        clause = "outputs" if name.startswith("output") else "logsumexp"
        for axis, of_axis in enumerate(AXES[: valid[name].ndim]):
            alone, *_ = np.split(valid[name], [1], axis)
            changed = {
                "one": (alone, "one", True),
                "more": (np.concatenate([valid[name], alone], axis), "one more", False),
            }
            yield from (
                refused(f"{how}_{of_axis}_of_{name}", f"{name} of {words} {of_axis} is refused")(
                    COUNTERPART,
                    valid,
                    clause,
                    f"{name} has {words} {of_axis} where {'there are several' if strict else 'is due'}.",
                    {name: array},
                    strict,
                )
                for how, (array, words, strict) in changed.items()
            )


def of_one_rank() -> tuple[AuthoredCase, ...]:
    """Return each input with an axis less, and with one more at either end."""
    valid = drawn(COUNTERPART, SHAPE_BY_AXIS)
    return tuple(
        refused(f"{how}_of_{name}", f"{name} {words} is refused")(
            COUNTERPART, valid, "rank", f"{name} has {array.ndim} axes.", {name: array}, True
        )
        for name in NAMES
        for how, words, array in (
            ("axis_less", "without batch entries", valid[name][0]),
            ("axis_before", "with an axis more before the others", valid[name][np.newaxis]),
            ("axis_behind", "with an axis more behind the others", valid[name][..., np.newaxis]),
        )
    )


VALID_OF_AXES = "rejects_twin_of_equal_axes"
SHAPE_OF_ONE_LENGTH = (2, 2, 2, 2)
"""All axes have one length, so that axes too few and too many still match."""


def borders_cases() -> tuple[AuthoredCase, ...]:
    """Return outputs of other ranks, whose first three axes are those of the logarithms."""
    valid = drawn(VALID_OF_AXES, SHAPE_OF_ONE_LENGTH)
    outputs, logarithms = ("output_a", "output_b"), ("logsumexp_a", "logsumexp_b")
    three = {name: valid[name][0] for name in outputs}
    five = {name: valid[name][None] for name in outputs} | {name: valid[name][:1] for name in logarithms}
    return (
        merging(VALID_OF_AXES, "valid twin of outputs of three and five axes")(SHAPE_OF_ONE_LENGTH),
        refused("outputs_of_three_axes", "Outputs of three axes beside logarithms of three are refused")(
            VALID_OF_AXES,
            valid,
            "rank",
            "The outputs have three axes, and so have the logarithms.",
            three,
            strict=True,
        ),
        refused("outputs_of_five_axes", "Outputs of five axes are refused")(
            VALID_OF_AXES,
            valid,
            "rank",
            "The outputs have five axes, of which the first three are those of the logarithms.",
            five,
            strict=True,
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        *of_other_sizes(),
        *of_other_order(),
        # Return the refused cases and their counterpart.
        merging(COUNTERPART, "valid twin of what is refused axis by axis")(SHAPE_BY_AXIS),
        *of_one_axis(),
        *of_one_rank(),
        *borders_cases(),
    )
