"""Shows every wrong file to differ from base, and every right file to agree with it."""

import importlib.util, json, pathlib, sys

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base

BF, F16, F32, F64 = ml_dtypes.bfloat16, np.float16, np.float32, np.float64
INF, NAN = np.inf, np.nan
OPS = ("softmax", "merge_states", "scaled_dot_product_attention_backward")


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, next(getattr(module, op) for op in OPS if hasattr(module, op))


def copied(inputs):
    return {k: v.copy(order="K") if isinstance(v, np.ndarray) else v for k, v in inputs.items()}


def gap(a, b):
    """Largest difference, relative to the number (tiny ones too); infinite where one of them is no number."""
    if a.shape != b.shape:
        return INF
    a, b = a.astype(F64), b.astype(F64)
    fa, fb = np.isfinite(a), np.isfinite(b)
    if (fa != fb).any() or (np.isnan(a) != np.isnan(b)).any():
        return INF
    a, b = a[fa], b[fb]
    with np.errstate(all="ignore"):
        return float(np.nanmax(np.where(a == b, 0, np.abs(a - b) / np.maximum(np.abs(a), np.abs(b))), initial=0))


def call(function, inputs):
    try:
        return function(**inputs)
    except ValueError:
        return "refused"


def differs(function, inputs, least=0.05):
    mine, theirs, given = copied(inputs), copied(inputs), copied(inputs)
    right, wrong = call(base_of(inputs), mine), call(function, theirs)
    if isinstance(right, str) or isinstance(wrong, str):
        return "refusal" if type(right) is not type(wrong) else None
    for name in right:
        if name in wrong and gap(right[name], wrong[name]) > least:
            return f"{name} by {gap(right[name], wrong[name]):.2g}"
    for name, thing in given.items():
        if isinstance(thing, np.ndarray) and gap(theirs[name], thing) > 0:
            return f"input {name} edited"


def base_of(inputs):
    return base.softmax if "x" in inputs else base.merge_states if "output_a" in inputs else base.scaled_dot_product_attention_backward


rng = np.random.default_rng(72)


def some(*shape, dtype=F64, times=1.0):
    return (rng.standard_normal(shape) * times).astype(dtype)


def qkv(B=1, Hq=1, Hkv=1, Sq=3, Sk=4, E=4, Ev=4, dtype=F64, **more):
    return dict(grad_output=some(B, Hq, Sq, Ev, dtype=dtype), query=some(B, Hq, Sq, E, dtype=dtype),
                key=some(B, Hkv, Sk, E, dtype=dtype), value=some(B, Hkv, Sk, Ev, dtype=dtype)) | more


def forward(inputs):
    """output and logsumexp, from the same steps."""
    names = base.scaled_dot_product_attention_backward.__code__.co_varnames[:17]
    b = base.Backward(**{n: None for n in names} | {"is_causal": False, "causal_alignment": "top_left"} | inputs)
    with np.errstate(all="ignore"):
        b.check(), b.widen(), b.place(), b.allow(), b.score(), b.soften()
        return base.over_keys(b.weights, b.v, b.attend).astype(b.dtype), b.lse.astype(b.dtype)


def states(B=1, H=2, S=3, Ev=4, dtype=F64, **more):
    return dict(output_a=some(B, H, S, Ev, dtype=dtype), logsumexp_a=some(B, H, S, dtype=dtype),
                output_b=some(B, H, S, Ev, dtype=dtype), logsumexp_b=some(B, H, S, dtype=dtype)) | more


def full(*shape, value, dtype=F64):
    return np.full(shape, value, dtype)


