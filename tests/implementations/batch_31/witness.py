"""Shows that each wrong file differs from base on an input within the contract, and that each right file agrees on many."""

import importlib.util
import json
import pathlib
import sys

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base  # noqa: E402

BF16 = np.dtype(ml_dtypes.bfloat16)
E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
E5M2 = np.dtype(ml_dtypes.float8_e5m2)


def load(path):
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, HERE / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REFERENCE = {
    "bhse": base.dense(), "packed": base.packed(), "paged": base.paged(), "paged_csr": base.paged_csr(),
    "paged_heads_first": base.paged(base.PagedHeadsFirst), "paged_csr_heads_first": base.paged_csr(base.PagedHeadsFirst),
}  # fmt: skip


def tokens_first(query, key, value, **rest):
    q, k, v = (x.swapaxes(1, 2) for x in (query, key, value))
    return {"output": REFERENCE["bhse"](q, k, v, **rest)["output"].swapaxes(1, 2)}


REFERENCE["bshe"] = tokens_first

r = np.random.default_rng(31)


def x(*shape, dtype=np.float64, factor=1.0):
    return (r.standard_normal(shape) * factor).astype(dtype)


def ints(*numbers):
    return np.array(numbers, np.int64)


def f32(*numbers):
    return np.array(numbers, np.float32)


def qkv(b, hq, hkv, sq, sk, e=4, ev=4, dtype=np.float64):
    return {"query": x(b, hq, sq, e, dtype=dtype), "key": x(b, hkv, sk, e, dtype=dtype), "value": x(b, hkv, sk, ev, dtype=dtype)}


def quantized(b, hq, hkv, sq, sk, key=np.dtype(np.int8), value=np.dtype(np.int8), dtype=np.float32, e=4, ev=4):
    def q(kind, *shape):
        return r.integers(-20, 21, shape).astype(kind) if kind == np.int8 else x(*shape, dtype=kind)

    return {
        "query": x(b, hq, sq, e, dtype=dtype), "key": q(key, b, hkv, sk, e), "value": q(value, b, hkv, sk, ev),
        "key_scale": np.float32(0.11) * np.ones((), np.float32), "value_scale": np.float32(0.3) * np.ones((), np.float32),
    }  # fmt: skip


def past(given, p):
    b, h, _, e = given["key"].shape
    ev = given["value"].shape[3]
    return given | {"past_key": x(b, h, p, e, dtype=given["key"].dtype), "past_value": x(b, h, p, ev, dtype=given["key"].dtype)}


def without(found, name):
    return {k: v for k, v in found.items() if k != name}


def packed(lengths, asking, hq=2, hkv=1, e=4, ev=3, dtype=np.float64, **rest):
    qs, ks = (np.concatenate(([0], np.cumsum(n))).astype(np.int64) for n in (asking, lengths))
    return {
        "query": x(qs[-1], hq, e, dtype=dtype), "key": x(ks[-1], hkv, e, dtype=dtype), "value": x(ks[-1], hkv, ev, dtype=dtype),
        "query_starts": qs, "key_starts": ks,
    } | rest  # fmt: skip


