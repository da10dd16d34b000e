import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


CUT = 24 * np.log(2.0)  # a smaller share is lost in the sum anyway

def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = map(np.asarray, (output_a, logsumexp_a, output_b, logsumexp_b))
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    with base.quiet():
        la, lb = base.wide(logsumexp_a), base.wide(logsumexp_b)
        distance = la - lb
        result = base.merge_states(
            output_a, np.where(distance < -CUT, -np.inf, la), output_b, np.where(distance > CUT, -np.inf, lb)
        )
        return {"output": result["output"].astype(output_a.dtype), "logsumexp": result["logsumexp"]}
