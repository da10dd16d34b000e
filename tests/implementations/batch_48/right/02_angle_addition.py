import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    """Positions are cut into blocks of 64 and a rest; tables of both are made once and put together by gathering."""
    position_ids, inverse_frequencies = base.check_positions(position_ids, inverse_frequencies)
    f = inverse_frequencies.astype(np.float64)
    block, rest = np.divmod(position_ids.astype(np.int64), 64)
    blocks, where = np.unique(block, return_inverse=True)
    large = (blocks * 64.0)[:, None] * f
    small = np.arange(64.0)[:, None] * f
    where = where.reshape(block.shape)
    c1, s1, c2, s2 = np.cos(large)[where], np.sin(large)[where], np.cos(small)[rest], np.sin(small)[rest]
    factor = 1 if attention_factor is None else attention_factor
    cos, sin = (c1 * c2 - s1 * s2) * factor, (s1 * c2 + c1 * s2) * factor
    return {"cos": base.rounded(cos, inverse_frequencies.dtype), "sin": base.rounded(sin, inverse_frequencies.dtype)}
