"""Shows for every wrong file one input on which it differs from base, and that the right ones agree with base.

    python witness.py [part of a file name]
"""
import copy
import importlib.util
import pathlib
import sys
import warnings

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))
import ml_dtypes
import numpy as np

import base

warnings.simplefilter("ignore")
np.seterr(all="ignore")
f4, bf16 = np.float32, ml_dtypes.bfloat16
FIRST = {"context_vector": "context", "rotary_tables": "cos", "rotary_frequencies": "inverse_frequencies"}
rng = None


def r(*shape):
    return rng.standard_normal(shape)


def ints(*x):
    return np.array(x, dtype=np.int64)


def sdpa(dtype=np.float64, B=2, Hq=2, Hkv=2, Sq=4, Sk=4, E=3, Ev=3, P=0, **more):
    a = dict(query=r(B, Hq, Sq, E), key=r(B, Hkv, Sk, E), value=r(B, Hkv, Sk, Ev))
    if P:
        a.update(past_key=r(B, Hkv, P, E), past_value=r(B, Hkv, P, Ev))
    a = {n: x.astype(dtype) for n, x in a.items()}
    a.update(more)
    return a


def put(a, name, at, x):
    a[name][at] = x
    return a


def bad_value(a): return put(a, "value", (0, 0, 2, 0), np.nan)
def bad_key(a): return put(a, "key", (0, 0, 2, 0), np.nan)
def nan_query(a): return put(a, "query", (0, 0, 1), np.nan)
def inf_key(a): return put(a, "key", (0, 0, 2, 0), np.inf)


def swap(a, name):
    a[name] = np.ascontiguousarray(a[name].swapaxes(1, 2)).swapaxes(1, 2)
    return a


def same(a):
    a["value"] = a["key"]
    return a


def packed(a):
    B, H, S, E = a["query"].shape
    buffer = r(B, H, S + 1, E)
    a["query"], a["key"] = buffer[:, :, :S], buffer[:, :, 1:]
    return a


def rot(B=2, H=2, S=3, E=4, pairs=2, pairing=None, bad=None, bad_value=np.nan, table_batch=None):
    angle = r(table_batch or B, S, pairs)
    a = dict(x=r(B, H, S, E), cos=np.cos(angle), sin=np.sin(angle))
    if pairing:
        a["pairing"] = pairing
    if bad is not None:
        a["x"][0, 0, 1, bad] = bad_value
    return a


def tab(dtype=np.float64, pos=((0, 3, 7), (2, 1, 0)), **more):
    return dict(position_ids=np.array(pos), inverse_frequencies=np.array([1, .3], dtype), **more)


def mha(B=2, Sq=4, Sk=4, D=4, num_heads=2, **more):
    a = dict(query=r(B, Sq, D), key=r(B, Sk, D), value=r(B, Sk, D), num_heads=num_heads)
    a.update({"w_" + n: r(D, D) for n in ("query", "key", "value", "output")})
    a.update({"b_" + n: r(D) for n in ("query", "key", "value", "output")})
    a.update(more)
    return a


def sha(**more):
    return dict(x=r(3, 4), w_query=r(4, 3), w_key=r(4, 3), w_value=r(4, 2)) | more


