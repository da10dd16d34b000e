"""Shows that every wrong implementation differs from base within the contract, and that right ones agree."""

import importlib.util
import json
import pathlib
import sys

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base

BF16, E4, E5, F16 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.float16
OPTIONAL = dict(mask=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None)
DENSE_OPTIONAL = OPTIONAL | dict.fromkeys(("past_key", "past_value", "key_lengths", "query_lengths", "query_scale", "key_scale", "value_scale", "output_dtype"))


def load(file):
    spec = importlib.util.spec_from_file_location(pathlib.Path(file).stem, HERE / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def right_answer(layout, given):
    steps = base.Steps()
    if layout is None:
        return steps.dense(DENSE_OPTIONAL | given)
    if layout == "bshe":
        return steps.bshe(DENSE_OPTIONAL | given)
    if layout == "packed":
        return steps.packed(OPTIONAL | given)
    return steps.paged(OPTIONAL | {"query_lengths": None} | given, heads_first="heads_first" in layout)


def status(call):
    try:
        return call()
    except ValueError as error:
        return f"refused: {error}"


def rows_that_count(array, name, given, layout):
    N = given.get("query_lengths")
    if N is None or name.startswith("present") or layout in ("bshe",):
        return array
    array = np.array(array)
    for b, n in enumerate(N):
        array[b, :, int(n):] = 0
    return array


def off(mine, true, given, layout):
    """The largest difference over the outputs that both give, infinite for other shapes or places of NaN."""
    if isinstance(mine, str) or isinstance(true, str):
        return 0.0 if isinstance(mine, str) and isinstance(true, str) else np.inf
    if not isinstance(mine, dict):
        mine = {"output": mine}
    worst = 0.0
    for name, array in mine.items():
        want = true[name]
        if array.shape != want.shape or array.dtype != want.dtype:
            return np.inf
        a, b = (rows_that_count(t, name, given, layout).astype(np.float64) for t in (array, want))
        if not (np.isnan(a) == np.isnan(b)).all() or not (np.isinf(a) == np.isinf(b)).all():
            return np.inf
        a, b = np.where(np.isfinite(a), a, 0), np.where(np.isfinite(b), b, 0)
        if a.size:
            worst = max(worst, float((np.abs(a - b) / (1 + np.abs(b))).max()))
    return worst


def numbers(rng, shape, dtype=np.float64):
    return rng.normal(size=shape).astype(np.float32).astype(dtype)


def dense(seed, B=1, Hq=1, Hkv=1, Sq=2, Sk=3, E=4, Ev=3, P=0, dtype=np.float64, **more):
    rng = np.random.default_rng(seed)
    given = dict(query=numbers(rng, (B, Hq, Sq, E), dtype), key=numbers(rng, (B, Hkv, Sk, E), dtype), value=numbers(rng, (B, Hkv, Sk, Ev), dtype))
    if P:
        given |= dict(past_key=numbers(rng, (B, Hkv, P, E), dtype), past_value=numbers(rng, (B, Hkv, P, Ev), dtype))
    return given | more


def quantize(given, names, dtype, factor=20):
    for name in names:
        if name in given:
            given[name] = np.clip(np.round(given[name].astype(np.float64) * factor), -120, 120).astype(dtype)
    return given


def packed(seed, queries, keys, Hq=2, Hkv=1, E=4, Ev=3, dtype=np.float64, **more):
    rng = np.random.default_rng(seed)
    starts = [np.concatenate([[0], np.cumsum(n)]).astype(np.int64) for n in (queries, keys)]
    return dict(query=numbers(rng, (sum(queries), Hq, E), dtype), key=numbers(rng, (sum(keys), Hkv, E), dtype), value=numbers(rng, (sum(keys), Hkv, Ev), dtype),
                query_starts=starts[0], key_starts=starts[1]) | more


def paged(seed, table, lengths, pages=6, size=4, Hq=2, Hkv=1, Sq=2, E=4, Ev=3, dtype=np.float64, **more):
    rng = np.random.default_rng(seed)
    return dict(query=numbers(rng, (len(table), Hq, Sq, E), dtype), key_pool=numbers(rng, (pages, size, Hkv, E), dtype),
                value_pool=numbers(rng, (pages, size, Hkv, Ev), dtype), block_table=np.array(table), key_lengths=np.array(lengths)) | more


def negative_rows():
    given = dense(20, Sq=1, Sk=40, E=4, B=2, key_lengths=np.array([40, 12]))
    given["query"][:] = 10.0
    given["key"] = -np.abs(given["key"]) * 0.1 - 5.0
    return given


def nan_behind():
    given = paged(16, [[1, 2, 3], [4, 5, 5]], [11, 3])
    given["value_pool"][5] = np.nan
    return given


def gaps():
    rng = np.random.default_rng(15)
    given = dense(15, B=2, Hq=2, Hkv=2, Sq=2, Sk=4)
    given["value"] = rng.normal(size=(2, 4, 2, 3)).swapaxes(1, 2)
    return given


def nan_key(quantized=False):
    given = dense(19, Sq=2, Sk=20)
    given["key"][0, 0, 13, 1] = np.nan
    if quantized:
        given = dense(24, Sq=2, Sk=3) | dict(key_scale=np.float32(0.5))
        key = given["key"].copy()
        key[0, 0, 1, 2] = np.nan
        given["key"] = key.astype(E4)
    return given


def latent():
    given = quantize(dense(21, Sk=5, Ev=4), ("key",), np.int8) | dict(key_scale=np.float32(0.05), value_scale=np.float32(2))
    return given | {"value": given["key"]}


def huge():
    given = dense(25, dtype=F16, Sk=3)
    value = np.array([57344, 1, 2] * 3, np.float64).reshape(1, 1, 3, 3)
    value[0, 0, 0] = 57344
    given["value"] = value.astype(E5)
    given["query"] = (given["query"].astype(np.float64)).astype(F16)
    given["key"] = given["key"] * F16(0.5)
    return given | dict(value_scale=np.float32(1.5))


def equal(dtype):
    given = dense(29, Sq=1, Sk=600, dtype=dtype)
    given["key"][:] = 0
    given["value"][:] = 1
    return given


W = {
    1: [dense(1, Sq=1, Sk=3, P=2, is_causal=True)],
    2: [dense(2, Sq=2, Sk=2, P=5, is_causal=True, window=[2, None])],
    3: [dense(3, Sq=2, Sk=2, P=3, is_causal=True), dense(3, Sq=2, Sk=3, P=2, is_causal=True)],
    5: [dense(5, B=2, Sq=4, Sk=4, key_lengths=np.array([4, 2]))],
    6: [quantize(dense(6, B=2, Hq=2, Hkv=2, P=3), ("key", "value", "past_key", "past_value"), np.int8)
        | dict(key_scale=np.float32([[0.05, 0.1], [0.02, 0.2]]), value_scale=np.float32([[1, 0.1], [0.2, 2]]))],
    7: [dense(7, Sq=70, Sk=80, is_causal=True, causal_alignment="bottom_right")],
    8: [packed(8, [2, 0, 2], [3, 2, 2])],
    9: [packed(9, [2, 0, 1], [3, 2, 2])],
    10: [packed(10, [2, 3], [4, 3], alibi_slopes=np.array([0.5, 0.25]), causal_alignment="bottom_right")],
    11: [paged(11, [[2, 4], [2, 5]], [7, 2])],
    12: [paged(12, [[2, 4]], [7], Sq=4, window=[2, None], causal_alignment="bottom_right")],
    13: [quantize(dense(13, Hq=4, Hkv=2), ("key",), np.int8) | dict(key_scale=np.float32([1, 2, 3, 4]))],
    14: [paged(14, [[2, 4]], [6], E=5)],
    15: [gaps()],
    16: [nan_behind()],
    17: [dense(17, B=2, Sq=2, Sk=20, key_lengths=np.array([20, 20])), dense(18, B=2, Sq=2, Sk=20, key_lengths=np.array([20, 5]))],
    18: [dense(18, Sq=2, Sk=24, sinks=np.array([1.0]), causal_alignment="bottom_right", window=[3, None])],
    19: [nan_key()],
    20: [negative_rows()],
    21: [latent()],
    22: [quantize(dense(22, B=2, Hq=2, Hkv=2), ("value",), np.int8) | dict(value_scale=np.float32([[1], [0.1]]))],
    23: [quantize(dense(23), ("value",), np.int8) | dict(value_scale=np.float32(0.25))],
    24: [nan_key(True)],
    25: [huge()],
    26: [quantize(dense(26), ("key",), np.int8) | dict(key_scale=np.float32(0.05), mask=np.array([[0.0, 1, 2], [2, 0, -1]]))],
    27: [quantize(dense(27), ("key",), np.int8) | dict(key_scale=np.float32(0.05), scale=0.0)],
    28: [dense(28, Hq=4, Hkv=2, Sq=1, mask=np.random.default_rng(28).normal(size=(4, 1, 3)))],
    29: [equal(BF16)],
    30: [dense(30, Sq=1, Sk=310, dtype=BF16, is_causal=True, causal_alignment="bottom_right", alibi_slopes=np.array([1.0], BF16))],
    31: [{name: np.ascontiguousarray(array.swapaxes(1, 2)) for name, array in dense(31, Hq=2, Hkv=2, Sq=1, Sk=4).items()}],
}


def show_wrong():
    shown = True
    for n, entry in enumerate(json.loads((HERE / "batch.json").read_text()), 1):
        module = load(entry["file"])
        layout = getattr(module, "layout", None)
        call = module.scaled_dot_product_attention
        if n == 4:
            one, two = dense(4, Sk=2, P=3), dense(5, Sk=2, P=3)
            first = call(**one)
            before = off(first, right_answer(None, one), one, None)
            call(**two)
            worst = off(first, right_answer(None, one), one, None)
            assert before < 1e-12
        else:
            worst = 0.0
            for given in W[n]:
                copies = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in given.items()}
                mine, true = status(lambda: call(**given)), status(lambda: right_answer(layout, given))
                worst = max(worst, off(mine, true, given, layout))
                assert n == 13 or not isinstance(true, str), (n, true)
                for k, v in copies.items():
                    if isinstance(v, np.ndarray):
                        assert np.array_equal(v.astype(np.float64), given[k].astype(np.float64), equal_nan=True), (n, k)
        good = worst > 0.02
        shown &= good
        print(f"{entry['file']:55} {'shown' if good else 'NOT SHOWN'}  {worst:.3g}")
    return shown


