"""What goes wrong in a causal mask: the direction, the diagonal, the numbers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import departure, ignoring, named_output
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.causal_mask import at_or_before, causal_mask

if TYPE_CHECKING:
    from attnspec_reference.precision import Array, Booleans


def later(query_length: int, key_length: int, offset: int) -> Booleans:
    """Attend to what comes later, and to nothing else."""
    return ~at_or_before(query_length, key_length, offset)


def at_or_after(query_length: int, key_length: int, offset: int) -> Booleans:
    """Attend to the own position and to what comes later."""
    return ~at_or_before(query_length, key_length, offset - 1)


def before(query_length: int, key_length: int, offset: int) -> Booleans:
    """Leave the own position out."""
    return at_or_before(query_length, key_length, offset - 1)


def at_most_one_ahead(query_length: int, key_length: int, offset: int) -> Booleans:
    """Let in one position too many."""
    return at_or_before(query_length, key_length, offset + 1)


def all_for_a_single_query(query_length: int, key_length: int, offset: int) -> Booleans:
    """Let a single query attend to every key."""
    if query_length == 1:
        return np.ones((1, key_length), dtype=np.bool_)
    return at_or_before(query_length, key_length, offset)


def in_a_byte(query_length: int, key_length: int, offset: int) -> Booleans:
    """Hold positions in a signed byte where both lengths fit into one, whatever is added to them."""
    if max(query_length, key_length) > np.iinfo(np.int8).max:
        return at_or_before(query_length, key_length, offset)
    queries = (np.arange(query_length) + offset).astype(np.int8)
    return np.arange(key_length) <= queries[:, np.newaxis]


def written_as(kept: float, hidden: float, attendable: Booleans) -> Array:
    """Write numbers for keys that may be attended, and for those that may not."""
    return np.where(attendable, kept, hidden)


def marking_what_is_hidden(**arguments: Any) -> Array:
    """Mean by true that a key is masked."""
    mask = causal_mask(**arguments)
    return ~mask if mask.dtype == np.bool_ else mask


mistake = partial(Mistake, operation="causal_mask")

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="causal_mask.inverted",
        clause="causal_mask.definition",
        sentence="The mask is inverted: it hides the past and shows the future.",
        engineer="The triangle is inverted: col > row + offset is kept.",
        remedy="Keep the keys at and before the query's position, and hide those after it.",
        function=named_output(departure(causal_mask, at_or_before=later)),
        erratum="E002.causal_mask_inverted",
    ),
    mistake(
        id="causal_mask.upper_triangle",
        clause="causal_mask.definition",
        sentence="The upper triangle was kept instead of the lower one: a query sees itself and what comes later.",
        engineer="triu is used where tril is due.",
        remedy="Keep the lower triangle: query i may attend to key j when j is at most i.",
        function=named_output(departure(causal_mask, at_or_before=at_or_after)),
    ),
    mistake(
        id="causal_mask.own_position_excluded",
        clause="causal_mask.definition",
        sentence="A query may not attend to its own position: the mask is one off.",
        engineer="The comparison is col < row + offset where <= is due.",
        remedy="Include the diagonal: key j may be attended when j is at most, not less than, the query's position.",
        function=named_output(departure(causal_mask, at_or_before=before)),
    ),
    mistake(
        id="causal_mask.next_position_included",
        clause="causal_mask.definition",
        sentence="A query may attend to the position after its own: the mask is one off.",
        engineer="The comparison is col <= row + offset + 1.",
        remedy="Hide every key after the query's own position.",
        function=named_output(departure(causal_mask, at_or_before=at_most_one_ahead)),
    ),
    mistake(
        id="causal_mask.offset_ignored",
        clause="causal_mask.definition",
        sentence="The offset was ignored: the first query stands at the first key, wherever it should stand.",
        engineer="The diagonal offset is dropped, as when a cache position is not passed on.",
        remedy="Compare key j with the position i + offset of query i.",
        function=named_output(ignoring(causal_mask, "offset")),
    ),
    mistake(
        id="causal_mask.single_query_sees_all",
        clause="causal_mask.definition",
        sentence="A single query may attend to every key, whatever the offset.",
        engineer="With Sq = 1 the mask is skipped: the token is taken for the newest.",
        remedy="Compare key j with the position of the query, also where there is one query.",
        function=named_output(departure(causal_mask, at_or_before=all_for_a_single_query)),
    ),
    mistake(
        id="causal_mask.positions_in_a_byte",
        clause="causal_mask.definition",
        sentence="Positions of short texts were held in a signed byte, which an offset leaves.",
        engineer="The index type is chosen by the lengths, and row + offset wraps around in int8.",
        remedy="Choose the width of positions by the largest one, offset included.",
        function=named_output(departure(causal_mask, at_or_before=in_a_byte)),
    ),
    mistake(
        id="causal_mask.always_square",
        clause="causal_mask.shape",
        sentence="The mask is square although there are not as many keys as queries.",
        engineer="The mask is allocated (Sq, Sq).",
        remedy="Make a column for each of key_length keys.",
        function=named_output(ignoring(causal_mask, "key_length")),
    ),
    mistake(
        id="causal_mask.true_means_masked",
        clause="causal_mask.boolean",
        sentence="True marks the keys that are hidden instead of those that may be attended.",
        engineer="The Boolean polarity is that of nn.MultiheadAttention: true is masked.",
        remedy="Negate the Boolean mask: here true means attend.",
        function=named_output(marking_what_is_hidden),
    ),
    mistake(
        id="causal_mask.additive_ignored",
        clause="causal_mask.additive",
        sentence="The mask holds truth values although numbers to add were asked for.",
        engineer="A predicate is returned where an additive bias is asked for.",
        remedy="With additive, write 0 for true and minus infinity for false.",
        function=named_output(ignoring(causal_mask, "additive")),
    ),
    mistake(
        id="causal_mask.kept_value_four",
        clause="causal_mask.additive",
        sentence="Keys that may be attended hold 4 instead of 0.",
        engineer="The kept entries of the bias are 4: a constant shift of the logits and of the LSE.",
        remedy="Write 0 where a key may be attended, so that adding the mask leaves its score alone.",
        function=named_output(departure(causal_mask, as_additive=partial(written_as, 4.0, -np.inf))),
        erratum="E002.causal_mask_kept_value",
    ),
    mistake(
        id="causal_mask.kept_value_one",
        clause="causal_mask.additive",
        sentence="Keys that may be attended hold 1 instead of 0.",
        engineer="The kept entries of the bias are 1: a constant shift of the logits and of the LSE.",
        remedy="Write 0 where a key may be attended, so that adding the mask leaves its score alone.",
        function=named_output(departure(causal_mask, as_additive=partial(written_as, 1.0, -np.inf))),
        source="https://github.com/tinygrad/tinygrad/pull/2425",
    ),
    mistake(
        id="causal_mask.finite_number",
        clause="causal_mask.additive",
        sentence="Hidden keys hold a large negative number instead of minus infinity.",
        engineer="The bias holds a finite sentinel, -1e9, where -inf is due.",
        remedy="Write minus infinity: any finite number is lower than some scores and higher than others.",
        function=named_output(departure(causal_mask, as_additive=partial(written_as, 0.0, -1e9))),
    ),
)
