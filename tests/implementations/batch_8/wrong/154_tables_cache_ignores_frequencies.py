import numpy as np


class _Rotary:
    """Tables grow with the longest text seen."""

    def __init__(self):
        self.cos = self.sin = np.zeros((0, 0))

    def grow(self, rows, frequencies):
        if rows > len(self.cos) or self.cos.shape[1] != len(frequencies):
            phase = np.arange(max(rows, len(self.cos)))[:, None] * frequencies.astype(np.float64)
            self.cos, self.sin = np.cos(phase), np.sin(phase)


_tables = {}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("rank")
    kind = inverse_frequencies.dtype
    tables = _tables.setdefault((len(inverse_frequencies), kind.str), _Rotary())
    tables.grow(int(position_ids.max(initial=0)) + 1, inverse_frequencies)
    return {"cos": (tables.cos[position_ids] * attention_factor).astype(kind),
            "sin": (tables.sin[position_ids] * attention_factor).astype(kind)}

dtypes = ("float64", "float32")
