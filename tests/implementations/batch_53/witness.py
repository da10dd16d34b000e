"""Shows for every wrong file one input on which it differs, and that right files agree. Run: python witness.py"""
import importlib.util
import json
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import ml_dtypes
import numpy as np

import base

BF16 = np.dtype(ml_dtypes.bfloat16)
DT = {"float64": np.dtype("f8"), "float32": np.dtype("f4"), "bfloat16": BF16, "float16": np.dtype("f2")}
EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "bfloat16": 2.0**-7, "float16": 2.0**-10}
rng = np.random.default_rng(53)


def load(file):
    spec = importlib.util.spec_from_file_location("w_" + pathlib.Path(file).stem, HERE / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def normal(*shape, dtype="float64"):
    return rng.standard_normal(shape).astype(DT[dtype])


def tables(b, s, p, dtype="float64"):
    angle = rng.uniform(0, 6, (b, s, p))
    return np.cos(angle).astype(DT[dtype]), np.sin(angle).astype(DT[dtype])


def agree(got, want, factor=0.0, dtype="float64"):
    """The worst difference, in units of roundings, is at most factor; NaN and infinities alike; shape and dtype alike."""
    if set(got) != set(want):
        return False
    for name, expected in want.items():
        given = np.asarray(got[name])
        if given.shape != expected.shape or given.dtype != expected.dtype:
            return False
        a, b = given.astype(np.float64), expected.astype(np.float64)
        if not (np.isnan(a) == np.isnan(b)).all() or not (np.isinf(a) == np.isinf(b)).all():
            return False
        finite = np.isfinite(b)
        if not (a[np.isinf(b)] == b[np.isinf(b)]).all():
            return False
        room = factor * EPS[dtype] * max(1.0, np.abs(b[finite]).max(initial=0.0))
        if not (np.abs(a[finite] - b[finite]) <= room).all():
            return False
    return True


def copies(arguments):
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in arguments.items()}


def refuses(function, **arguments):
    try:
        function(**arguments)
    except (ValueError, TypeError, IndexError):
        return True
    return False


# -- ordinary inputs of each operation: wrong files that show only somewhere agree on these --------------------------

def ordinary(operation):
    for dtype in DT:
        if operation == "apply_rotary":
            for pairing in ("half", "interleaved"):
                c, s = tables(2, 5, 3, dtype)
                yield dict(x=normal(2, 3, 5, 8, dtype=dtype), cos=c, sin=s, pairing=pairing), dtype
        elif operation == "rotary_tables":
            yield dict(position_ids=np.array([[3, 4, 9], [0, 1, 7]]), inverse_frequencies=np.array([1, 0.125], DT[dtype]),
                       attention_factor=1.25), dtype
        elif operation == "split_heads":
            yield dict(x=normal(2, 5, 12, dtype=dtype), num_heads=3), dtype
        elif operation == "combine_heads":
            yield dict(x=normal(2, 3, 5, 4, dtype=dtype)), dtype
        elif operation == "context_vector":
            yield dict(encoder_states=normal(6, 4, dtype=dtype), decoder_state=normal(4, dtype=dtype)), dtype
    if operation == "rotary_frequencies":
        for attributes in FREQUENCIES:
            yield dict(attributes), "float64"
    if operation == "causal_mask":
        for additive in (False, True):
            yield dict(query_length=4, additive=additive), "float64"
            yield dict(query_length=2, key_length=6, offset=4, additive=additive), "float64"
            yield dict(query_length=6, key_length=2, offset=-1, additive=additive), "float64"
    if operation == "glorot_normal":
        yield dict(fan_in=64, fan_out=128, seed=3), "float64"


