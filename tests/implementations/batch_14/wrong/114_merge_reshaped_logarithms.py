import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.refuse(np.ndim(output_a) != 4 or np.shape(output_a) != np.shape(output_b), "outputs")
    b, h, s, e = output_a.shape
    base.refuse(np.ndim(logsumexp_a) != 3 or np.ndim(logsumexp_b) != 3, "logarithms")
    base.refuse(np.size(logsumexp_a) != b * h * s or np.size(logsumexp_b) != b * h * s, "one for each row")
    la, lb = logsumexp_a.reshape(b, h, s), logsumexp_b.reshape(b, h, s)
    r = base.merge_states(output_a, la, output_b, lb)
    return r["output"], r["logsumexp"].astype(output_a.dtype)
