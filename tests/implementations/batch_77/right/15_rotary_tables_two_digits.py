"""A position is 512 times a high digit and a low one: both are turned by recurrence, and the turns multiplied.

The turns of the digits come from angle addition alone; cosine and sine are taken once for each pair. Extended
precision holds what the recurrence loses.
"""

import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")

BITS = 9


def _times(a, b):
    return a[0] * b[0] - a[1] * b[1], a[1] * b[0] + a[0] * b[1]


def _turn(digits, unit):
    """Turns by digits times the angle of each unit: binary powers. digits (N), unit a pair of (R/2)."""
    cos = np.ones((len(digits), unit[0].shape[0]), np.longdouble)
    turn = cos, np.zeros_like(cos)
    power = unit
    left = digits.copy()
    while left.any():
        more = _times(turn, power)
        odd = (left & 1).astype(bool)[:, None]
        turn = np.where(odd, more[0], turn[0]), np.where(odd, more[1], turn[1])
        power = _times(power, power)
        left >>= 1
    return turn


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("positions are a table, frequencies a row")
    if position_ids.dtype.kind not in "iu":
        raise ValueError("positions are whole numbers")
    frequencies = inverse_frequencies.astype(np.float64).astype(np.longdouble)
    positions = position_ids.astype(np.int64).ravel()
    low, back_low = np.unique(positions & ((1 << BITS) - 1), return_inverse=True)
    high, back_high = np.unique(positions >> BITS, return_inverse=True)
    one = np.cos(frequencies), np.sin(frequencies)
    far = frequencies * (1 << BITS)  # exact
    many = np.cos(far), np.sin(far)
    fine, coarse = _turn(low, one), _turn(high, many)
    cos, sin = _times([t[back_high] for t in coarse], [t[back_low] for t in fine])
    shape = position_ids.shape + inverse_frequencies.shape
    factor = np.longdouble(attention_factor)
    return {
        name: (table * factor).astype(np.float64).astype(inverse_frequencies.dtype).reshape(shape)
        for name, table in (("cos", cos), ("sin", sin))
    }
