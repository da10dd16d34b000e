"""For every wrong file an input on which it differs from base.py; then every right file against base.py on random inputs."""
import importlib.util
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
sys.path.insert(0, str(here / "gen"))
import ml_dtypes
import numpy as np

import base
from fuzz import as_dict, differ, rows, sample

rng = np.random.default_rng(7)


def N(*shape):
    return rng.standard_normal(shape)


def basic(B, Hq, Hkv, Sq, Sk, E, Ev=None, glse=0, sinks=0):
    Ev = Ev or E
    out = dict(grad_output=N(B, Hq, Sq, Ev), query=N(B, Hq, Sq, E), key=N(B, Hkv, Sk, E), value=N(B, Hkv, Sk, Ev))
    if glse:
        out["grad_logsumexp"] = N(B, Hq, Sq)
    if sinks:
        out["sinks"] = N(Hq)
    return out


def stored(kw, *names):
    output, logsumexp = base.forward(**kw)
    both = dict(output=output, logsumexp=logsumexp)
    return kw | {name: both[name] for name in names}


def nanat(x, index):
    x[index] = np.nan
    return x


def half(kw, name):
    kind = np.dtype(getattr(ml_dtypes, name) if name == "bfloat16" else name)
    return {name: x.astype(kind) for name, x in kw.items()}


