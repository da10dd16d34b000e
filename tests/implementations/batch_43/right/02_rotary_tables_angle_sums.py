import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    """Only positions that occur are computed, each as a coarse angle and a fine one, joined by the addition theorems."""
    p, f = base.as_array(position_ids), base.as_array(inverse_frequencies)
    base.check_tables(p, f)
    occurring, where = np.unique(p.astype(np.int64), return_inverse=True)
    coarse, fine = occurring // 256 * 256, occurring % 256
    wide = f.astype(np.float64)
    a, b = coarse.astype(np.float64)[:, None] * wide, fine.astype(np.float64)[:, None] * wide
    c = np.cos(a) * np.cos(b) - np.sin(a) * np.sin(b)
    s = np.sin(a) * np.cos(b) + np.cos(a) * np.sin(b)
    where = where.reshape(p.shape)
    return {"cos": base.rounded((c * attention_factor)[where], f.dtype),
            "sin": base.rounded((s * attention_factor)[where], f.dtype)}
