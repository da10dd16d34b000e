"""Shows every wrong implementation wrong on one input within the contract, and every right one right on many."""
import importlib.util, json, pathlib, sys
import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base

BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
OPS = {"packed": base.packed, "paged": base.paged, "paged_csr": base.paged_csr,
       "paged_csr_heads_first": lambda *a, **k: base.paged_csr(*a, heads_first=True, **k)}


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem.replace("0", "m", 1), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def right(layout, arguments):
    if layout in OPS:
        return OPS[layout](base.Attention(), **arguments)
    if layout == "bshe":
        turned = {k: v.swapaxes(1, 2) if k in ("query", "key", "value", "past_key", "past_value") and v is not None else v
                  for k, v in arguments.items()}
        return {"output": base.dense(**turned)["output"].swapaxes(1, 2)}
    return base.dense(**arguments)


def rnd(*shape, seed=0, dtype=np.float64, size=1.0):
    return (np.random.default_rng(seed + sum(shape) * 7919).normal(size=shape) * size).astype(dtype)


def qkv(B=2, Hq=2, Hkv=2, Sq=3, Sk=5, E=4, Ev=3, dtype=np.float64, seed=0):
    return dict(query=rnd(B, Hq, Sq, E, seed=seed, dtype=dtype), key=rnd(B, Hkv, Sk, E, seed=seed + 1, dtype=dtype),
                value=rnd(B, Hkv, Sk, Ev, seed=seed + 2, dtype=dtype))


def ints(*shape, seed=0):
    return np.random.default_rng(seed).integers(-127, 128, size=shape).astype(np.int8)


def f32(*x):
    return np.array(x, dtype=np.float32)


def packed(qs, ks, Hq=2, Hkv=2, dtype=np.float64, seed=0):
    return dict(query=rnd(qs[-1], Hq, 4, seed=seed, dtype=dtype), key=rnd(ks[-1], Hkv, 4, seed=seed + 1, dtype=dtype),
                value=rnd(ks[-1], Hkv, 3, seed=seed + 2, dtype=dtype), query_starts=np.array(qs), key_starts=np.array(ks))


def pools(pages=8, size=4, H=2, heads_first=False, dtype=np.float64, seed=0):
    shape = (pages, H, size) if heads_first else (pages, size, H)
    return dict(key_pool=rnd(*shape, 4, seed=seed + 5, dtype=dtype), value_pool=rnd(*shape, 3, seed=seed + 6, dtype=dtype))


def w_001(): return packed([0, 2, 5], [0, 4, 5])
def w_002(): return dict(query=rnd(3, 2, 2, 4), **pools(), page_starts=np.array([0, 1, 1, 3]), page_indices=np.array([5, 2, 7]),
                         last_page_length=np.array([3, 2, 1]))
def w_003(): return dict(**qkv(Sq=1, Sk=20), sinks=np.array([.5, 1.]))
def w_004(): return qkv(Sq=1, Sk=37)
def w_005(): return dict(**qkv(Hq=4, Sk=6), is_causal=True)
def w_006():
    a = qkv(dtype=np.float32); a["key"] = ints(2, 2, 5, 4); return dict(a, key_scale=f32([.01], [.02]))
def w_007():
    a = qkv(dtype=np.float32); a["query"] = np.full((2, 2, 3, 4), 120, np.int8); a["key"] = ints(2, 2, 5, 4); a["key"][:, :, 0] = 100
    return dict(a, query_scale=f32(.005).reshape(()), key_scale=f32(.005).reshape(()), output_dtype="float32")
def w_008():
    a = qkv(dtype=np.float32); codes = np.random.default_rng(1).integers(0, 120, (2, 2, 5, 3)).astype(np.uint8); codes[0, 0, 0, 0] = 255
    a["value"] = codes.view(E4M3); return dict(a, value_scale=f32(.1).reshape(()))
def w_009(): return dict(**qkv(), mask=rnd(2, 2, 3, 5), is_causal=True)
def w_010():
    a = dict(**qkv(Sq=2, Sk=2), past_key=rnd(2, 2, 3, 4), past_value=rnd(2, 2, 3, 3), is_causal=True)
    return [dict(**qkv(Sq=2, Sk=5), is_causal=True), a]