def witnesses():
    w = {}
    x = qkv(Ev=6)
    w["delta_head_width"] = x | {"output": forward(x)[0]}
    w["delta_folded"] = qkv(grad_logsumexp=some(1, 1, 3))
    w["mask_rank3_equal"] = qkv(B=2, Hq=2, Hkv=2, mask=some(2, 3, 4))
    w["skip_by_array_lengths"] = qkv(Sq=32, Sk=32, query_lengths=np.array([16]), is_causal=True, causal_alignment="bottom_right")
    w["sink_padding_rows"] = qkv(sinks=some(1), query_lengths=np.array([2]), grad_logsumexp=some(1, 1, 3))
    w["max_before_scale"] = qkv(scale=-40.0, E=16)
    # a row that spans more than exp bears
    w["max_before_scale"]["query"] *= 5
    x = qkv(Sq=600, Sk=1, dtype=BF)
    x["grad_output"][:] = 1
    w["half_accumulators"] = x
    x = qkv(dtype=F16)
    x["grad_output"][:] = 250
    x["value"] = (x["value"] + 300).astype(F16)
    w["delta_float16"] = x
    x = qkv(grad_logsumexp=some(1, 1, 3), mask=np.array([[1, 1, 0, 1], [1, 1, 1, 1], [0, 1, 1, 1]], bool))
    x["grad_logsumexp"][0, 0, 0] = NAN
    w["grad_logsumexp_leaks"] = x
    w["window_tile_end"] = qkv(Sq=16, Sk=20, window=[3, 1])
    w["single_key"] = qkv(Sk=1, grad_logsumexp=some(1, 1, 3))
    x = qkv(Hq=2, Hkv=1, sinks=some(2))
    w["stored_sink_again"] = x | {"logsumexp": forward(x)[1]}
    w["mask_half_of_least"] = qkv(dtype=F16, mask=full(3, 4, value=-40000, dtype=F16))
    w["key_padding_guess"] = qkv(B=3, mask=np.tril(np.ones((3, 4), bool)))
    w["grad_logsumexp_broadcast"] = qkv(B=2, grad_logsumexp=some(1, 1, 3))
    x = states(logsumexp_b=full(1, 2, 3, value=-25.0), logsumexp_a=full(1, 2, 3, value=0.0))
    x["output_b"] *= 1e12
    w["far_part_dropped"] = x
    w["float16_numerator"] = states(dtype=F16, output_a=full(1, 2, 3, 4, value=50000, dtype=F16), output_b=full(1, 2, 3, 4, value=40000, dtype=F16))
    w["empty_sentinel"] = states(dtype=F32, logsumexp_a=full(1, 2, 3, value=-1e35, dtype=F32), logsumexp_b=full(1, 2, 3, value=-1e35, dtype=F32))
    x = states()
    x["logsumexp_a"][0, 0, 1] = NAN
    w["nan_is_empty"] = x
    x = states(logsumexp_b=full(1, 2, 3, value=-INF))
    x["logsumexp_a"][0, 1, 2] = -INF
    w["nothing_to_merge"] = x
    x = states()
    x["logsumexp_a"] = some(1, 3, 2).swapaxes(1, 2)
    w["memory_order"] = x
    w["maximum_of_head"] = states(logsumexp_a=np.array([[[0.0, -2000, 5], [1, 2, 3]]]), logsumexp_b=np.array([[[1.0, -2001, 5], [1, 2, 3]]]))
    w["shares_of_merged"] = states(dtype=F32, logsumexp_a=full(1, 2, 3, value=1e9, dtype=F32), logsumexp_b=full(1, 2, 3, value=1e9, dtype=F32))
    w["padding_in_maximum"] = dict(x=some(2, 5) - 1000)
    w["whole_in_place"] = dict(x=some(2, 5), axis=None)
    w["whole_is_two_axes"] = dict(x=some(2, 3, 5), axis=None)
    w["axis_moved_back"] = dict(x=some(3, 3, 3), axis=0)
    w["first_tile_excluded"] = dict(x=np.concatenate([full(1, 8, value=-INF), some(1, 4)], axis=1))
    w["half_sum"] = dict(x=full(2, 600, value=1.5, dtype=BF))
    w["distance_clamped"] = dict(x=np.array([[0.0, -100, -1]]))
    return w


def workspace(function):
    """The delta of an earlier call, after another one."""
    one, two = qkv(), qkv()
    kept = function(**one)["delta"]
    before = kept.copy()
    function(**two)
    return f"earlier delta by {gap(before, kept):.2g}" if gap(before, kept) > 0.05 else None


# right files