# ---- random inputs for right files, and for how often wrong ones show


def any_options(rng, Hq, T, dtype, serving):
    more = {}
    if rng.random() < 0.4:
        more["is_causal"] = True
    if rng.random() < 0.5:
        more["causal_alignment"] = "bottom_right"
    if rng.random() < 0.3:
        more["window"] = [None if rng.random() < 0.3 else int(rng.integers(0, 5)), None if rng.random() < 0.3 else int(rng.integers(0, 5))]
    if rng.random() < 0.3:
        more["softcap"] = float(rng.choice([0.0, 0.5, 2.0, 30.0]))
    if rng.random() < 0.3:
        more["scale"] = float(rng.choice([0.0, -0.5, 1.0, 0.25]))
    if rng.random() < 0.3:
        more["sinks"] = numbers(rng, (Hq,), dtype)
    if rng.random() < 0.3:
        more["alibi_slopes"] = np.abs(numbers(rng, (Hq,), dtype))
    return more


def any_mask(rng, shape, dtype):
    mask = rng.random(shape) < 0.7
    return mask if rng.random() < 0.5 else np.where(mask, rng.normal(size=shape), -np.inf).astype(dtype)


def any_dense(rng, dtype):
    B, Hkv, G = (int(rng.integers(1, 4)) for _ in range(3))
    Sq, Sk, P = int(rng.integers(0, 7)), int(rng.integers(0, 30)), int(rng.choice([0, 0, 1, 3, 9]))
    E, Ev = int(rng.integers(1, 9)), int(rng.integers(1, 9))
    given = dense(int(rng.integers(1 << 30)), B, Hkv * G, Hkv, Sq, Sk, E, Ev, P, dtype)
    given |= any_options(rng, Hkv * G, P + Sk, dtype, False)
    if rng.random() < 0.4:
        shape = [(Sq, P + Sk), (Hkv * G, Sq, P + Sk), (B, Hkv * G, Sq, P + Sk), (B, 1, 1, P + Sk)][rng.integers(4)]
        given["mask"] = any_mask(rng, shape, dtype)
    if not P:
        if rng.random() < 0.4:
            given["key_lengths"] = rng.integers(0, Sk + 1, size=B)
        if rng.random() < 0.3:
            given["query_lengths"] = rng.integers(0, Sq + 1, size=B)
    if rng.random() < 0.4:
        kind = [np.int8, E4, E5][rng.integers(3)]
        for name in ("query", "key", "value"):
            if rng.random() < 0.6:
                quantize(given, (name, "past_" + name), kind, 5)
                shape = [(), (Hkv,), (B, Hkv), (B, 1), (1, Hkv), (1,)][rng.integers(6)]
                given[name + "_scale"] = (np.abs(rng.normal(size=shape)) * 0.2 + 0.05).astype(np.float32)
        given["output_dtype"] = np.dtype(dtype).name
    elif rng.random() < 0.3 and Sk:
        given["value"][:, :, -1] = np.nan
    return given


