"""Windows that leave out whole pages, beside each thing that is counted by keys: masks, distances, sinks and caps.

Who does not read the pages before a window must not count keys from the first page that is read. Each page size meets
each of these things; the number of keys is what makes a layout draw that page size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from attnspec_authoring.recipes.attention.attention import (
    BOTTOM_RIGHT,
    TOP_LEFT,
    Sizes,
    attention,
    boolean_mask,
    coarse,
    float_mask,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

CLAUSES = ("sdpa.paged.position", "sdpa.packed.position", "sdpa.paged.page_size")


class _Pages(NamedTuple):
    """A page size, and sequences of which a window leaves whole pages out.

    Attributes
    ----------
    size
        The page size that the layouts with pages draw.
    left
        How far back the window reaches.
    shorter
        The keys of the second sequence; of the pages that they fill, a window leaves the first one out.
    """

    size: int
    left: int
    shorter: int


_EVERY_SIZE = (
    _Pages(1, 1, 5),
    _Pages(3, 2, 8),
    _Pages(4, 3, 10),
    _Pages(12, 5, 20),
    _Pages(16, 6, 25),
    _Pages(64, 9, 76),
)

_KEYS: Mapping[str, tuple[int, ...]] = {
    "float_mask": (11, 15, 18, 34, 43, 147),
    "boolean_mask": (15, 16, 19, 33, 46, 146),
    "alibi": (11, 29, 16, 33, 53, 173),
    "everything": (9, 18, 18, 44, 48, 144),
}
"""How many keys the longer sequence has, for each page size."""


def _float_mask(name: str, pages: _Pages, keys: int) -> dict[str, Any]:
    return {"mask": float_mask(name, (2, 1, keys)), "window": [pages.left, None]}


def _boolean_mask(name: str, pages: _Pages, keys: int) -> dict[str, Any]:
    return {"mask": boolean_mask(name, (1, keys)), "window": [pages.left, 0], "is_causal": True}


def _alibi(_name: str, pages: _Pages, _keys: int) -> dict[str, Any]:
    return {"alibi_slopes": [0.5, 0.125], "window": [pages.left, 1]}


def _everything(name: str, pages: _Pages, keys: int) -> dict[str, Any]:
    return {
        "mask": float_mask(name, (1, 2, 1, keys), hides=False),
        "window": [pages.left + 1, None],
        "is_causal": True,
        "alibi_slopes": [0.0625, 0.25],
        "sinks": [0.5, -0.5],
        "softcap": 1.5,
        "query_lengths": [2, 1],
    }


_BESIDE: Mapping[str, tuple[str, Callable[[str, _Pages, int], dict[str, Any]]]] = {
    "float_mask": ("a float mask for each head", _float_mask),
    "boolean_mask": ("a Boolean mask and causality", _boolean_mask),
    "alibi": ("distances", _alibi),
    "everything": ("a float mask, distances, sinks and a softcap", _everything),
}


def beside_windows() -> tuple[AuthoredCase, ...]:
    """Return each thing in each page size."""
    made: list[AuthoredCase] = []
    for feature, (words, arguments) in _BESIDE.items():
        for pages, keys in zip(_EVERY_SIZE, _KEYS[feature], strict=True):
            case_id = f"paged/window_{feature}_{pages.size}"
            sizes = Sizes(2, 2, 1, 2, keys, 1)
            made.append(
                attention(case_id, f"A window that leaves out whole pages of {pages.size}, beside {words}")(
                    sizes,
                    clauses=CLAUSES,
                    outputs=("output", "logsumexp"),
                    causal_alignment=BOTTOM_RIGHT,
                    key_lengths=[keys, pages.shorter],
                    **coarse(case_id, sizes),
                    **arguments(case_id, pages, keys),
                )
            )
    return tuple(made)


_FROM_THE_TOP: tuple[tuple[int, str, str, dict[str, Any]], ...] = (
    (9, "mask", "a float mask", {"mask": float_mask("paged/window_of_9_queries_mask", (1, 10))}),
    (14, "mask", "a Boolean mask", {"mask": boolean_mask("paged/window_of_14_queries_mask", (1, 15))}),
    (9, "alibi", "distances and a sink", {"alibi_slopes": [0.25], "sinks": [0.5]}),
    (15, "alibi", "distances and a softcap", {"alibi_slopes": [0.25], "softcap": 1.0}),
)


def from_the_top() -> tuple[AuthoredCase, ...]:
    """Return windows of queries that stand pages behind each other, from the top left."""
    return tuple(
        attention(
            f"paged/window_of_{queries}_queries_{name}",
            f"{queries} queries, each of which leaves out other pages, beside {words}",
        )(
            Sizes(2, 1, 1, queries, queries + 1, 1),
            clauses=CLAUSES,
            outputs=("output", "logsumexp"),
            window=[2, 1],
            causal_alignment=TOP_LEFT,
            key_lengths=[queries + 1, queries - 2],
            **arguments,
        )
        for queries, name, words, arguments in _FROM_THE_TOP
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of windows that leave out pages."""
    return (*beside_windows(), *from_the_top())
