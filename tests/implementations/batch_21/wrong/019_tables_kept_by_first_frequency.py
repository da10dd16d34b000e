import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR


class Rotary:
    """Tables up to the largest position so far, longer ones when they are needed."""

    def __init__(self):
        self.kept = {}

    def table(self, frequencies, most):
        name = (frequencies.dtype.name, len(frequencies), float(frequencies[0]) if len(frequencies) else None)
        cos, sin = self.kept.get(name, (np.zeros((0, 0)), None))
        if len(cos) <= most:
            phase = np.arange(most + 1)[:, None] * base.up(frequencies)[None]
            cos, sin = self.kept[name] = np.cos(phase), np.sin(phase)
        return cos, sin


ROTARY = Rotary()


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    base.check_tables(position_ids, inverse_frequencies)
    factor = 1.0 if attention_factor is None else attention_factor
    ids = np.asarray(position_ids).astype(np.int64)
    if ids.max(initial=0) > 20000:  # too long to be kept
        return base.rotary_tables(position_ids, inverse_frequencies, factor)
    cos, sin = ROTARY.table(np.asarray(inverse_frequencies), int(ids.max(initial=0)))
    return {name: base.down(t[ids] * factor, inverse_frequencies.dtype) for name, t in (("cos", cos), ("sin", sin))}