def any_packed(rng, dtype):
    B, Hkv, G = int(rng.integers(1, 5)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
    queries, keys = rng.integers(0, 5, size=B).tolist(), rng.integers(0, 12, size=B).tolist()
    given = packed(int(rng.integers(1 << 30)), queries, keys, Hkv * G, Hkv, dtype=dtype) | any_options(rng, Hkv * G, 0, dtype, True)
    if rng.random() < 0.3:
        given["mask"] = any_mask(rng, (int(rng.choice([1, Hkv * G])), 1, max(keys)), dtype)
    return given


def any_paged(rng, dtype, csr=False, heads_first=False):
    B, Hkv, G, size = int(rng.integers(1, 4)), int(rng.integers(1, 3)), int(rng.integers(1, 3)), int(rng.integers(1, 6))
    most, pages = int(rng.integers(1, 5)), 9
    table, lengths = rng.integers(0, pages, size=(B, most)), rng.integers(0, most * size + 1, size=B)
    Sq = int(rng.integers(0, 5))
    given = paged(int(rng.integers(1 << 30)), table, lengths, pages, size, Hkv * G, Hkv, Sq, dtype=dtype) | any_options(rng, Hkv * G, 0, dtype, True)
    if rng.random() < 0.3:
        given["query_lengths"] = rng.integers(0, Sq + 1, size=B)
    if rng.random() < 0.3:
        given["mask"] = any_mask(rng, (int(rng.choice([1, Hkv * G])), 1, int(max(lengths))), dtype)
    if csr:
        table, lengths = given.pop("block_table"), given.pop("key_lengths")
        count = -(-lengths // size)
        given["page_starts"] = np.concatenate([[0], np.cumsum(count)])
        given["page_indices"] = np.concatenate([row[:n] for row, n in zip(table, count)] + [np.array([3])]).astype(np.int64)
        given["last_page_length"] = np.where(count > 0, lengths - (count - 1) * size, 77)
    if heads_first:
        for name in ("key_pool", "value_pool"):
            given[name] = given[name].swapaxes(1, 2)
    return given


MAKERS = {None: any_dense, "bshe": any_dense, "packed": any_packed, "paged": any_paged,
          "paged_csr_heads_first": lambda rng, dtype: any_paged(rng, dtype, True, True)}


def random_input(rng, layout, dtype):
    given = MAKERS[layout](rng, dtype)
    if layout == "bshe":
        for name in ("query", "key", "value", "past_key", "past_value"):
            if name in given:
                given[name] = given[name].swapaxes(1, 2)
    return given


ROOM = {"float64": 1e-11, "float32": 2e-4, "bfloat16": 2e-2, "float16": 4e-3}


def compare(file, count, loud=True):
    module = load(file)
    layout, rng = getattr(module, "layout", None), np.random.default_rng(46)
    apart, first = 0, None
    for n in range(count):
        name = base.DTYPES[n % 4]
        given = random_input(rng, layout, np.dtype(name))
        mine, true = status(lambda: module.scaled_dot_product_attention(**given)), status(lambda: right_answer(layout, given))
        worst = off(mine, true, given, layout)
        if worst > ROOM[name]:
            apart += 1
            first = first or (n, name, worst, mine if isinstance(mine, str) else "", true if isinstance(true, str) else "")
    if loud and apart:
        print(file, apart, first)
    return apart


def base_holds():
    """Packed and paged of base against its dense layout."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        given = any_paged(rng, np.float64)
        found = right_answer("paged", given)
        size, L = given["key_pool"].shape[1], given["key_lengths"]
        B, most = len(L), int(max(L))
        full = {k: v for k, v in given.items() if k not in ("key_pool", "value_pool", "block_table")}
        for name in ("key", "value"):
            pool = given[name + "_pool"]
            all_tokens = pool[given["block_table"]].reshape(B, -1, *pool.shape[2:])[:, :most]
            full[name] = all_tokens.swapaxes(1, 2)
        true = right_answer(None, full)
        assert off(found, true, given, None) < 1e-11
        N = given.get("query_lengths", np.full(B, given["query"].shape[2]))
        one = {k: v for k, v in given.items() if k in OPTIONAL}
        one["query"] = np.concatenate([given["query"][b, :, : N[b]].swapaxes(0, 1) for b in range(B)])
        one["key"] = np.concatenate([full["key"][b, :, : L[b]].swapaxes(0, 1) for b in range(B)])
        one["value"] = np.concatenate([full["value"][b, :, : L[b]].swapaxes(0, 1) for b in range(B)])
        one["query_starts"], one["key_starts"] = (np.concatenate([[0], np.cumsum(n)]) for n in (N, L))
        rows = right_answer("packed", one)["output"]
        want = np.concatenate([true["output"][b, :, : N[b]].swapaxes(0, 1) for b in range(B)])
        assert rows.shape == want.shape and (not rows.size or np.abs(rows - want).max() < 1e-11)


def edges():
    """Ordinary inputs at the edges, on which every dense file must agree with base, but for its own mistake."""
    rng = np.random.default_rng(1)
    cases = []
    for shape in (dict(B=0), dict(Hq=0, Hkv=0), dict(Sk=0), dict(Sq=0), dict(Sk=0, P=3), dict(Sq=0, Sk=0), dict(Ev=1, E=1, Sq=1, Sk=1)):
        for more in ({}, dict(is_causal=True, causal_alignment="bottom_right", window=[1, None])):
            for dtype in (np.float64, BF16, F16):
                cases.append(dense(1, **shape, dtype=dtype, **more))
    big = dense(2, Hq=2, Hkv=2, B=2, Sq=3, Sk=5)
    cases.append(big | {name: big[name][..., ::-1, :] for name in ("query", "key", "value")})
    cases.append(big | {name: np.broadcast_to(big[name][:1, :1], big[name].shape) for name in ("query", "key", "value")})
    cases.append(big | {name: np.asfortranarray(big[name]) for name in ("query", "key", "value")})
    cases.append(big | dict(key_lengths=np.array([5, 0]), sinks=np.array([0.5, -1])))
    cases.append(dense(3, Sq=3, Sk=2, is_causal=True, causal_alignment="bottom_right", sinks=np.array([2.0])))
    for value in (60000.0, -60000.0):
        cases.append(dense(4, Sk=20, dtype=F16) | {"query": np.full((1, 1, 2, 4), value, F16), "scale": 1e-3})
    cases.append(dense(5, Sk=3, dtype=BF16) | {"value": np.full((1, 1, 3, 3), 3e38, BF16)})
    cases.append(dense(5, Sk=33) | {"value": np.full((1, 1, 33, 3), 1.7e308)})
    cases.append(dense(5, Sk=33) | {"query": np.full((1, 1, 2, 4), 1e6)})
    refused = [
        big | {"query": big["query"][0]}, big | {"key": big["key"][..., :2]}, big | {"key": big["key"][:1], "value": big["value"][:1]},
        big | {"key": big["key"][:, :1]}, big | {"value": big["value"][:, :, :2]}, big | {"key_lengths": np.array([6, 1])},
        big | {"key_lengths": np.array([-1, 1])}, big | {"query_lengths": np.array([4, 1])}, big | {"key_lengths": np.array([1])},
        big | {"mask": np.ones((3, 1), bool)}, big | {"mask": np.ones((2, 5), bool)}, big | {"mask": np.ones((3, 6), bool)},
        big | {"query": np.concatenate([big["query"], big["query"][:, :1]], axis=1)},
        big | {"past_key": big["key"][:1], "past_value": big["value"][:1]}, big | {"past_key": big["key"], "past_value": big["value"][:, :, :2]},
        big | {"key": big["key"].astype(np.int8), "key_scale": np.float32([1, 2, 3])},
        big | {"key": big["key"].astype(np.int8), "key_scale": np.ones((1, 2, 1), np.float32)},
    ]
    for given in refused:
        assert isinstance(status(lambda: right_answer(None, given)), str)
    return cases + refused


def edge_report():
    for file in sorted(HERE.glob("*/*.py")):
        name = f"{file.parent.name}/{file.name}"
        module = load(name)
        layout = getattr(module, "layout", None)
        if layout is None:
            apart = []
            for n, given in enumerate(edges()):
                mine, true = status(lambda: module.scaled_dot_product_attention(**given)), status(lambda: right_answer(None, given))
                if off(mine, true, given, None) > ROOM[np.dtype(given["query"].dtype).name]:
                    apart.append(n)
            print(name, "edges apart:", apart)


if __name__ == "__main__":
    base_holds()
    good = show_wrong()
    for file in sorted((HERE / "right").glob("*.py")):
        apart = compare(f"right/{file.name}", 240)
        print(f"right/{file.name:49} {'agrees' if not apart else 'APART'}")
        good &= not apart
    if "--rates" in sys.argv:
        for entry in json.loads((HERE / "batch.json").read_text()):
            print(f"{entry['file']:55} differs on {compare(entry['file'], 120, loud=False)} of 120 random inputs")
    if "--edges" in sys.argv:
        edge_report()
    print("witness: passed" if good else "witness: FAILED")
    sys.exit(not good)