FREQUENCIES = [
    dict(width=8), dict(width=8, theta=500.0), dict(width=8, scaling="linear", factor=4),
    dict(width=8, scaling="dynamic", factor=4, original_length=4096, sequence_length=6000),
    dict(width=8, scaling="dynamic", factor=2, original_length=512),
    dict(width=16, scaling="llama3", factor=8, original_length=512, low_frequency_factor=1, high_frequency_factor=4),
    dict(width=4, scaling="longrope", factor=4, original_length=64, sequence_length=100, short_factors=[1, 1.5],
         long_factors=[2, 3]),
    dict(width=4, scaling="longrope", factor=4, original_length=64, attention_factor=1.5, short_factors=[1, 1.5],
         long_factors=[2, 3]),
    dict(width=12, scaling="proportional", proportion=0.4), dict(width=12, scaling="proportional", proportion=0.4, factor=2),
    dict(width=8, scaling="yarn", factor=4, original_length=4096),
    dict(width=16, scaling="yarn", factor=4, original_length=4096, truncate=False),
    dict(width=8, scaling="yarn", factor=4, original_length=4096, magnitude_scaling=0.7, magnitude_scaling_all_dimensions=1),
    dict(width=8, scaling="yarn", factor=4, original_length=4096, magnitude_scaling=0.7),
    dict(width=8, scaling="yarn", factor=4, original_length=4096, attention_factor=0.5),
]


def is_normal(matrix, fan_in, fan_out):
    """The properties of the page."""
    z = np.sort(np.asarray(matrix, dtype=np.float64).ravel()) / math.sqrt(2 / (fan_in + fan_out))
    n = z.size
    cdf = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in z])
    distance = max((np.arange(1, n + 1) / n - cdf).max(), (cdf - np.arange(n) / n).max())
    p = min(1.0, 2 * math.exp(-2 * n * distance**2))
    return (np.asarray(matrix).shape == (fan_in, fan_out) and abs(z.mean()) < 6 / math.sqrt(n)
            and abs(z.std() - 1) < 6 / math.sqrt(2 * n) and p > 1e-9 and np.abs(z).max() > 2.5)


REFUSED = {
    "apply_rotary": lambda: [
        dict(x=normal(3, 5, 8), cos=tables(2, 5, 2)[0], sin=tables(2, 5, 2)[0]),
        dict(x=normal(2, 3, 5, 8), cos=normal(5, 2), sin=normal(5, 2)),
        dict(x=normal(2, 3, 5, 8), cos=normal(2, 5, 2), sin=normal(2, 5, 1)),
        dict(x=normal(2, 3, 5, 8), cos=normal(1, 5, 2), sin=normal(1, 5, 2)),
        dict(x=normal(2, 3, 5, 8), cos=normal(2, 1, 2), sin=normal(2, 1, 2)),
        dict(x=normal(2, 3, 5, 3), cos=normal(2, 5, 2), sin=normal(2, 5, 2)),
        dict(x=normal(2, 3, 5, 8), cos=normal(2, 5, 2), sin=normal(2, 5, 2), pairing="neox"),
    ],
    "rotary_tables": lambda: [
        dict(position_ids=np.arange(4), inverse_frequencies=normal(3)),
        dict(position_ids=np.arange(4)[None], inverse_frequencies=normal(1, 3)),
    ],
    "rotary_frequencies": lambda: [
        dict(width=7), dict(width=0), dict(width=8, scaling="ntk"), dict(width=8, theta=0), dict(width=8, scaling="linear"),
        dict(width=8, scaling="linear", factor=0), dict(width=2, scaling="dynamic", factor=2, original_length=8),
        dict(width=8, scaling="dynamic", factor=2), dict(width=8, scaling="yarn", factor=2),
        dict(width=8, scaling="yarn", factor=2, original_length=64, theta=1),
        dict(width=8, scaling="proportional", proportion=1.5), dict(width=8, scaling="proportional", proportion=-0.5),
        dict(width=8, scaling="llama3", factor=2, original_length=64, low_frequency_factor=4, high_frequency_factor=4),
        dict(width=8, scaling="llama3", factor=2, original_length=64, low_frequency_factor=4),
        dict(width=8, scaling="longrope", factor=2, original_length=64, short_factors=[1] * 4),
        dict(width=8, scaling="longrope", factor=2, original_length=64, short_factors=[1] * 3, long_factors=[1] * 3),
        dict(width=8, scaling="longrope", factor=2, original_length=64, short_factors=[1], long_factors=[1] * 4),
    ],
    "split_heads": lambda: [dict(x=normal(2, 3, 7), num_heads=2), dict(x=normal(2, 3, 4), num_heads=8)],
    "context_vector": lambda: [dict(encoder_states=normal(3, 4), decoder_state=normal(3))],
}


