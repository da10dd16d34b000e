"""Every wrong file differs clearly from base on an input within the contract; right files agree on many."""
import importlib.util
import json
import pathlib
import sys
import warnings

import ml_dtypes
import numpy as np

warnings.simplefilter("ignore")
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base  # noqa: E402

DT = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
OPS = ("multi_head_attention", "single_head_attention", "context_vector")


def load(path):
    spec = importlib.util.spec_from_file_location("f_" + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def op_of(module):
    names = [n for n in OPS if hasattr(module, n)]
    assert len(names) == 1, names
    return names[0]


def call(function, args):
    try:
        return function(**args)
    except ValueError as error:
        return error


def differ(got, want):
    """None, or what differs clearly; the largest difference counts beside the size of the numbers."""
    if isinstance(want, ValueError) or isinstance(got, ValueError):
        return None if type(got) is type(want) else f"refused: {isinstance(got, ValueError)}, should be {isinstance(want, ValueError)}"
    worst = 0.0, ""
    for name, right in want.items():
        wrong = got[name]
        if wrong.shape != right.shape or wrong.dtype != right.dtype:
            return f"{name}: {wrong.shape} {wrong.dtype} for {right.shape} {right.dtype}"
        a, b = wrong.astype(np.float64), right.astype(np.float64)
        if (np.isfinite(a) != np.isfinite(b)).any() or (np.isnan(a) != np.isnan(b)).any():
            return f"{name}: not finite in the same places"
        keep = np.isfinite(b)
        if keep.any():
            size = max(np.abs(b[keep]).max(), 1e-300)
            worst = max(worst, (float(np.abs(a[keep] - b[keep]).max() / size), name))
    return worst


def mha(seed=0, B=2, Sq=3, Sk=3, D=8, H=2, dtype="float64", biases="qkvo", **more):
    r = np.random.default_rng(seed)
    t = DT[dtype]
    args = {n: r.standard_normal((B, S, D)).astype(t) for n, S in (("query", Sq), ("key", Sk), ("value", Sk))}
    args |= {"w_" + n: (r.standard_normal((D, D)) / D**0.5).astype(t) for n in ("query", "key", "value", "output")}
    args |= {"b_" + n: r.standard_normal(D).astype(t) for n in ("query", "key", "value", "output") if n[0] in biases}
    return args | {"num_heads": H} | more


def single(seed=0, S=4, D=5, d_k=3, d_v=6, out=None, dtype="float64", **more):
    r = np.random.default_rng(seed)
    t = DT[dtype]
    args = {"x": r.standard_normal((S, D)), "w_query": r.standard_normal((D, d_k)), "w_key": r.standard_normal((D, d_k)),
            "w_value": r.standard_normal((D, d_v))}
    if out is not None:
        args["w_output"] = r.standard_normal((d_v, out))
    return {n: a.astype(t) for n, a in args.items()} | more


def context(seed=0, S=4, D=5, dtype="float64", **more):
    r = np.random.default_rng(seed)
    return {"encoder_states": r.standard_normal((S, D)).astype(DT[dtype]),
            "decoder_state": r.standard_normal(D).astype(DT[dtype])} | more


def boolean(seed, *shape):
    m = np.random.default_rng(seed).random(shape) < 0.6
    m[..., 0] = True
    return m


def floats(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape) * 2


def with_gone(m, *where):
    m = m.copy()
    m[where] = -np.inf
    return m


def row_off(m, *where):
    m = m.copy()
    m[where] = False
    return m


def changed(args, **more):
    return args | more


def far_heads():
    a = mha(biases="")
    w = np.eye(8)
    return a | {"w_query": w, "w_key": w, "query": a["query"] * np.repeat([60.0, 0.01], 4), "key": a["key"] * np.repeat([60.0, 0.01], 4)}


def low_scores():
    one = np.ones((1, 2, 4))
    a = mha(B=1, Sq=2, Sk=2, D=4, H=1, biases="")
    return a | {"query": one * 100, "key": -one * np.array([[[100.0], [100.01]]]), "w_query": np.eye(4), "w_key": np.eye(4), "is_causal": True}


same = mha(seed=3)
W = {  # calls, of which the last one is compared
    "001": [mha(B=2, H=2, mask=boolean(7, 2, 3, 3))],
    "002": [changed(same, key=same["query"].copy())],
    "003": [mha(mask=row_off(boolean(1, 3, 3), 1))],
    "004": [mha(mask=row_off(boolean(1, 2, 3, 3), 0, 1))],
    "005": [mha(mask=floats(1, 3, 3), is_causal=True)],
    "006": [mha()],
    "007": [mha(mask=boolean(8, 2, 1, 3, 3))],
    "008": [mha(mask=row_off(boolean(1, 3, 3), 1))],
    "009": [mha(), changed(mha(), b_value=mha(seed=5)["b_value"])],
    "010": [mha(mask=np.tri(3, dtype=bool).T.copy().T)],
    "011": [mha(mask=floats(1, 3, 3), is_causal=True)],
    "012": [far_heads()],
    "013": [mha(B=3, mask=np.tri(3, dtype=bool))],
    "014": [mha(mask=row_off(boolean(1, 3, 3), 1))],
    "015": [mha(mask=with_gone(floats(1, 3, 3), 0, 2))],
    "016": [mha(Sq=20, Sk=20, is_causal=True)],
    "017": [low_scores()],
    "018": [single(scale=-0.5)],
    "019": [single(S=40)],
    "020": [single(out=6)],
    "021": [single()],
    "022": [single()],
    "023": [single(out=2)],
    "024": [changed(single(), w_query=single()["w_key"])],
    "025": [changed(single(), w_value=np.asfortranarray(single()["w_value"]))],
    "026": [context(), context(scale=2.0)],
    "027": [{"encoder_states": np.tile(np.array([[0.5, 0.25]]), (600, 1)).astype(DT["bfloat16"]),
             "decoder_state": np.array([1, 1]).astype(DT["bfloat16"])}],
    "028": [context(scale=0.0)],
    "029": [changed(context(), decoder_state=np.array([0.5]))],
    "030": [context(S=1)],
    "031": [changed(context(scale=-1.0), encoder_states=context()["encoder_states"] * 1000)],
}


def copies(args):
    return {n: a.copy(order="K") if isinstance(a, np.ndarray) else a for n, a in args.items()}


def witness(path):
    module = load(path)
    op = op_of(module)
    for args in W[path.name[:3]]:
        given = copies(args)
        got = call(getattr(module, op), given)
    for name, array in args.items():
        if isinstance(array, np.ndarray) and not np.array_equal(given[name], array, equal_nan=array.dtype.kind == "f"):
            return f"input {name} changed"
    found = differ(got, call(getattr(base, op), copies(args)))
    if isinstance(found, tuple):
        return f"{found[1]} differs by {found[0]:.2g}" if found[0] > 0.01 else None
    return found


def draw(op, r, dtype):
    seed = int(r.integers(1 << 30))
    n = lambda low, high: int(r.integers(low, high + 1))
    if op == "multi_head_attention":
        H, E, B, Sq, Sk = n(1, 4), n(1, 5), n(0 if r.random() < 0.1 else 1, 3), n(0 if r.random() < 0.1 else 1, 9), n(0 if r.random() < 0.1 else 1, 14)
        if r.random() < 0.4:
            Sk = Sq
        args = mha(seed, B, Sq, Sk, H * E, H, dtype, "".join(c for c in "qkvo" if r.random() < 0.6))
        if r.random() < 0.6:
            shape = [(Sq, Sk), (1, Sk), (H, Sq, Sk), (1, Sq, Sk), (B, 1, Sq, Sk), (B, H, Sq, Sk), (B, 1, 1, Sk), (1, H, 1, Sk)][n(0, 7)]
            if r.random() < 0.5:
                args["mask"] = r.random(shape) < 0.6
            else:
                m = r.standard_normal(shape)
                if r.random() < 0.5:
                    m[r.random(shape) < 0.3] = -np.inf
                args["mask"] = m.astype(DT[dtype])
        if r.random() < 0.4:
            args["is_causal"] = True
        if r.random() < 0.2 and Sk:
            args["value"][:, n(0, Sk - 1)] = np.nan
    elif op == "single_head_attention":
        args = single(seed, n(1, 12), n(1, 6), n(1, 6), n(1, 6), n(1, 6) if r.random() < 0.5 else None, dtype)
    else:
        args = context(seed, n(1, 12), n(1, 8), dtype)
    if r.random() < 0.4:
        args["scale"] = float([0, 1, -0.7, 0.3][n(0, 3)])
    return args


def agree(path, rounds, factor=200):
    module = load(path)
    op = op_of(module)
    bad, worst = 0, 0.0
    r = np.random.default_rng(11)
    for number in range(rounds):
        dtype = base.DTYPES[number % 4]
        args = draw(op, r, dtype)
        given = copies(args)
        got = call(getattr(module, op), given)
        want = call(getattr(base, op), copies(args))
        found = differ(got, want)
        unit = UNIT["float32"] if dtype == "float64" and getattr(module, "conventions", {}).get("accumulation") else UNIT[dtype]
        if isinstance(found, tuple) and found[0] <= factor * unit:
            worst = max(worst, found[0] / unit)
        elif found is not None:
            bad += 1
    return bad, worst


if __name__ == "__main__":
    entries = json.loads((HERE / "batch.json").read_text())
    files = sorted(HERE.glob("wrong/*.py"))
    assert [e["file"] for e in entries] == ["wrong/" + f.name for f in files], "batch.json and files differ"
    good = True
    for path, entry in zip(files, entries):
        assert op_of(load(path)) == entry["operation"]
        found = witness(path)
        good &= found is not None
        print(path.stem, "|", found or "NOT SHOWN", "| differs in %d of 200 draws" % agree(path, 200)[0])
    for path in sorted(HERE.glob("right/*.py")):
        bad, worst = agree(path, 1000)
        good &= bad == 0
        print(path.stem, "| disagrees in %d of 1000 draws, worst %.1f units" % (bad, worst))
    print("ALL SHOWN" if good else "SOMETHING IS MISSING")
    sys.exit(not good)
