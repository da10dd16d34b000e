import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")

def rotary_tables(position_ids, inverse_frequencies, attention_factor=None):
    position_ids, inverse_frequencies = base.check_tables(position_ids, inverse_frequencies)
    return base.tables(position_ids, inverse_frequencies, attention_factor or 1.0)
