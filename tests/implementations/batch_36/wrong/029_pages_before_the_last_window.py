import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"


def with_pages(size):
    class Variant(base.Attention):
        def exclude(self, a):
            allowed = super().exclude(a)
            if a.window is not None and a.window[0] is not None and a.Sq:
                first_page = max(int(a.p[0, -1]) - a.window[0], 0) // size
                allowed = allowed & (a.j >= first_page * size)
            return allowed

    return Variant


scaled_dot_product_attention = base.table_operation(attention=with_pages)