TABLE = [
    ('wrong/001_ln2_of_the_tutorial.py', 'values', 'abs', lambda: basic(1,2,2,5,6,4)),
    ('wrong/002_query_tiles_begin_without_shift.py', 'values', 'abs', lambda: basic(1,2,2,8,40,4)|dict(is_causal=True,causal_alignment='bottom_right')),
    ('wrong/003_query_tiles_end_with_the_first_key.py', 'values', 'abs', lambda: basic(1,1,1,40,40,4)|dict(is_causal=True,window=[3,0])),
    ('wrong/004_first_tile_without_keys.py', 'values', 'abs', lambda: basic(1,1,1,4,40,4)|dict(mask=np.broadcast_to(np.arange(40)>=34,(4,40)).copy())),
    ('wrong/005_last_tile_overlaps.py', 'values', 'abs', lambda: basic(1,1,1,3,40,4)),
    ('wrong/006_long_rows_keep_float32_statistics.py', 'values', 'abs', lambda: basic(1,1,1,3,70,4)),
    ('wrong/007_base_two_gradient_unconverted.py', 'base2', 'abs', lambda: basic(1,2,2,4,5,4,glse=1)),
    ('wrong/008_delta_in_fours.py', 'values', 'abs', lambda: stored(basic(1,2,2,4,5,4,Ev=6),'output')),
    ('wrong/009_sink_block_of_64.py', 'values', 'abs', lambda: basic(1,2,2,70,5,4,sinks=1)),
    ('wrong/010_mask_of_the_key_head.py', 'values', 'abs', lambda: basic(1,4,2,3,5,4)|dict(mask=N(4,3,5))),
    ('wrong/011_assigned_per_block_of_512.py', 'values', 'abs', lambda: basic(1,1,1,530,3,2)),
    ('wrong/012_rows_without_gradient_skipped.py', 'values', 'abs', lambda: basic(1,2,2,3,4,4,glse=1)|dict(grad_output=np.zeros((1,2,3,4)))),
    ('wrong/013_position_not_below_zero.py', 'values', 'abs', lambda: basic(1,2,2,5,3,4,sinks=1)|dict(window=[None,1],causal_alignment='bottom_right')),
    ('wrong/014_sink_joined_again.py', 'values', 'abs', lambda: stored(basic(1,2,2,3,4,4,sinks=1),'logsumexp')),
    ('wrong/015_sink_of_empty_rows.py', 'values', 'abs', lambda: basic(1,2,2,4,2,4,sinks=1,glse=1)|dict(is_causal=True,causal_alignment='bottom_right')),
    ('wrong/016_largest_of_keys_alone.py', 'values', 'abs', lambda: basic(1,2,2,3,4,4,sinks=1)|dict(sinks=np.array([800.,1.]))),
    ('wrong/017_scale_in_two_roots.py', 'values', 'abs', lambda: basic(1,1,1,3,4,4)|dict(scale=-.5)),
    ('wrong/018_tanh_by_exponentials.py', 'values', 'abs', lambda: basic(1,1,1,3,4,4)|dict(softcap=.01,scale=100.)),
    ('wrong/019_small_weights_flushed.py', 'values', 'rel', lambda: basic(1,1,1,2,4,4)|dict(mask=np.array([[0.,0,-40,0]]*2))),
    ('wrong/020_mask_below_minus_ten_thousand.py', 'values', 'abs', lambda: basic(1,1,1,2,4,4)|dict(mask=np.array([[0.,0,-1,0],[-1e4,-1e4,-10001.,-1e4]]))),
    ('wrong/021_logsumexp_of_zero_is_none.py', 'values', 'abs', lambda: basic(1,1,1,2,2,2)|dict(query=np.zeros((1,1,2,2)),is_causal=True,logsumexp=np.array([[[0.,np.log(2)]]]))),
    ('wrong/022_flat_view_that_is_a_copy.py', 'values', 'abs', lambda: basic(2,2,2,3,4,4)|dict(key=N(2,4,2,4).transpose(0,2,1,3))),
    ('wrong/023_heads_need_not_divide.py', 'refuse', 'abs', lambda: basic(1,3,2,3,4,4)),
    ('wrong/024_negative_lengths_taken.py', 'refuse', 'abs', lambda: basic(2,1,1,3,4,4)|dict(key_lengths=np.array([-1,3]))),
    ('wrong/025_one_length_for_all.py', 'refuse', 'abs', lambda: basic(2,1,1,3,4,4)|dict(key_lengths=np.array([3]))),
    ('wrong/026_square_needs_no_alignment.py', 'values', 'abs', lambda: basic(2,2,2,5,5,4)|dict(is_causal=True,causal_alignment='bottom_right',query_lengths=np.array([2,5]))),
    ('wrong/027_stored_weights_times_mask.py', 'values', 'abs', lambda: stored(basic(1,1,1,3,4,4)|dict(key=np.array([1,1,900,1.]).reshape(1,1,4,1)*np.ones(4),query=np.ones((1,1,3,4)),mask=np.array([[True,True,False,True]]*3)),'logsumexp')),
    ('wrong/028_logsumexp_after_the_cap.py', 'values', 'abs', lambda: basic(1,2,2,3,4,4,glse=1)|dict(softcap=.5)),
    ('wrong/029_sinks_by_columns.py', 'values', 'abs', lambda: basic(1,4,2,3,4,4,sinks=1)),
    ('wrong/030_mask_axes_come_back.py', 'values', 'abs', lambda: basic(1,1,1,3,4,4)|dict(mask=N(3,4))),
    ('wrong/031_grad_scores_scaled.py', 'values', 'abs', lambda: basic(1,1,1,3,4,4)),
    ('wrong/032_delta_with_logsumexp.py', 'values', 'abs', lambda: basic(1,1,1,3,4,4,glse=1)),
    ('wrong/033_window_replaces_causality.py', 'values', 'abs', lambda: basic(1,1,1,5,5,4)|dict(is_causal=True,window=[2,1])),
    ('wrong/034_nan_swept_away.py', 'values', 'abs', lambda: basic(1,1,1,3,4,4)|dict(value=nanat(N(1,1,4,4),(0,0,1,1)))),
    ('wrong/035_padding_reaches_the_sink.py', 'values', 'abs', lambda: basic(2,2,2,4,4,4,sinks=1,glse=1)|dict(query_lengths=np.array([2,4]))),
    ('wrong/036_slope_of_the_cap_with_bias.py', 'values', 'abs', lambda: basic(1,2,2,3,4,4)|dict(softcap=2.,mask=N(3,4))),
    ('wrong/037_variant_without_a_cap.py', 'values', 'abs', lambda: basic(1,2,2,3,4,4,sinks=1)|dict(softcap=.5,window=[1,1])),
    ('wrong/038_odd_split_left_over.py', 'values', 'abs', lambda: basic(1,2,2,3,40,4)),
    ('wrong/039_sink_in_every_split.py', 'values', 'abs', lambda: basic(1,2,2,3,20,4,sinks=1)),
    ('wrong/040_padding_zeroed_in_place.py', 'inputs', 'abs', lambda: basic(2,2,2,4,4,4)|dict(query_lengths=np.array([2,4]))),
    ('wrong/041_empty_segments_take_the_next.py', 'values', 'abs', lambda: basic(1,2,2,4,2,4,sinks=1)|dict(is_causal=True,causal_alignment='bottom_right')),
    ('wrong/042_scattered_with_plus.py', 'values', 'abs', lambda: basic(1,2,2,3,4,4)|dict(mask=N(3,4))),
    ('wrong/043_stored_rows_in_memory_order.py', 'values', 'abs', lambda: (lambda k: k|dict(logsumexp=np.ascontiguousarray(k['logsumexp'].swapaxes(1,2)).swapaxes(1,2)))(stored(basic(1,2,2,3,4,4),'logsumexp'))),
    ('wrong/044_positions_without_sign.py', 'values', 'abs', lambda: basic(1,1,1,4,2,4)|dict(is_causal=True,causal_alignment='bottom_right')),
    ('wrong/045_key_numbers_in_sixteen_bits.py', 'values', 'abs', lambda: basic(1,1,1,1,32800,1)|dict(is_causal=True)),
    ('wrong/046_lengths_of_eight.py', 'values', 'abs', lambda: basic(10,1,1,3,4,4)|dict(key_lengths=np.array([1,2,3,4,4,3,2,1,4,4]))),
    ('wrong/047_sinks_summed_in_float32.py', 'values', 'abs', lambda: basic(2,2,2,3,4,4,sinks=1)),
    ('wrong/048_buffer_kept_between_calls.py', 'sequence', 'abs', lambda: [basic(2,1,1,3,4,4), basic(2,1,1,3,4,4)|dict(key_lengths=np.array([1,4]))]),
    ('wrong/049_unread_rows_unchecked.py', 'refuse', 'abs', lambda: basic(1,2,2,3,4,4)|dict(logsumexp=np.zeros((1,2,4)))),
    ('wrong/050_one_tensor_for_one_array.py', 'values', 'abs', lambda: (lambda k: k|dict(key=k['query']))(basic(1,2,2,4,4,4))),
    ('wrong/051_geometry_remembered.py', 'sequence', 'abs', lambda: [basic(2,1,1,3,4,4)|dict(key_lengths=np.array([2,4])), basic(2,1,1,3,4,4)|dict(key_lengths=np.array([4,1]))]),
    ('wrong/052_no_keys_no_sink.py', 'values', 'abs', lambda: basic(1,2,2,3,0,4,sinks=1,glse=1)),
    ('wrong/053_mask_of_one_key.py', 'refuse', 'abs', lambda: basic(1,1,1,3,4,4)|dict(mask=N(3,1))),
    ('wrong/054_keys_gathered_in_half.py', 'half', 'abs', lambda: half(dict(grad_output=np.ones((1,1,400,1)),query=np.ones((1,1,400,1)),key=np.array([0.,1]).reshape(1,1,2,1),value=np.array([0.,1]).reshape(1,1,2,1)),'bfloat16')),
    ('wrong/055_gradient_of_weights_overflows.py', 'half', 'abs', lambda: half(dict(grad_output=np.full((1,1,2,32),64.),query=np.ones((1,1,2,2))/8,key=N(1,1,3,2),value=np.full((1,1,3,32),64.)),'float16')),
    ('wrong/056_share_is_what_is_left.py', 'values', 'rel', lambda: basic(1,2,2,3,4,4,sinks=1)|dict(sinks=np.array([-45.,0]),grad_output=N(1,2,3,4)*1e18)),
    ('wrong/057_emptiness_told_by_the_mask_alone.py', 'values', 'abs', lambda: basic(1,1,1,4,4,4)|dict(is_causal=True,mask=np.array([[False,True,True,True]]*4))),
    ('wrong/058_delta_in_float32.py', 'values', 'abs', lambda: basic(1,2,2,3,4,4)),
    ('wrong/059_remembered_without_one_argument.py', 'sequence', 'abs', lambda: (lambda k: [k, k|dict(grad_logsumexp=k['grad_logsumexp']*2)])(basic(1,2,2,3,4,4,glse=1))),
    ('wrong/060_keys_swept_with_padded_alignment.py', 'values', 'abs', lambda: basic(2,1,1,4,5,4)|dict(is_causal=True,causal_alignment='bottom_right',query_lengths=np.array([2,4]))),
    ('wrong/061_single_query_is_the_newest.py', 'values', 'abs', lambda: basic(1,1,1,1,4,4)|dict(is_causal=True)),
    ('wrong/062_group_in_fours.py', 'values', 'abs', lambda: basic(1,5,1,3,4,4)),
    ('wrong/063_width_padded_to_a_power_of_two.py', 'values', 'abs', lambda: basic(1,1,1,2,3,80)),
    ('wrong/064_distances_in_half.py', 'values', 'abs', lambda: basic(1,1,1,1,2100,1)|dict(alibi_slopes=np.array([.5]),causal_alignment='bottom_right')),
    ('wrong/065_largest_dot_product_scaled.py', 'values', 'abs', lambda: basic(1,1,1,3,4,4)|dict(scale=-1.,query=np.ones((1,1,3,4)),key=np.array([0,100.,200,300]).reshape(1,1,4,1)*np.ones(4))),
    ('wrong/066_open_side_is_the_other_side.py', 'values', 'abs', lambda: basic(1,1,1,6,6,4)|dict(window=[None,1])),
    ('wrong/067_mask_gradient_without_logsumexp.py', 'values', 'abs', lambda: basic(1,1,1,3,4,4,glse=1)|dict(mask=N(3,4))),
]