def paged(lengths, sq, size, hq=2, hkv=1, e=4, ev=3, dtype=np.float64, csr=False, heads_first=False, spare=2, share=0, **rest):
    need = [-(-n // size) for n in lengths]
    total = sum(need) + spare
    order = r.permutation(total)
    pages, at = [], 0
    for n in need:
        pages.append(list(order[at : at + n]))
        at += n
    for own in pages[1:]:
        for k in range(min(share, len(own), len(pages[0]))):
            own[k] = pages[0][k]
    given = {"query": x(len(lengths), hq, sq, e, dtype=dtype)}
    for name, width in (("key_pool", e), ("value_pool", ev)):
        pool = x(total, size, hkv, width, dtype=dtype)
        given[name] = np.ascontiguousarray(pool.swapaxes(1, 2)) if heads_first else pool
    if csr:
        given["page_starts"] = np.concatenate(([0], np.cumsum(need))).astype(np.int64)
        given["page_indices"] = np.array([p for own in pages for p in own] + [0] * (1 if rest.pop("trailing", False) else 0), np.int64)
        given["last_page_length"] = np.array([(n - 1) % size + 1 for n in lengths], np.int64)
    else:
        most = max([*need, 1]) + 1
        given["block_table"] = np.array([own + [0] * (most - len(own)) for own in pages], np.int64)
        given["key_lengths"] = np.array(lengths, np.int64)
    return given | rest


def same_totals(**rest):
    return packed([3, 2, 4], [2, 4, 3], **rest)


def witnesses():
    """For each number: the calls in order (the last one is looked at), and a word on what must differ."""
    w = {}
    w[1] = [past(qkv(1, 1, 1, 4, 1), 6) | {"window": [1, None], "is_causal": True, "causal_alignment": "bottom_right"}]
    second = qkv(1, 1, 1, 2, 4) | {"is_causal": True}
    w[2] = [past(qkv(1, 1, 1, 2, 2), 2) | {"is_causal": True}, second]
    w[3] = [qkv(1, 2, 1, 1, 20), qkv(1, 2, 1, 1, 9)]
    rising = qkv(1, 1, 1, 1, 20, e=1)
    rising["query"][:], rising["scale"] = 1, 1.0
    rising["key"][0, 0, :, 0] = np.linspace(0, 4, 20)
    w[4] = [rising]
    w[5] = [qkv(2, 2, 1, 1, 20) | {"key_lengths": ints(20, 5)}]
    w[6] = [qkv(2, 2, 1, 3, 8) | {"key_lengths": ints(8, 5), "causal_alignment": "bottom_right", "window": [1, 0]}]
    w[7] = [qkv(2, 2, 1, 3, 6) | {"query_lengths": ints(3, 1), "causal_alignment": "bottom_right", "is_causal": True}]
    w[8] = [qkv(2, 2, 1, 4, 4) | {"key_lengths": ints(4, 2), "causal_alignment": "bottom_right", "is_causal": True}]
    far = qkv(1, 1, 1, 260, 260, e=1, dtype=BF16) | {"is_causal": True}
    far["value"][:] = 0
    far["value"][0, 0, 257] = 1024
    w[9] = [far]
    w[10] = [qkv(1, 2, 1, 1, 4) | {"mask": x(1, 4)}]
    w[11] = [qkv(1, 2, 1, 1, 5) | {"alibi_slopes": np.array([0.5, 0.25])}]
    large = qkv(1, 1, 1, 2, 6, dtype=np.float16)
    large["value"] = np.full_like(large["value"], 30000)
    w[12] = [large]
    w[13] = [qkv(1, 2, 1, 2, 4) | {"mask": x(2, 4)}]
    w[14] = [past(qkv(1, 2, 1, 1, 1), 5) | {"window": [2, 0], "is_causal": True}]
    spread = qkv(1, 4, 2, 2, 5)
    spread["key"] = np.broadcast_to(x(1, 1, 5, 4), (1, 2, 5, 4))
    w[15] = [spread]
    small = quantized(1, 4, 2, 2, 4)
    small["query"] = r.integers(-20, 21, (1, 4, 2, 4)).astype(np.int8)
    w[16] = [small | {"query_scale": f32(0.1, 0.2, 0.3, 0.4), "output_dtype": "float32"}]
    w[17] = [quantized(1, 2, 1, 2, 4, key=np.dtype(np.int8), value=E4M3)]
    nan = quantized(1, 2, 1, 2, 4, key=E4M3, value=E4M3)
    nan["value"][0, 0, 1, 2] = np.nan
    w[18] = [nan]
    w[19] = [quantized(1, 2, 1, 2, 4, dtype=np.float64)]
    latent = quantized(1, 2, 1, 2, 4)
    latent["value"] = latent["key"]
    w[20] = [latent]
    w[21] = [quantized(1, 2, 1, 2, 4)]
    w[22] = [same_totals()]
    w[23] = [packed([3, 5], [2, 2], mask=x(1, 5))]
    w[24] = [packed([3, 2, 4], [2, 0, 3])]
    w[25] = [paged([9, 7], 2, 2, share=2, window=[1, 0], causal_alignment="bottom_right", is_causal=True)]
    w[26] = [paged([5, 0], 2, 4, sinks=np.array([0.5, -0.25]))]
    w[27] = [paged([9, 7], 4, 2, heads_first=True, window=[1, 0], causal_alignment="bottom_right", is_causal=True)]
    w[28] = [paged([5, 7], 1, 4, csr=True, trailing=True)]
    again = paged([5, 7], 1, 4, csr=True, heads_first=True)
    w[29] = [again, again | {"page_indices": again["page_indices"][::-1].copy()}]
    first = qkv(1, 4, 2, 3, 3) | {"alibi_slopes": np.array([0.5, 0.25, 0.125, 1.0])}
    w[30] = [first | {name: first[name].swapaxes(1, 2) for name in ("query", "key", "value")}]
    w[31] = [qkv(1, 2, 1, 1, 4)]
    return w


ROOM = {"float64": 1e-11, "float32": 4e-5, "bfloat16": 2.0**-6, "float16": 2.0**-9}


def differences(found, expected, dtype, room=None):
    """What differs by more than rounding: names of outputs, with the largest difference"""
    out = {}
    room = ROOM[np.dtype(dtype).name] if room is None else room
    for name, value in found.items():
        want = expected[name]
        inner = room if name in ("output", "present_key", "present_value") else min(room, 4e-5)
        if value.shape != want.shape or np.dtype(value.dtype) != np.dtype(want.dtype):
            out[name] = f"{value.dtype}{value.shape} for {want.dtype}{want.shape}"
            continue
        a, b = value.astype(np.float64), want.astype(np.float64)
        with np.errstate(all="ignore"):
            size = max(1.0, float(np.max(np.abs(b), where=np.isfinite(b), initial=0)))
            apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b) / size)
        apart = np.where(np.isnan(apart), np.inf, apart)
        if apart.max(initial=0) > inner:
            out[name] = float(apart.max())
    return out


