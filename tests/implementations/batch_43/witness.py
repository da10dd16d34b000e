"""For each wrong file one input on which it differs clearly from base; for each right file many on which it agrees."""
import copy
import importlib.util
import json
import math
import pathlib
import sys
import warnings

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import base  # noqa: E402

warnings.simplefilter("ignore")
BF16 = np.dtype(ml_dtypes.bfloat16)
TYPES = {"float64": np.dtype("f8"), "float32": np.dtype("f4"), "bfloat16": BF16, "float16": np.dtype("f2")}
ROUND = {"float64": 2.0**-53, "float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}
REFUSED = "refused"


def load(file):
    spec = importlib.util.spec_from_file_location("m_" + pathlib.Path(file).stem, HERE / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(function, arguments):
    before = copy.deepcopy(arguments)
    try:
        answer = function(**arguments)
    except Exception:  # noqa: BLE001
        return REFUSED
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            assert value.tobytes() == before[name].tobytes(), f"{name} was edited"
    if not isinstance(answer, dict):
        answer = {"output": answer}
    return {name: np.asarray(value) for name, value in answer.items()}


def difference(got, want, slack):
    """None where they agree within rounding, else a sentence."""
    if isinstance(got, str) or isinstance(want, str):
        if isinstance(got, str) and isinstance(want, str):
            return None
        return f"{'refused or raised' if got is REFUSED else 'taken'}, base: {'refused' if want is REFUSED else 'taken'}"
    if got.keys() != want.keys():
        return f"outputs {sorted(got)}"
    for name in want:
        g, w = got[name], want[name]
        if g.shape != w.shape or g.dtype != w.dtype:
            return f"{name}: {g.shape} {g.dtype}, base {w.shape} {w.dtype}"
        if g.dtype == bool:
            if (g != w).any():
                return f"{name}: {int((g != w).sum())} of {g.size} differ"
            continue
        g, w = g.astype(np.float64), w.astype(np.float64)
        same = (g == w) | (np.isnan(g) & np.isnan(w))
        finite = np.isfinite(g) & np.isfinite(w)
        scale = max([1e-300, *np.abs(w[np.isfinite(w)]).ravel()])
        near = np.zeros(w.shape, dtype=bool)
        near[finite] = np.abs(g[finite] - w[finite]) <= slack * scale
        bad = ~(same | near)
        if bad.any():
            at = tuple(int(k[0]) for k in np.nonzero(bad)) if w.ndim else ()
            return f"{name}{list(at)}: {g[at]!r}, base {w[at]!r}"
    return None


R = np.random.default_rng(7)


def normal(*shape, dtype="float64"):
    return R.standard_normal(shape).astype(TYPES[dtype])


def tables(positions, pairs, dtype="float64", theta=100.0):
    p = np.asarray(positions, dtype=np.int64)
    phases = p[..., None] * theta ** (-np.arange(pairs) / pairs)
    return np.cos(phases).astype(TYPES[dtype]), np.sin(phases).astype(TYPES[dtype])


def rotary(positions, heads, width, pairs, pairing, dtype="float64"):
    b, s = np.shape(positions)
    cos, sin = tables(positions, pairs, dtype)
    return dict(x=normal(b, heads, s, width, dtype=dtype), cos=cos, sin=sin, pairing=pairing)


def with_x(arguments, change):
    change(arguments["x"])
    return arguments


def transposed():
    a = rotary([[0, 1, 2], [3, 4, 5]], 2, 4, 2, "half")
    a["x"] = np.ascontiguousarray(a["x"].transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
    return a


def put(at, value):
    def change(x):
        x[at] = value
    return change


def gap():
    return normal(1, 3, 16)[:, :, ::2]


def fortran(*shape):
    return np.asfortranarray(normal(*shape))


def last_tile():
    h = 0.1 * normal(21, 4)
    h[19] = 3
    return dict(encoder_states=h, decoder_state=np.ones(4))


def huge_half():
    h = np.full((3, 64), 40, dtype=np.float16)
    h[1] = 40.03125
    h[2, :32] = 3
    return dict(encoder_states=h, decoder_state=np.full(64, 40, dtype=np.float16), scale=0.001)


# wrong file number -> calls in order; the last is compared (all calls go to the wrong one, in one process)
YARN = dict(width=8, scaling="yarn", factor=4.0)
LISTS = dict(width=8, scaling="longrope", factor=4.0, original_length=64)
CASES = {
    1: [transposed()],
    2: [rotary([[0, 1, 2], [5, 6, 7], [0, 1, 2]], 2, 4, 2, "half")],
    3: [with_x(rotary([[0, 1, 2]], 1, 4, 2, "half"), put((0, 0, 0, 1), np.inf))],
    4: [with_x(rotary([[3, 4]], 2, 6, 2, "interleaved"), put((0, 0, 1, 5), -np.inf))],
    5: [{**rotary([[0, 1, 2]], 2, 4, 2, "half"), **dict(zip(("cos", "sin"), tables([[0, 1, 2, 3, 4]], 2)))}],
    6: [rotary([[1, 2, 3]], 2, 4, 2, "interleaved")],
    7: [dict(position_ids=np.arange(6)[None], inverse_frequencies=np.array(f)) for f in ([1, 0.5, 0.01], [1, 0.1, 0.01])],
    8: [dict(position_ids=np.array([[4, 6, 5, 7]]), inverse_frequencies=np.array([1, 0.1]))],
    9: [dict(position_ids=np.array([[0, 1, 2]]), inverse_frequencies=np.array([[1], [0.1]]))],
    10: [dict(width=8, scaling="dynamic", factor=2.0, original_length=32, sequence_length=n) for n in (100, 48)],
    11: [dict(YARN, original_length=64, theta=100.0, truncate=False)],
    12: [dict(YARN, original_length=4096, magnitude_scaling=0.7, magnitude_scaling_all_dimensions=0.0)],
    13: [dict(LISTS, short_factors=[1.0, 1.0, 2.0, 2.0], long_factors=[1.0, 2.0, 4.0], sequence_length=20)],
    14: [dict(width=12, scaling="proportional", proportion=0.6)],
    15: [dict(width=8, scaling="linear", factor=2.0, attention_factor=1.5)],
    16: [dict(query_length=4, key_length=6, offset=-3)],
    17: [dict(query_length=0, key_length=5)],
    18: [dict(query_length=1, key_length=5, offset=2)],
    19: [dict(query_length=4, key_length=4, offset=n) for n in (-1, -2)],
    20: [dict(x=normal(2, 4, 3), num_heads=2)],
    21: [dict(x=gap(), num_heads=2)],
    22: [dict(x=normal(2, 4, 3, 2))],
    23: [dict(x=normal(2, 3, 0, 4))],
    24: [dict(x=fortran(2, 3, 1, 4))],
    27: [dict(encoder_states=normal(5, 4) * 30, decoder_state=normal(4) * 30, scale=-2.0)],
    28: [huge_half()],
    29: [dict(encoder_states=normal(3, 4), decoder_state=normal(4), scale=0.0)],
    30: [dict(encoder_states=normal(3, 4), decoder_state=normal(1))],
    31: [last_tile()],
}


def glorot_faults(function, fan_in, fan_out, seed):
    """What the page's clauses say of a matrix of at least 4096 elements."""
    a, again, other = (np.asarray(function(fan_in, fan_out, k)["output"], dtype=np.float64) for k in (seed, seed, seed + 1))
    n, sigma = a.size, math.sqrt(2 / (fan_in + fan_out))
    assert n >= 4096
    z = np.sort(a.ravel() / sigma)
    cdf = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in z])
    grid = np.arange(n + 1) / n
    d = max((grid[1:] - cdf).max(), (cdf - grid[:-1]).max())
    lam = (math.sqrt(n) + 0.12 + 0.11 / math.sqrt(n)) * d
    p = min(1.0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * k * k * lam * lam) for k in range(1, 101))) if lam > 0.3 else 1.0
    faults = []
    if a.shape != (fan_in, fan_out):
        faults.append("shape")
    if abs(a.mean()) > 6 * sigma / math.sqrt(n):
        faults.append("mean")
    if abs(a.std() - sigma) > 6 * sigma / math.sqrt(2 * n):
        faults.append("standard_deviation")
    if p <= 1e-9:
        faults.append("distribution")
    if not (np.abs(z) > 2.5).any():
        faults.append("tails")
    if not np.array_equal(a, again) or np.array_equal(a, other):
        faults.append("seed")
    return faults


