"""Every wrong file differs from base.reference on its witness; right ones on none of many random inputs."""
import importlib.util
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import ml_dtypes
import numpy as np

import base

OP = "scaled_dot_product_attention_backward"
BF = np.dtype(ml_dtypes.bfloat16)
TOL = {"float64": 1e-9, "float32": 2e-4, "float16": 2e-2, "bfloat16": 6e-2}


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def named(result, given):
    if isinstance(result, dict):
        return result
    names = ["grad_query", "grad_key", "grad_value"]
    if given.get("mask") is not None and given["mask"].dtype != bool:
        names.append("grad_mask")
    if given.get("sinks") is not None:
        names.append("grad_sinks")
    return dict(zip(names, result))


def differs(result, given):
    want = base.reference(**given)
    result = named(result, given)
    dtype = given["query"].dtype
    for name, b in want.items():
        if name not in result:
            if name in ("delta", "grad_scores"):
                continue
            return f"{name} is missing"
        a = result[name]
        if a.shape != b.shape:
            return f"{name} shape {a.shape} for {b.shape}"
        if name in ("grad_query", "grad_key", "grad_value") and a.dtype != dtype:
            return f"{name} dtype {a.dtype}"
        a, b = a.astype(np.float64), b.astype(np.float64)
        if not (np.isnan(a) == np.isnan(b)).all():
            return f"{name} NaN at {int(np.isnan(a).sum())} for {int(np.isnan(b).sum())}"
        if b.size == 0:
            continue
        with np.errstate(all="ignore"):
            gap = np.nanmax(np.abs(a - b), initial=0.0)
            size = np.nanmax(np.abs(b), initial=0.0)
        big = max(float(size), float(np.nanmax(np.abs(given["grad_output"].astype(np.float64)), initial=0)) * 1e-3, 1e-30)
        if not gap <= TOL[dtype.name] * big:
            return f"{name} off by {gap:.3g} beside {size:.3g}"
    return ""


def case(seed, B=1, Hq=1, Hkv=None, Sq=3, Sk=4, E=4, Ev=None, dtype="float64", spread=1.0, lse=False, stored=False, **more):
    r = np.random.default_rng(seed)
    Hkv, Ev = Hkv or Hq, E if Ev is None else Ev
    dtype = BF if dtype == "bfloat16" else np.dtype(dtype)
    n = lambda *s: (r.standard_normal(s) * spread).astype(dtype)
    given = dict(grad_output=n(B, Hq, Sq, Ev), query=n(B, Hq, Sq, E), key=n(B, Hkv, Sk, E), value=n(B, Hkv, Sk, Ev))
    if lse:
        given["grad_logsumexp"] = n(B, Hq, Sq)
    given.update({k: (v(r) if callable(v) else v) for k, v in more.items()})
    if stored:
        given["output"], given["logsumexp"] = base.stored(**given)
    return given


def arr(*shape, dtype="float64", times=1.0):
    return lambda r: (r.standard_normal(shape) * times).astype(dtype)


def w013():
    g = case(13, dtype="float16", E=4, Ev=2)
    g["grad_output"] = (g["grad_output"] * 0 + 400).astype(np.float16)
    g["value"] = (g["value"] * 0 + 300).astype(np.float16)
    g["value"][0, 0, 0] = 200
    return [g]


def w012():
    g = case(12, dtype="bfloat16", Sq=600, Sk=2, E=2, Ev=1)
    g["query"] = g["query"] * 0
    g["grad_output"] = np.ones_like(g["grad_output"])
    return [g]


def w017():
    g = case(17, B=2, Hq=2, Sq=3, Sk=3)
    g["grad_output"] = np.ascontiguousarray(g["grad_output"].swapaxes(1, 2)).swapaxes(1, 2)
    return [g]


def w025():
    g = case(25, Sq=4, Sk=4, is_causal=True)
    g["grad_output"][0, 0, 1, 2] = np.nan
    return [g]


def w028():
    g = case(28, Sq=4, Sk=4)
    g["key"] = g["query"]
    g["value"] = g["query"]
    return [g]


def w021():
    return [case(21, mask=np.full((3, 4), -2000.0) + np.arange(4))]


