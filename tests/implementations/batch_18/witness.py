"""One input for each wrong file on which it differs from base.py; right files on random inputs."""
import importlib.util, json, pathlib
import ml_dtypes
import numpy as np
import base, gen

HERE = pathlib.Path(__file__).resolve().parent
INF = np.inf


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    m = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(m)
    return m


class Bf16(base.Attention):
    def dequantize(self, x, s, *rest):
        y = super().dequantize(x, s, *rest)
        return y if s is None else y.astype(ml_dtypes.bfloat16).astype(y.dtype)


def reference(m, operation):
    layout = getattr(m, "layout", "bhse").split(":")[0]
    conv = getattr(m, "conventions", {})
    if operation == "merge_states":
        f = base.merge_states
    elif layout == "bhse":
        f = Bf16() if conv.get("dequantized") == "bfloat16" else base.scaled_dot_product_attention
    else:
        f = getattr(base, layout)

    def run(**a):
        two = conv.get("logsumexp_base") == "2"
        if two and operation == "merge_states":
            a = dict(a, logsumexp_a=a["logsumexp_a"] * np.log(2), logsumexp_b=a["logsumexp_b"] * np.log(2))
            a = {k: v.astype(np.asarray(a["output_a"]).dtype) if k.startswith("log") else v for k, v in a.items()}
        r = dict(f(**a))
        lse = np.array(r["logsumexp"])
        if two:
            lse = lse / np.log(2)
        if conv.get("empty_logsumexp") == "plus_infinity":
            lse[lse == -INF] = INF
        r["logsumexp"] = lse
        return r
    return run


def named(r):
    return dict(r) if isinstance(r, dict) else dict(zip(("output", "logsumexp"), r if isinstance(r, tuple) else (r,)))


def apart(got, want, a):
    """Greatest difference, relative to 1 and to the number."""
    got, worst, counts = named(got), 0.0, a.get("query_lengths")
    for name, x in got.items():
        y = want[name]
        if x.shape != y.shape or (name == "output" and x.dtype != y.dtype):
            return INF
        x, y = np.array(x, np.float64), np.array(y, np.float64)
        if counts is not None:
            for b, n in enumerate(counts):
                x[b, :, n:] = y[b, :, n:] = 0
        with np.errstate(all="ignore"):
            d = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0, np.abs(x - y) / (1 + np.abs(y)))
        d = np.where(np.isnan(d), INF, d)
        worst = max(worst, float(d.max(initial=0)))
    return worst


def same_bytes(a, b):
    return all(np.asarray(a[k]).tobytes() == np.asarray(b[k]).tobytes() for k in a)


def judge(path, operation, calls):
    m = load(path)
    f, ref = getattr(m, operation), reference(m, operation)
    worst, said, kept = 0.0, "", []
    for a in calls:
        before = {k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in a.items()}
        try:
            want = ref(**{k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in a.items()})
        except ValueError:
            want = None
        try:
            got = f(**a)
        except Exception as x:
            if want is not None:
                said += f" raised {type(x).__name__}"
            continue
        if want is None:
            said += " accepted"
            continue
        if not same_bytes(before, a):
            said += " inputs changed"
        kept.append((got, want, a))
        worst = max(worst, apart(got, want, before))
    for got, want, a in kept:
        worst = max(worst, apart(got, want, a))
    return worst, said


R = np.random.default_rng(0)
N = lambda *s: R.normal(size=s)
I = lambda *x: np.array(x, dtype=np.int64)
F32 = lambda x: np.asarray(x, dtype=np.float32)
I8 = lambda *s: R.integers(-100, 100, s).astype(np.int8)


def merge(la, lb, e=3, oa=None, ob=None):
    la, lb = np.array(la, dtype=float), np.array(lb, dtype=float)
    la, lb = la.reshape((1,) * (3 - la.ndim) + la.shape), lb.reshape((1,) * (3 - lb.ndim) + lb.shape)
    s = la.shape + (e,)
    return dict(output_a=N(*s) if oa is None else np.full(s, oa), logsumexp_a=la, output_b=N(*s) if ob is None else np.full(s, ob), logsumexp_b=lb)