def w_011(): return [qkv(seed=3), qkv(seed=40)]
def w_012(): return dict(query=rnd(2, 2, 2, 4), **pools(), block_table=np.array([[5, 2, 7], [1, 0, 3]]).T.copy().T, key_lengths=np.array([10, 7]))
def w_013(): return dict(**qkv(), key_lengths=np.array([3, 3]))
def w_014(): return dict(**qkv(Sq=5, Sk=3), is_causal=True, causal_alignment="bottom_right")
def w_015(): return packed([0, 2, 4, 6], [0, 3, 3, 6])
def w_016(): return dict(query=rnd(2, 2, 2, 4), **pools(), block_table=np.array([[5, 2], [5, 2]]), key_lengths=np.array([6, 7]))
def w_017(): return dict(query=rnd(1, 2, 4, 4), **pools(heads_first=True), page_starts=np.array([0, 3]), page_indices=np.array([5, 2, 7]),
                         last_page_length=np.array([1]), window=[2, None], causal_alignment="bottom_right")
def w_018():
    a = qkv(dtype=np.float16); a["value"] = np.full_like(a["value"], 40000); return a
def w_019():
    a = qkv(dtype=BF16, Sk=600); a["query"] = a["query"] * BF16(0); return a
def w_020():
    a = qkv(dtype=np.float32); a["query"] = ints(2, 2, 3, 4)
    return dict(a, query_scale=f32(.02, .03), mask=rnd(3, 5, dtype=np.float32), output_dtype="float32")
def w_021():
    a = qkv(); a["value"][0, 0, 4, 0] = np.nan; return dict(a, key_lengths=np.array([4, 5]))
def w_022(): return dict(**qkv(Sq=3, Sk=6), alibi_slopes=np.array([.5, .25]), key_lengths=np.array([3, 4]), causal_alignment="bottom_right")
def w_023():
    return dict(query=rnd(2, 3, 3, 4), key=rnd(2, 5, 3, 4), value=rnd(2, 5, 3, 2))
def w_024():
    a = qkv(Hq=4, dtype=np.float32); a["query"] = ints(2, 4, 3, 4); return dict(a, query_scale=f32(.01, .02, .03, .04), output_dtype="float32")
def w_025():
    a = qkv(Sk=2); a["value"] = rnd(2, 2, 3, 3); return dict(a, past_key=rnd(2, 2, 3, 4), past_value=rnd(2, 2, 2, 3))
def w_026():
    a = qkv(dtype=np.float32); a["query"] = np.full_like(a["query"], -20); a["key"] = np.abs(a["key"]) + np.float32(8); return dict(a, sinks=f32(-400, -330))
def w_027():
    a = qkv(dtype=np.float32); a["query"] *= 40; a["key"] *= 4; return dict(a, scale=-1.0)
def w_028():
    a = qkv(); a["value"][:, :, 2, :] = np.nan; return dict(a, is_causal=True)
def w_029():
    a = qkv(); a["key"], a["value"] = ints(2, 2, 5, 4), ints(2, 2, 5, 3, seed=1); return dict(a, key_scale=f32(.01).reshape(()), value_scale=f32(.03, .07))
def w_030():
    a = qkv(dtype=np.float32); a["key"] = a["value"] = ints(2, 2, 5, 4); return dict(a, key_scale=f32(.01).reshape(()), value_scale=f32(.03, .07))
def w_031():
    a = qkv(); a["key"] = np.broadcast_to(a["key"][:, :1], a["key"].shape); return a


EXACT = {"029": 1e-9}


def copies(arguments):
    return {k: (np.array(v, order="K") if isinstance(v, np.ndarray) else list(v) if isinstance(v, list) else v) for k, v in arguments.items()}


def far(one, other, least=0.02):
    one, other = np.asarray(one).astype(np.float64), np.asarray(other).astype(np.float64)
    if one.shape != other.shape:
        return True
    if not np.array_equal(np.isfinite(one), np.isfinite(other)):
        return True
    ok = np.isfinite(one)
    return bool(ok.any()) and bool((np.abs(one - other)[ok] > least * np.maximum(1, np.abs(one[ok])).max() if least > 1e-3
                                    else np.abs(one - other)[ok] > least).any())


def as_dict(given):
    return given if isinstance(given, dict) else {"output": given}