WITNESSES = {
    "001": lambda: [case(1)],
    "002": lambda: [case(2)],
    "003": lambda: [case(3, Hq=4, Hkv=2)],
    "004": lambda: [case(4, Sq=4, window=[1, 0])],
    "005": lambda: [case(5, scale=0.0)],
    "006": lambda: [case(6, dtype="float16")],
    "007": lambda: [case(7, dtype="float32", spread=20.0, softcap=2.0)],
    "008": lambda: [case(8, Sq=4, Sk=2, lse=True, sinks=arr(1), is_causal=True, causal_alignment="bottom_right")],
    "009": lambda: [case(9, sinks=arr(1))],
    "010": lambda: [case(10, Sq=16, Sk=16, is_causal=True, causal_alignment="bottom_right", query_lengths=np.array([4]))],
    "011": lambda: [case(11, Sq=16, Sk=16, window=[2, None])],
    "012": w012,
    "013": w013,
    "014": lambda: [case(14, is_causal=True), case(14, is_causal=True, causal_alignment="bottom_right")],
    "015": lambda: [case(15, E=4, Ev=6, stored=True)],
    "016": lambda: [case(16, query_lengths=np.array([2]))],
    "017": w017,
    "018": lambda: [case(18, softcap=3.0, mask=arr(3, 4))],
    "019": lambda: [case(19, sinks=arr(1), stored=True)],
    "020": lambda: [case(20, alibi_slopes=np.array([0.5]), is_causal=True, stored=True)],
    "021": w021,
    "022": lambda: [case(22, B=2, Hq=2, mask=arr(2, 3, 4))],
    "023": lambda: [case(23, B=2, Hq=2, mask=arr(1, 1, 3, 4))],
    "024": lambda: [case(24, mask=np.full((1, 4), -1e5))],
    "025": w025,
    "026": lambda: [case(26, Hq=3, Hkv=1)],
    "027": lambda: [case(27, sinks=arr(1), query_lengths=np.array([2]))],
    "028": w028,
}


def draw(seed):
    """A random case with any options, NaN and infinity at excluded places among them."""
    r = np.random.default_rng([77, seed])
    pick = lambda *x: x[r.integers(len(x))]
    dtype = pick("float64", "float64", "float32", "float16", "bfloat16")
    np_dtype = BF if dtype == "bfloat16" else np.dtype(dtype)
    B, Hkv, G = int(r.integers(1, 4)), int(r.integers(1, 3)), int(r.integers(1, 4))
    Sq, Sk, E, Ev = int(pick(1, 2, 3, 5, 9, 12)), int(pick(0, 1, 2, 4, 7, 11)), int(r.integers(1, 9)), int(r.integers(1, 11))
    Hq = Hkv * G
    g = case(seed, B, Hq, Hkv, Sq, Sk, E, Ev, dtype, spread=float(pick(0.5, 1.0, 1.0, 3.0 if dtype == "float64" else 1.0)))
    if r.random() < 0.4:
        g["grad_logsumexp"] = r.standard_normal((B, Hq, Sq)).astype(np_dtype)
    if r.random() < 0.4:
        g["sinks"] = r.standard_normal(Hq).astype(np_dtype)
    if r.random() < 0.3:
        g["alibi_slopes"] = (r.random(Hq) * 0.5).astype(np_dtype)
    if r.random() < 0.5:
        shape = [(Sq, Sk), (1, Sk), (Hq, Sq, Sk), (1, Sq, Sk), (B, Hq, Sq, Sk), (B, 1, 1, Sk), (1, 1, Sq, Sk), (1, Hq, 1, Sk)][r.integers(8)]
        out = r.random(shape) < 0.3
        if r.random() < 0.5:
            g["mask"] = ~out
        else:
            g["mask"] = np.where(out, -np.inf, r.standard_normal(shape)).astype(np_dtype)
    if r.random() < 0.35:
        g["key_lengths"] = r.integers(0, Sk + 1, B)
    if r.random() < 0.35:
        g["query_lengths"] = r.integers(0, Sq + 1, B)
    g["is_causal"] = bool(r.random() < 0.5)
    g["causal_alignment"] = pick("top_left", "bottom_right")
    if r.random() < 0.3:
        g["scale"] = float(pick(0.0, -0.7, 0.3, 1.0))
    if r.random() < 0.35:
        g["softcap"] = float(pick(0.0, 1.5, 5.0))
    if r.random() < 0.35:
        g["window"] = [pick(None, 0, 1, 3), pick(None, 0, 1, 3)]
    if r.random() < 0.4:
        output, lse = base.stored(**g)
        if r.random() < 0.7:
            g["output"] = output
        if r.random() < 0.7:
            g["logsumexp"] = lse
    if r.random() < 0.25:  # NaN anywhere
        name = pick("grad_output", "query", "key", "value")
        if g[name].size and "output" not in g and "logsumexp" not in g:
            at = tuple(int(r.integers(n)) for n in g[name].shape)
            g[name][at] = np.nan
    if "key_lengths" in g and Sk and r.random() < 0.5:
        for b, n in enumerate(g["key_lengths"]):
            g["key"][b, :, n:], g["value"][b, :, n:] = np.nan, np.inf
    if "query_lengths" in g and r.random() < 0.5:
        for b, n in enumerate(g["query_lengths"]):
            for name in ("query", "grad_output", "output", "logsumexp", "grad_logsumexp"):
                if name in g:
                    g[name][b, :, n:] = np.nan
    return g


