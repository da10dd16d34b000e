"""For every wrong file an input on which it differs from base; for every right one many on which it agrees.
Also: how many of the random inputs each wrong file gets right."""
import importlib.util, json, pathlib, sys, inspect
import numpy as np, ml_dtypes
here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
import base

BF = ml_dtypes.bfloat16
UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}
NAMES = {"float64": np.float64, "float32": np.float32, "bfloat16": BF, "float16": np.float16}
OPS = ("scaled_dot_product_attention_backward", "merge_states", "softmax")


def load(path):
    spec = importlib.util.spec_from_file_location("f" + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    name = [n for n in OPS if hasattr(module, n)]
    assert len(name) == 1, (path, name)
    return name[0], getattr(module, name[0])


def answer(function, given):
    try:
        out = function(**given)
    except ValueError as error:
        return "refused"
    if not isinstance(out, dict):
        out = {"output": out}
    return out


def worst(got, right, given, elementwise=False):
    """(largest error over the scale of the output, what is off), inf where NaN, shape, dtype or refusal differ."""
    if isinstance(got, str) or isinstance(right, str):
        same = isinstance(got, str) and isinstance(right, str)
        return (0, "") if same else (np.inf, "refusal")
    bad, where = 0.0, ""
    n = given.get("query_lengths")
    for name, r in right.items():
        if name not in got:
            return np.inf, name + " missing"
        g = got[name]
        if g.shape != r.shape or g.dtype != r.dtype:
            return np.inf, name + " shape or dtype"
        g, r = np.asarray(g, np.float64), np.asarray(r, np.float64)
        if n is not None and name in ("grad_query", "delta", "grad_scores"):  # rows that nothing is asked of
            g, r = g.copy(), r.copy()
            for b, k in enumerate(np.asarray(n)):
                g[b, :, k:] = r[b, :, k:] = 0
        same = (g == r) | (np.isnan(g) & np.isnan(r)) | (np.isinf(r) & np.isnan(g))
        if same.all():
            continue
        if not (np.isfinite(g) == np.isfinite(r))[~same].all():
            return np.inf, name + " NaN or infinity"
        finite = np.isfinite(r)
        with np.errstate(invalid="ignore"):
            error = np.where(same, 0, np.abs(g - r))
        size = np.abs(r) + 1e-300 if elementwise else np.abs(r[finite]).max() + 1e-300
        if not elementwise and name in ("grad_sinks", "grad_mask", "grad_query", "grad_key", "delta", "grad_scores"):
            size = max(size, given.get("_size", 1.0))
        e = np.max(error / size)
        if e > bad:
            bad, where = e, name
    return bad, where


rng = np.random.default_rng(32)


def arr(shape, dtype, size=1.0):
    return (rng.standard_normal(shape) * size).astype(NAMES[dtype])


def backward_inputs(dtype="float64", B=2, Hq=4, Hkv=2, Sq=5, Sk=6, E=4, Ev=3, stored=(), sinks=False, alibi=False,
                    glse=False, **more):
    g = dict(grad_output=arr((B, Hq, Sq, Ev), dtype), query=arr((B, Hq, Sq, E), dtype),
             key=arr((B, Hkv, Sk, E), dtype), value=arr((B, Hkv, Sk, Ev), dtype))
    if sinks:
        g["sinks"] = arr((Hq,), dtype)
    if alibi:
        g["alibi_slopes"] = np.abs(arr((Hq,), dtype))
    if glse:
        g["grad_logsumexp"] = arr((B, Hq, Sq), dtype)
    g.update(more)
    return store(g, stored)


def store(g, stored):
    if stored:
        out, lse = base.forward_right(**{k: v for k, v in g.items()})
        if "output" in stored:
            g["output"] = out
        if "logsumexp" in stored:
            g["logsumexp"] = lse
    return g


def random_backward(dtype):
    B, Hkv, G = rng.integers(1, 4), rng.integers(1, 3), rng.integers(1, 4)
    Sq, Sk, E, Ev = rng.integers(1, 14), rng.integers(0, 20), rng.integers(1, 6), rng.integers(1, 6)
    Hq = Hkv * G
    more = {}
    kind = rng.integers(0, 4)
    if kind:
        shapes = [(B, Hq, Sq, Sk), (Hq, Sq, Sk), (Sq, Sk), (B, 1, 1, Sk), (1, Sk), (1, Hq, 1, Sk), (B, 1, Sq, Sk)]
        shape = shapes[rng.integers(len(shapes))]
        more["mask"] = rng.random(shape) < 0.7 if kind == 1 else arr(shape, dtype)
        if kind == 3:
            more["mask"][rng.random(shape) < 0.3] = -np.inf
    if rng.random() < 0.4:
        more["key_lengths"] = rng.integers(0, Sk + 1, B)
    if rng.random() < 0.4:
        more["query_lengths"] = rng.integers(0, Sq + 1, B)
    if rng.random() < 0.5:
        more["is_causal"] = True
    if rng.random() < 0.5:
        more["causal_alignment"] = "bottom_right"
    if rng.random() < 0.4:
        more["window"] = [None if rng.random() < 0.3 else int(rng.integers(0, 6)) for _ in range(2)]
    if rng.random() < 0.3:
        more["softcap"] = float(rng.choice([0, 0.5, 2.0]))
    if rng.random() < 0.5:
        more["scale"] = float(rng.choice([0, -0.5, 1.0, 0.25]))
    stored = [n for n in ("output", "logsumexp") if rng.random() < 0.4]
    return backward_inputs(dtype, B, Hq, Hkv, Sq, Sk, E, Ev, stored, rng.random() < .4, rng.random() < .3,
                           rng.random() < .5, **more)


def random_nonfinite_backward(dtype):
    g = random_backward(dtype)
    stored = [n for n in ("output", "logsumexp") if g.pop(n, None) is not None]
    B, Hq, Sq, Ev = g["grad_output"].shape
    if "key_lengths" in g:
        for b, n in enumerate(g["key_lengths"]):
            g["key"][b, :, n:] = np.nan
            g["value"][b, :, n:] = np.inf
    for b in range(B):
        n = g["query_lengths"][b] if "query_lengths" in g else Sq
        g["query"][b, :, n:] = np.nan
        g["grad_output"][b, :, n:] = np.nan
    if rng.random() < 0.5 and g["grad_output"].size:
        g["grad_output"][tuple(rng.integers(0, s) for s in g["grad_output"].shape)] = np.nan
    if rng.random() < 0.3 and g["value"].size:
        g["value"][tuple(rng.integers(0, s) for s in g["value"].shape)] = np.nan
    return store(g, stored)


def random_merge(dtype):
    B, H, S, Ev = rng.integers(1, 4), rng.integers(1, 4), rng.integers(0, 6), rng.integers(1, 6)
    size = rng.choice([1, 30])
    g = dict(output_a=arr((B, H, S, Ev), dtype), logsumexp_a=arr((B, H, S), dtype, size),
             output_b=arr((B, H, S, Ev), dtype), logsumexp_b=arr((B, H, S), dtype, size))
    for part in "ab":
        if rng.random() < 0.5:
            empty = rng.random((B, H, S)) < 0.3
            g["logsumexp_" + part][empty] = -np.inf
            g["output_" + part][empty] = rng.choice([0, 7, np.nan, np.inf])
        if rng.random() < 0.2 and S:
            g["output_" + part][0, 0, 0, 0] = np.nan
        if rng.random() < 0.2 and S:
            g["logsumexp_" + part][0, 0, 0] = np.nan
    return g


def random_softmax(dtype):
    shape = tuple(rng.integers(1, 12, rng.integers(1, 4)))
    if rng.random() < 0.2:
        shape = (3, 40)
    g = {"x": arr(shape, dtype, rng.choice([1, 10, 1000]))}
    if rng.random() < 0.2 and shape[-1] > 1:
        g["x"][..., 0] = -np.inf
    if rng.random() < 0.2 and len(shape) > 1:
        g["x"] = g["x"].swapaxes(0, -1)
    pick = rng.integers(0, 3)
    if pick == 1:
        g["axis"] = int(rng.integers(-len(shape), len(shape)))
    if pick == 2:
        g["axis"] = None
    return g


def pool(operation):
    bank = []
    for n in range(240):
        dtype = ("float64", "float32", "bfloat16", "float16")[n % 4]
        if operation == "softmax":
            bank.append((dtype, random_softmax(dtype)))
        elif operation == "merge_states":
            bank.append((dtype, random_merge(dtype)))
        else:
            bank.append((dtype, (random_nonfinite_backward if n % 3 == 2 else random_backward)(dtype)))
    return bank


def room(dtype, operation, given):
    """What rounding may do on the random inputs, over the size of the output."""
    u = UNIT[dtype]
    if operation == "softmax":
        return 32 * max(u, 2.0**-24 if dtype != "float64" else u) if dtype != "float64" else 1e-12
    if operation == "merge_states":
        return 64 * u * 10
    return 400 * u if ("output" in given or "logsumexp" in given) else 64 * u


def frozen(given):
    return {k: v.tobytes() for k, v in given.items() if isinstance(v, np.ndarray)}


# ------------------------------------------------------------- witnesses: file -> list of calls, the last one is compared
def w001():
    return [backward_inputs(glse=True)]
def w002():
    return [backward_inputs(sinks=True, stored=("logsumexp",))]
def w003():
    return [backward_inputs(glse=True, stored=("output", "logsumexp"))]
def w004():
    return [backward_inputs(Sq=40, Sk=16, causal_alignment="bottom_right", window=[2, None])]
def w005():
    g = backward_inputs()
    g["grad_output"] = np.broadcast_to(arr((1, 1, 1, 3), "float64"), (2, 4, 5, 3))
    return [g]
def w006():
    g = backward_inputs(stored=("output",))
    g["output"] = np.ascontiguousarray(g["output"].swapaxes(1, 2)).swapaxes(1, 2)
    return [g]
def w007():
    a = backward_inputs()
    return [a, dict(a, key_lengths=np.array([3, 6]))]
def w008():
    g = backward_inputs(Ev=4)
    g["value"] = g["key"]
    return [g]
def w009():
    m = arr((5, 6), "float64"); m[2, 3] = np.nan
    return [backward_inputs(mask=m)]
def w010():
    g = backward_inputs(query_lengths=np.array([3, 5]), stored=("output",))
    g["output"][0, :, 3:] = np.nan
    return [g]
def w011():
    return [backward_inputs(B=4, mask=arr((4, 5, 6), "float64"))]
def w012():
    return [backward_inputs(Sk=1, glse=True)]
def w013():
    return [backward_inputs(scale=0.0, mask=arr((5, 6), "float64"))]
def w014():
    return [backward_inputs(sinks=True, glse=True, key_lengths=np.array([0, 6]))]
def w015():
    g = backward_inputs("float32", sinks=True); g["sinks"][...] = -20
    g["_size"] = 1e-300
    return [g]
def w016():
    # without a sink the shift of a whole row would cancel
    return [backward_inputs(Sq=7, Sk=4, alibi=True, sinks=True, causal_alignment="bottom_right")]
def parts(B=2, H=3, S=4, Ev=5, dtype="float64", size=1.0):
    return dict(output_a=arr((B, H, S, Ev), dtype), logsumexp_a=arr((B, H, S), dtype, size),
                output_b=arr((B, H, S, Ev), dtype), logsumexp_b=arr((B, H, S), dtype, size))
def w017():
    g = parts(); g["logsumexp_a"][0, 1, 2] = np.nan
    return [g]
def w018():
    g = parts(dtype="float32"); g["logsumexp_a"][0, 1, 2] = -2e31; g["logsumexp_b"][0, 1, 2] = -2e31
    return [g]
def w019():
    g = parts(); g["logsumexp_a"] = g["logsumexp_b"] + 24
    return [g]
def w020():
    return [parts(H=4, S=4)]
def w021():
    return [parts(), parts()]
def w022():
    g = parts(); g["logsumexp_b"] = g["logsumexp_b"][..., None]
    return [g]
def w023():
    g = parts(); g["logsumexp_a"][1, 1, 1] = g["logsumexp_b"][1, 1, 1] = -np.inf
    g["output_a"][1, 1, 1] = 5
    return [g]
def w024():
    g = parts(dtype="float32"); g["logsumexp_a"][0, 0, 1] = g["logsumexp_b"][0, 0, 1] = -500
    return [g]
def w025():
    return [{"x": np.array([[1.0, 2, 3], [-1.0, -1, -1]]) * np.array([[1], [1e39]])}]
def w026():
    return [{"x": np.array([3e38, 1, 2], np.float32)}]
def w027():
    return [{"x": arr((3, 4), "float64").T, "axis": None}]
def w028():
    return [{"x": np.zeros((2, 600), BF)}]
def w029():
    x = arr((2, 40), "float64"); x[0, :20] = -np.inf
    return [{"x": x}]
def w030():
    return [{"x": np.array([[30.0, 0.0], [1.0, 2.0]])}]
def w031():
    x = arr((3, 4), "float64")
    return [{"x": x, "axis": -1}, {"x": x, "axis": -2}]

ELEMENTWISE = {"015", "030"}
ENOUGH = {"019": 1e-12, "024": 1e-3}


def refused():
    """Inputs that the pages refuse, by operation."""
    g, m = backward_inputs(), parts()
    mask = np.zeros((5, 6))
    back = [dict(g, query=g["query"][0]), dict(g, key=g["key"][..., :3]), dict(g, key=g["key"][:1], value=g["value"][:1]),
            dict(g, key_lengths=np.array([3])), dict(g, query_lengths=np.array([3, 2, 1])),
            dict(g, query=g["query"][:, :3], grad_output=g["grad_output"][:, :3]), dict(g, value=g["value"][:, :1]),
            dict(g, value=g["value"][:, :, :5]), dict(g, key_lengths=np.array([-1, 2])),
            dict(g, key_lengths=np.array([7, 2])), dict(g, query_lengths=np.array([6, 2])),
            dict(g, query_lengths=np.array([-1, 2])), dict(g, mask=mask[:, :1]), dict(g, mask=mask[:4]),
            dict(g, mask=np.zeros((3, 4, 5, 6))), dict(g, mask=np.zeros((2, 5, 6))), dict(g, mask=np.zeros((1, 2, 4, 5, 6))),
            dict(g, grad_output=g["grad_output"][:, :1]), dict(g, grad_output=g["grad_output"][..., :1]),
            dict(g, grad_logsumexp=np.zeros((2, 4, 1))), dict(g, grad_logsumexp=np.zeros((4, 5)))]
    merge = [dict(m, output_a=m["output_a"][0], output_b=m["output_b"][0]), dict(m, logsumexp_a=m["logsumexp_a"][0]),
             dict(m, logsumexp_b=m["logsumexp_b"][:1]), dict(m, logsumexp_a=m["logsumexp_a"][:, :1]),
             dict(m, output_b=m["output_b"][..., :1]), dict(m, output_a=m["output_a"][:1]),
             dict(m, logsumexp_b=m["logsumexp_b"][..., :3])]
    return {OPS[0]: back, OPS[1]: merge, OPS[2]: []}


def main():
    bad_inputs = refused()
    banks = {op: pool(op) for op in OPS}
    for bank in banks.values():  # nothing may write into these
        for _, case in bank:
            for array in case.values():
                if isinstance(array, np.ndarray):
                    array.setflags(write=False)
    failed = 0
    entries = json.loads((here / "batch.json").read_text()) if (here / "batch.json").exists() else []
    files = sorted((here / "wrong").glob("*.py"))
    assert not entries or [e["file"] for e in entries] == [f"wrong/{f.name}" for f in files]
    for path in files:
        op, function = load(path)
        number = path.stem[:3]
        for case in bad_inputs[op]:
            assert answer(function, case) == answer(getattr(base, op), case) == "refused", (path, case)
        calls = globals()["w" + number]()
        kept = None
        for given in calls:
            given = dict(given)
            size = given.pop("_size", None)
            before = frozen(given)
            got = answer(function, given)
            assert frozen(given) == before, path
            if number == "021" and kept is None:
                kept, first = got, {k: v.copy() for k, v in got.items()}
        right = answer(getattr(base, op), given)
        if number == "021":
            got, right, given = kept, first, calls[0]
        if size:
            given["_size"] = size
        error, where = worst(got, right, given, number in ELEMENTWISE)
        given.pop("_size", None)
        shown = error > ENOUGH.get(number, 1e-3)
        wrong_in_bank = 0
        for dtype, case in banks[op]:
            case = dict(case)
            before = frozen(case)
            e, _ = worst(answer(function, case), answer(getattr(base, op), case), case)
            assert frozen(case) == before, path
            wrong_in_bank += e > room(dtype, op, case)
        failed += not shown
        print(f"{'shown' if shown else 'NOT SHOWN':9s} {path.stem:45s} error {error:9.2e} in {where:28s} "
              f"random inputs that show it: {wrong_in_bank}/{len(banks[op])}")
    for path in sorted((here / "right").glob("*.py")):
        op, function = load(path)
        most, bad = 0, 0
        for case in bad_inputs[op]:
            assert answer(function, case) == "refused", path
        for dtype, case in banks[op] + pool(op):
            before = frozen(case)
            e, where = worst(answer(function, case), answer(getattr(base, op), case), case)
            assert frozen(case) == before, path
            if e > room(dtype, op, case):
                bad += 1
                print("   ", dtype, where, e, {k: (v.shape if isinstance(v, np.ndarray) else v) for k, v in case.items()})
            elif e:
                most = max(most, e / room(dtype, op, case))
        failed += bad > 0
        print(f"{'agrees' if not bad else 'DIFFERS'} {path.stem}: worst {most:.2f} of the room, {bad} beyond")
    print("all shown" if not failed else f"{failed} FAILED")
    return failed


if __name__ == "__main__":
    sys.exit(main())