# -- one witness for each wrong file: returns True where it differs ------------------------------------------------------

def differs(**arguments):
    def run(module, operation):
        got = getattr(module, operation)(**copies(arguments))
        want = getattr(base, operation)(**copies(arguments))
        dtype = next((str(v.dtype) for v in arguments.values() if isinstance(v, np.ndarray) and v.dtype.kind in "fV"), "float64")
        return not agree(got, want, 64, dtype)
    return run


def laid_out(**arguments):
    """As differs, with the arrays as they lie."""
    def run(module, operation):
        return not agree(getattr(module, operation)(**arguments), getattr(base, operation)(**arguments), 64)
    return run


def takes(**arguments):
    def run(module, operation):
        return refuses(getattr(base, operation), **copies(arguments)) and not refuses(getattr(module, operation), **copies(arguments))
    return run


def raises(**arguments):
    def run(module, operation):
        getattr(base, operation)(**arguments)
        return refuses(getattr(module, operation), **arguments)
    return run


def edits(name, **arguments):
    def run(module, operation):
        given = copies(arguments)
        getattr(module, operation)(**given)
        return not (given[name] == arguments[name]).all()
    return run


def second_call(first, second):
    def run(module, operation):
        getattr(module, operation)(**first)
        return not agree(getattr(module, operation)(**second), getattr(base, operation)(**second), 64)
    return run


def first_result(first, second):
    def run(module, operation):
        result = getattr(module, operation)(**first)
        getattr(module, operation)(**second)
        return not agree(result, getattr(base, operation)(**first))
    return run


def not_normal(fan_in, fan_out):
    def run(module, operation):
        good = all(is_normal(base.glorot_normal(fan_in, fan_out, seed)["output"], fan_in, fan_out) for seed in range(3))
        return good and not any(is_normal(module.glorot_normal(fan_in, fan_out, seed)["output"], fan_in, fan_out) for seed in range(3))
    return run


def put(array, index, value):
    array = array.copy()
    array[index] = value
    return array


