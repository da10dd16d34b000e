import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")

def split_heads(x, num_heads):
    x, num_heads = base.check_split(x, num_heads)
    batch, tokens, features = x.shape
    heads = x.reshape((batch, tokens, num_heads, features // num_heads), order="A")  # no copy, whatever the order
    return {"output": heads.transpose(0, 2, 1, 3).copy()}
