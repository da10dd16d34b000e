import copy, importlib.util, inspect, json, pathlib, sys, warnings
import numpy as np, ml_dtypes
warnings.filterwarnings("ignore")
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base
OP = "scaled_dot_product_attention_backward"
TENSORS = ("grad_output", "query", "key", "value", "output", "logsumexp", "grad_logsumexp", "mask", "sinks", "alibi_slopes")


def load(path):
    spec = importlib.util.spec_from_file_location("m_" + path.stem, path)
    m = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(m)
    return m


def make(seed=0, B=2, Hq=4, Hkv=2, Sq=5, Sk=6, E=4, Ev=3, dtype="float64", stored="", glse=False, mask=None, mask_shape=None,
         kl=None, ql=None, sinks=False, alibi=False, edit=None, post=None, **attrs):
    """the inputs in float64; edit(a) changes them before the forward pass is stored, post(a) after it"""
    r = np.random.default_rng(seed)
    n = r.standard_normal
    a = dict(grad_output=n((B, Hq, Sq, Ev)), query=n((B, Hq, Sq, E)), key=n((B, Hkv, Sk, E)), value=n((B, Hkv, Sk, Ev)))
    if glse: a["grad_logsumexp"] = n((B, Hq, Sq))
    if mask == "float":
        a["mask"] = n(mask_shape or (B, Hq, Sq, Sk))
    if mask == "inf":
        m = n(mask_shape or (B, Hq, Sq, Sk)); a["mask"] = np.where(r.random(m.shape) < .3, -np.inf, m)
    if mask == "bool": a["mask"] = r.random(mask_shape or (B, Hq, Sq, Sk)) < .6
    if kl is not None: a["key_lengths"] = np.array(kl)
    if ql is not None: a["query_lengths"] = np.array(ql)
    if sinks: a["sinks"] = n(Hq)
    if alibi: a["alibi_slopes"] = abs(n(Hq))
    a.update(attrs)
    if edit: edit(a)
    dt = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    for k in TENSORS:
        if k in a and a[k].dtype != bool: a[k] = a[k].astype(dt)
    if stored:
        wide = {k: (v.astype("float64") if k in TENSORS and v.dtype != bool else v) for k, v in a.items()}
        o, l = base.forward(wide)
        if "o" in stored: a["output"] = o.astype(dt)
        if "l" in stored: a["logsumexp"] = l.astype(dt)
    if post: post(a)
    return a


def named(out, a):
    if isinstance(out, dict): return {k: v for k, v in out.items() if v is not None}
    out = list(out)
    names = ["grad_query", "grad_key", "grad_value"]
    fm = a.get("mask") is not None and a["mask"].dtype != bool
    rest = ["grad_mask", "grad_sinks", "delta", "grad_scores"]
    if not fm:
        if len(out) > 3 and out[3] is None: out.pop(3)
        rest.remove("grad_mask")
    if a.get("sinks") is None: rest.remove("grad_sinks")
    return {k: v for k, v in zip(names + rest, out) if v is not None}


def call(f, a):
    # conventions handed over
    try:
        with np.errstate(all="ignore"): return named(f(**a), a), None
    except Exception as e:
        return None, e


def difference(m, a, owed_only=False):
    """(greatest difference, reason)"""
    conv = getattr(m, "conventions", {})
    mine = dict(a)
    if conv.get("logsumexp_base") == "2":
        if mine.get("logsumexp") is not None: mine["logsumexp"] = (a["logsumexp"] / np.log(2)).astype(a["query"].dtype)
        if mine.get("grad_logsumexp") is not None: mine["grad_logsumexp"] = (a["grad_logsumexp"] * np.log(2)).astype(a["query"].dtype)
    before = copy.deepcopy({k: v for k, v in mine.items()})
    ref, e1 = call(base.scaled_dot_product_attention_backward, a)
    got, e2 = call(getattr(m, OP), mine)
    for k in before:
        same = np.array_equal(before[k], mine[k], equal_nan=before[k].dtype.kind not in "bi") if isinstance(before[k], np.ndarray) else before[k] == mine[k]
        if not same: return np.inf, "input changed: " + k
    if e1 or e2:
        if e1 and e2: return 0.0, "both refuse"
        return np.inf, "base refuses" if e1 else "refuses: %r" % (e2,)
    worst, why = 0.0, ""
    fm = a.get("mask") is not None and a["mask"].dtype != bool
    owed = ["grad_query", "grad_key", "grad_value"] + ["grad_mask"] * fm + ["grad_sinks"] * (a.get("sinks") is not None)
    for k in owed:
        if k not in got: return np.inf, "missing " + k
    N = a.get("query_lengths")
    for k, v in got.items():
        if k not in ref: return np.inf, "not an output here: " + k
        w = ref[k]
        v = np.asarray(v)
        if v.shape != w.shape: return np.inf, "shape of " + k
        if k in owed[:3] and v.dtype != w.dtype: return np.inf, "dtype of " + k
        if v.dtype.itemsize < w.dtype.itemsize: return np.inf, "dtype of " + k
        x, y = v.astype("float64"), w.astype("float64")
        if N is not None and k in ("grad_query", "delta", "grad_scores"):
            keep = np.arange(y.shape[2])[None, None, :] < np.asarray(N)[:, None, None]
            keep = np.broadcast_to(keep, y.shape[:3])
            x, y = x[keep], y[keep]
        if (np.isnan(x) != np.isnan(y)).any(): return np.inf, "NaN in " + k
        ok = np.isfinite(x) & np.isfinite(y)
        if (~ok & ~np.isnan(y) & (x != y)).any(): return np.inf, "infinity in " + k
        size = max(1.0, abs(y[ok]).max(initial=0))
        d = abs(x - y)[ok].max(initial=0) / size
        if d > worst: worst, why = d, k
    return worst, why