C, S = tables(2, 4, 2)
C1, S1 = tables(2, 1, 2)
C6, S6 = tables(2, 6, 2)
POS = np.array([[0, 1, 2, 3], [0, 1, 0, 1]])
CP, SP = (base.rotary_tables(POS, np.array([1.0, 0.1]))[name] for name in ("cos", "sin"))
LONG = dict(width=8, scaling="dynamic", factor=4, original_length=4096)
STATES = np.linspace(-1, 1, 48)[:, None] * np.ones((1, 4)) + normal(48, 4) * 0.1
WITNESS = {
    1: differs(x=put(normal(2, 2, 4, 8), (0, 1, 2, 6), np.inf), cos=C, sin=S, pairing="interleaved"),
    2: differs(x=normal(2, 2, 4, 4), cos=CP, sin=SP),
    3: differs(x=put(normal(2, 2, 4, 4), (1, 0, 1, 3), np.inf), cos=C, sin=S),
    4: laid_out(x=normal(2, 4, 3, 4).swapaxes(1, 2), cos=C, sin=S),
    5: takes(x=normal(2, 2, 4, 4), cos=C6, sin=S6),
    6: edits("x", x=normal(2, 2, 1, 4), cos=C1, sin=S1),
    7: differs(position_ids=np.array([[0, 2, 1, 3]]), inverse_frequencies=np.array([1.0, 0.1])),
    8: differs(position_ids=np.array([[0, 257, 515]]), inverse_frequencies=np.array([1.0, 0.125], dtype=BF16)),
    9: differs(position_ids=np.array([[0, 2, 1, 3]]), inverse_frequencies=np.array([1.0, 0.1]), attention_factor=0.75),
    10: second_call(LONG | dict(sequence_length=16384), LONG | dict(sequence_length=5000)),
    11: differs(width=8, scaling="yarn", factor=4, original_length=4096, magnitude_scaling=0, magnitude_scaling_all_dimensions=1),
    12: differs(width=8, scaling="proportional", proportion=0),
    13: differs(width=4, scaling="longrope", factor=4, original_length=64, short_factors=[1, 1.5], long_factors=[2, 3]),
    14: differs(width=8, scaling="yarn", factor=4, original_length=64, truncate=False),
    15: takes(width=8, scaling="longrope", factor=4, original_length=64, short_factors=[1, 1, 1, 1], long_factors=[2, 3, 4]),
    16: differs(query_length=4, key_length=5, offset=-3),
    17: differs(query_length=3, key_length=4, offset=2),
    18: differs(query_length=1, key_length=4, offset=1),
    19: differs(x=normal(2, 3, 6), num_heads=3),
    20: laid_out(x=np.asfortranarray(normal(2, 3, 8)), num_heads=4),
    21: differs(x=put(normal(2, 3, 8), (1, 2, 5), np.inf), num_heads=2),
    22: laid_out(x=np.broadcast_to(normal(2, 1, 3, 4), (2, 3, 3, 4))),
    23: first_result(dict(x=normal(2, 3, 1, 4)), dict(x=normal(2, 3, 1, 4))),
    24: differs(x=normal(2, 3, 4, 5, dtype="bfloat16")),
    25: raises(fan_in=65, fan_out=65, seed=1),
    26: not_normal(72, 80),
    27: differs(encoder_states=normal(6, 4) * 100, decoder_state=normal(4) * 10, scale=-1.0),
    28: differs(encoder_states=normal(1, 4), decoder_state=normal(4)),
    29: takes(encoder_states=normal(5, 4), decoder_state=normal(1)),
    30: differs(encoder_states=STATES, decoder_state=np.ones(4)),
    31: differs(encoder_states=np.ones((700, 4), dtype=BF16), decoder_state=np.ones(4, dtype=BF16)),
}


def wrong_files():
    shown = 0
    for number, entry in enumerate(json.loads((HERE / "batch.json").read_text()), 1):
        module, operation = load(entry["file"]), entry["operation"]
        ok = WITNESS[number](module, operation)
        module = load(entry["file"])
        function = getattr(module, operation)
        notes = []
        for arguments, dtype in ordinary(operation):
            if operation == "glorot_normal":
                got = function(**arguments)["output"]
                same = is_normal(got, arguments["fan_in"], arguments["fan_out"]) and (got == function(**arguments)["output"]).all()
            else:
                given = copies(arguments)
                same = agree(function(**given), getattr(base, operation)(**copies(arguments)), 8, dtype)
                same &= all((given[k] == v).all() for k, v in arguments.items() if isinstance(v, np.ndarray))
            if not same:
                notes.append("unlike base on an ordinary input")
        for arguments in REFUSED.get(operation, list)():
            if not refuses(getattr(base, operation), **arguments):
                notes.append(f"base takes {list(arguments)}")
            if not refuses(function, **arguments):
                notes.append("takes what is refused")
        shown += ok
        print(f"{number:3d} {'shown' if ok else 'NOT SHOWN'} {entry['file']} {sorted(set(notes)) or ''}")
    return shown


