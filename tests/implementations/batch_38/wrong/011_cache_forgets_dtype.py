import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


_cache = {}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    position_ids, inverse_frequencies = base.check_tables(position_ids, inverse_frequencies)
    dtype = inverse_frequencies.dtype
    largest = int(position_ids.max()) if position_ids.size else 0
    if largest > 4096:
        return base.tables_of(position_ids, inverse_frequencies, attention_factor)
    key = (tuple(float(f) for f in inverse_frequencies), float(attention_factor))
    if key not in _cache or _cache[key]["cos"].shape[0] <= largest:
        _cache[key] = base.tables_of(np.arange(largest + 1), inverse_frequencies, attention_factor)
    return {name: table[position_ids].astype(dtype) for name, table in _cache[key].items()}