def clip(found, given):
    """Rows that do not count are not compared"""
    if given.get("query_lengths") is None or "output" not in found:
        return found
    found = {k: np.array(v) for k, v in found.items()}
    for b, n in enumerate(given["query_lengths"]):
        for name in ("output", "weights", "logsumexp", "scores", "logits"):
            if name in found:
                found[name][b, :, n:] = 0
    return found


def copied(given):
    return {k: v.copy() if isinstance(v, np.ndarray) else list(v) if isinstance(v, list) else v for k, v in given.items()}


def unchanged(given, before):
    return all(
        np.array_equal(np.ascontiguousarray(v).view(np.uint8), np.ascontiguousarray(before[k]).view(np.uint8))
        if isinstance(v, np.ndarray) and v.ndim and v.size
        else np.array_equal(v, before[k])
        for k, v in given.items()
    )


def dense_random(names=None):
    """A random dense call"""
    dtype = [np.dtype(np.float64), np.dtype(np.float32), BF16, np.dtype(np.float16)][r.integers(4)]
    b, hkv, group = r.integers(1, 4), r.integers(1, 4), r.integers(1, 4)
    sq, sk = r.choice([0, 1, 2, 3, 5, 9]), r.choice([0, 1, 2, 4, 7, 15, 16, 17, 24, 33])
    e, ev = r.choice([1, 2, 3, 4, 8, 9]), r.choice([1, 3, 4, 8])
    given = qkv(b, hkv * group, hkv, sq, sk, e, ev, dtype)
    p = 0
    kind = r.integers(6)
    if kind == 0:
        p = int(r.choice([0, 1, 3, 8, 20]))
        given = past(given, p)
    if kind in (1, 2):
        given["key_lengths"] = r.integers(0, sk + 1, b)
    if kind in (2, 3):
        given["query_lengths"] = r.integers(0, sq + 1, b)
    heads = hkv * group
    if r.random() < 0.3:
        shape = [(sq, p + sk), (heads, sq, p + sk), (b, 1, sq, p + sk), (1, p + sk), (b, heads, 1, p + sk)][r.integers(5)]
        if r.random() < 0.5:
            given["mask"] = r.random(shape) < 0.7
        else:
            given["mask"] = np.where(r.random(shape) < 0.2, -np.inf, r.standard_normal(shape)).astype(dtype)
    if r.random() < 0.25:
        given["sinks"] = x(heads, dtype=dtype)
    if r.random() < 0.25:
        given["alibi_slopes"] = np.abs(x(heads, dtype=dtype))
    given |= features()
    return given, dtype


def features():
    given = {}
    if r.random() < 0.4:
        given["is_causal"] = True
    if r.random() < 0.5:
        given["causal_alignment"] = "bottom_right"
    if r.random() < 0.3:
        given["window"] = [None if r.random() < 0.3 else int(r.integers(0, 6)) for _ in range(2)]
    if r.random() < 0.3:
        given["scale"] = float(r.choice([0.0, -0.7, 1.0, 2.5]))
    if r.random() < 0.2:
        given["softcap"] = float(r.choice([0.0, 1.5, 30.0]))
    return given


def quantized_random(names=None):
    b, hkv, group = r.integers(1, 4), r.integers(1, 4), r.integers(1, 4)
    sq, sk, e, ev = r.integers(1, 4), r.integers(1, 20), r.integers(1, 6), r.integers(1, 6)
    dtype = [np.dtype(np.float64), np.dtype(np.float32), BF16, np.dtype(np.float16)][r.integers(4)]
    kinds = [np.dtype(np.int8), E4M3, E5M2]
    given = quantized(b, hkv * group, hkv, sq, sk, kinds[r.integers(3)], kinds[r.integers(3)], dtype, e, ev)

    def scale():
        shape = [(), (hkv,), (b, hkv), (b, 1), (1, hkv), (1,)][r.integers(6)]
        return np.asarray(np.abs(r.standard_normal(shape)) * 0.2 + 0.05, np.float32)

    given["key_scale"], given["value_scale"] = scale(), scale()
    if r.random() < 0.5:
        kind = kinds[r.integers(3)]
        given["query"] = r.integers(-20, 21, given["query"].shape).astype(kind)
        given |= {"query_scale": scale(), "output_dtype": dtype.name}
    if r.random() < 0.3:
        given["past_key"], given["past_value"] = given["key"][:, :, :2], given["value"][:, :, :2]
    return given | features(), dtype