def right_files():
    passed = 0
    for file in sorted((HERE / "right").glob("*.py")):
        module, good, count = load(f"right/{file.name}"), True, 0

        def hold(operation, factor, dtype="float64", **arguments):
            nonlocal good, count
            count += 1
            given = dict(arguments)
            before = copies(arguments)
            got = getattr(module, operation)(**given)
            fine = agree(got, getattr(base, operation)(**before), factor, dtype)
            fine &= all(given[k].tobytes() == v.tobytes() for k, v in before.items() if isinstance(v, np.ndarray))
            if not fine:
                print("   ", file.name, operation, dtype, {k: getattr(v, "shape", v) for k, v in arguments.items()})
            good &= bool(fine)

        for operation in [name for name in REFUSED if hasattr(module, name)]:
            for arguments in REFUSED[operation]():
                if not refuses(getattr(module, operation), **arguments):
                    good = False
                    print("    takes", operation, list(arguments))
        for round_ in range(60):
            b, h, s, e = rng.integers(0 if round_ % 5 == 0 else 1, 5, 4)
            for dtype in DT:
                if hasattr(module, "apply_rotary"):
                    e2 = e + int(rng.integers(0, 6))
                    x = normal(b, s, h, e2, dtype=dtype).swapaxes(1, 2)
                    if x.size and round_ % 3 == 0:
                        x[tuple(int(rng.integers(n)) for n in x.shape)] = rng.choice([np.nan, np.inf, -np.inf])
                    c, sn = tables(b, s, int(rng.integers(0, e2 // 2 + 1)), dtype)
                    hold("apply_rotary", 4, dtype, x=x, cos=c, sin=sn, pairing=str(rng.choice(["half", "interleaved"])))
                if hasattr(module, "split_heads"):
                    x = normal(b, s, (h + 1) * e, dtype=dtype)[:, ::-1]
                    hold("split_heads", 0, dtype, x=x, num_heads=int(h + 1))
                    hold("combine_heads", 0, dtype, x=normal(b, s, h, e, dtype=dtype).swapaxes(1, 2))
                if hasattr(module, "context_vector"):
                    n = int(rng.integers(1, 70))
                    states, asking = normal(n, e, dtype=dtype), normal(e, dtype=dtype)
                    scale = None if round_ % 2 else float(rng.uniform(-3, 3))
                    hold("context_vector", 40, dtype, encoder_states=states, decoder_state=asking, scale=scale)
                if hasattr(module, "rotary_tables"):
                    # positions so small that a float32 phase has the digits
                    f = rng.uniform(0, 1, int(e)).astype(DT[dtype])
                    hold("rotary_tables", 40 if dtype == "float64" else 400 if dtype == "float32" else 2, dtype,
                         position_ids=rng.integers(0, 64, (b, s)), inverse_frequencies=f, attention_factor=float(rng.uniform(0.5, 2)))
            if hasattr(module, "causal_mask"):
                arguments = dict(query_length=int(b), key_length=int(h), offset=int(rng.integers(-6, 7)))
                hold("causal_mask", 0, **arguments)
                got = module.causal_mask(**arguments, additive=True)["output"]
                good &= np.array_equal(got, base.causal_mask(**arguments, additive=True)["output"])
                count += 1
            if hasattr(module, "rotary_frequencies"):
                for attributes in FREQUENCIES:
                    attributes = dict(attributes)
                    if "short_factors" not in attributes:
                        attributes["width"] = int(rng.integers(2, 33)) * 2
                    attributes["theta"] = float(rng.uniform(100, 1e6))
                    if attributes.get("scaling") == "yarn":
                        attributes["truncate"] = False  # no case near a step
                    if attributes.get("scaling") == "proportional":
                        attributes["proportion"] = float(rng.uniform(0.1, 1))
                    got, want = module.rotary_frequencies(**attributes), base.rotary_frequencies(**attributes)
                    count += 1
                    a, w = got["inverse_frequencies"], want["inverse_frequencies"]
                    fine = np.allclose(a, w, rtol=3e-6, atol=0) and np.allclose(got["attention_factor"], want["attention_factor"], rtol=1e-6)
                    if not fine:
                        print("   ", file.name, attributes, a / w - 1)
                    good &= bool(fine)
        if hasattr(module, "glorot_normal"):
            for seed in range(8):
                got = module.glorot_normal(63 + seed, 67, seed)["output"]
                again, other = (module.glorot_normal(63 + seed, 67, n)["output"] for n in (seed, seed + 1))
                good &= is_normal(got, 63 + seed, 67) and (got == again).all() and not (got == other).all()
                count += 1
        passed += good
        print(f"right {'agrees' if good else 'DIFFERS'} {file.name} on {count} inputs")
    return passed


shown, passed = wrong_files(), right_files()
print(f"{shown} wrong files shown, {passed} right files agree")
sys.exit(not (shown == 31 and passed == 4))