GLOROT = {25: (64, 64, 0), 26: (2000, 3, 5)}

# ------------------------------------------------------------------ random ordinary inputs


def lay(a):
    """The same numbers, differently in memory."""
    kind = R.integers(5)
    if kind == 0 and a.ndim > 1:
        order = R.permutation(a.ndim)
        return np.ascontiguousarray(a.transpose(order)).transpose(np.argsort(order))
    if kind == 1 and a.ndim:
        return np.ascontiguousarray(a[..., ::-1])[..., ::-1]
    if kind == 2 and a.ndim:
        return np.repeat(a, 2, axis=-1)[..., ::2]
    return a


def draw(operation, dtype, memory=True):
    i = lambda low, high: int(R.integers(low, high + 1))  # noqa: E731
    put_down = lay if memory else (lambda a: a)
    if operation == "apply_rotary":
        b, h, s, pairs = i(1, 3), i(1, 3), i(0, 5), i(0, 4)
        a = rotary(R.integers(0, 50, (b, s)), h, 2 * pairs + i(0, 2), pairs, R.choice(["half", "interleaved"]).item(), dtype)
        if R.random() < 0.3 and a["x"].size:
            a["x"].reshape(-1)[i(0, a["x"].size - 1)] = R.choice([np.nan, np.inf, -np.inf, -0.0])
        return {k: put_down(v) if isinstance(v, np.ndarray) else v for k, v in a.items()}
    if operation == "rotary_tables":
        top = i(1, 2000)
        a = dict(position_ids=put_down(R.integers(0, top, (i(1, 3), i(0, 5)))),
                 inverse_frequencies=put_down((10000.0 ** -R.random(i(0, 5))).astype(TYPES[dtype])))
        if R.random() < 0.5:
            a["attention_factor"] = float(R.choice([0.5, 1.0, 1.25]))
        return a
    if operation == "rotary_frequencies":
        scaling = R.choice(base.SCALINGS).item()
        pairs = i(2, 12)
        a = dict(width=2 * pairs, scaling=scaling)
        if R.random() < 0.5:
            a["theta"] = float(R.choice([500.0, 10000.0, 500000.0]))
        if scaling not in ("none", "proportional") or R.random() < 0.3:
            a["factor"] = float(R.choice([1.0, 2.0, 4.0, 8.5]))
        if scaling in ("dynamic", "llama3", "longrope", "yarn"):
            a["original_length"] = int(R.choice([300, 2048, 4096, 8192]))
        if scaling in ("dynamic", "longrope") and R.random() < 0.7:
            a["sequence_length"] = i(1, 9000)
        if scaling == "llama3":
            a.update(low_frequency_factor=1.0, high_frequency_factor=4.0)
        if scaling == "longrope":
            a.update(short_factors=1 + R.random(pairs), long_factors=(1 + 8 * R.random(pairs)).tolist())
        if scaling == "proportional":
            a["proportion"] = float(R.choice([0.0, 0.25, 0.5, 0.6, 1.0]))
        if scaling == "yarn":
            a["truncate"] = bool(R.random() < 0.5)
            if R.random() < 0.5:
                a.update(magnitude_scaling=float(R.choice([0.0, 0.7, 1.0])))
            if R.random() < 0.5:
                a.update(magnitude_scaling_all_dimensions=float(R.choice([0.0, 0.5, 1.0])))
            theta = a.get("theta", 10000.0)
            low, high = base.yarn_range(2 * pairs, theta, a["original_length"], 32.0, 1.0, a["truncate"])
            if low > high:  # not in the contract
                return draw(operation, dtype, memory)
        if scaling in ("longrope", "yarn") and R.random() < 0.3:
            a["attention_factor"] = 1.3
        return a
    if operation == "causal_mask":
        a = dict(query_length=i(0, 6))
        if R.random() < 0.7:
            a["key_length"] = i(0, 6)
        if R.random() < 0.7:
            a["offset"] = i(-6, 6)
        if R.random() < 0.5:
            a["additive"] = True
        return a
    if operation == "split_heads":
        h = i(1, 4)
        return dict(x=put_down(normal(i(0, 2), i(0, 5), h * i(0, 3) + (R.random() < 0.2), dtype=dtype)), num_heads=h)
    if operation == "combine_heads":
        return dict(x=put_down(normal(i(0, 2), i(0, 4), i(0, 5), i(0, 3), dtype=dtype)))
    if operation == "context_vector":
        d = i(1, 9)
        a = dict(encoder_states=put_down(normal(i(1, 40), d, dtype=dtype)), decoder_state=put_down(normal(d, dtype=dtype)))
        if R.random() < 0.5:
            a["scale"] = float(R.choice([0.0, -0.5, 0.25, 1.0, 2.0]))
        return a
    raise KeyError(operation)


