"""Which features a rotation turns together."""

from __future__ import annotations


def paired_features(pairs: int, pairing: str) -> tuple[slice, slice]:
    """Return the first and the second features of `pairs` pairs, ``half`` or ``interleaved``.

    The clauses ``pairing.half`` and ``pairing.interleaved`` of ``apply_rotary``.
    """
    if pairing == "interleaved":
        return slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)
    return slice(pairs), slice(pairs, 2 * pairs)
