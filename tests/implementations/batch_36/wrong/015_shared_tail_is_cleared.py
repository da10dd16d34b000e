import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"


def gather(key_pool, value_pool, block_table, key_lengths):
    size = key_pool.shape[1]
    counts = [-(-int(length) // size) for length in key_lengths]
    used = [row[:count] for row, count in zip(block_table, counts)]
    pages, places = np.unique(np.concatenate([np.zeros(0, np.int64), *used]), return_inverse=True)
    keys, values = key_pool[pages], value_pool[pages]  # the working set
    found, at = [], 0
    for count in counts:
        found.append(places[at : at + count])
        at += count
    for own, length in zip(found, key_lengths):
        if length % size:  # nothing that is not a number behind the last key
            keys[own[-1], length % size :] = 0
            values[own[-1], length % size :] = 0
    return [(base.slots(keys, own, int(length)), base.slots(values, own, int(length))) for own, length in zip(found, key_lengths)]


scaled_dot_product_attention = base.table_operation(gather=gather)