def lay(array):
    """The same numbers, elsewhere in memory."""
    if not isinstance(array, np.ndarray) or array.ndim < 2:
        return array
    kind = rng.integers(4)
    if kind == 0:
        return np.ascontiguousarray(array.swapaxes(-1, -2)).swapaxes(-1, -2)
    if kind == 1:
        return np.ascontiguousarray(array[..., ::-1])[..., ::-1]
    if kind == 2:
        wide = np.zeros(array.shape[:-1] + (2 * array.shape[-1],), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    return array


def random_backward(dtype):
    pick = lambda *a: a[rng.integers(len(a))]
    coin = lambda p=0.4: rng.random() < p
    B, Hkv, G = pick(1, 2, 3), pick(1, 2), pick(1, 1, 3)
    Sq, Sk, E, Ev = pick(0, 1, 3, 8, 17), pick(0, 1, 5, 11, 18), pick(1, 4, 8), pick(1, 4, 7)
    Hq = Hkv * G
    x = qkv(B, Hq, Hkv, Sq, Sk, E, Ev, dtype)
    if coin():
        x["grad_logsumexp"] = some(B, Hq, Sq, dtype=dtype)
    shape = [pick(1, B), pick(1, Hq), pick(1, Sq) if Sq else 0, Sk][pick(0, 1, 2):]
    kind = rng.integers(4)
    if kind == 0:
        x["mask"] = rng.random(shape) < 0.7
    elif kind == 1:
        x["mask"] = np.where(rng.random(shape) < 0.2, -INF, rng.standard_normal(shape)).astype(dtype)
    if coin():
        x["key_lengths"] = rng.integers(0, Sk + 1, B)
    if coin():
        x["query_lengths"] = rng.integers(0, Sq + 1, B)
    if coin():
        x["sinks"] = some(Hq, dtype=dtype)
    if coin():
        x["alibi_slopes"] = np.abs(some(Hq, dtype=dtype))
    if coin():
        x["is_causal"] = True
    if coin():
        x["causal_alignment"] = "bottom_right"
    if coin():
        x["scale"] = pick(0.0, -0.5, 0.25, 1.0)
    if coin():
        x["softcap"] = pick(0.0, 0.5, 2.0)
    if coin():
        x["window"] = pick([1, 0], [None, 2], [2, None], [3, 3], [0, 0])
    o, lse = forward(x)
    if coin():
        x["output"] = o
    if coin():
        x["logsumexp"] = lse
    if "query_lengths" in x and coin():  # what does not count holds anything
        for b, n in enumerate(x["query_lengths"]):
            for name in ("grad_output", "query", "grad_logsumexp", "output", "logsumexp"):
                if name in x:
                    x[name][b, :, n:] = NAN
    if "key_lengths" in x and coin():
        for b, n in enumerate(x["key_lengths"]):
            x["key"][b, :, n:], x["value"][b, :, n:] = NAN, INF
    return {k: lay(v) for k, v in x.items()}


def random_merge(dtype):
    B, H, S, Ev = (int(rng.integers(0 if rng.random() < 0.05 else 1, 5)) for _ in range(4))
    x = states(B, H, S, Ev, dtype)
    times = [1, 1, 30, 1000][rng.integers(4)]
    for part in "ab":
        lse = (x["logsumexp_" + part].astype(F64) * times).astype(dtype)
        empty = rng.random(lse.shape) < 0.2
        lse[empty] = -INF
        x["logsumexp_" + part] = lse
        x["output_" + part][empty] = [0, NAN, INF, 6e4][rng.integers(4)]
    return {k: lay(v) for k, v in x.items()}


def random_softmax(dtype):
    shape = tuple(int(n) for n in rng.integers(1, 9, rng.integers(0, 5)))
    axes = [None] + list(range(-len(shape), len(shape)))
    x = some(*shape, dtype=F64, times=[1, 20, 1000, 3e4][rng.integers(4)])
    x = np.asarray(np.clip(x, -6e4, 6e4)).astype(dtype)
    if len(shape) and rng.random() < 0.3:
        x[rng.random(shape) < 0.2] = -INF
        axis = axes[rng.integers(len(axes))]
        bad = np.isneginf(x.astype(F64).max(axis=axis, keepdims=True))
        x = np.where(bad, np.asarray(0, dtype), x)
        return dict(x=lay(x), axis=axis)
    return dict(x=lay(x), axis=axes[rng.integers(len(axes))])


EPS = {F64: 2.0**-53, F32: 2.0**-24, BF: 2.0**-9, F16: 2.0**-12}


def agrees(function, inputs, dtype):
    """Against base in float64 on the same numbers, within rounding of the size of what is summed."""
    wide = {k: v.astype(F64) if isinstance(v, np.ndarray) and v.dtype == dtype else v for k, v in inputs.items()}
    if "query" in inputs:
        wide.pop("output", None), wide.pop("logsumexp", None)
    right, given = base_of(inputs)(**wide), copied(inputs)
    found = function(**inputs)
    for name, thing in given.items():
        if isinstance(thing, np.ndarray):
            assert np.array_equal(thing.astype(F64), inputs[name].astype(F64), equal_nan=thing.dtype != bool), name
    assert set(found) == set(right), set(found) ^ set(right)
    stored = "query" in inputs and ("output" in inputs or "logsumexp" in inputs)
    unit = EPS[dtype] if base.is_half(dtype) else EPS[dtype]
    room = (400 if "query" in inputs else 100) * unit
    if "query" in inputs and base.is_half(dtype):
        room = (30 if stored else 4) * unit
    if "output_a" in inputs or "x" in inputs:
        big = max(float(np.abs(np.where(np.isfinite(v), v, 0)).max(initial=1)) for k, v in ((k, np.asarray(v).astype(F64)) for k, v in wide.items() if k in ("x", "logsumexp_a", "logsumexp_b")))
        room = (1.01 if base.is_half(dtype) else 8) * unit + 8 * EPS[F64 if dtype == F64 else F32] * big
        if base.is_half(dtype):
            room += unit
    for name, r in right.items():
        f = found[name].astype(F64)
        assert f.shape == r.shape, name
        if name in ("grad_query", "delta", "grad_scores") and "query_lengths" in inputs:
            for b, n in enumerate(inputs["query_lengths"]):
                f[b, :, n:] = r[b, :, n:] = 0
        assert (np.isfinite(f) == np.isfinite(r)).all(), name
        ok = np.isfinite(r)
        if not ok.any():
            continue
        size = np.abs(r[ok]).max() + (1 if "query" in inputs else 0)
        worst = np.abs(f[ok] - r[ok]).max() / (size * room) if size else 0
        assert worst <= 1, (name, worst)
    first = {"query": ("grad_query", "grad_key", "grad_value"), "x": ("output",), "output_a": ("output",)}
    for key, names in first.items():
        if key in inputs:
            assert all(found[n].dtype == dtype for n in names)


def slopes_of_base():
    """Base against differences of its own forward pass."""
    worst = 0
    for _ in range(40):
        x = random_backward(F64)
        x = {k: v for k, v in x.items() if k not in ("output", "logsumexp")}
        x = {k: np.nan_to_num(v, nan=0, posinf=0, neginf=-INF) if isinstance(v, np.ndarray) and v.dtype == F64 else v for k, v in x.items()}
        found = base.scaled_dot_product_attention_backward(**x)
        names = ("grad_output", "grad_logsumexp")

        def loss(y):
            o, lse = forward(y)
            rows = (np.arange(o.shape[2]) < np.asarray(y.get("query_lengths", np.full(o.shape[0], o.shape[2])))[:, None])[:, None]
            l = (o * y["grad_output"]).sum(axis=-1)
            if "grad_logsumexp" in y:
                l = l + y["grad_logsumexp"] * np.where(np.isneginf(lse), 0, lse)
            return np.where(rows, l, 0).sum()

        for name, grad in (("query", "grad_query"), ("key", "grad_key"), ("value", "grad_value"), ("mask", "grad_mask"), ("sinks", "grad_sinks")):
            if grad not in found or not found[grad].size:
                continue
            way = some(*x[name].shape)
            h = 1e-5
            step = (loss(x | {name: x[name] + h * way}) - loss(x | {name: x[name] - h * way})) / (2 * h)
            worst = max(worst, abs(step - (found[grad] * way).sum()) / (1 + abs(step)))
    assert worst < 1e-6, worst
    return worst


def main():
    failed = 0
    print(f"base against differences: {slopes_of_base():.1e}")
    makers = dict(zip(OPS, (random_softmax, random_merge, random_backward)))
    for op in OPS:  # base against itself in other dtypes
        for dtype in (F64, F32, BF, F16):
            for _ in range(40):
                agrees(getattr(base, op), makers[op](dtype), dtype)
    shown = witnesses()
    for entry in json.loads((HERE / "batch.json").read_text()):
        path = HERE / entry["file"]
        module, function = load(path)
        name = path.stem[4:]
        how = workspace(function) if name == "delta_workspace" else differs(function, shown[name])
        failed += how is None
        # apart from the mistake: how often random inputs differ
        hits = 0
        for n in range(40):
            dtype = (F64, F32, BF, F16)[n % 4]
            try:
                agrees(function, makers[entry["operation"]](dtype), dtype)
            except (AssertionError, ValueError):
                hits += 1
        print(f"{path.stem:34} {how or 'NOT SHOWN':32} random inputs hit: {hits}/40")
    for path in sorted((HERE / "right").glob("*.py")):
        module, function = load(path)
        op = next(op for op in OPS if hasattr(module, op))
        for dtype in (F64, F32, BF, F16):
            for n in range(100):
                inputs = makers[op](dtype)
                try:
                    agrees(function, inputs, dtype)
                except AssertionError as error:
                    failed += 1
                    print(path.stem, np.dtype(dtype).name, error, {k: v.shape if isinstance(v, np.ndarray) else v for k, v in inputs.items()})
                    break
        print(f"{path.stem:34} agreed")
    print("FAILED" if failed else "passed", failed)
    return failed


sys.exit(main() > 0)