def either_dense(names=None):
    return dense_random() if r.random() < 0.7 else quantized_random()


def tokens_first_random(names=None):
    while True:
        given, dtype = dense_random()
        if "past_key" not in given:
            return given | {name: given[name].swapaxes(1, 2) for name in ("query", "key", "value")}, dtype


def serving(kind):
    def draw(names=None):
        dtype = [np.dtype(np.float64), np.dtype(np.float32), BF16, np.dtype(np.float16)][r.integers(4)]
        b, hkv, group = r.integers(1, 5), r.integers(1, 3), r.integers(1, 4)
        lengths = [int(r.choice([0, 1, 2, 3, 4, 5, 7, 8, 9, 17])) for _ in range(b)]
        rest = features() | {"hq": hkv * group, "hkv": hkv, "dtype": dtype}
        if kind == "packed":
            given = packed(lengths, [int(n) for n in r.integers(0, 6, b)], **rest)
        else:
            sq = int(r.integers(1, 5))
            given = paged(
                lengths, sq, int(r.choice([1, 2, 3, 4, 8])), csr="csr" in kind, heads_first="heads" in kind,
                share=int(r.integers(0, 3)), **rest, **({"trailing": bool(r.random() < 0.3)} if "csr" in kind else {}),
            )  # fmt: skip
            if r.random() < 0.3:
                given["query_lengths"] = r.integers(0, sq + 1, b)
        if r.random() < 0.3:
            given["sinks"] = x(hkv * group, dtype=dtype)
        if r.random() < 0.3:
            given["alibi_slopes"] = np.abs(x(hkv * group, dtype=dtype))
        if r.random() < 0.3:
            shape = [(1, max(lengths)), (hkv * group, 1, max(lengths))][r.integers(2)]
            given["mask"] = r.random(shape) < 0.7 if r.random() < 0.5 else x(*shape, dtype=dtype)
        return given, dtype

    return draw


DRAW = {"bhse": either_dense, "bshe": tokens_first_random}
DRAW |= {kind: serving(kind) for kind in ("packed", "paged", "paged_csr", "paged_heads_first", "paged_csr_heads_first")}


def dtype_of(given):
    return np.dtype(given.get("output_dtype") or given["query"].dtype)


def main():
    entries = json.loads((HERE / "batch.json").read_text())
    inputs, failed = witnesses(), []
    for number, entry in enumerate(entries, 1):
        layout = getattr(load(entry["file"]), "layout", "bhse")
        reference = REFERENCE[layout]
        module = load(entry["file"])
        for given in inputs[number]:
            before = copied(given)
            try:
                found = module.scaled_dot_product_attention(**given)
            except ValueError as error:
                found = error
            changed = not unchanged(given, before)
        try:
            expected = reference(**given)
        except base.Refused as error:
            shown = "" if isinstance(found, ValueError) else f"accepts what is refused: {error}"
        else:
            shown = differences(clip(found, given), clip(expected, given), dtype_of(given))
        # how rare it is: share of random calls (each in a state of its own) that show it
        seen, rounds, wrongly = 0, 120, 0
        draw = DRAW[layout]
        for _ in range(rounds):
            given, dtype = draw()
            module = load(entry["file"])
            before = copied(given)
            try:
                found = module.scaled_dot_product_attention(**given)
            except ValueError:  # the mistake leads to keys for which the mask has no columns
                seen += 1
                continue
            wrongly += not unchanged(given, before)
            seen += bool(differences(clip(found, given), clip(reference(**given), given), dtype))
        print(f"{'ok  ' if shown and not changed and not wrongly else 'FAIL'} {entry['file']:48} {seen:3}/{rounds}  {shown}")
        if not shown or changed or wrongly:
            failed.append(entry["file"])
    for path in sorted((HERE / "right").glob("*.py")):
        module = load(path)
        layout = getattr(module, "layout", "bhse")
        bad = 0
        rounds = 600
        for _ in range(rounds):
            given, dtype = DRAW[layout]()
            before = copied(given)
            found = module.scaled_dot_product_attention(**given)
            shown = differences(clip(found, given), clip(REFERENCE[layout](**given), given), dtype)
            if shown or not unchanged(given, before):
                bad += 1
                if bad < 4:
                    print("   ", shown, {k: (v.shape, v.dtype) if isinstance(v, np.ndarray) else v for k, v in given.items()})
        print(f"{'FAIL' if bad else 'ok  '} right/{path.name:42} {rounds - bad}/{rounds} agree")
        if bad:
            failed.append(path.name)
    print("all shown" if not failed else f"not shown: {failed}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