def load(file):
    spec = importlib.util.spec_from_file_location(file.replace("/", "_")[:-3], ROOT / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def distance(got, want):
    got, want = np.asarray(got).astype(np.float64), np.asarray(want).astype(np.float64)
    if got.shape != want.shape or (np.isnan(got) != np.isnan(want)).any():
        return np.inf
    both = np.isfinite(got) & np.isfinite(want)
    if (~both & ~np.isnan(got) & (got != want)).any():
        return np.inf
    return float(np.max(np.abs(got - want)[both] / (1 + np.abs(want[both])), initial=0))


def compare(got, want, operation, counts=None):
    first = FIRST.get(operation, "output")
    want = want if isinstance(want, dict) else {first: want}
    got = got if isinstance(got, dict) else {first: got}
    worst = 0.0
    for name, x in got.items():
        x, w = np.asarray(x), np.asarray(want[name])
        if x.shape != w.shape or (name in ("output", "present_key", "present_value", "context") and x.dtype != w.dtype and operation != "causal_mask"):
            return np.inf
        if operation == "causal_mask" and (x.dtype == bool) != (w.dtype == bool):
            return np.inf
        if counts is not None and name in ("output", "weights", "logsumexp", "scores", "logits"):
            worst = max([worst] + [distance(x[b, :, :n], w[b, :, :n]) for b, n in enumerate(counts)])
        else:
            worst = max(worst, distance(x, w))
    return worst


def eps(a):
    floats = [x.dtype for x in a.values() if isinstance(x, np.ndarray) and x.dtype.kind in "fV"]
    if not floats or floats[0] == np.float64:
        return 1e-10
    return 1e-4 if floats[0] == np.float32 else 3e-2


def against_base(function, operation, a):
    want = getattr(base, operation)(**copy.deepcopy(a))
    try:
        return compare(function(**a), want, operation, a.get("query_lengths"))
    except Exception as error:
        print("    ", type(error).__name__, error)
        return np.inf


def witness(file, operation, expression, kind):
    global rng
    rng = np.random.default_rng(7)
    function = getattr(load(file), operation)
    a = eval(expression)
    if kind == "reject":
        for refuses in (getattr(base, operation), function):
            try:
                refuses(**copy.deepcopy(a))
            except Exception:
                if refuses is function:
                    return 0.0, False
            else:
                if refuses is not function:
                    raise AssertionError(f"{file}: base takes the input")
        return np.inf, True
    if kind == "unchanged":
        before = copy.deepcopy(a)
        function(**a)
        d = max(distance(a[n], before[n]) for n in a if isinstance(a[n], np.ndarray))
        return d, d > 1e-10
    if kind.startswith("after:"):
        function(**copy.deepcopy(a))
        a = a | eval(f"dict({kind[6:]})")
    if kind == "overwritten":
        want = getattr(base, operation)(**copy.deepcopy(a))
        got = function(**a)
        function(**sdpa())
        d = compare(got, want, operation)
        return d, d > eps(a)
    if kind == "glorot":
        m = function(**a)
        d = abs(m.std() / np.sqrt(2 / sum(m.shape)) - 1) * np.sqrt(2 * m.size) / 6
        d = max(d, distance(function(**a), m) * 1e9)
        from scipy import stats
        p = stats.kstest(m.ravel() / np.sqrt(2 / sum(m.shape)), "norm").pvalue
        d = max(d, np.log(max(p, 1e-300)) / np.log(1e-9))
        return d, d > 1
    d = against_base(function, operation, a)
    return d, d > eps(a)


WITNESSES = [
    ('wrong/001_alibi_signed.py', 'scaled_dot_product_attention',
     'sdpa(alibi_slopes=r(2)**2+.1)', 'value'),
    ('wrong/002_alibi_anchor_only_when_causal.py', 'scaled_dot_product_attention',
     "sdpa(Sq=2,Sk=6,alibi_slopes=r(2)**2+.1,causal_alignment='bottom_right')", 'value'),
    ('wrong/003_window_from_array_end.py', 'scaled_dot_product_attention',
     "sdpa(Sk=7,window=[1,1],causal_alignment='bottom_right',key_lengths=ints(7,4))", 'value'),
    ('wrong/004_finite_fill_uniform_rows.py', 'scaled_dot_product_attention',
     'sdpa(mask=np.array([[True]*4,[False]*4,[True]*4,[True]*4]))', 'value'),
    ('wrong/005_minus_ten_thousand.py', 'scaled_dot_product_attention',
     'sdpa(query=r(2,2,4,3)*300,key=r(2,2,4,3)*300,is_causal=True)', 'value'),
    ('wrong/006_sink_not_in_the_maximum.py', 'scaled_dot_product_attention',
     'sdpa(sinks=np.array([900.,1.]))', 'value'),
    ('wrong/007_scores_output_is_capped.py', 'scaled_dot_product_attention',
     'sdpa(softcap=1.)', 'value'),
    ('wrong/008_weights_renormalised_without_sink.py', 'scaled_dot_product_attention',
     'sdpa(sinks=r(2))', 'value'),
    ('wrong/009_query_scaled_in_place.py', 'scaled_dot_product_attention',
     'sdpa()', 'unchanged'),
    ('wrong/010_numpy_scalar_promotes.py', 'scaled_dot_product_attention',
     'sdpa(dtype=f4)', 'value'),
    ('wrong/011_mask_switches_causality_off.py', 'scaled_dot_product_attention',
     'sdpa(is_causal=True,mask=np.ones((4,4),bool))', 'value'),
    ('wrong/012_scale_zero_is_none.py', 'scaled_dot_product_attention',
     'sdpa(scale=0.)', 'value'),
    ('wrong/013_square_root_of_scale.py', 'scaled_dot_product_attention',
     'sdpa(scale=-.5)', 'value'),
    ('wrong/014_one_maximum_for_a_head.py', 'scaled_dot_product_attention',
     'sdpa(query=r(2,2,4,3)*np.array([1,1e3,1,1e4])[:,None],key=1+r(2,2,4,3)**2)', 'value'),
    ('wrong/015_maximum_before_the_mask.py', 'scaled_dot_product_attention',
     'sdpa(query=r(2,2,4,3)*50,key=r(2,2,4,3)*50,is_causal=True)', 'value'),
    ('wrong/016_logsumexp_without_sink.py', 'scaled_dot_product_attention',
     'sdpa(sinks=r(2))', 'value'),
    ('wrong/017_empty_row_logsumexp_zero.py', 'scaled_dot_product_attention',
     'sdpa(mask=np.array([[True]*4,[False]*4,[True]*4,[True]*4]))', 'value'),
    ('wrong/018_value_cleaned_by_column.py', 'scaled_dot_product_attention',
     'bad_value(sdpa(is_causal=True))', 'value'),
    ('wrong/019_values_made_finite.py', 'scaled_dot_product_attention',
     'bad_value(sdpa())', 'value'),
    ('wrong/020_very_negative_mask_excludes.py', 'scaled_dot_product_attention',
     'sdpa(mask=np.full((4,4),-1e10))', 'value'),
    ('wrong/021_negative_offset_clamped.py', 'scaled_dot_product_attention',
     "sdpa(Sq=5,Sk=3,is_causal=True,causal_alignment='bottom_right')", 'value'),
    ('wrong/022_unsigned_positions.py', 'scaled_dot_product_attention',
     "sdpa(Sq=5,Sk=3,is_causal=True,causal_alignment='bottom_right')", 'value'),
    ('wrong/023_bias_table_remembered.py', 'scaled_dot_product_attention',
     'sdpa(alibi_slopes=np.array([.5,.25]))', 'after:alibi_slopes=np.array([1.,2.])'),
    ('wrong/024_exclusions_remembered.py', 'scaled_dot_product_attention',
     'sdpa(key_lengths=ints(4,2))', 'after:key_lengths=ints(1,3)'),
    ('wrong/025_heads_tiled.py', 'scaled_dot_product_attention',
     'sdpa(Hq=4)', 'value'),
    ('wrong/026_lengths_tiled_over_heads.py', 'scaled_dot_product_attention',
     'sdpa(key_lengths=ints(4,2))', 'value'),
    ('wrong/027_offset_counts_past_twice.py', 'scaled_dot_product_attention',
     "sdpa(P=3,is_causal=True,causal_alignment='bottom_right')", 'value'),
    ('wrong/028_float_mask_edited.py', 'scaled_dot_product_attention',
     'sdpa(mask=r(2,2,4,4),is_causal=True)', 'unchanged'),
    ('wrong/029_memory_order_ravel.py', 'scaled_dot_product_attention',
     "swap(sdpa(),'value')", 'value'),
    ('wrong/030_nan_row_from_all_minus_inf_mask.py', 'scaled_dot_product_attention',
     'sdpa(mask=np.where(np.arange(4)[:,None]==1,-np.inf,0.)+np.zeros((4,4)))', 'value'),
    ('wrong/031_causal_bound_without_shift.py', 'scaled_dot_product_attention',
     "sdpa(Sq=2,Sk=20,is_causal=True,causal_alignment='bottom_right')", 'value'),
    ('wrong/032_window_begin_rounded_up.py', 'scaled_dot_product_attention',
     'sdpa(Sq=20,Sk=20,window=[3,None])', 'value'),
    ('wrong/033_padded_tail_seen_when_causal.py', 'scaled_dot_product_attention',
     'sdpa(Sq=6,Sk=3,is_causal=True)', 'value'),
    ('wrong/034_lazy_rescale_forgets.py', 'scaled_dot_product_attention',
     'sdpa(Sk=20)', 'value'),
    ('wrong/035_first_tile_empty_nan.py', 'scaled_dot_product_attention',
     'sdpa(Sq=12,Sk=20,mask=np.arange(20)[None]>=9)', 'value'),
    ('wrong/036_small_tiles_skipped.py', 'scaled_dot_product_attention',
     'sdpa(B=1,Hq=1,Hkv=1,Sq=1,Sk=20,E=1,query=np.ones((1,1,1,1)),key=np.r_[np.full(8,17.),np.zeros(12)].reshape(1,1,20,1))', 'value'),
    ('wrong/037_causal_mask_on_last_tile_only.py', 'scaled_dot_product_attention',
     'sdpa(Sq=12,Sk=12,is_causal=True)', 'value'),
    ('wrong/038_window_left_on_first_tile_only.py', 'scaled_dot_product_attention',
     'sdpa(Sq=14,Sk=14,window=[1,None])', 'value'),
    ('wrong/039_overlapping_tail_positions.py', 'scaled_dot_product_attention',
     'sdpa(Sq=19,Sk=19,is_causal=True)', 'value'),
    ('wrong/040_sink_of_the_key_head.py', 'scaled_dot_product_attention',
     'sdpa(Hq=4,sinks=r(4))', 'value'),
    ('wrong/041_stale_accumulators.py', 'scaled_dot_product_attention',
     'sdpa(key_lengths=ints(4,0))', 'value'),
    ('wrong/042_tanh_from_exponentials.py', 'scaled_dot_product_attention',
     'sdpa(query=r(2,2,4,3)*300,key=r(2,2,4,3)*30,softcap=1.)', 'value'),
    ('wrong/043_key_numbers_of_eight_bits.py', 'scaled_dot_product_attention',
     "sdpa(Sq=3,Sk=150,window=[20,None],causal_alignment='bottom_right')", 'value'),
    ('wrong/044_half_scores_before_the_scale.py', 'scaled_dot_product_attention',
     'sdpa(dtype=np.float16,query=(r(2,2,4,3)*400).astype(np.float16),key=(r(2,2,4,3)*400).astype(np.float16),scale=1e-5)', 'value'),
    ('wrong/045_late_columns_not_rescaled.py', 'scaled_dot_product_attention',
     'sdpa(Ev=40,Sk=20)', 'value'),
    ('wrong/046_feature_tail_dropped.py', 'scaled_dot_product_attention',
     'sdpa(E=20)', 'value'),
    ('wrong/047_scale_of_the_padded_width.py', 'scaled_dot_product_attention',
     'sdpa(E=5)', 'value'),
    ('wrong/048_sink_in_every_split.py', 'scaled_dot_product_attention',
     'sdpa(Sk=20,sinks=r(2))', 'value'),
    ('wrong/049_alibi_local_columns.py', 'scaled_dot_product_attention',
     'sdpa(Sk=20,alibi_slopes=r(2)**2+.1)', 'value'),
    ('wrong/050_merge_without_maximum.py', 'scaled_dot_product_attention',
     'sdpa(query=r(2,2,4,3)*100,key=r(2,2,4,3)*100,Sk=4)', 'value'),
    ('wrong/051_eight_splits_at_most.py', 'scaled_dot_product_attention',
     'sdpa(Sk=110)', 'value'),
    ('wrong/052_running_merge_keeps_maximum.py', 'scaled_dot_product_attention',
     'sdpa(Sk=40)', 'value'),
    ('wrong/053_empty_split_has_logsumexp_zero.py', 'scaled_dot_product_attention',
     'sdpa(Sq=3,Sk=20,is_causal=True)', 'value'),
    ('wrong/054_splits_kept_in_float32.py', 'scaled_dot_product_attention',
     'sdpa(Sk=20)', 'value'),
    ('wrong/055_window_zero_is_open.py', 'scaled_dot_product_attention',
     'sdpa(window=[0,None])', 'value'),
    ('wrong/056_window_replaces_causality.py', 'scaled_dot_product_attention',
     'sdpa(window=[1,None],is_causal=True)', 'value'),
    ('wrong/057_nan_compares_false.py', 'scaled_dot_product_attention',
     'nan_query(sdpa())', 'value'),
    ('wrong/058_uniform_weights_in_empty_rows.py', 'scaled_dot_product_attention',
     'sdpa(mask=np.array([[True]*4,[False]*4,[True]*4,[True]*4]))', 'value'),
    ('wrong/059_half_denominator.py', 'scaled_dot_product_attention',
     'sdpa(dtype=bf16,B=1,Hq=1,Hkv=1,Sq=1,Sk=300,key=np.zeros((1,1,300,3),bf16),value=np.ones((1,1,300,3),bf16))', 'value'),
    ('wrong/060_empty_result_like_query.py', 'scaled_dot_product_attention',
     'sdpa(Sk=0,E=3,Ev=2)', 'value'),
    ('wrong/061_query_lengths_pad_left.py', 'scaled_dot_product_attention',
     'sdpa(query_lengths=ints(4,2),is_causal=True)', 'value'),
    ('wrong/062_past_of_another_head.py', 'scaled_dot_product_attention',
     'sdpa(Hq=4,P=3)', 'value'),
    ('wrong/063_shorter_of_key_and_value.py', 'scaled_dot_product_attention',
     'sdpa(value=r(2,2,3,3))', 'reject'),
    ('wrong/064_bias_below_the_cap.py', 'scaled_dot_product_attention',
     'sdpa(softcap=1.,alibi_slopes=r(2)**2+.1)', 'value'),
    ('wrong/065_cap_before_scale.py', 'scaled_dot_product_attention',
     'sdpa(softcap=1.)', 'value'),
    ('wrong/066_default_scale_in_float32.py', 'scaled_dot_product_attention',
     'sdpa(E=3)', 'value'),
    ('wrong/067_reads_past_lengths_in_sixteen_bits.py', 'scaled_dot_product_attention',
     'sdpa(B=1,Hq=1,Hkv=1,Sq=1,Sk=520,Ev=64)', 'value'),
    ('wrong/068_sink_not_in_log2.py', 'scaled_dot_product_attention',
     'sdpa(sinks=r(2))', 'value'),
    ('wrong/069_logsumexp_mixed_units.py', 'scaled_dot_product_attention',
     'sdpa()', 'value'),
    ('wrong/070_mask_heads_in_group_order.py', 'scaled_dot_product_attention',
     'sdpa(Hq=4,mask=r(4,4,4)>-.3)', 'value'),
    ('wrong/071_slope_of_the_key_head.py', 'scaled_dot_product_attention',
     'sdpa(Hq=4,alibi_slopes=r(4)**2+.1)', 'value'),
    ('wrong/072_rank_three_mask_is_batch.py', 'scaled_dot_product_attention',
     'sdpa(mask=r(2,4,4)>-.3)', 'value'),
    ('wrong/073_maximum_scaled_afterwards.py', 'scaled_dot_product_attention',
     'sdpa(scale=-1.,query=r(2,2,4,3)*100,key=r(2,2,4,3)*100)', 'value'),
    ('wrong/074_polynomial_exponential.py', 'scaled_dot_product_attention',
     'sdpa()', 'value'),
    ('wrong/075_mask_bits_in_one_word.py', 'scaled_dot_product_attention',
     'sdpa(Sk=80,mask=(np.arange(80)%7<4)[None])', 'value'),
    ('wrong/076_infinite_scores_clamped.py', 'scaled_dot_product_attention',
     'inf_key(sdpa())', 'value'),
    ('wrong/077_batch_of_one_repeated.py', 'scaled_dot_product_attention',
     'sdpa(key=r(1,2,4,3),value=r(1,2,4,3))', 'reject'),
    ('wrong/078_one_value_head_repeated.py', 'scaled_dot_product_attention',
     'sdpa(value=r(2,1,4,3))', 'reject'),
    ('wrong/079_mask_of_one_key_repeated.py', 'scaled_dot_product_attention',
     'sdpa(mask=np.ones((4,1),bool))', 'reject'),
    ('wrong/080_wide_window_dropped.py', 'scaled_dot_product_attention',
     'sdpa(Sq=9,Sk=3,window=[3,None])', 'value'),
    ('wrong/081_batch_one_position_for_all.py', 'scaled_dot_product_attention',
     "sdpa(Sk=6,key_lengths=ints(6,4),is_causal=True,causal_alignment='bottom_right')", 'value'),
    ('wrong/082_key_lengths_taken_from_queries.py', 'scaled_dot_product_attention',
     'sdpa(query_lengths=ints(4,2))', 'value'),
    ('wrong/083_alibi_always_bottom_right.py', 'scaled_dot_product_attention',
     'sdpa(Sk=6,alibi_slopes=r(2)**2+.1)', 'value'),
    ('wrong/084_mask_cut_from_the_end.py', 'scaled_dot_product_attention',
     'sdpa(key_lengths=ints(4,2),mask=r(4,4)>-.3)', 'value'),
    ('wrong/085_epsilon_in_the_denominator.py', 'scaled_dot_product_attention',
     'sdpa(Sk=1)', 'value'),
    ('wrong/086_values_packed_by_query_lengths.py', 'scaled_dot_product_attention',
     'sdpa(query_lengths=ints(2,4),key_lengths=ints(4,3))', 'value'),
    ('wrong/087_nan_in_excluded_key.py', 'scaled_dot_product_attention',
     'bad_key(sdpa(is_causal=True))', 'value'),
    ('wrong/088_new_tokens_start_a_block.py', 'scaled_dot_product_attention',
     'sdpa(P=3)', 'value'),
    ('wrong/089_rolling_buffer_overwritten.py', 'scaled_dot_product_attention',
     'sdpa(Sq=6,Sk=6,is_causal=True,window=[1,None])', 'value'),
    ('wrong/090_present_zeroed_beyond_length.py', 'scaled_dot_product_attention',
     'sdpa(key_lengths=ints(4,2))', 'value'),
    ('wrong/091_causal_only_without_past.py', 'scaled_dot_product_attention',
     'sdpa(P=3,is_causal=True)', 'value'),
    ('wrong/092_window_from_query_number.py', 'scaled_dot_product_attention',
     'sdpa(P=3,window=[1,1])', 'value'),
    ('wrong/093_alibi_from_the_newest_token.py', 'scaled_dot_product_attention',
     'sdpa(P=3,alibi_slopes=r(2)**2+.1)', 'value'),
    ('wrong/094_maximum_not_below_zero.py', 'scaled_dot_product_attention',
     'sdpa(B=1,Hq=1,Hkv=1,query=np.full((1,1,4,3),-50.),key=np.full((1,1,4,3),50.))', 'value'),
    ('wrong/095_empty_row_forgets_sink_logsumexp.py', 'scaled_dot_product_attention',
     'sdpa(sinks=r(2),mask=np.array([[True]*4,[False]*4,[True]*4,[True]*4]))', 'value'),
    ('wrong/096_present_in_a_shared_pool.py', 'scaled_dot_product_attention',
     'sdpa()', 'overwritten'),
    ('wrong/097_decode_sees_everything.py', 'scaled_dot_product_attention',
     'sdpa(Sq=1,is_causal=True)', 'value'),
    ('wrong/098_decode_distance_from_last_key.py', 'scaled_dot_product_attention',
     'sdpa(Sq=1,alibi_slopes=r(2)**2+.1)', 'value'),
    ('wrong/099_folded_positions_repeated.py', 'scaled_dot_product_attention',
     'sdpa(Hkv=1,is_causal=True)', 'value'),
    ('wrong/100_folded_sinks_tiled.py', 'scaled_dot_product_attention',
     'sdpa(Hkv=1,sinks=r(2))', 'value'),
    ('wrong/101_decode_in_float32.py', 'scaled_dot_product_attention',
     'sdpa(Sq=1,P=3,is_causal=True)', 'value'),
    ('wrong/102_decode_mask_of_first_head.py', 'scaled_dot_product_attention',
     'sdpa(Sq=1,mask=r(2,1,4)>-.3)', 'value'),
    ('wrong/103_float32_for_half.py', 'scaled_dot_product_attention',
     'sdpa(dtype=np.float16)', 'value'),
    ('wrong/104_long_rows_in_float32.py', 'scaled_dot_product_attention',
     'sdpa(Sk=1030,B=1,Hq=1,Hkv=1)', 'value'),
    ('wrong/105_sinks_of_32_lanes.py', 'scaled_dot_product_attention',
     'sdpa(Hq=40,Hkv=40,sinks=r(40))', 'value'),
    ('wrong/106_alias_of_key_and_value.py', 'scaled_dot_product_attention',
     'same(sdpa())', 'value'),
    ('wrong/107_copy_shares_self_scores.py', 'scaled_dot_product_attention',
     'packed(sdpa(is_causal=True))', 'value'),
    ('wrong/108_dynamic_shrinks_short_texts.py', 'rotary_frequencies',
     "dict(width=8,scaling='dynamic',factor=2.,original_length=100,sequence_length=80)", 'value'),
    ('wrong/109_llama3_blends_by_wavelength.py', 'rotary_frequencies',
     "dict(width=32,scaling='llama3',factor=8.,original_length=512,low_frequency_factor=1.,high_frequency_factor=4.)", 'value'),
    ('wrong/110_longrope_long_at_the_limit.py', 'rotary_frequencies',
     "dict(width=4,scaling='longrope',factor=4.,original_length=64,sequence_length=64,short_factors=[1.,1.5],long_factors=[2.,3.])", 'value'),
    ('wrong/111_longrope_factor_only_when_long.py', 'rotary_frequencies',
     "dict(width=4,scaling='longrope',factor=4.,original_length=64,short_factors=[1.,1.5],long_factors=[2.,3.])", 'value'),
    ('wrong/112_yarn_upper_end_of_pairs.py', 'rotary_frequencies',
     "dict(width=8,scaling='yarn',factor=4.,original_length=100000)", 'value'),
    ('wrong/113_yarn_single_coefficient_counts.py', 'rotary_frequencies',
     "dict(width=8,scaling='yarn',factor=4.,original_length=4096,magnitude_scaling=.5)", 'value'),
    ('wrong/114_yarn_fixed_base_in_range.py', 'rotary_frequencies',
     "dict(width=16,theta=500000.,scaling='yarn',factor=4.,original_length=4096)", 'value'),
    ('wrong/115_proportional_powers_of_the_part.py', 'rotary_frequencies',
     "dict(width=8,scaling='proportional',proportion=.5)", 'value'),
    ('wrong/116_attention_factor_without_scaling.py', 'rotary_frequencies',
     'dict(width=8,attention_factor=2.)', 'value'),
    ('wrong/117_llama3_default_factors.py', 'rotary_frequencies',
     "dict(width=8,scaling='llama3',factor=8.,original_length=512)", 'reject'),
    ('wrong/118_zero_coefficient_counts.py', 'rotary_frequencies',
     "dict(width=8,scaling='yarn',factor=4.,original_length=4096,magnitude_scaling=.5,magnitude_scaling_all_dimensions=0.)", 'value'),
    ('wrong/119_halves_of_the_whole_head.py', 'apply_rotary',
     'rot(E=8,pairs=2)', 'value'),
    ('wrong/120_second_uses_the_new_first.py', 'apply_rotary',
     'rot()', 'value'),
    ('wrong/121_interleaved_left_in_halves.py', 'apply_rotary',
     "rot(pairing='interleaved')", 'value'),
    ('wrong/122_rest_turned_by_nothing.py', 'apply_rotary',
     "rot(E=8,pairs=2,pairing='interleaved',bad=6)", 'value'),
    ('wrong/123_rotation_by_matrix.py', 'apply_rotary',
     'rot(bad=0)', 'value'),
    ('wrong/124_tables_of_the_first_entry.py', 'apply_rotary',
     'rot()', 'value'),
    ('wrong/125_rotated_in_place.py', 'apply_rotary',
     'rot()', 'unchanged'),
    ('wrong/126_complex_numbers.py', 'apply_rotary',
     'rot(bad=3,bad_value=np.inf)', 'value'),
    ('wrong/127_tables_of_one_token_repeated.py', 'apply_rotary',
     'rot(table_batch=1)', 'reject'),
    ('wrong/128_any_other_pairing_is_interleaved.py', 'apply_rotary',
     "rot(pairing='neox')", 'reject'),
    ('wrong/129_pairs_in_vectors_of_four.py', 'apply_rotary',
     'rot(E=12,pairs=6)', 'value'),
    ('wrong/130_phases_in_float32.py', 'rotary_tables',
     'tab()', 'value'),
    ('wrong/131_positions_in_the_table_dtype.py', 'rotary_tables',
     'tab(dtype=bf16,pos=[[0,257,1001]])', 'value'),
    ('wrong/132_positions_counted_from_the_first.py', 'rotary_tables',
     'tab(pos=[[5,3,9]])', 'value'),
    ('wrong/133_sine_from_cosine.py', 'rotary_tables',
     'tab(pos=[[0,4,5]])', 'value'),
    ('wrong/134_factor_on_the_cosine_only.py', 'rotary_tables',
     'tab(attention_factor=1.5)', 'value'),
    ('wrong/135_table_remembered_by_length.py', 'rotary_tables',
     'tab()', 'after:inverse_frequencies=np.array([.7,.2])'),
    ('wrong/136_positions_clamped.py', 'rotary_tables',
     'tab(pos=[[0,5000,131071]])', 'value'),
    ('wrong/137_positions_of_sixteen_bits.py', 'rotary_tables',
     'tab(pos=[[0,5,131071]])', 'value'),
    ('wrong/138_same_positions_for_the_batch.py', 'rotary_tables',
     'tab(pos=[[0,1,2],[4,5,6]])', 'value'),
    ('wrong/139_scale_of_the_token.py', 'multi_head_attention',
     'mha()', 'value'),
    ('wrong/140_value_bias_after_attention.py', 'multi_head_attention',
     'mha(mask=np.array([[True]*4,[False]*4,[True]*4,[True]*4]))', 'value'),
    ('wrong/141_empty_token_loses_output_bias.py', 'multi_head_attention',
     'mha(mask=np.array([[True]*4,[False]*4,[True]*4,[True]*4]))', 'value'),
    ('wrong/142_biases_all_or_none.py', 'multi_head_attention',
     'mha(b_key=None)', 'value'),
    ('wrong/143_causal_from_the_other_corner.py', 'multi_head_attention',
     'mha(Sk=6,is_causal=True)', 'value'),
    ('wrong/144_batch_mask_of_rank_three.py', 'multi_head_attention',
     'mha(mask=r(2,4,4)>-.3)', 'value'),
    ('wrong/145_masks_added_to_unscaled_scores.py', 'multi_head_attention',
     'mha(mask=r(4,4))', 'value'),
    ('wrong/146_axis_zero_is_last.py', 'softmax',
     'dict(x=r(3,4),axis=0)', 'value'),
    ('wrong/147_one_maximum_for_the_array.py', 'softmax',
     'dict(x=r(3,4)+np.array([[0],[900],[0]]))', 'value'),
    ('wrong/148_axis_moved_back_wrongly.py', 'softmax',
     'dict(x=r(3,3,3),axis=0)', 'value'),
    ('wrong/149_subtracts_in_place.py', 'softmax',
     'dict(x=r(3,4))', 'unchanged'),
    ('wrong/150_offset_not_below_zero.py', 'causal_mask',
     'dict(query_length=4,offset=-2)', 'value'),
    ('wrong/151_slice_with_negative_end.py', 'causal_mask',
     'dict(query_length=4,key_length=5,offset=-3)', 'value'),
    ('wrong/152_square_counts_offset.py', 'causal_mask',
     'dict(query_length=3,offset=2)', 'value'),
    ('wrong/153_smallest_finite_number.py', 'causal_mask',
     'dict(query_length=3,additive=True)', 'value'),
    ('wrong/154_interleaved_slices.py', 'split_heads',
     'dict(x=r(2,3,4),num_heads=2)', 'value'),
    ('wrong/155_remainder_dropped.py', 'split_heads',
     'dict(x=r(2,3,5),num_heads=2)', 'reject'),
    ('wrong/156_batch_and_tokens_swapped.py', 'combine_heads',
     'dict(x=r(2,2,3,2))', 'value'),
    ('wrong/157_converted_to_float.py', 'combine_heads',
     'dict(x=r(2,2,3,2).astype(np.float16))', 'value'),
    ('wrong/158_scale_of_the_values.py', 'single_head_attention',
     'sha()', 'value'),
    ('wrong/159_value_with_output_matrix.py', 'single_head_attention',
     'sha(w_output=r(2,4))', 'value'),
    ('wrong/160_maximum_over_columns.py', 'single_head_attention',
     'sha()', 'value'),
    ('wrong/161_weights_along_features.py', 'context_vector',
     'dict(encoder_states=r(4,4),decoder_state=r(4))', 'value'),
    ('wrong/162_raw_scores_are_scaled.py', 'context_vector',
     'dict(encoder_states=r(3,4),decoder_state=r(4))', 'value'),
    ('wrong/163_longer_state_cut.py', 'context_vector',
     'dict(encoder_states=r(3,4),decoder_state=r(5))', 'reject'),
    ('wrong/164_deviation_of_fan_in.py', 'glorot_normal',
     'dict(fan_in=128,fan_out=32,seed=1)', 'glorot'),
    ('wrong/165_generator_seeded_once.py', 'glorot_normal',
     'dict(fan_in=64,fan_out=64,seed=1)', 'glorot'),
    ('wrong/166_tails_cut.py', 'glorot_normal',
     'dict(fan_in=128,fan_out=128,seed=1)', 'glorot'),
]


def random_sdpa(dtype):
    on = lambda chance: rng.random() < chance
    pick = lambda *x: x[rng.integers(len(x))]
    B, Hkv = pick(1, 2, 3), pick(1, 2, 3)
    Hq, Sq, Sk = Hkv * pick(1, 1, 2, 3), pick(1, 2, 3, 5, 9, 17, 20), pick(0, 1, 2, 3, 5, 9, 17, 26)
    P = pick(0, 1, 3, 6) if on(.25) else None
    a = sdpa(dtype, B, Hq, Hkv, Sq, Sk, pick(1, 3, 4, 5, 8), pick(1, 2, 4, 7))
    if P is not None:
        a["past_key"] = r(B, Hkv, P, a["query"].shape[3]).astype(dtype)
        a["past_value"] = r(B, Hkv, P, a["value"].shape[3]).astype(dtype)
    else:
        if on(.35):
            a["key_lengths"] = rng.integers(0, Sk + 1, B)
        if on(.35):
            a["query_lengths"] = rng.integers(0, Sq + 1, B)
    K = Sk + (P or 0)
    if on(.5):
        a["is_causal"] = True
    if on(.5):
        a["causal_alignment"] = pick("top_left", "bottom_right")
    if on(.25):
        a["scale"] = pick(0.0, -.7, .3, 2.)
    if on(.25):
        a["softcap"] = pick(0.0, .8, 2.5)
    if on(.3):
        a["window"] = [pick(None, 0, 1, 4), pick(None, 0, 1, 3)]
    if on(.3):
        a["sinks"] = (r(Hq) * 2).astype(dtype)
    if on(.3):
        a["alibi_slopes"] = np.abs(r(Hq)).astype(dtype)
    if on(.45):
        shape = pick((Sq, K), (Hq, Sq, K), (B, Hq, Sq, K), (B, 1, 1, K), (1, K), (Hq, 1, K), (B, 1, Sq, K))
        allow = rng.random(shape) < .7
        a["mask"] = allow if on(.5) else np.where(allow, r(*shape), -np.inf).astype(dtype)
    if on(.15) and Sk and P is None:
        a["key_lengths"] = np.minimum(a.get("key_lengths", Sk), Sk - 1) * np.ones(B, np.int64)
        a["junk"] = True
    return a


def random_rotary(operation):
    if operation == "apply_rotary":
        E = int(rng.integers(2, 13))
        return rot(E=E, pairs=int(rng.integers(0, E // 2 + 1)), pairing=["half", "interleaved"][rng.integers(2)])
    if operation == "rotary_tables":
        return tab(pos=rng.integers(0, 3000, (2, 5)), attention_factor=float(rng.random() + 1))
    R = 2 * int(rng.integers(2, 20))
    a = dict(width=R, theta=float([100., 10000., 5e5][rng.integers(3)]))
    kind = ["none", "linear", "dynamic", "llama3", "longrope", "proportional", "yarn"][rng.integers(7)]
    a |= dict(scaling=kind, factor=float(1 + 8 * rng.random()), original_length=int(rng.integers(300, 9000)),
              sequence_length=int(rng.integers(10, 20000)), low_frequency_factor=1., high_frequency_factor=4.,
              short_factors=list(1 + rng.random(R // 2)), long_factors=list(2 + rng.random(R // 2)),
              proportion=float(rng.random()), truncate=bool(rng.integers(2)))
    if rng.random() < .3:
        a["attention_factor"] = 1.25
    if rng.random() < .3:
        a |= dict(magnitude_scaling=.7, magnitude_scaling_all_dimensions=float(rng.integers(2)))
    return a


def random_other(operation):
    n = lambda: int(rng.integers(1, 7))
    if operation == "softmax":
        shape = tuple(n() for _ in range(3))
        return dict(x=r(*shape) * 30, axis=[None, 0, 1, 2, -1, -2, -3][rng.integers(7)])
    if operation == "causal_mask":
        return dict(query_length=n(), key_length=n(), offset=int(rng.integers(-4, 5)), additive=bool(rng.integers(2)))
    if operation == "split_heads":
        h = n()
        return dict(x=r(n(), n(), h * n()), num_heads=h)
    if operation == "combine_heads":
        return dict(x=r(n(), n(), n(), n()))
    if operation == "single_head_attention":
        a = sha()
        return a if rng.random() < .5 else a | dict(w_output=r(2, n()), scale=float(rng.standard_normal()))
    if operation == "context_vector":
        d = n()
        return dict(encoder_states=r(n(), d), decoder_state=r(d))
    H, Sq, Sk, B = n(), n(), n(), n()
    a = mha(B, Sq, Sk, H * n(), H)
    if rng.random() < .5:
        a["is_causal"] = True
    if rng.random() < .5:
        m = rng.random([(Sq, Sk), (H, Sq, Sk), (B, 1, Sq, Sk)][rng.integers(3)]) < .7
        a["mask"] = m if rng.random() < .5 else np.where(m, r(*m.shape), -np.inf)
    for name in ("b_query", "b_key", "b_value", "b_output"):
        if rng.random() < .3:
            del a[name]
    return a


def right(file):
    """The greatest difference of a right file from base over 200 random inputs of each operation."""
    global rng
    rng = np.random.default_rng(11)
    module = load(file)
    chosen = getattr(module, "conventions", {})
    dtypes = getattr(module, "dtypes", ("float64", "float32"))
    worst = {}
    for operation in ("scaled_dot_product_attention", "softmax", "causal_mask", "split_heads", "combine_heads", "context_vector",
                      "single_head_attention", "multi_head_attention", "rotary_frequencies", "rotary_tables", "apply_rotary"):
        function = getattr(module, operation, None)
        if function is None:
            continue
        for name in dtypes if operation.startswith("scaled") else ("float64",):
            dtype = getattr(np, name, None) or bf16
            for _ in range(200):
                if not operation.startswith("scaled"):
                    a = random_rotary(operation) if "rotary" in operation else random_other(operation)
                    d = compare(function(**copy.deepcopy(a)), getattr(base, operation)(**a), operation)
                    worst[name] = max(worst.get(name, 0), d)
                    continue
                a = random_sdpa(dtype)
                if a.pop("junk", False) and chosen.get("masked_nonfinite") != "propagates":
                    a["key"][:, :, -1], a["value"][:, :, -1] = np.nan, np.inf
                if chosen.get("causal_alignment") == "top_left":
                    a.pop("causal_alignment", None)
                want = base.scaled_dot_product_attention(**copy.deepcopy(a))
                if want["weights"].shape[-1] == 0 and chosen.get("no_keys") == "refuse":
                    continue
                if chosen.get("fully_masked_row") == "nan" and "sinks" not in a:
                    want["output"][want["logsumexp"] == -np.inf] = np.nan
                if chosen.get("logsumexp_base") == "2":
                    want["logsumexp"] = want["logsumexp"] / np.log(2)
                before = copy.deepcopy(a)
                d = compare(function(**a), want, operation, a.get("query_lengths"))
                assert all(distance(a[n], before[n]) == 0 for n in a if isinstance(a[n], np.ndarray))
                worst[name] = max(worst.get(name, 0), d)
    limits = {"float64": 1e-12, "float32": 1e-4, "float16": 3e-2, "bfloat16": 1e-1}
    if "float32" in (chosen.get("accumulation"), chosen.get("rotary_frequencies.accumulation")):
        limits["float64"] = 1e-4
    return worst, all(worst[n] <= limits[n] for n in worst)


def main(part=""):
    bad = 0
    for file, operation, expression, kind in WITNESSES:
        if part in file:
            d, differs = witness(file, operation, expression, kind)
            bad += not differs
            print(f"{file:60} {d:10.3g} {'DIFFERS' if differs else 'SAME'}")
    for path in sorted((ROOT / "right").glob("*.py")):
        file = f"right/{path.name}"
        if part in file:
            worst, agrees = right(file)
            bad += not agrees
            print(f"{file:60} {' '.join(f'{n} {d:.2g}' for n, d in worst.items())} {'AGREES' if agrees else 'DISAGREES'}")
    return bad


if __name__ == "__main__":
    sys.exit(1 if main(*sys.argv[1:2]) else 0)