def load(file):
    spec = importlib.util.spec_from_file_location(pathlib.Path(file).stem, here / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def distance(out, ref, kw, measure):
    """greatest difference of an element, from the greatest of its output, or from itself"""
    out = as_dict(out, kw)
    if measure == "abs":
        return differ(out, ref, rows(kw))
    worst = 0.0
    for name in ref:
        if name in out and out[name].shape == ref[name].shape:
            x, y = np.asarray(out[name], float), np.asarray(ref[name], float)
            some = y != 0
            worst = max(worst, (abs(x - y)[some] / abs(y)[some]).max(initial=0))
    return worst


def try_wrong(file, kind, measure, make):
    f = load(file).scaled_dot_product_attention_backward
    right = base.scaled_dot_product_attention_backward
    kw = make()
    if kind == "refuse":
        try:
            right(**kw)
            return "base takes it", False
        except ValueError:
            pass
        f(**kw)
        return "takes what must be refused", True
    if kind == "inputs":
        before = {name: np.array(x) for name, x in kw.items() if isinstance(x, np.ndarray)}
        f(**kw)
        changed = [name for name, x in before.items() if not np.array_equal(x, kw[name])]
        return f"changes {changed}", bool(changed)
    if kind == "half":
        up = {name: x.astype(float) for name, x in kw.items()}
        d = distance(f(**kw), right(**up), kw, "abs")
        return d, not d < 0.02
    if kind == "base2":
        ref = right(**kw)
        d = distance(f(**kw | dict(grad_logsumexp=kw["grad_logsumexp"] * np.log(2))), ref, kw, measure)
        return d, not d < 1e-10
    if kind == "sequence":
        for one in kw[:-1]:
            f(**one)
        kw = kw[-1]
    d = distance(f(**kw), right(**kw), kw, measure)
    return d, not d < 1e-10


def try_right(file, runs=220):
    module = load(file)
    f, conventions = module.scaled_dot_product_attention_backward, getattr(module, "conventions", {})
    rng, worst, good = np.random.default_rng(11), 0.0, True
    for n in range(runs):
        kind = ("float64", "float32")[n % 2]
        kw = sample(rng, kind)
        ref = base.scaled_dot_product_attention_backward(**kw)
        if conventions.get("logsumexp_base") == "2":
            for name, by in (("logsumexp", 1 / np.log(2)), ("grad_logsumexp", np.log(2))):
                if name in kw:
                    kw[name] = (kw[name] * by).astype(kind)
        if conventions.get("empty_logsumexp") == "plus_infinity" and "logsumexp" in kw:
            kw["logsumexp"] = np.where(np.isneginf(kw["logsumexp"]), np.inf, kw["logsumexp"]).astype(kind)
        before = {name: np.array(x) for name, x in kw.items() if isinstance(x, np.ndarray)}
        d = distance(f(**kw), ref, kw, "abs") / (1 if kind == "float64" else 2.0 ** 29)
        good &= all(np.array_equal(x, kw[name], equal_nan=x.dtype.kind == "f") for name, x in before.items())
        worst = max(worst, d)
    for n in range(runs if "bfloat16" in getattr(module, "dtypes", ()) else 0):
        kind = np.dtype(np.float16 if n % 2 else ml_dtypes.bfloat16)
        kw = {name: x.astype(kind) if isinstance(x, np.ndarray) and x.dtype == float else x
              for name, x in sample(rng, nonfinite=False, stored=False).items()}
        up = {name: x.astype(float) if isinstance(x, np.ndarray) and x.dtype == kind else x for name, x in kw.items()}
        d = distance(f(**kw), base.scaled_dot_product_attention_backward(**up), kw, "abs")
        good &= bool(d < (0.004 if n % 2 else 0.025))
    return worst, good and worst < 1e-11


if __name__ == "__main__":
    print("base", try_right("base.py"))
    failed = 0
    with np.errstate(all="ignore"):
        for row in TABLE:
            d, ok = try_wrong(*row)
            failed += not ok
            print(f"{row[0]:60} {d if isinstance(d, str) else f'{d:.3g}':30} {'DIFFERS' if ok else 'SAME'}")
        for file in sorted((here / "right").glob("*.py")):
            d, ok = try_right(f"right/{file.name}")
            failed += not ok
            print(f"{'right/' + file.name:60} {d:<30.3g} {'AGREES' if ok else 'DISAGREES'}")
    print(len(TABLE), "wrong;", failed, "failed")
