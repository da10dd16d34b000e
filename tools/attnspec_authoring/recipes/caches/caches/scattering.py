"""New tokens scattered into a cache: indices, both modes, axes, steps."""

from __future__ import annotations

from typing import Any

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.authoring import AuthoredCase, headed
from attnspec_authoring.recipes.caches.caches.cache_cases import LAYOUTS, cache_case, whole

CIRCULAR = {"mode": "circular"}


@headed
def scatter(
    name: str,
    title: str,
    indices: tuple[int, ...] | None = (1, 2),
    shape: tuple[int, ...] = (2, 1, 5, 1),
    new: int = 2,
    clauses: tuple[str, ...] = ("index", "untouched"),
    *,
    steps: tuple[int, ...] | None = None,
    update: tuple[int, ...] | None = None,
    attributes: dict[str, Any] | None = None,
    **more: Any,
) -> AuthoredCase:
    """Make a case of indices, the shape of the cache, and the number of new tokens."""
    axis = (attributes or {}).get("axis", -2) % len(shape)
    return cache_case(
        "scatter_cache",
        f"scatter_{name}",
        f"Scatter: {title}",
        {"cache": shape, "update": update or (*shape[:axis], new, *shape[axis + 1 :])},
        tuple(f"scatter.{clause}" for clause in clauses),
        ("present",) if steps is None else ("present", "history"),
        given={
            "write_indices": None if indices is None else whole(*indices),
            "step_lengths": None if steps is None else whole(*steps),
        },
        attributes=attributes or {},
        **more,
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of scattering."""
    around, stepped = ("circular", "index", "untouched"), ("steps", "index", "untouched")
    refused: dict[str, Any] = {"clauses": ("rejects.ends",)}
    full = {"cache": [(0, 0, 0, 0), (0, 0, 2, 0), (1, 0, 4, 0), (1, 0, 3, 0)]}
    return (
        scatter("plain", "two tokens from indices 1 and 2 on")(),
        scatter("one_token", "one token, as in decoding")((3, 0), new=1),
        scatter("to_the_end", "tokens that fill the cache to its end")((3, 2), new=2),
        scatter("two_heads", "two heads")((1, 0), (2, 2, 3, 1)),
        scatter("no_indices", "no indices: from the beginning")(None, clauses=("index.default", "untouched")),
        scatter("no_token", "no token at all")((1, 5), new=0, clauses=("untouched",)),
        scatter("rank_3", "tokens without heads")((1, 3), (2, 5, 2)),
        scatter("stated_axis", "the last axis but one, stated")(
            clauses=("axis", "axis.default"), attributes={"axis": -2, "mode": "linear"}
        ),
        scatter("axis_1", "tokens before heads")((1, 2), (2, 4, 4, 1), 2, ("axis",), attributes={"axis": 1}),
        scatter("axis_last", "tokens along the last axis")((1, 0), (2, 1, 3, 3), 2, ("axis",), attributes={"axis": -1}),
        scatter("axis_of_rank_5", "five axes, tokens along the third")(
            (1, 0), (2, 1, 3, 2, 1), 1, ("axis",), attributes={"axis": 2}
        ),
        scatter("axis_square", "as many heads, tokens and features, tokens along axis 1")(
            (1, 0),
            (2, 2, 2, 2),
            2,
            ("axis", "circular"),
            attributes={"axis": 1, "mode": "circular"},
            changed_argument=ChangedArgument("axis", 2),
        ),
        scatter("circular_wraps", "circular, over the end")((4, 3), new=3, clauses=around, attributes=CIRCULAR),
        scatter("circular_one_token", "circular, a token at the last index and one behind it")(
            (4, 5), new=1, clauses=around, attributes=CIRCULAR
        ),
        scatter("circular_far", "circular, from indices that went round several times")(
            (13, 27), new=2, clauses=around, attributes=CIRCULAR
        ),
        scatter("circular_whole", "circular, as many tokens as the cache has room for")(
            (2, 9), new=5, clauses=around, attributes=CIRCULAR
        ),
        scatter("circular_one_wraps", "circular, one entry goes over the end, the other does not")(
            (0, 3), new=4, clauses=around, attributes=CIRCULAR
        ),
        scatter("circular_many_heads", "circular, more heads than the cache has room for")(
            (1,), (1, 4, 3, 1), 3, around, attributes=CIRCULAR
        ),
        scatter("circular_many_heads_last", "circular, more heads than room along the last axis")(
            (2,), (1, 4, 3), 3, (*around, "axis"), attributes={"axis": -1, **CIRCULAR}
        ),
        scatter("stated_linear", "linear, stated")(clauses=("mode.default", "index"), attributes={"mode": "linear"}),
        scatter("poisoned", "NaN and infinity where nothing is written and where something is")(poison=full),
        scatter("poisoned_circular", "NaN and infinity, circular")(
            (4, 3), new=3, clauses=around, poison=full, attributes=CIRCULAR
        ),
        scatter("poisoned_update", "NaN and infinity in new tokens")(
            (3, 3), poison={"update": [(0, 0, 1, 0), (1, 0, 0, 0)]}, revision=2
        ),
        scatter("digits", "numbers with many digits")((1, 3), new=1, digits=True),
        scatter("digits_circular", "numbers with many digits, circular")(
            (4, 3), new=1, clauses=around, digits=True, attributes=CIRCULAR
        ),
        scatter("steps_of_decoding", "a prefill of two tokens, then two steps of one")(
            (0, 1), new=4, clauses=stepped, steps=(2, 1, 1)
        ),
        scatter("steps_of_two", "two steps of two tokens")((1, 0), new=4, clauses=stepped, steps=(2, 2)),
        scatter("steps_without_indices", "steps of one and two tokens, no indices")(
            None, new=3, clauses=("steps", "index.default"), steps=(1, 2)
        ),
        scatter("steps_around", "steps over the end, circular")(
            (3, 4), new=4, clauses=(*stepped, "circular"), steps=(1, 2, 1), attributes=CIRCULAR
        ),
        scatter("steps_over_themselves", "more tokens in steps than there is room for, circular")(
            (2, 0), (2, 1, 4, 1), 7, (*stepped, "circular"), steps=(4, 1, 2), attributes=CIRCULAR
        ),
        scatter("steps_with_an_empty_one", "a step of no token between two")(
            (0, 2), new=3, clauses=stepped, steps=(2, 0, 1)
        ),
        scatter("steps_rank_3", "steps with tokens without heads")((1, 0), (2, 4, 1), 3, stepped, steps=(1, 2)),
        scatter("steps_poisoned", "steps in a cache with NaN and infinity")(
            (0, 1), new=3, clauses=stepped, steps=(2, 1), poison=full
        ),
        *(
            scatter(f"{layout}_{name}", f"{name} {how}")(
                indices, (2, 1, 4, 2), memory_order={name: layout}, revision=revision
            )
            for layout, how in LAYOUTS.items()
            for name, indices, revision in (("cache", (1, 2), 1), ("update", (1, 1), 2))
            if layout not in ("inside", "reversed") and (layout, name) != ("prefix", "update")
        ),
        scatter("readonly", "an update and indices that nobody may write")(
            (2, 2), memory_order={"update": "readonly", "write_indices": "readonly"}, revision=2
        ),
        *(
            scatter(f"other_{name}", f"{name} is changed alone in a second call")(
                (0, 3), changed_argument=ChangedArgument(name, reversed=True)
            )
            for name in ("cache", "update", "write_indices")
        ),
        scatter("rejects_beyond", "tokens beyond the end are refused")(
            (1, 4), **refused, refused=("The second entry goes one token beyond the end.", "scatter_plain")
        ),
        scatter("rejects_one_beyond", "the index behind the last one is refused")(
            (5, 1), new=1, **refused, refused=("There is no index 5.", "scatter_one_token")
        ),
        scatter("rejects_negative", "a negative index is refused")(
            (-1, 1), new=1, **refused, refused=("There is no index -1.", "scatter_one_token")
        ),
        scatter("rejects_steps_beyond", "a later step beyond the end is refused")(
            (1,),
            (1, 1, 3, 1),
            3,
            **refused,
            steps=(1, 2),
            refused=("The second step goes beyond the end.", "scatter_steps_of_two"),
        ),
        scatter("rejects_steps_longer", "steps that fit one by one, and not together, are refused")(
            None,
            (1, 1, 2, 1),
            3,
            **refused,
            steps=(1, 2),
            refused=("Three tokens have no room in two.", "scatter_steps_without_indices"),
        ),
        scatter("rejects_longer_step", "a step of more tokens than room is refused, circular")(
            None,
            (1, 1, 1, 1),
            2,
            ("rejects.length",),
            steps=(2,),
            attributes=CIRCULAR,
            refused=("Two tokens have no room in one.", "scatter_steps_over_themselves"),
        ),
        scatter("rejects_longer_circular", "more tokens than room are refused, circular")(
            (0, 1),
            new=6,
            clauses=("rejects.length",),
            attributes=CIRCULAR,
            refused=("Six tokens have no room in five.", "scatter_circular_whole"),
        ),
        scatter("rejects_one_entry", "an update of one batch entry for two is refused")(
            update=(1, 1, 2, 1),
            clauses=("rejects.shape",),
            refused=("The update has one batch entry, the cache has two.", "scatter_plain"),
        ),
        scatter("rejects_one_head", "an update of one head for two is refused")(
            indices=(1, 0),
            shape=(2, 2, 3, 1),
            update=(2, 1, 2, 1),
            clauses=("rejects.shape",),
            refused=("The update has one head, the cache has two.", "scatter_two_heads"),
        ),
        scatter("rejects_unknown_mode", "a mode that there is not is refused")(
            clauses=("rejects.mode",),
            attributes={"mode": "ring"},
            is_for_all=True,
            refused=("There is no mode ring.", "scatter_stated_linear"),
        ),
        scatter("rejects_capital", "a mode with a capital is refused")(
            clauses=("rejects.mode",),
            attributes={"mode": "Linear"},
            is_for_all=True,
            refused=("There is no mode Linear.", "scatter_stated_linear"),
        ),
    )
