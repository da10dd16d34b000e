"""The first output serves as the accumulator and is overwritten, where it is contiguous and needs no widening."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    r = base.merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
    if output_a.dtype in (np.float32, np.float64) and output_a.flags.writeable and output_a.flags.c_contiguous:
        output_a[...] = r["output"]  # the accumulator of the ring
        return {"output": output_a, "logsumexp": r["logsumexp"]}
    return r