def slack(dtype, factor=64):
    return (factor if dtype in ("float64", "float32") else 2.5) * ROUND[dtype]


def check_base():
    out = base.apply_rotary(np.array([[[[1.0, 2, 3, 4, 5]]]]), np.array([[[0.0, 1]]]), np.array([[[1.0, 0]]]))["output"]
    assert out.ravel().tolist() == [-3, 2, 1, 4, 5]
    out = base.apply_rotary(np.array([[[[1.0, 2, 3, 4, 5]]]]), np.array([[[0.0, 1]]]), np.array([[[1.0, 0]]]), "interleaved")
    assert out["output"].ravel().tolist() == [-2, 1, 3, 4, 5]
    f = base.rotary_frequencies(width=8, scaling="yarn", factor=4.0, original_length=4096)
    assert np.allclose(f["inverse_frequencies"], [1, 0.1, 0.00625, 0.00025]) and abs(f["attention_factor"] - 1.1386) < 1e-4
    t = base.rotary_tables(np.array([[0, 3]]), np.array([1, 0.5]))
    assert np.allclose(t["cos"], [[[1, 1], [-0.99, 0.0707]]], atol=1e-4) and np.allclose(t["sin"][0, 1], [0.1411, 0.9975], atol=1e-4)
    h = np.array([[.64, -.27, .89, -.12], [-.45, .33, .71, .08], [.19, -.94, .56, .37], [.03, .85, -.41, .76]])
    c = base.context_vector(h, np.array([.45, .11, -.88, .67]))
    assert np.allclose(c["context"], [0.09578694, 0.14982156, 0.24673243, 0.38854995], atol=1e-8)
    assert base.causal_mask(2, 4, 2)["output"].tolist() == [[True] * 3 + [False], [True] * 4]
    assert base.combine_heads(np.array([[[[1.0], [2]], [[10], [20]]]]))["output"].tolist() == [[[1, 10], [2, 20]]]
    for arguments in [(64, 64, 0), (2000, 3, 5), (4096, 1, 2)]:
        assert not glorot_faults(base.glorot_normal, *arguments)


