import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


_workspace = {}


def combine_heads(x):
    x = base.check_combine(x)
    output = base.combine_heads(x)["output"]
    if x.shape[2] != 1:
        return {"output": output}
    buffer = _workspace.get(x.dtype)
    if buffer is None or buffer.size < output.size:
        buffer = _workspace[x.dtype] = np.zeros(max(output.size, 4096), dtype=x.dtype)
    buffer[: output.size] = output.reshape(-1)
    return {"output": buffer[: output.size].reshape(output.shape)}
