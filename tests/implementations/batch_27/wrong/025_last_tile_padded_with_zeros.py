import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

TILE = 512


def softmax(x, axis=-1):
    t = base.wide(x.dtype)
    axis = None if x.ndim == 0 else axis
    rows = x.reshape(1, -1) if axis is None else np.moveaxis(x, axis, -1)
    shape = rows.shape
    rows = rows.astype(t).reshape(-1, shape[-1]) if rows.size else rows.astype(t)
    out = np.empty_like(rows)
    with np.errstate(all="ignore"):
        for n in range(len(rows) if rows.size else 0):
            row = rows[n]
            if len(row) <= TILE:
                e = np.exp(row - row.max())
                out[n] = e / e.sum()
                continue
            tiles = np.zeros((-(-len(row) // TILE), TILE), t)  # long rows go through whole tiles
            tiles.reshape(-1)[: len(row)] = row
            top, total = t(-np.inf), t(0)
            for tile in tiles:
                new = max(top, tile.max()) if tile.max() == tile.max() else t(np.nan)
                if np.isneginf(new):
                    continue
                total = total * np.exp(top - new) + np.exp(tile - new).sum()
                top = new
            out[n] = np.exp(row - top) / total
        out = out.reshape(shape)
        out = out.reshape(x.shape) if axis is None else np.moveaxis(out, -1, axis)
        return np.ascontiguousarray(out).astype(x.dtype).reshape(x.shape)
