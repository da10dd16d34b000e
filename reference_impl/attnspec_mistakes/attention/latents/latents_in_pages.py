"""What goes wrong where latents lie in pages: tables, the two pools, slots of a last page, positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.attention.latents.latent_patches import allowing, of_first_entry
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import Computation, altered, patch
from attnspec_reference.attention.absorbed_latent_attention import absorbed_latent_attention
from attnspec_reference.attention.latent_attention import latent_attention
from attnspec_reference.attention.paged_latents import (
    attend_by_list,
    attend_by_table,
    attend_to_latent_pages,
    paged_absorbed_latent_attention,
    paged_absorbed_latent_attention_by_list,
    paged_latent_attention,
    paged_latent_attention_by_list,
)
from attnspec_reference.attention.served_attention import read_in_order
from attnspec_reference.precision import Array, Integers

PAGED: Mapping[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "latent": (paged_latent_attention, paged_latent_attention_by_list),
    "absorbed": (paged_absorbed_latent_attention, paged_absorbed_latent_attention_by_list),
}
"""Short name of an operation to what it is with a table and with a list."""


def reading(of: str, attend: Callable[..., Any]) -> Mapping[str, Computation]:
    """Make a mistake in both layouts with pages, with another `attend_to_latent_pages`."""
    by_table, by_list = PAGED[of]
    return {
        "paged": patch(by_table, attend_by_table=patch(attend_by_table, attend_to_latent_pages=attend)),
        "paged_csr": patch(by_list, attend_by_list=patch(attend_by_list, attend_to_latent_pages=attend)),
    }


def reading_pool(of: str, read: Callable[[Array, Integers, int], Array]) -> Mapping[str, Computation]:
    """Make a mistake of reading both pools."""
    return reading(of, patch(attend_to_latent_pages, read_in_order=read))


def by_table(of: str, **changes: Callable[[Any], Any]) -> Mapping[str, Computation]:
    """Make a mistake in the arguments of the layout with a table."""
    return {"paged": altered(PAGED[of][0], **changes)}


def by_list(of: str, **changes: Callable[[Any], Any]) -> Mapping[str, Computation]:
    """Make a mistake in the arguments of the layout with a list."""
    return {"paged_csr": altered(PAGED[of][1], **changes)}


def behind_the_first_page(pool: Array, pages: Integers, length: int) -> Array:
    """Go on behind the first page, as if the others followed it in the pool."""
    flat = pool.reshape(-1, *pool.shape[2:])
    start = int(pages[0]) * pool.shape[1] if len(pages) else 0
    return flat[(start + np.arange(length)) % max(len(flat), 1)]


def in_order_of_pool(pool: Array, pages: Integers, length: int) -> Array:
    """Read the pages in the order in which they stand in the pool."""
    return read_in_order(pool, np.sort(np.asarray(pages)), length)


def slots_shifted(pool: Array, pages: Integers, length: int) -> Array:
    """Read each later page from a later slot on, and its first slots last."""
    size = pool.shape[1]
    tokens = np.arange(length)
    return pool[np.asarray(pages)[tokens // size], (tokens + tokens // size) % size] if length else pool[:0, 0]


def entries_as_tokens(pool: Array, pages: Integers, length: int) -> Array:
    """Take each entry of the list for a token of the pool; behind the last one, count on from the first."""
    flat = pool.reshape(-1, *pool.shape[2:])
    return flat[np.resize(np.asarray(pages), length) % max(len(flat), 1)] if length else flat[:0]


def sizes_made_even(pool: Array, pages: Integers, length: int) -> Array:
    """Read the pool in pages of an even number of tokens; behind its end, from the beginning."""
    flat, size = pool.reshape(-1, *pool.shape[2:]), pool.shape[1] + pool.shape[1] % 2
    tokens = np.arange(length)
    return flat[(np.asarray(pages)[tokens // size] * size + tokens % size) % max(len(flat), 1)] if length else flat[:0]


def rotary_elsewhere(of: str) -> Mapping[str, Computation]:
    """Read the rotated keys from the page before that of the latents."""

    def attend(attention: Callable[..., Any], pages: Any, key_lengths: Any, **others: Any) -> Any:
        rotated = np.asarray(others["key_rotary_pool"])
        moved = np.roll(rotated, 1, axis=0)
        return attend_to_latent_pages(attention, pages, key_lengths, **{**others, "key_rotary_pool": moved})

    return reading(of, attend)


def whole_pages(of: str) -> Mapping[str, Computation]:
    """Count every slot of the last page of a sequence."""

    def attend(attention: Callable[..., Any], pages: Any, key_lengths: Any, **others: Any) -> Any:
        size = np.shape(others["latent_pool"])[1]
        lengths = [-(-length // size) * size for length in key_lengths]
        mask = others.get("mask")
        if mask is not None and np.shape(mask)[-1] < max(lengths, default=0):
            raise ValueError("The mask has no columns for the slots behind a sequence.")
        return attend_to_latent_pages(attention, pages, lengths, **others)

    return reading(of, attend)


def length_counted_twice(of: str) -> Mapping[str, Computation]:
    """Add the whole length to the full pages; behind the last page, the pool is read on."""

    def attend(attention: Callable[..., Any], pages: Any, key_lengths: Any, **others: Any) -> Any:
        size = np.shape(others["latent_pool"])[1]
        lengths = [length + max(len(own) - 1, 0) * size for own, length in zip(pages, key_lengths, strict=True)]
        mask = others.get("mask")
        if mask is not None and np.shape(mask)[-1] < max(lengths, default=0):
            raise ValueError("The mask has no columns for the slots behind a sequence.")
        return patch(attend_to_latent_pages, read_in_order=read_on)(attention, pages, lengths, **others)

    return reading(of, attend)


def read_on(pool: Array, pages: Integers, length: int) -> Array:
    """Read pages in order, and go on behind the last one as the pool does."""
    own = np.asarray(pages)
    needed: Integers = np.arange(-(-int(length) // max(int(pool.shape[1]), 1)))
    last = np.minimum(needed, len(own) - 1)
    return read_in_order(pool, (own[last] + needed - last) % len(pool), length) if length else pool[:0, 0]


def one_token_short(of: str) -> Mapping[str, Computation]:
    """Leave out the last token of each sequence that fills its last page."""

    def attend(attention: Callable[..., Any], pages: Any, key_lengths: Any, **others: Any) -> Any:
        size = np.shape(others["latent_pool"])[1]
        lengths = [length - (length > 0 and length % size == 0) for length in key_lengths]
        return attend_to_latent_pages(attention, pages, lengths, **others)

    return reading(of, attend)


def positions_of_all(of: str) -> Mapping[str, Computation]:
    """Align the queries of each sequence at the longest of all."""
    inner = latent_attention if of == "latent" else absorbed_latent_attention

    def attend(_: Callable[..., Any], pages: Any, key_lengths: Any, **others: Any) -> Any:
        longest = max(key_lengths, default=0)

        def placed(
            *, is_causal: bool = False, mask: Any = None, causal_alignment: str = "top_left", **given: Any
        ) -> Any:
            queries, keys = np.shape(given["query_rotary"])[2], np.shape(given["latent"])[1]
            if not is_causal:
                return inner(mask=mask, **given)
            offset = longest - queries if causal_alignment == "bottom_right" else 0
            allowed = np.less_equal(np.arange(int(keys)), np.arange(int(queries))[:, np.newaxis] + offset)
            return inner(mask=allowing(mask, allowed), **given)

        return attend_to_latent_pages(placed, pages, key_lengths, **others)

    return reading(of, attend)


def of_both(of: str) -> dict[str, Making]:
    """Return the mistakes of one operation by id."""
    return {
        f"{of}.paged_as_one_piece": reading_pool(of, behind_the_first_page),
        f"{of}.paged_in_order_of_pool": reading_pool(of, in_order_of_pool),
        f"{of}.paged_slots_shifted": reading_pool(of, slots_shifted),
        f"{of}.paged_rotary_elsewhere": rotary_elsewhere(of),
        f"{of}.paged_whole_last_page": whole_pages(of),
        f"{of}.paged_full_page_one_short": one_token_short(of),
        f"{of}.paged_table_of_first_entry": by_table(of, block_table=of_first_entry),
        f"{of}.paged_list_of_first_length": by_list(of, last_page_length=of_first_entry),
        f"{of}.paged_aligned_at_longest": positions_of_all(of),
    }


FUNCTIONS: Mapping[str, Making] = {
    **of_both("latent"),
    **of_both("absorbed"),
    "absorbed.paged_as_tokens": reading_pool("absorbed", entries_as_tokens),
    "absorbed.paged_evenly": reading_pool("absorbed", sizes_made_even),
    "absorbed.paged_twice": length_counted_twice("absorbed"),
}
