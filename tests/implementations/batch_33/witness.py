"""Shows each wrong file to differ from base within the contract, and each right file to agree with it."""

import importlib.util
import json
import pathlib
import sys

import ml_dtypes
import numpy as np

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base

DTYPES = [np.dtype(t) for t in (np.float64, np.float32, ml_dtypes.bfloat16, np.float16)]
ROUNDING = {"float64": 2e-13, "float32": 1e-5, "bfloat16": 2e-2, "float16": 3e-3}
CLEAR = 0.05
rng = np.random.default_rng(33)
BATCH = json.loads((HERE / "batch.json").read_text())


def load(file):
    spec = importlib.util.spec_from_file_location(file.replace("/", "_")[:-3], HERE / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ask(function, arguments):
    try:
        result = function(**arguments)
        return {name: np.array(value, copy=True) for name, value in result.items()}
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def difference(a, b, clear):
    """None where two answers agree within `clear`, relative to the largest number; else words."""
    if isinstance(a, str) or isinstance(b, str):
        return None if isinstance(a, str) and isinstance(b, str) else f"{str(a)[:60]!r} / {str(b)[:60]!r}"
    if a.keys() != b.keys():
        return f"outputs {list(a)} / {list(b)}"
    for name in b:
        x, y = a[name], b[name]
        if x.shape != y.shape:
            return f"{name}: shape {x.shape} / {y.shape}"
        if x.dtype != y.dtype:
            return f"{name}: dtype {x.dtype} / {y.dtype}"
        x, y = x.astype(np.float64), y.astype(np.float64)
        same = (np.isnan(x) & np.isnan(y)) | (x == y)
        finite = np.isfinite(x) & np.isfinite(y)
        if (~same & ~finite).any():
            return f"{name}: {x[~same & ~finite][0]} / {y[~same & ~finite][0]}"
        if finite.any():
            size = np.abs(y[finite]).max()
            worst = np.abs(x - y)[finite].max()
            if worst > clear * max(size, 1e-30):
                return f"{name}: off by {worst:.3g} of {size:.3g}"
    return None


def normal(shape, dtype):
    return rng.standard_normal(shape).astype(dtype)


def rotary_inputs(B, H, S, E, pairs, dtype, table=None, **more):
    angles = rng.uniform(0.3, 6, (B, S, pairs))
    table = dtype if table is None else table
    return dict(x=normal((B, H, S, E), dtype), cos=np.cos(angles).astype(table), sin=np.sin(angles).astype(table), **more)


# ordinary inputs, on which a file that is wrong in a corner only must agree with base


def ordinary(operation, dtype):
    n = lambda low, high: int(rng.integers(low, high + 1))
    if operation == "apply_rotary":
        S = n(2, 5)
        H = 6 if S == 5 else S + 1
        return rotary_inputs(n(1, 3), H, S, 9, n(1, 4), dtype, pairing=["half", "interleaved"][n(0, 1)])
    if operation == "rotary_tables":
        S = n(2, 4)
        return dict(position_ids=rng.integers(0, 6, (n(1, 3), S)), inverse_frequencies=rng.uniform(0, 0.9, S + 1).astype(dtype),
                    attention_factor=float(rng.uniform(0.5, 2)))
    if operation == "rotary_frequencies":
        return frequencies(list(base.NEEDED)[n(0, 6)])
    if operation == "causal_mask":
        return dict(query_length=n(0, 9), key_length=n(0, 9), offset=n(-3, 9), additive=False)
    if operation == "split_heads":
        H = n(1, 4)
        return dict(x=normal((n(1, 3), n(1, 5), H * n(1, 4)), dtype), num_heads=H)
    if operation == "combine_heads":
        return dict(x=normal((n(2, 3), n(1, 4), n(2, 5), n(2, 4)), dtype))
    if operation == "glorot_normal":
        return dict(fan_in=2 * n(1, 40), fan_out=n(1, 40), seed=n(1, 10**6))
    S, D = n(1, 12), n(2, 6)
    return dict(encoder_states=normal((S, D), dtype), decoder_state=normal(D, dtype), scale=[None, 0.3, -0.5, 2.0][n(0, 3)])


def frequencies(scaling):
    R = 2 * int(rng.integers(2, 40))
    given = dict(width=R, theta=float(rng.choice([500.0, 10000.0, 500000.0])), scaling=scaling, factor=float(rng.uniform(1, 16)),
                 original_length=int(rng.choice([2048, 4096, 8192])), low_frequency_factor=1.0, high_frequency_factor=4.0)
    if scaling == "dynamic":  # a new factor in each call, so that nothing of earlier calls is asked again
        given["sequence_length"] = int(rng.choice([1000, 5000, 20000]))
    if scaling == "longrope":
        given |= dict(short_factors=rng.uniform(1, 2, R // 2), long_factors=list(rng.uniform(2, 9, R // 2)),
                      sequence_length=[None, 1000, 9000][int(rng.integers(3))])
    if scaling == "proportional":
        given |= dict(proportion=[0, 0.25, 0.3, 0.77, 1][int(rng.integers(5))])
        if rng.integers(2):
            del given["factor"]
    if scaling == "yarn":
        given |= dict(truncate=bool(rng.integers(2)), attention_factor=[None, None, 0.7][int(rng.integers(3))])
        if rng.integers(2):
            given |= dict(magnitude_scaling=0.7, magnitude_scaling_all_dimensions=[None, 1.0][int(rng.integers(2))])
        if given["theta"] == 500.0:
            given["width"] = max(R, 64)
    return given


# one input for each wrong file; each returns (what wrong gave, what base gave)


def both(module, operation, arguments, fresh=True):
    return ask(getattr(module, operation), arguments), ask(getattr(base, operation), arguments)


F64, F32, BF16, F16 = DTYPES


def witness(number, module, op):
    call = lambda **arguments: both(module, op, arguments)
    if number == 1:
        return call(**rotary_inputs(2, 3, 1, 4, 2, F32))
    if number == 2:
        return call(**rotary_inputs(2, 3, 3, 4, 2, F32))
    if number == 3:
        given = rotary_inputs(1, 1, 2, 4, 2, F32)
        given["cos"][0, 0], given["sin"][0, 0], given["x"][0, 0, 0, 1] = 1, 0, np.inf
        return call(**given)
    if number == 4:
        given = rotary_inputs(1, 2, 2, 8, 2, F32, pairing="interleaved")
        given["x"][0, 0, 0, 5] = np.inf
        return call(**given)
    if number == 5:
        return call(**rotary_inputs(1, 2, 2, 24, 12, F32))
    if number == 6:
        given = rotary_inputs(2, 2, 3, 8, 4, F32)
        given["sin"] = np.asfortranarray(given["sin"])
        return call(**given)
    if number == 7:
        return call(**rotary_inputs(1, 2, 3, 4, 2, BF16, table=F32))
    if number == 8:
        return call(position_ids=np.array([[0, 2, 1, 3]]), inverse_frequencies=np.array([1, 0.1], F32))
    if number == 9:
        return call(position_ids=np.array([[0, 2, 5]]), inverse_frequencies=np.array([1, 0.1, 0.01], F32))
    if number == 10:
        return call(position_ids=np.array([[0, 3, 5000]]), inverse_frequencies=np.array([1, 0.1], F64))
    if number == 11:
        positions, rates = np.array([[0, 3, 7]]), np.array([1, 0.5])
        module.rotary_tables(positions, rates.astype(F32))
        return call(position_ids=positions, inverse_frequencies=rates)
    if number == 12:
        given = dict(width=8, scaling="dynamic", factor=4.0, original_length=2048)
        module.rotary_frequencies(**given, sequence_length=16384)
        return call(**given, sequence_length=4096)
    if number == 13:
        return call(width=32, scaling="yarn", factor=8.0, original_length=64, truncate=False)
    if number == 14:
        return call(width=8, scaling="yarn", factor=40.0, original_length=4096, magnitude_scaling=0.7,
                    magnitude_scaling_all_dimensions=0)
    if number == 15:
        return call(width=8, scaling="llama3", factor=8.0, original_length=8192)
    if number == 16:
        return call(query_length=3, offset=-1, additive=True)
    if number == 17:
        return call(query_length=65, key_length=70, offset=5)
    if number == 18:
        return call(x=normal((2, 3, 8), F32)[:, :, ::2], num_heads=2)
    if number == 19:
        return call(x=normal((1, 2, 6), F32), num_heads=4)
    if number == 20:
        x = normal((1, 2, 8), F32)
        module.split_heads(x, 2)
        return call(x=x, num_heads=4)
    if number == 21:
        return call(x=np.asfortranarray(normal((2, 2, 3, 4), F32)))
    if number == 22:
        one, two = normal((1, 2, 3, 4), F32), normal((1, 2, 3, 4), F32)
        kept = module.combine_heads(one)
        module.combine_heads(two)
        return {name: value.copy() for name, value in kept.items()}, base.combine_heads(one)
    if number == 23:
        return call(x=normal((2, 1, 1, 4), F32))
    if number == 24:
        return call(x=normal((2, 2, 0, 4), F32))
    if number == 25:  # against itself: the same seed must give the same matrix, as in base
        given = dict(fan_in=64, fan_out=64, seed=0)
        assert difference(ask(base.glorot_normal, given), ask(base.glorot_normal, given), 0) is None
        return ask(module.glorot_normal, given), ask(module.glorot_normal, given)
    if number == 26:
        return call(fan_in=65, fan_out=65, seed=1)
    if number == 27:
        return call(encoder_states=normal((3, 4), F32), decoder_state=normal(1, F32))
    if number == 28:
        return call(encoder_states=np.array([[30, 1], [-30, 2], [0, 3.0]], F32), decoder_state=np.array([3, 0.0], F32), scale=-1.0)
    if number == 29:
        return call(encoder_states=normal((3, 4), F64), decoder_state=normal(4, F64), scale=0)
    if number == 30:
        states = normal((20, 4), F64)
        states[18] = [2, 2, 2, 2]
        return call(encoder_states=states, decoder_state=np.array([1, 1, 1, 1.0]))
    if number == 31:
        return call(encoder_states=np.array([[200, 300], [250, 300], [1, 2]], F16), decoder_state=np.array([200, 150], F16), scale=2.0**-12)


# refusals that base and every file must share, but for the file whose mistake it is


def refused(operation):
    z = np.zeros
    if operation == "apply_rotary":
        good = rotary_inputs(2, 3, 4, 6, 2, F32)
        t = lambda *shape: z(shape, F32)
        yield good | dict(pairing="other")
        yield good | dict(x=t(3, 4, 6))
        yield good | dict(cos=t(4, 2), sin=t(4, 2))
        yield good | dict(sin=t(2, 4, 1))
        for shape in ((1, 4, 2), (2, 1, 2), (2, 5, 2), (2, 4, 4), (2, 4, 6)):
            yield good | dict(cos=t(*shape), sin=t(*shape))
    elif operation == "rotary_tables":
        yield dict(position_ids=z(3, int), inverse_frequencies=z(2))
        yield dict(position_ids=z((1, 3), int), inverse_frequencies=z((1, 2)))
    elif operation == "rotary_frequencies":
        for width in (0, 7, -2):
            yield dict(width=width)
        yield dict(width=8, scaling="other")
        yield dict(width=8, theta=0)
        yield dict(width=8, theta=1, scaling="yarn", factor=2, original_length=4096)
        yield dict(width=2, scaling="dynamic", factor=2, original_length=4096)
        yield dict(width=8, scaling="linear", factor=-1)
        yield dict(width=8, scaling="proportional", proportion=1.5)
        yield dict(width=8, scaling="llama3", factor=2, original_length=64, low_frequency_factor=4, high_frequency_factor=4)
        full = dict(factor=2, original_length=64, low_frequency_factor=1, high_frequency_factor=4,
                    short_factors=[1.0] * 4, long_factors=[1.0] * 4)
        for scaling, names in base.NEEDED.items():
            for name in names:
                yield dict(width=8, scaling=scaling, **(full | {name: None}))
        yield dict(width=8, scaling="longrope", **(full | dict(long_factors=[1.0] * 3)))
        yield dict(width=8, scaling="longrope", **(full | dict(short_factors=[1.0])))
    elif operation == "split_heads":
        yield dict(x=z((2, 3, 5), F32), num_heads=2)
        yield dict(x=z((3, 4), F32), num_heads=2)
    elif operation == "combine_heads":
        yield dict(x=z((2, 3, 5), F32))
    elif operation == "context_vector":
        yield dict(encoder_states=z((3, 4), F32), decoder_state=z(3, F32))
        yield dict(encoder_states=z((3, 4), F32), decoder_state=z((1, 4), F32))


MISSING_REFUSALS = {15, 27}  # those of the list above that a mistake concerns


def sanity(number, file, operation):
    """How many ordinary inputs tell the file from base (none is hoped for), dtypes and inputs kept, refusals shared."""
    module, differing, asked = load(file), 0, 0
    for round_ in range(160):
        dtype = DTYPES[round_ % 4]
        arguments = ordinary(operation, dtype)
        before = {k: np.array(v, copy=True) if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
        mine, right = both(module, operation, arguments)
        assert not isinstance(right, str), (file, right, arguments)
        for k, v in before.items():
            assert np.array_equal(np.asarray(v), np.asarray(arguments[k])), (file, "edits", k)
        asked += 1
        clear = ROUNDING[dtype.name] if operation not in ("rotary_frequencies", "glorot_normal") else 1e-12
        if operation == "glorot_normal" and number == 26:
            clear = np.inf  # other random numbers
        differing += difference(mine, right, clear) is not None
    for arguments in refused(operation):
        assert isinstance(ask(getattr(base, operation), arguments), str), (operation, arguments)
        if not isinstance(ask(getattr(module, operation), arguments), str):
            assert number in MISSING_REFUSALS, (file, "takes", {k: getattr(v, "shape", v) for k, v in arguments.items()})
    return differing, asked


def examples():
    """The worked examples of the pages."""
    close = lambda a, b, t=6e-5: np.testing.assert_allclose(np.asarray(a, dtype=float), b, atol=t, rtol=0)
    x, c, s = np.arange(1, 6.0).reshape(1, 1, 1, 5), np.array([[[0, 1.0]]]), np.array([[[1, 0.0]]])
    close(base.apply_rotary(x, c, s)["output"].ravel(), [-3, 2, 1, 4, 5])
    close(base.apply_rotary(x, c, s, "interleaved")["output"].ravel(), [-2, 1, 3, 4, 5])
    yarn = base.rotary_frequencies(8, scaling="yarn", factor=4, original_length=4096)
    close(yarn["inverse_frequencies"], [1, 0.1, 0.00625, 0.00025], 1e-9)
    close(yarn["attention_factor"], 1.1386)
    close(base.rotary_tables(np.array([[0, 3]]), np.array([1, 0.5]))["sin"][0], [[0, 0], [0.1411, 0.9975]])
    close(base.causal_mask(2, 4, 2)["output"], [[1, 1, 1, 0], [1, 1, 1, 1]])
    states = np.array([[0.64, -0.27, 0.89, -0.12], [-0.45, 0.33, 0.71, 0.08], [0.19, -0.94, 0.56, 0.37], [0.03, 0.85, -0.41, 0.76]])
    close(base.context_vector(states, np.array([0.45, 0.11, -0.88, 0.67]))["context"], [0.0958, 0.1498, 0.2467, 0.3885])


def rights():
    for file in sorted((HERE / "right").glob("*.py")):
        module = load(f"right/{file.name}")
        operation = next(o for o in ("apply_rotary", "rotary_tables", "rotary_frequencies", "context_vector") if hasattr(module, o))
        worst = 0
        for round_ in range(1200):
            dtype = DTYPES[round_ % 4]
            arguments = ordinary(operation, dtype)
            if operation == "apply_rotary" and round_ % 3 == 0:
                n = lambda a, b: int(rng.integers(a, b + 1))
                S = n(1, 40)
                arguments = rotary_inputs(n(1, 3), n(1, 5), S, 33, n(1, 16), dtype, table=[F32, None][n(0, 1)] if dtype != F64 else None,
                                          pairing=["half", "interleaved"][n(0, 1)])
                arguments["x"][rng.random(arguments["x"].shape) < 0.02] = [np.nan, np.inf, -np.inf][n(0, 2)]
                arguments["x"] = np.asfortranarray(arguments["x"])
            top = 1
            if operation == "rotary_tables" and round_ % 2:
                top = int(rng.choice([300, 5000, 131072]))
                arguments["position_ids"] = rng.integers(0, top, (2, 6))
            if operation == "context_vector":
                S, D = int(rng.integers(1, 60)), int(rng.integers(1, 20))
                arguments = dict(encoder_states=normal((S, D), dtype), decoder_state=normal(D, dtype), scale=[None, 0, -1.5, 0.2][round_ % 4])
            mine, right = both(module, operation, arguments)
            assert not isinstance(right, str), (operation, right)
            # a phase is as exact as float32 holds it, or float64
            clear = ROUNDING[dtype.name] + top * (2e-7 if dtype != F64 else 1e-15)
            if operation == "rotary_frequencies":
                clear = 1e-13
            told = difference(mine, right, clear)
            assert told is None, (file.name, dtype, told, arguments)
        for arguments in refused(operation):
            assert isinstance(ask(getattr(module, operation), arguments), str), (file.name, arguments)
        print(f"right  {file.name}: agrees on 1200 random inputs")


def main():
    examples()
    assert len(BATCH) == 31
    for number, entry in enumerate(BATCH, 1):
        module = load(entry["file"])
        assert module.dtypes == base.DTYPES
        mine, right = witness(number, module, entry["operation"])
        clear = CLEAR
        if number == 12:
            clear = 0.01  # measured against the first frequency, which is 1; the second is half of what it should be
        if number in (10, 11):
            clear = 1e-9 if number == 11 else 1e-6  # float64: thousands of times what rounding makes
        told = difference(mine, right, clear)
        assert told, (entry["file"], "is not shown to differ")
        differing, asked = sanity(number, entry["file"], entry["operation"])
        print(f"shown  {entry['file']}: {told}; differs on {differing} of {asked} ordinary inputs")
    rights()
    print("all shown")


main()
