"""What is refused, beside a valid twin that differs only in what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec_authoring.recipes.attention.attention import made_for
from attnspec_authoring.recipes.attention.merge.parts import PROFILE, drawn, merging
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, Rejects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

STRICT = ("input_checks", "strict")
SHAPE = (2, 2, 3, 2)
UNLIKE = (2, 3, 4, 2)
"""As many batch entries, heads and queries as of nothing else: who reads one for the other has another shape."""


def cases() -> tuple[AuthoredCase, ...]:
    """Return the refused cases and their twins."""
    return (*of_other_sizes(), *of_other_order())


def of_other_sizes() -> tuple[AuthoredCase, ...]:
    """Return what has more or fewer numbers than is due."""
    valid, wider = drawn("rejects_twin", SHAPE), drawn("rejects_wider", (3, 3, 4, 3))
    rank, outputs, logarithms = ("rank", "outputs", "logsumexp")
    wrong: tuple[tuple[str, str, str, str, dict[str, NDArray[Any]], bool], ...] = (
        (
            "no_batch",
            rank,
            "Outputs without a batch axis are refused",
            "The outputs have three axes.",
            {name: array[0] for name, array in valid.items()},
            True,
        ),
        (
            "logarithms_of_four_axes",
            rank,
            "Logarithms of four axes are refused",
            "The logarithms have four axes.",
            {name: valid[name][..., None] for name in ("logsumexp_a", "logsumexp_b")},
            True,
        ),
        (
            "logarithms_of_two_axes",
            rank,
            "Logarithms of two axes are refused",
            "logsumexp_b has two axes.",
            {"logsumexp_b": valid["logsumexp_b"][0]},
            True,
        ),
        (
            "other_width",
            outputs,
            "Outputs of unlike width are refused",
            "output_b has three features, output_a two.",
            {"output_b": wider["output_b"][:2, :2, :3]},
            False,
        ),
        (
            "one_feature",
            outputs,
            "One feature for two is refused",
            "output_b has one feature, output_a two.",
            {"output_b": valid["output_b"][..., :1]},
            True,
        ),
        (
            "other_queries",
            outputs,
            "A second part of other queries is refused",
            "The second part has four queries, the first three.",
            {"output_b": wider["output_b"][:2, :2, :, :2], "logsumexp_b": wider["logsumexp_b"][:2, :2]},
            False,
        ),
        (
            "one_query_for_all",
            outputs,
            "A second part of one query for three is refused",
            "The second part has one query, the first three.",
            {"output_b": valid["output_b"][:, :, :1], "logsumexp_b": valid["logsumexp_b"][:, :, :1]},
            True,
        ),
        (
            "one_head_for_all",
            outputs,
            "A second part of one head for two is refused",
            "The second part has one head, the first two.",
            {"output_b": valid["output_b"][:, :1], "logsumexp_b": valid["logsumexp_b"][:, :1]},
            True,
        ),
        (
            "other_logarithms",
            logarithms,
            "Logarithms of four queries for three are refused",
            "logsumexp_a has four queries, the outputs three.",
            {"logsumexp_a": wider["logsumexp_a"][:2, :2]},
            False,
        ),
        (
            "logarithms_of_other_heads",
            logarithms,
            "Logarithms of three heads for two are refused",
            "logsumexp_b has three heads, the outputs two.",
            {"logsumexp_b": wider["logsumexp_b"][:2, :, :3]},
            False,
        ),
        (
            "one_logarithm_for_all_heads",
            logarithms,
            "One logarithm for two heads is refused",
            "logsumexp_a has one head, the outputs two.",
            {"logsumexp_a": valid["logsumexp_a"][:, :1]},
            True,
        ),
        (
            "one_logarithm_for_all_entries",
            logarithms,
            "One logarithm for two batch entries is refused",
            "logsumexp_b has one batch entry, the outputs two.",
            {"logsumexp_b": valid["logsumexp_b"][:1]},
            True,
        ),
        (
            "one_logarithm_for_all_queries",
            logarithms,
            "One logarithm for three queries is refused",
            "Both logarithms have one query, the outputs three.",
            {name: valid[name][:, :, :1] for name in ("logsumexp_a", "logsumexp_b")},
            True,
        ),
    )
    return (
        merging("rejects_twin", "valid twin of what is refused")(SHAPE),
        *(refused("rejects_twin", valid, *entry) for entry in wrong),
    )


def of_other_order() -> tuple[AuthoredCase, ...]:
    """Return what has as many numbers as is due, in another order of axes or in fewer, longer ones."""
    twin = "rejects_twin_of_unlike_axes"
    valid = drawn(twin, UNLIKE)
    batch, heads, queries, width = UNLIKE
    logarithms = {name: valid[name] for name in ("logsumexp_a", "logsumexp_b")}
    both_parts = {name: valid[name].swapaxes(1, 2).copy() for name in ("output_a", "output_b")}
    wrong: tuple[tuple[str, str, str, str, dict[str, NDArray[Any]], bool], ...] = (
        (
            "queries_before_heads",
            "logsumexp",
            "Logarithms with queries before heads are refused",
            "The logarithms are (B, S, H).",
            {name: array.swapaxes(1, 2).copy() for name, array in logarithms.items()},
            False,
        ),
        (
            "queries_before_heads_in_one",
            "logsumexp",
            "A second logarithm with queries before heads is refused",
            "logsumexp_b is (B, S, H).",
            {"logsumexp_b": valid["logsumexp_b"].swapaxes(1, 2).copy()},
            False,
        ),
        (
            "heads_before_entries",
            "logsumexp",
            "A first logarithm with heads before batch entries is refused",
            "logsumexp_a is (H, B, S).",
            {"logsumexp_a": valid["logsumexp_a"].swapaxes(0, 1).copy()},
            False,
        ),
        (
            "entries_joined_with_heads",
            "logsumexp",
            "Logarithms that join batch entries with heads are refused",
            "The logarithms are (1, B H, S).",
            {name: array.reshape(1, batch * heads, queries) for name, array in logarithms.items()},
            False,
        ),
        (
            "heads_joined_with_queries",
            "logsumexp",
            "A first logarithm that joins heads with queries is refused",
            "logsumexp_a is (B, 1, H S).",
            {"logsumexp_a": valid["logsumexp_a"].reshape(batch, 1, heads * queries)},
            False,
        ),
        (
            "flat_logarithms",
            "rank",
            "Logarithms in one axis are refused",
            "The logarithms are (B H S).",
            {name: array.reshape(-1) for name, array in logarithms.items()},
            True,
        ),
        (
            "output_queries_first",
            "outputs",
            "A second output with queries before heads is refused",
            "output_b is (B, S, H, Ev).",
            {"output_b": both_parts["output_b"]},
            False,
        ),
        (
            "outputs_queries_first",
            "logsumexp",
            "Outputs with queries before heads are refused beside logarithms with heads before queries",
            "The outputs are (B, S, H, Ev), the logarithms (B, H, S).",
            both_parts,
            False,
        ),
        (
            "output_features_first",
            "outputs",
            "A first output with features before queries is refused",
            "output_a is (B, H, Ev, S).",
            {"output_a": valid["output_a"].swapaxes(2, 3).copy()},
            False,
        ),
        (
            "flat_output",
            "rank",
            "An output that joins heads with features is refused",
            "output_b is (B, S, H Ev).",
            {"output_b": valid["output_b"].swapaxes(1, 2).reshape(batch, queries, heads * width)},
            True,
        ),
    )
    return (
        merging(twin, "valid twin of what is refused for the order of its axes")(UNLIKE),
        *(refused(twin, valid, *entry) for entry in wrong),
    )


def refused(
    twin: str,
    valid: Mapping[str, NDArray[Any]],
    name: str,
    clause: str,
    title: str,
    reason: str,
    changed: Mapping[str, NDArray[Any]],
    strict: bool,
) -> AuthoredCase:
    """Make a case that is refused: its valid twin, but for some of the inputs."""
    return AuthoredCase(
        id=f"{PROFILE}/rejects_{name}",
        title=f"Merge states: {title}",
        operation="merge_states",
        clauses=(f"merge.rejects.{clause}",),
        source=made_for(PROFILE),
        inputs={**valid, **changed},
        dtypes=EVERY_DTYPE,
        rejects=Rejects(reason, f"{PROFILE}/{twin}", STRICT if strict else None),
    )