def clear(result, given):
    """Rows that do not count are not compared."""
    result = dict(named(result, given))
    if given.get("query_lengths") is not None:
        for name in ("grad_query", "delta", "grad_scores"):
            if name in result:
                result[name] = result[name].copy()
                for b, n in enumerate(given["query_lengths"]):
                    result[name][b, :, int(n):] = 0
    return result


def call(function, given):
    return function(**given)


def main(count):
    bad = 0
    for path in sorted((HERE / "wrong").glob("*.py")):
        function = getattr(load(path), OP)
        said = []
        for given in WITNESSES[path.name[:3]]():
            before = {k: v.copy() for k, v in given.items() if isinstance(v, np.ndarray)}
            result = clear(call(function, given), given)
            for k, v in before.items():
                if not np.array_equal(v.astype(float), given[k].astype(float), equal_nan=True):
                    said.append(f"{k} was changed")
            said.append(differs(result, {**given, **before}))
        function, wrong = getattr(load(path), OP), []
        for seed in range(count):
            given = draw(seed)
            before = {k: v.copy() for k, v in given.items() if isinstance(v, np.ndarray)}
            if differs(clear(call(function, given), given), {**given, **before}):
                wrong.append(seed)
        shown = [s for s in said if s]
        bad += not shown
        print(path.name, "SHOWN" if shown else "NOT SHOWN", said, f"| random {len(wrong)}/{count} {wrong[:6]}", flush=True)
    rights = [("base.matrices", base.matrices, None)]
    for path in sorted((HERE / "right").glob("*.py")):
        module = load(path)
        rights.append((path.name, getattr(module, OP), getattr(module, "conventions", {})))
    for name, function, conventions in rights:
        wrong = []
        for seed in range(count * 4):
            given = draw(seed)
            sent = dict(given)
            if (conventions or {}).get("logsumexp_base") == "2":
                dtype = given["query"].dtype
                if "logsumexp" in sent:
                    bare = {k: v for k, v in given.items() if k not in ("output", "logsumexp")}
                    bare = {k: (v.astype(np.float64) if isinstance(v, np.ndarray) and v.dtype == dtype else v) for k, v in bare.items()}
                    sent["logsumexp"] = (base.stored(**bare)[1] / np.log(2)).astype(dtype)
                if "grad_logsumexp" in sent:
                    sent["grad_logsumexp"] = (given["grad_logsumexp"].astype(np.float64) * np.log(2)).astype(dtype)
                    given = {**given, "grad_logsumexp": sent["grad_logsumexp"].astype(np.float64) / np.log(2)}
            said = differs(clear(call(function, sent), sent), given)
            if said:
                wrong.append((seed, said))
        bad += bool(wrong)
        print(name, "right" if not wrong else "WRONG", wrong[:4], flush=True)
    print("bad:", bad)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 80)