def main():
    check_base()
    batch = json.loads((HERE / "batch.json").read_text())
    shown = 0
    for number, entry in enumerate(batch, 1):
        operation = entry["operation"]
        module = load(entry["file"])
        function = getattr(module, operation)
        assert callable(function) and module.dtypes
        if operation == "glorot_normal":
            said = ", ".join(glorot_faults(function, *GLOROT[number])) or None
            ordinary = "" if glorot_faults(function, 80, 64, 3) else "ordinary ones agree"
        else:
            for arguments in CASES[number]:
                got = call(function, arguments)
            said = difference(got, call(getattr(base, operation), CASES[number][-1]), 1e-9)
            agree, count = 0, 0
            for dtype in TYPES:
                for _ in range(40):
                    arguments = draw(operation, dtype)
                    fresh = getattr(load(entry["file"]), operation)
                    count += 1
                    agree += difference(call(fresh, arguments), call(getattr(base, operation), arguments), slack(dtype)) is None
            ordinary = f"{agree} of {count} random inputs agree"
        shown += said is not None
        print(f"{'shown' if said else 'NOT SHOWN'}  {entry['file']}: {said} ({ordinary})")
    agreed = 0
    files = sorted((HERE / "right").glob("*.py"))
    for path in files:
        module = load(path.relative_to(HERE))
        operation = path.stem[3:]
        operation = next(o for o in ("apply_rotary", "rotary_tables", "rotary_frequencies", "context_vector") if operation.startswith(o))
        bad = None
        for dtype in module.dtypes:
            for _ in range(250):
                arguments = draw(operation, dtype)
                loose = slack(dtype, 4096 if dtype == "float64" and operation == "rotary_tables" else 64)
                bad = bad or difference(call(getattr(module, operation), arguments),
                                        call(getattr(base, operation), arguments), loose)
        agreed += bad is None
        print(f"{'agrees' if bad is None else 'DIFFERS'}  right/{path.name}: {bad or '1000 random inputs'}")
    print(f"{shown} of {len(batch)} wrong files shown, {agreed} of {len(files)} right files agree")
    sys.exit(not (shown == len(batch) and agreed == len(files)))


main()
