import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


TILE = 32


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    queries = output_a.shape[2]
    out = np.zeros(output_a.shape, output_a.dtype)
    lse = np.full(logsumexp_a.shape, -np.inf, output_a.dtype)
    with np.errstate(all="ignore"):
        for start in range(0, queries, TILE):
            # the last tile is moved back so that it is full, and reads what has been merged already
            if start + TILE > queries and queries > TILE:
                rows, first = slice(queries - TILE, queries), TILE - (queries - start)
            else:
                rows, first = slice(start, start + TILE), 0
            la, lb = logsumexp_a[:, :, rows].copy(), logsumexp_b[:, :, rows]
            oa = output_a[:, :, rows].copy()
            if first:
                oa[:, :, :first], la[:, :, :first] = out[:, :, rows][:, :, :first], lse[:, :, rows][:, :, :first]
            r = base.merge_states(oa, la, output_b[:, :, rows], lb)
            out[:, :, rows], lse[:, :, rows] = r["output"], r["logsumexp"]
    return out, lse
