"""Findings about what exponentials are divided by, about tiles, and about the values that are weighed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnspec_probes.attention import clauses_of_laws as clauses
from attnspec_probes.attention.clauses_of_laws import Finding, clause, in_words
from attnspec_probes.attention.single_laws.head_laws import head_map
from attnspec_probes.attention.single_laws.logit_laws import logits_are_right, rows_of
from attnspec_probes.attention.single_laws.plain_laws import ends_at_queries, first_wrong_length, tile_law
from attnspec_probes.attention.single_laws.total_laws import total_laws

if TYPE_CHECKING:
    from attnspec_probes import Calling
    from attnspec_probes.attention.single_laws.probe import Probe, Reading

_LONG_ROWS = (97, 61, 34)
"""Keys of rows that show tiles: of up to half their length, and not multiples of common ones."""

_FEWEST = 2
"""Keys of a tile: boundaries that have nothing in common say no length."""

_SAME_SHARE = 1e-4
"""Distance at which the factors of keys that are kept, through float32 at the least, are one."""

_REPORTED = 6
"""The most runs, or keys, that a sentence names."""


def from_heads(reading: Reading, dtype: str) -> list[Finding]:
    """Return the heads that were read, where they are others than the expected ones."""
    found = head_map(reading, dtype)
    if found is None:
        return []
    expected = reading.probe.heads.tolist()
    rule = f" (head {found.rule})" if found.rule else ""
    return [
        Finding(
            "head map",
            # A past that is laid out otherwise than the new keys shows where it is needed.
            (clause("past.concatenation" if "past_key" in reading.probe.arguments else "heads.grouped"),),
            f"Query heads read {found.of} of the heads {list(found.heads)}{rule}; expected are {expected}.",
            {"heads": " ".join(map(str, found.heads)), "rule": found.rule, "of": found.of},
            _by_heads(found.of, np.array(found.heads), reading.probe.key_heads),
        )
    ]


def _by_heads(what: str, measured: NDArray[np.int64], key_heads: int) -> Callable[[Probe], NDArray[Any] | None]:
    def output(of: Probe) -> NDArray[Any] | None:
        if (of.shape[1], of.key_heads) != (len(measured), key_heads):
            return None
        keys = measured if "keys" in what else of.heads
        logits = of.capped(of.products_by(keys) * of.scale) + of.bias + of.mask
        return of.weights_of(logits, of.placing.attendable) @ of.value[:, measured if "values" in what else of.heads]

    return output


def from_total(reading: Reading, dtype: str) -> list[Finding]:
    """Return what the exponentials are divided by, where keys and logits are right and weights are not."""
    probe = reading.probe
    rows = rows_of(reading, with_sinks=False)
    if (rows is not None and not logits_are_right(rows, probe, dtype)) or weights_are_right(reading, dtype):
        return []
    laws = total_laws(reading, dtype)
    named = clauses.clauses(("sinks.denominator",) if "sinks" in probe.arguments else ("weights",))
    if not laws:
        may = tuple(dict.fromkeys((*named, *clauses.of_arguments(probe.arguments))))
        sums = reading.weights.sum(axis=-1)[probe.live]
        reported = f"Weights stand to each other as they should; their sums are {sums.min():.6g} to {sums.max():.6g}."
        return [Finding("total", may, reported)]
    return [
        Finding(
            _kind(law.name),
            named,
            f"The total of the exponentials is another one: {law.name}{in_words(law.parameters)}.",
            law.parameters,
            law.output,
        )
        for law in laws
    ]


def _kind(name: str) -> str:
    return "head map" if "other heads" in name else "added mass" if "mass" in name else "sinks"


def from_tiles(probe: Probe, calling: Calling, dtype: str) -> list[Finding]:
    """Return how a plain call goes wrong in long rows: in runs of keys, or from a length on."""
    if probe.arguments:
        return []
    if ends_at_queries(calling, dtype):
        reported = (
            "Keys from the number of queries on are left out, whatever their number: the loop over keys ends there."
        )

        def fails(of: Probe) -> bool:
            return bool(of.placing.attendable[..., of.shape[2] :].any())

        return [Finding("keys", clauses.clauses(("softmax.keys",)), reported, fails=fails)]
    rows = [law for keys in _LONG_ROWS if (law := tile_law(calling, dtype, keys)) is not None]
    in_runs = [law for law in rows if len(law.starts) > 1]
    if in_runs:
        law = in_runs[0]
        tile = int(np.gcd.reduce([start for each in in_runs for start in each.starts]))
        shares = ", ".join(f"{factor:.4g}" for factor in law.factors[:_REPORTED])
        begin = ", ".join(map(str, law.starts[:_REPORTED]))
        parameters = {} if tile < _FEWEST else {"tile": float(tile)}
        runs = zip(law.starts, (*law.starts[1:], law.keys), law.factors, strict=True)
        lost = [key for start, end, factor in runs if factor == 0 for key in range(start, end)]
        kept = [factor for factor in law.factors if factor]
        if lost and kept and np.allclose(kept, kept[0], rtol=_SAME_SHARE):
            left_out = ", ".join(map(str, lost[:_REPORTED])) + (", …" if len(lost) > _REPORTED else "")
            reported = f"In rows of {law.keys} keys, keys {left_out} are left out; the others share the whole."
            return [
                Finding(
                    "tile",
                    clauses.clauses(("softmax.keys",)),
                    reported,
                    parameters,
                    fails=lambda of: bool(of.placing.attendable[..., [key for key in lost if key < of.shape[3]]].any()),
                )
            ]
        reported = f"In rows of {law.keys} keys, runs that begin at {begin} have {shares} times their weights."
        named = clauses.clauses(("softmax.keys", "weights") if lost else ("weights",))
        return [Finding("tile", named, reported, parameters)]
    length = first_wrong_length(calling, dtype, _LONG_ROWS[0]) if rows and rows[0].keys == _LONG_ROWS[0] else None
    if length is None:
        return []
    reported = f"Rows of {length} keys and more go wrong, and no shorter ones: a tile of {length - 1} keys is right."
    return [
        Finding(
            "tile",
            clauses.clauses(("weights",)),
            reported,
            {"tile": float(length - 1)},
            fails=lambda of: of.shape[3] >= length,
        )
    ]


def from_values(reading: Reading, dtype: str) -> list[Finding]:
    """Return that the weights are right, where they are: then it is the values that are weighed wrongly."""
    probe = reading.probe
    if not weights_are_right(reading, dtype):
        return []
    named = clauses.of_arguments(probe.arguments) if probe.arguments else clauses.clauses(("output",))
    reported = "The weights are right where values are rows of the identity; others are weighed wrongly."
    return [Finding("values", named, reported)]


def weights_are_right(reading: Reading, dtype: str) -> bool:
    """Return whether the weights that came back are the expected ones."""
    probe = reading.probe
    with np.errstate(invalid="ignore"):
        return bool((np.abs(reading.weights - probe.weights)[probe.live] <= probe.slack(dtype)).all())
