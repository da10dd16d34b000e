"""Shows every wrong file wrong on an input within the contract, and every right file right on many random ones."""
import importlib.util
import json
import pathlib
import sys

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base

BF16 = np.dtype(ml_dtypes.bfloat16)
DT = {"float64": np.float64, "float32": np.float32, "bfloat16": BF16, "float16": np.float16}
EPS = {"float64": 2.0**-53, "float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}
INF, NAN = np.inf, np.nan


def load(file):
    spec = importlib.util.spec_from_file_location(file.replace("/", "_")[:-3], HERE / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def forward(query, key, value, mask=None, key_lengths=None, query_lengths=None, sinks=None, alibi_slopes=None,
            is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None, **_):
    """Independent of base, vectorized; rows from N on are zero."""
    q, k, v = (np.asarray(x).astype(np.float64) for x in (query, key, value))
    B, Hq, Sq, E = q.shape
    Hkv, Sk = k.shape[1:3]
    k, v = (np.repeat(x, Hq // Hkv, axis=1) for x in (k, v))
    L = np.full(B, Sk) if key_lengths is None else np.asarray(key_lengths)
    N = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths)
    i, j = np.arange(Sq)[None, :, None], np.arange(Sk)[None, None, :]
    p = i + (L - N)[:, None, None] * (causal_alignment == "bottom_right")
    may = np.broadcast_to((j < L[:, None, None]), (B, Sq, Sk)).copy()
    if is_causal:
        may &= j <= p
    left, right = window or (None, None)
    if left is not None:
        may &= j >= p - left
    if right is not None:
        may &= j <= p + right
    may = np.broadcast_to(may[:, None], (B, Hq, Sq, Sk)).copy()
    s = q @ k.swapaxes(2, 3) * (E**-0.5 if scale is None else scale)
    if softcap:
        s = softcap * np.tanh(s / softcap)
    if alibi_slopes is not None:
        s = s - np.asarray(alibi_slopes, np.float64)[:, None, None] * np.abs(p - j)[:, None]
    if mask is not None:
        mask = np.asarray(mask)
        if mask.dtype == bool:
            may &= mask
        else:
            s = s + mask.astype(np.float64)
            may &= np.broadcast_to(mask.astype(np.float64) != -INF, may.shape)
    s = np.where(may, s, -INF)
    if sinks is not None:
        s = np.concatenate([s, np.broadcast_to(np.asarray(sinks, np.float64)[:, None, None], (B, Hq, Sq, 1))], axis=-1)
    with np.errstate(all="ignore"):
        m = s.max(axis=-1, keepdims=True, initial=-INF)
        e = np.where(s == -INF, 0, np.exp(s - m))
        total = e.sum(axis=-1, keepdims=True)
        lse = np.where(total == 0, -INF, m + np.log(total))[..., 0]
        out = np.where(total == 0, 0, e[..., :Sk] / np.where(total == 0, 1, total)) @ v
    counts = (np.arange(Sq) < N[:, None])[:, None]
    return np.where(counts[..., None], out, 0), np.where(counts, lse, 0)


def case(rng, dtype=np.float64, stored=None, **want):
    """A random valid case; `want` fixes extents or arguments."""
    pick = lambda name, choices: want[name] if name in want else choices[rng.integers(len(choices))]
    B, Hkv, group = pick("B", [1, 2, 3]), pick("Hkv", [1, 2]), pick("group", [1, 2, 3])
    Sq, Sk, E, Ev = pick("Sq", [1, 3, 4, 7]), pick("Sk", [1, 4, 5, 12]), pick("E", [1, 2, 4, 5]), pick("Ev", [1, 3, 4])
    Hq = Hkv * group
    draw = lambda *shape: rng.standard_normal(shape).astype(dtype)
    args = dict(grad_output=draw(B, Hq, Sq, Ev), query=draw(B, Hq, Sq, E), key=draw(B, Hkv, Sk, E), value=draw(B, Hkv, Sk, Ev))
    may = lambda chance=0.3: rng.random() < chance
    plain = want.get("plain", False)
    if not plain:
        if may():
            args["grad_logsumexp"] = draw(B, Hq, Sq)
        kind = rng.integers(4)
        shape = [(Sq, Sk), (Hq, Sq, Sk), (B, 1, 1, Sk), (B, Hq, Sq, Sk), (1, Sk), (Hq, 1, Sk)][rng.integers(6)]
        if kind == 0:
            args["mask"] = rng.random(shape) < 0.7
        elif kind == 1:
            mask = rng.standard_normal(shape)
            mask[rng.random(shape) < 0.2] = -INF
            args["mask"] = mask.astype(dtype)
        if may():
            args["key_lengths"] = rng.integers(0, Sk + 1, B)
        if may():
            args["query_lengths"] = rng.integers(0, Sq + 1, B)
        if may():
            args["sinks"] = draw(Hq)
        if may():
            args["alibi_slopes"] = np.abs(draw(Hq))
        if may():
            args["is_causal"] = True
        if may(0.5):
            args["causal_alignment"] = "bottom_right"
        if may():
            args["scale"] = float([0.5, 1.0, -0.5, 0.0][rng.integers(4)])
        if may():
            args["softcap"] = float([0.0, 1.0, 2.0][rng.integers(3)])
        if may():
            args["window"] = [[1, 0], [0, 0], [None, 1], [2, None], [1, 1]][rng.integers(5)]
    for name, value in want.get("args", {}).items():
        args[name] = value
    if stored if stored is not None else may(0.4):
        out, lse = forward(**args)
        which = rng.integers(3) if stored is None else 2
        if which != 0:
            args["output"] = out.astype(dtype)
        if which != 1:
            args["logsumexp"] = lse.astype(dtype)
    return args


def wide(x):
    return np.asarray(x).astype(np.float64)


def far(a, b, tol=1e-3):
    a, b = wide(a), wide(b)
    if a.shape != b.shape:
        return True
    if (np.isfinite(a) != np.isfinite(b)).any():
        return True
    ok = np.isfinite(a)
    size = np.abs(b[ok]).max(initial=0)
    return bool((np.abs(a[ok] - b[ok]) > tol * max(size, 1e-300)).any())


def refused(function, **args):
    try:
        function(**args)
    except ValueError:
        return True
    return False


def differs(module, operation, args, output, tol=1e-3):
    right, mine = getattr(base, operation)(**args), getattr(module, operation)(**args)
    if operation == "softmax":
        return far(mine, right, tol)
    return far(mine[output], right[output], tol)


SB = "scaled_dot_product_attention_backward"
rng = np.random.default_rng(47)


def sdpa(output, tol=1e-3, dtype=np.float64, edit=None, **want):
    def show(module):
        args = case(rng, dtype, **want)
        if edit:
            edit(args)
        return differs(module, SB, args, output, tol)
    return show


def w_nan_row(args):
    args["grad_output"][0, 0, 0] = NAN


def w_square(args):
    args["key_lengths"], args["query_lengths"] = np.array([5, 3]), np.array([3, 3])


def w_workspace(module):
    function = getattr(module, SB)
    one, two = (case(rng, plain=True, stored=False, B=1, Hkv=1, group=1, Sq=3, Sk=4, E=2, Ev=2) for _ in range(2))
    first = function(**one)
    before = first["delta"].copy()
    function(**two)
    return far(first["delta"], before)


def w_before_scale(module):
    args = dict(grad_output=np.full((1, 1, 2, 1), 100), query=np.array([[[[1000.0], [0.0]]]]),
                key=np.array([[[[0.0], [0.0]]]]), value=np.array([[[[200.0], [-200.0]]]]), scale=2.0**-8)
    args = {n: x.astype(np.float16) if n != "scale" else x for n, x in args.items()}
    right = base.scaled_dot_product_attention_backward(**args)
    assert np.isfinite(wide(right["grad_key"])).all()
    return differs(module, SB, args, "grad_key")


def w_identity(module):
    args = case(rng, plain=True, stored=False, B=2, Hkv=2, group=1, Sq=3, Sk=3, E=4, Ev=4)
    args["key"] = args["query"]
    return differs(module, SB, args, "grad_query")


def w_glse(module):
    args = case(rng, plain=True, stored=False, B=2, Hkv=1, group=2, Sq=3, Sk=4, E=2, Ev=2)
    args["grad_logsumexp"] = np.ones((2, 2, 1))
    return refused(base.scaled_dot_product_attention_backward, **args) and not refused(getattr(module, SB), **args)


def large(args, factor):
    args["query"], args["key"] = np.abs(args["query"]) * factor + factor, np.abs(args["key"]) * factor + factor


def w_stored_large(module):
    args = case(rng, plain=True, stored=False, B=1, Hkv=1, group=1, Sq=3, Sk=4, E=2, Ev=2, )
    large(args, 40)
    args["output"], args["logsumexp"] = forward(**args)
    return differs(module, SB, args, "grad_value")


def w_cap(args):
    large(args, 30)
    args["softcap"] = 1.0


def merged(output, la, lb, oa=None, ob=None, dtype=np.float64, tol=1e-3, shape=(1, 1, 2, 2)):
    def show(module):
        a = rng.standard_normal(shape) if oa is None else np.broadcast_to(np.array(oa, float), shape).copy()
        b = rng.standard_normal(shape) if ob is None else np.broadcast_to(np.array(ob, float), shape).copy()
        args = dict(output_a=a.astype(dtype), logsumexp_a=np.broadcast_to(np.array(la, float), shape[:3]).astype(dtype),
                    output_b=b.astype(dtype), logsumexp_b=np.broadcast_to(np.array(lb, float), shape[:3]).astype(dtype))
        return differs(module, "merge_states", args, output, tol)
    return show


def w_merge_shape(module):
    o, l, bad = np.ones((1, 2, 3, 2)), np.ones((1, 2, 3)), np.ones((1, 3, 2))
    args = dict(output_a=o, logsumexp_a=l, output_b=o, logsumexp_b=bad)
    return refused(base.merge_states, **args) and not refused(module.merge_states, **args)


def soft(x, axis=-1, tol=1e-3):
    return lambda module: differs(module, "softmax", dict(x=x, axis=axis), None, tol)


def w_last(module):
    x = np.array([0.0, 0.3, -45.0])
    right, mine = base.softmax(x)[-1], module.softmax(x)[-1]
    return abs(mine - right) > 1e-3 * right


SMALL = dict(B=2, Hkv=1, group=2, Sq=4, Sk=5, E=2, Ev=3, plain=True)
WITNESSES = [
    sdpa("grad_value", stored=True, **SMALL, args=dict(sinks=np.array([0.5, 1.0]))),
    sdpa("delta", stored=False, **SMALL, args=dict(grad_logsumexp=rng.standard_normal((2, 2, 4)))),
    sdpa("grad_mask", stored=False, **SMALL, args=dict(mask=rng.standard_normal((2, 4, 5)))),
    sdpa("grad_query", stored=False, **SMALL, args=dict(softcap=2.0, alibi_slopes=np.array([0.5, 0.25]))),
    sdpa("grad_key", stored=False, **{**SMALL, "Sq": 20, "Sk": 20}, args=dict(window=[5, 0], is_causal=True)),
    sdpa("grad_value", stored=False, **SMALL, args=dict(alibi_slopes=np.array([0.5, 0.25]), causal_alignment="bottom_right",
         key_lengths=np.array([2, 5]))),
    sdpa("grad_query", stored=True, **SMALL),
    sdpa("grad_value", stored=False, **SMALL, args=dict(is_causal=True), edit=w_nan_row),
    w_workspace,
    sdpa("grad_value", stored=False, **{**SMALL, "Sq": 5}, args=dict(is_causal=True, causal_alignment="bottom_right"), edit=w_square),
    sdpa("grad_query", stored=False, **SMALL, edit=w_cap),
    w_stored_large,
    w_before_scale,
    sdpa("grad_sinks", stored=False, **{**SMALL, "Sk": 0}, args=dict(sinks=np.ones(2), grad_logsumexp=np.ones((2, 2, 4)))),
    w_identity,
    w_glse,
    merged("output", 0.0, -20.0, oa=0.0, ob=1.0),
    merged("output", -70000.0, -70001.0),
    merged("output", NAN, 1.0),
    merged("output", -INF, -INF, oa=3.0, ob=5.0),
    w_merge_shape,
    merged("output", [[[-INF, 1.0]]], [[[0.0, 0.5]]]),
    merged("output", 2.2e38, 2.1e38, dtype=np.float32),
    merged("output", 0.0, 1.0, oa=[NAN, 1.0]),
    soft(np.asfortranarray(rng.standard_normal((3, 4))), None),
    soft(np.array([-70000.0, -70001.0, -70000.5])),
    soft(np.array([1e300, 1e300, -1e300])),
    soft(np.linspace(0, 3, 40)),
    soft(rng.standard_normal((2, 3, 4)), None),
    soft(rng.standard_normal((2, 3, 4)), -2),
    w_last,
]


def check_base():
    """Gradients against central differences of the independent forward pass, and stability in the small."""
    for n in range(25):
        args = case(rng, stored=False, B=2)
        glse = args.get("grad_logsumexp")
        result = base.scaled_dot_product_attention_backward(**args)
        Sq = args["query"].shape[2]
        N = args.get("query_lengths", np.full(2, Sq))
        counts = (np.arange(Sq) < np.asarray(N)[:, None])[:, None]

        def loss(changed):
            out, lse = forward(**changed)
            total = (np.where(counts[..., None], args["grad_output"] * out, 0)).sum()
            if glse is not None:
                total += np.where(counts & np.isfinite(lse), glse * np.where(np.isfinite(lse), lse, 0), 0).sum()
            return total

        for name in ("query", "key", "value", "mask", "sinks"):
            if "grad_" + name not in result:
                continue
            gradient = result["grad_" + name]
            for _ in range(6):
                if not gradient.size:
                    continue
                at = tuple(rng.integers(extent) for extent in gradient.shape)
                if not np.isfinite(args[name][at]):
                    assert gradient[at] == 0
                    continue
                step = 1e-5
                up, down = ({**args, name: args[name].copy()} for _ in range(2))
                up[name][at] += step
                down[name][at] -= step
                numeric = (loss(up) - loss(down)) / (2 * step)
                assert abs(numeric - gradient[at]) < 1e-7 * (1 + abs(numeric)), (n, name, at, numeric, gradient[at])
    with_keys = rng.standard_normal((2, 2, 3, 4))
    for split in range(6):
        q, k, v = rng.standard_normal((2, 2, 3, 4)), rng.standard_normal((2, 2, 5, 4)), rng.standard_normal((2, 2, 5, 4))
        whole = forward(q, k, v)
        merged_ = base.merge_states(*forward(q, k[:, :, :split], v[:, :, :split]), *forward(q, k[:, :, split:], v[:, :, split:]))
        assert np.allclose(merged_["output"], whole[0], atol=1e-13) and np.allclose(merged_["logsumexp"], whole[1], atol=1e-13)


def near(mine, right, dtype, counted=None, factor=64):
    mine, right = wide(mine), wide(right)
    assert mine.shape == right.shape
    same = (mine == right) | (np.isnan(mine) & np.isnan(right))
    size = max(1.0, np.abs(right[np.isfinite(right)]).max(initial=0))
    with np.errstate(all="ignore"):
        close = np.abs(mine - right) <= factor * EPS[dtype] * size
    bad = ~(same | close)
    if counted is not None:
        bad &= counted
    return not bad.any()


def check_right():
    """Random inputs; with what is stored in half precision the rounding of the two comes through."""
    results = {}
    for file in ("right/01_flash_tiles.py", "right/02_jacobian_pairwise.py"):
        module, count = load(file), 0
        for n in range(240):
            dtype = ("float64", "float32", "bfloat16", "float16")[n % 4]
            args = case(rng, DT[dtype])
            if n % 5 == 0 and "output" not in args and "logsumexp" not in args and args["value"].size:
                args["value" if n % 2 else "grad_output"][0, 0, 0] = NAN
            kept = {name: x.copy() for name, x in args.items() if isinstance(x, np.ndarray)}
            right, mine = base.scaled_dot_product_attention_backward(**args), getattr(module, SB)(**args)
            for name, x in kept.items():
                assert x.tobytes() == args[name].tobytes()
            Sq = args["query"].shape[2]
            N = args.get("query_lengths", np.full(len(args["query"]), Sq))
            counts = np.broadcast_to((np.arange(Sq) < np.asarray(N)[:, None])[:, None], args["query"].shape[:3])
            for name in mine:
                counted = {"grad_query": counts[..., None], "delta": counts, "grad_scores": counts[..., None]}.get(name)
                nan_sinks = name == "grad_sinks" and np.isnan(wide(mine[name]) + wide(right[name])).any()
                if not nan_sinks:
                    assert near(mine[name], right[name], dtype, counted), (file, n, name, args.keys(), mine[name], right[name])
                assert (mine[name].dtype == args["query"].dtype) or not name.startswith("grad_") or name == "grad_scores"
            assert set(right) - {"grad_scores", "delta"} <= set(mine)
            count += 1
        results[file] = count
    module, count = load("right/03_merge_logistic.py"), 0
    for n in range(400):
        dtype = ("float64", "float32", "bfloat16", "float16")[n % 4]
        shape = (rng.integers(1, 3), rng.integers(1, 4), rng.integers(0, 5), rng.integers(1, 8))
        scale = [1, 10, 1e3, 1e30 if dtype != "float16" else 1e4][rng.integers(4)]
        draw = lambda s, f=1.0: (rng.standard_normal(s) * f).astype(DT[dtype])
        la, lb = draw(shape[:3], scale), draw(shape[:3], scale)
        oa, ob = draw(shape), draw(shape)
        for l, o in ((la, oa), (lb, ob)):
            empty = rng.random(shape[:3]) < 0.2
            l[empty] = -INF
            o[empty] = NAN
        if n % 7 == 0:
            la[rng.random(shape[:3]) < 0.2] = NAN
        args = dict(output_a=oa, logsumexp_a=la, output_b=ob, logsumexp_b=lb)
        right, mine = base.merge_states(**args), module.merge_states(**args)
        open_ = (np.isnan(wide(la)) & (lb == -INF)) | ((la == -INF) & np.isnan(wide(lb)))
        assert near(mine["output"], right["output"], dtype, ~open_[..., None]), (n, args, mine, right)
        assert near(mine["logsumexp"], right["logsumexp"], dtype, ~open_), (n, args, mine, right)
        count += 1
    results["right/03_merge_logistic.py"] = count
    module, count = load("right/04_softmax_tree_of_states.py"), 0
    for n in range(400):
        dtype = ("float64", "float32", "bfloat16", "float16")[n % 4]
        shape = tuple(rng.integers(1, 6, rng.integers(1, 4)))
        x = (rng.standard_normal(shape) * [1, 30, 1e4][n % 3]).astype(DT[dtype])
        axis = None if n % 3 == 0 else int(rng.integers(-len(shape), len(shape)))
        assert near(module.softmax(x, axis), base.softmax(x, axis), dtype)
        count += 1
    results["right/04_softmax_tree_of_states.py"] = count
    return results


def benign(module, operation):
    """On how many of 24 plain float64 inputs a wrong file differs: a view of how nearly everywhere it is wrong."""
    count = 0
    for n in range(24):
        if operation == SB:
            args = case(np.random.default_rng(n), plain=n % 2 == 0, stored=False)
        elif operation == "merge_states":
            r = np.random.default_rng(n)
            args = dict(output_a=r.standard_normal((2, 2, 3, 4)), logsumexp_a=r.standard_normal((2, 2, 3)),
                        output_b=r.standard_normal((2, 2, 3, 4)), logsumexp_b=r.standard_normal((2, 2, 3)))
        else:
            args = dict(x=np.random.default_rng(n).standard_normal((3, 4, 5)), axis=n % 3)
        right, mine = getattr(base, operation)(**args), getattr(module, operation)(**args)
        if operation == "softmax":
            right, mine = {"output": right}, {"output": mine}
        count += any(far(mine[name], right[name], 1e-9) for name in right)
    return count


def main():
    check_base()
    entries = json.loads((HERE / "batch.json").read_text())
    assert len(entries) == len(WITNESSES) == len(list((HERE / "wrong").glob("*.py")))
    shown = 0
    for entry, witness in zip(entries, WITNESSES):
        with np.errstate(all="ignore"):
            module = load(entry["file"])
            differ, usual = witness(module), benign(module, entry["operation"])
        shown += differ
        print("shown  " if differ else "MISSING", f"{usual:2d}/24", entry["file"])
    print(f"wrong: {shown} of {len(entries)} shown")
    with np.errstate(all="ignore"):
        for file, count in check_right().items():
            print("agrees", file, "on", count)
    sys.exit(0 if shown == len(entries) else 1)


main()