def pack(ln, lk, hq=2, hkv=1, **more):
    return dict(query=N(sum(ln), hq, 2), key=N(sum(lk), hkv, 2), value=N(sum(lk), hkv, 2),
                query_starts=np.cumsum([0, *ln]), key_starts=np.cumsum([0, *lk]), **more)


def page(size, lengths, sq=2, hf=False, csr=False, e=2, ev=2, extra=1, **more):
    b, need = len(lengths), [-(-n // size) for n in lengths]
    count = sum(need) + 1
    shape = (count, 1, size) if hf else (count, size, 1)
    a = dict(query=N(b, 2, sq, e), key_pool=N(*shape, e), value_pool=N(*shape, ev))
    ids = list(range(count - 1, 0, -1))
    rows = [ids[sum(need[:i]):sum(need[:i + 1])] for i in range(b)]
    if csr:
        a.update(page_starts=np.cumsum([0, *need]), page_indices=np.array(sum(rows, []) + [0] * extra),
                 last_page_length=np.array([(n - 1) % size + 1 if n else size for n in lengths]))
    else:
        most = max(need) + extra
        a.update(block_table=np.array([r + [0] * (most - len(r)) for r in rows]), key_lengths=np.array(lengths))
    a.update(more)
    return a


def quant(b=1, hq=2, hkv=1, sq=2, sk=4, **more):
    a = dict(query=N(b, hq, sq, 3), key=I8(b, hkv, sk, 3), value=I8(b, hkv, sk, 2), key_scale=F32(.01), value_scale=F32(.02))
    a.update(more)
    return {k: v for k, v in a.items() if v is not None}


def nan_tail():
    a = page(4, [3])
    a["value_pool"][1, 3:] = np.nan
    return a


def shared():
    a = page(2, [3, 4])
    a["block_table"][0] = a["block_table"][1]
    return a


def order():
    a = merge(N(2, 2, 3), N(2, 2, 3))
    a["output_b"] = np.ascontiguousarray(a["output_b"].transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
    return a


def repeated():
    a = merge(N(1, 2, 3), N(1, 2, 3))
    a["logsumexp_b"] = a["logsumexp_b"][:, :1]
    return a


def low():
    a = page(2, [3], hf=True, csr=True)
    a["query"], a["key_pool"] = np.full_like(a["query"], -40.0), np.abs(a["key_pool"]) + 30
    return a


E4, E5 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
CASES = {
    "001": lambda: [merge([[[0, -900]]], [[[0, -901]]])],
    "002": lambda: [merge([[[-20000]]], [[[-20000.5]]])],
    "003": lambda: [merge([[[1000.0001]]], [[[1000.3]]])],
    "004": lambda: [merge([[[-INF]]], [[[-INF]]])],
    "005": lambda: [merge([[[0]]], [[[1]]])],
    "006": lambda: [order()],
    "007": lambda: [merge([[[-INF]]], [[[1]]], oa=1e30)],
    "008": lambda: [merge([[[18]]], [[[0]]])],
    "009": lambda: [merge([[[0]]], [[[1]]]), merge([[[0]]], [[[1]]])],
    "010": lambda: [merge([[[0]]], [[[1]]], e=3)],
    "011": lambda: [merge([[[1]]], [[[1]]])],
    "012": lambda: [repeated()],
    "013": lambda: [merge([[[np.nan]]], [[[1]]])],
    "014": lambda: [pack([2, 3], [4, 6], alibi_slopes=np.array([.5, .25]), causal_alignment="bottom_right")],
    "015": lambda: [pack([1, 0, 2], [1, 2, 2])],
    "016": lambda: [pack([14], [14], window=[2, 0])],
    "017": lambda: [pack([1, 3], [2, 2])],
    "018": lambda: [pack([1, 3], [3, 1])],
    "019": lambda: [pack([2, 2], [0, 3], sinks=np.array([.5, 1.]))],
    "020": lambda: [pack([2], [2], hq=5, hkv=2)],
    "021": lambda: [pack([1, 3], [2, 2]), pack([3, 1], [2, 2])],
    "022": lambda: [page(3, [5])],
    "023": lambda: [nan_tail()],
    "024": lambda: [page(2, [5], sinks=np.array([.5, 1.]))],
    "025": lambda: [shared()],
    "026": lambda: [page(2, [3, 4])],
    "027": lambda: [page(2, [6], causal_alignment="bottom_right", window=[1, 0])],
    "028": lambda: [page(2, [6])],
    "029": lambda: [page(2, [5], hf=True, e=2, ev=3)],
    "030": lambda: [page(2, [5], sq=1, hf=True, window=[1, 0], causal_alignment="bottom_right")],
    "031": lambda: [page(2, [0, 3], csr=True)],
    "032": lambda: [page(2, [3, 4], csr=True)],
    "033": lambda: [low()],
    "034": lambda: [page(2, [6], hf=True, csr=True, mask=np.array([[True, False, True, True, False, True]]))],
    "035": lambda: [quant(b=2, hq=2, hkv=2, key_scale=F32([.01, .03]))],
    "036": lambda: [quant(past_key=I8(1, 1, 2, 3), past_value=I8(1, 1, 2, 2))],
    "037": lambda: [quant(value=np.full((1, 1, 4, 2), -128, np.int8))],
    "038": lambda: [quant(value=np.full((1, 1, 4, 2), 2.0 ** -8).astype(E4), value_scale=F32(64))],
    "039": lambda: [quant(value=np.full((1, 1, 4, 2), np.nan).astype(E4))],
    "040": lambda: [quant(query=np.full((1, 2, 2, 3), 120, np.int8), query_scale=F32(.001), key=np.arange(117, 129).clip(0, 127).astype(np.int8).reshape(1, 1, 4, 3), output_dtype="float64")],
    "041": lambda: [quant(softcap=1.5)],
    "042": lambda: [quant(hq=4, hkv=2, value_scale=F32([.01, .03]))],
    "043": lambda: [quant(query=I8(1, 2, 2, 3), query_scale=F32(.01), key=N(1, 1, 4, 3), key_scale=None, output_dtype="float64")],
    "044": lambda: [quant(query=I8(1, 2, 2, 3), query_scale=F32(.01), output_dtype="float64")],
    "045": lambda: [quant(value_scale=F32(1e-6))],
    "046": lambda: [quant(hq=2, hkv=1, key_scale=F32([.01, .01]))],
    "047": lambda: [quant(sinks=np.array([.5, 1.]), key=np.full((1, 1, 4, 3), 90, np.int8))],
    "048": lambda: [quant(value=N(1, 1, 4, 2).astype(E5), value_scale=F32(1))],
}


def main():
    batch = json.loads((HERE / "batch.json").read_text())
    bad = 0
    assert len(batch) == len(CASES) == len(list((HERE / "wrong").glob("*.py")))
    for entry in batch:
        path = HERE / entry["file"]
        worst, said = judge(path, entry["operation"], CASES[path.name[:3]]())
        differs = worst > 1e-9 or said
        bad += not differs
        print(f"{path.name}: {worst:.3g}{said} {'DIFFERS' if differs else 'SAME'}")
    for path in sorted((HERE / "right").glob("*.py")):
        m = load(path)
        operation = "merge_states" if hasattr(m, "merge_states") else "scaled_dot_product_attention"
        layout = getattr(m, "layout", "bhse")
        most = {}
        for name in getattr(m, "dtypes", ("float64", "float32")):
            dtype = base.named(name)
            for seed in range(200):
                rng = np.random.default_rng(seed)
                a = (gen.merge if operation == "merge_states" else gen.quant if layout == "bhse" else gen.packed if layout == "packed"
                     else lambda r, d: gen.paged(r, d, layout))(rng, dtype)
                before = {k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in a.items()}
                with np.errstate(all="ignore"):
                    d = apart(getattr(m, operation)(**a), reference(m, operation)(**before), a)
                assert same_bytes(before, a)
                most[name] = max(most.get(name, 0), d)
        limits = {"float64": 1e-12, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
        fine = all(d < limits[n] for n, d in most.items())
        bad += not fine
        print(f"{path.name}: {({n: float(f'{d:.2g}') for n, d in most.items()})} {'AGREES' if fine else 'APART'}")
    print("bad:", bad)


main()