def show(item):
    number = pathlib.Path(item["file"]).name[:3]
    calls = globals()["w_" + number]()
    calls = calls if isinstance(calls, list) else [calls]
    module = load(HERE / item["file"])
    layout = getattr(module, "layout", None)
    previous = None
    for arguments in calls:
        kept = copies(arguments)
        try:
            want = right(layout, copies(arguments) if number not in ("030", "031", "012") else arguments)
        except ValueError:
            want = None
        with np.errstate(all="ignore"):
            try:
                got = as_dict(module.scaled_dot_product_attention(**arguments))
            except ValueError:
                return "raises" if want is not None else ""
        if want is None:
            return "takes what must be refused"
        if previous is not None and any(not np.array_equal(previous[1][k], previous[0][k]) for k in previous[0]):
            return "earlier outputs changed"
        for k, v in kept.items():
            if isinstance(v, np.ndarray) and v.tobytes() != np.asarray(arguments[k]).tobytes():
                return f"input {k} changed"
        differ = [k for k in got if far(want[k], got[k], EXACT.get(number, 0.02))]
        if differ:
            return "differs in " + ", ".join(differ)
        previous = ({k: np.array(v) for k, v in got.items()}, got)
    return ""


# random inputs


def options(g, B, Hq, Sq, K, dtype, serving=False):
    a = {}
    pick = lambda p: g.random() < p
    if pick(.5): a["is_causal"] = True
    if pick(.5): a["causal_alignment"] = "bottom_right"
    if pick(.3): a["window"] = [None if pick(.3) else int(g.integers(0, 4)), None if pick(.3) else int(g.integers(0, 4))]
    if pick(.3): a["softcap"] = float(g.choice([0, 1.5, 20]))
    if pick(.3): a["sinks"] = g.normal(size=Hq).astype(dtype)
    if pick(.3): a["alibi_slopes"] = g.uniform(0, 1, Hq).astype(dtype)
    if pick(.3): a["scale"] = float(g.choice([0, -.5, .3, 1]))
    if pick(.4) and not (serving and K == 0):
        shapes = [(1, K), (Hq, 1, K), (1, Hq, 1, K)] if serving else [(Sq, K), (Hq, Sq, K), (B, 1, 1, K), (B, Hq, Sq, K), (1, 1, Sq, K)]
        shape = shapes[g.integers(len(shapes))]
        if pick(.5): a["mask"] = g.random(shape) < .7
        else: a["mask"] = np.where(g.random(shape) < .2, -np.inf, g.normal(size=shape)).astype(dtype)
    return a


def draw(g, layout, dtype):
    Hkv = int(g.integers(1, 4)); Hq = Hkv * int(g.integers(1, 4)); B = int(g.integers(1, 4)); E, Ev = (int(x) for x in g.integers(1, 7, 2))
    n = lambda *shape: g.normal(size=shape).astype(dtype)
    if layout == "packed":
        qs, ks = (np.concatenate([[0], np.cumsum(g.integers(0, 9, B))]) for _ in range(2))
        K = int(np.diff(ks).max(initial=0)) + int(g.integers(0, 2))
        return dict(query=n(qs[-1], Hq, E), key=n(ks[-1], Hkv, E), value=n(ks[-1], Hkv, Ev), query_starts=qs, key_starts=ks,
                    **options(g, B, Hq, 0, K, dtype, True))
    Sq = int(g.integers(0, 5))
    if layout and layout.startswith("paged"):
        size = int(g.integers(1, 6)); number = g.integers(0, 4, B); starts = np.concatenate([[0], np.cumsum(number)])
        last = np.where(number > 0, g.integers(1, size + 1, B), 77)
        first = layout.endswith("heads_first")
        shape = (6, Hkv, size) if first else (6, size, Hkv)
        K = int(max(np.where(number > 0, (number - 1) * size + last, 0).max(), 1))
        common = dict(query=n(B, Hq, Sq, E), key_pool=n(*shape, E), value_pool=n(*shape, Ev), **options(g, B, Hq, Sq, K, dtype, True))
        if g.random() < .4: common["query_lengths"] = g.integers(0, Sq + 1, B)
        if "csr" in layout:
            return dict(common, page_starts=starts, page_indices=g.integers(0, 6, starts[-1] + 2), last_page_length=last)
        return dict(common, block_table=g.integers(0, 6, (B, 4)), key_lengths=np.where(number > 0, (number - 1) * size + last, 0))
    Sk = int(g.choice([0, 1, 2, 5, 12, 23])); a = {}; P = 0
    which = g.integers(4)
    if which == 0:
        P = int(g.integers(0, 12)); a.update(past_key=n(B, Hkv, P, E), past_value=n(B, Hkv, P, Ev))
    if which == 1: a["key_lengths"] = g.integers(0, Sk + 1, B)
    if which == 2: a.update(query_lengths=g.integers(0, Sq + 1, B), key_lengths=g.integers(0, Sk + 1, B))
    a.update(query=n(B, Hq, Sq, E), key=n(B, Hkv, Sk, E), value=n(B, Hkv, Sk, Ev))
    if which == 3:
        for name in ("query", "key", "value"):
            if g.random() < .6:
                kind = g.choice(3)
                x = a[name].astype(np.float64)
                a[name] = (g.integers(-128, 128, x.shape).astype(np.int8) if kind == 0 else x.astype(E4M3 if kind == 1 else E5M2))
                shape = [(), (Hkv,), (B, Hkv), (B, 1), (1, Hkv)][g.integers(5)]
                a[name + "_scale"] = np.asarray(g.uniform(.005, .02, shape), dtype=np.float32)
                if name == "query": a["output_dtype"] = np.dtype(dtype).name
    a.update(options(g, B, Hq, Sq, P + Sk, dtype))
    if layout == "bshe":
        for name in ("query", "key", "value", "past_key", "past_value"):
            if name in a: a[name] = a[name].swapaxes(1, 2)
    return a