CASES = {}


def case(name, **kw):
    CASES[name] = kw


if (HERE / "cases.py").exists():
    exec((HERE / "cases.py").read_text())


def random_case(seed, dtype):
    r = np.random.default_rng(seed + 10000)
    pick = lambda *x: x[r.integers(len(x))]
    Hkv = pick(1, 2, 3); Hq = Hkv * pick(1, 2, 3)
    B, Sq, Sk = pick(1, 2, 3), pick(1, 2, 5, 9, 20), pick(0, 1, 3, 7, 18, 40)
    k = dict(seed=seed, B=B, Hq=Hq, Hkv=Hkv, Sq=Sq, Sk=Sk, E=pick(1, 3, 4, 8), Ev=pick(1, 2, 5), dtype=dtype)
    k["stored"] = pick("", "o", "l", "ol"); k["glse"] = pick(True, False); k["mask"] = pick(None, None, "bool", "float", "inf")
    if k["mask"]:
        sh = [pick(B, 1), pick(Hq, 1), pick(Sq, 1), Sk]; k["mask_shape"] = tuple(sh[pick(0, 1, 2):])
    if pick(0, 0, 1): k["kl"] = r.integers(0, Sk + 1, B)
    if pick(0, 0, 1): k["ql"] = r.integers(0, Sq + 1, B)
    k["sinks"] = pick(True, False, False); k["alibi"] = pick(True, False, False)
    if pick(0, 1): k["is_causal"] = True
    if pick(0, 1): k["causal_alignment"] = "bottom_right"
    if pick(0, 0, 1): k["window"] = [pick(None, 0, 1, 4), pick(None, 0, 1, 4)]
    if pick(0, 0, 1): k["scale"] = pick(0.0, 0.7, -0.5)
    if pick(0, 0, 1): k["softcap"] = pick(0.0, 1.5, 10.0)
    what = pick(0, 0, 0, 1, 2, 3, 4)
    if what == 1 and not k.get("stored"): k["edit"] = lambda a: a.update(query=a["query"] * 1e3)
    if what == 2: k["edit"] = lambda a: a["grad_output"].__setitem__((0, 0, 0, 0), np.nan)
    if what == 3 and Sk: k["edit"] = lambda a: (a["value"].__setitem__((0, 0, Sk - 1, 0), np.nan), a["key"].__setitem__((0, 0, Sk - 1), 0))
    if what == 4 and "ql" in k:
        def post(a):
            for b, n in enumerate(a["query_lengths"]):
                for x in ("query", "grad_output", "output", "logsumexp", "grad_logsumexp"):
                    if a.get(x) is not None: a[x][b, :, n:] = np.nan
        k["post"] = post
    return make(**k)


def main():
    bad = 0
    for path in sorted((HERE / "right").glob("*.py")):
        m = load(path); worst = {}
        for dtype in getattr(m, "dtypes", ("float64", "float32")):
            tol = {"float64": 1e-9, "float32": 2e-4, "float16": 2e-2, "bfloat16": 1e-1}[dtype]
            fails = 0; w = 0
            for seed in range(220 if dtype == "float64" else 100):
                a = random_case(seed, dtype)
                d, why = difference(m, a)
                if "logsumexp" in a or "output" in a: d = d / 10 if dtype != "float64" else d
                w = max(w, d)
                if d > tol:
                    fails += 1
                    if fails < 3: print("   right?", path.name, dtype, seed, d, why)
            worst[dtype] = float("%.2g" % w); bad += fails > 0
        print("%-32s %s %s" % (path.name, worst, "AGREES" if not bad else "CHECK"))
    for path in sorted((HERE / "wrong").glob("*.py")):
        m = load(path)
        kw = CASES[path.stem[:3]]
        if "run" in kw:
            d, why = kw["run"](m)
        else:
            d, why = difference(m, make(**kw))
        tol = {"float64": 1e-9, "float32": 1e-3, "float16": 5e-2, "bfloat16": 5e-2}[kw.get("dtype", "float64")]
        print("%-44s %-10.3g %-40s %s" % (path.name, d, str(why)[:40], "DIFFERS" if d > tol else "SAME"))
        # and right on something: the plain case
        d, why = difference(m, make(Hq=2, Hkv=2, Sq=4, Sk=4, E=4, Ev=4))
        if d > 1e-7: print("      note: wrong on the plain case, too", why)


if __name__ == "__main__":
    main()
