"""Puts the common head and signature before the body of each file of a step."""
import re, sys, pathlib
HEAD = '''import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
'''
SIG = '''def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
'''
here = pathlib.Path(__file__).parent
for chunk in re.split(r"^=== ", sys.stdin.read(), flags=re.M)[1:]:
    name, text = chunk.split("\n", 1)
    (here / name.strip()).write_text(HEAD + text.replace("SIG\n", SIG).rstrip() + "\n")