def same(module, seed, dtype):
    g = np.random.default_rng(seed)
    layout = getattr(module, "layout", None)
    a = draw(g, layout, dtype)
    rows = a.get("query_lengths")
    with np.errstate(all="ignore"):
        want, got = right(layout, copies(a)), as_dict(module.scaled_dot_product_attention(**copies(a)))
    eps = {"float64": 1e-11, "float32": 2e-4, "float16": 2e-2, "bfloat16": 8e-2}[np.dtype(dtype).name]
    for k in got:
        if got[k].dtype != want[k].dtype or got[k].shape != want[k].shape: return f"{k} {got[k].dtype} {got[k].shape}"
        x, y = got[k].astype(np.float64), want[k].astype(np.float64)
        if rows is not None and k in ("output", "weights", "logsumexp", "scores", "logits"):
            axis = 1 if layout == "bshe" else 2
            live = np.arange(x.shape[axis]) < np.asarray(rows)[:, None]
            live = live.reshape([len(rows) if i == 0 else x.shape[axis] if i == axis else 1 for i in range(x.ndim)])
            x, y = np.where(live, x, 0), np.where(live, y, 0)
        if not np.allclose(x, y, rtol=eps, atol=eps, equal_nan=True): return f"{k} off by {np.abs(x - y).max()}"
    return ""


if __name__ == "__main__":
    bad = 0
    np.seterr(all="ignore")
    items = json.loads((HERE / "batch.json").read_text())
    detail = "-v" in sys.argv
    for item in items:
        verdict = show(item)
        line = f"{'shown ' if verdict and verdict != 'raises' else 'NOT SHOWN'} {item['file']}: {verdict}"
        if detail:
            module = load(HERE / item["file"])
            off, errors = 0, set()
            for seed in range(120):
                try:
                    off += bool(same(module, seed, (np.float64, np.float32, BF16, np.float16)[seed % 4]))
                except Exception as error:
                    errors.add(repr(error))
            line += f"   [random inputs off: {off} of 120] {errors or ''}"
        bad += not verdict or verdict == "raises"
        print(line)
    for path in sorted((HERE / "right").glob("*.py")):
        module = load(path)
        wrong = []
        for seed in range(400):
            dtype = (np.float64, np.float32, BF16, np.float16)[seed % 4]
            verdict = same(module, 1000 + seed, dtype)
            if verdict: wrong.append((seed, verdict))
        bad += bool(wrong)
        print("agrees" if not wrong else "DIFFERS", path.name, "400 random inputs", wrong[:5])
    print("all shown" if not bad else f"{bad} to do")
    sys.exit(bool(bad))
