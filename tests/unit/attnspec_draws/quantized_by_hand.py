"""Quantized tensors of drawn attention, made from ``spec/draws.md`` in plain Python."""

from math import frexp, prod

from .by_hand import Stream


def in_few_bits(number, dtype):
    """Round to the nearest number of a format, ties to even; none is beyond its end."""
    bits, least = {"float8_e4m3fn": (4, -9), "float8_e5m2": (3, -16), "int8": (8, 0)}[dtype]
    step = 2.0 ** max(frexp(number)[1] - bits, least)
    return round(number / step) * step


def quantized_of(seed, tokens, batch, shared):
    """Quantized tensors and their scales: name to dtype, shape and numbers in C order; empty where nothing is."""
    stream = Stream(f"{seed}/quantized")
    is_quantized, which = (
        stream.share(10),
        stream.by_weight(key_and_value=5, all=3, key=1, value=1, query=1, query_and_key=1),
    )
    own = stream.share(20)
    formats = {name: stream.one_of(("float8_e4m3fn", "float8_e5m2", "int8")) for name in ("key", "value", "query")}
    names = ("key", "value", "query") if which == "all" else which.split("_and_")
    found = {}
    for name in names if is_quantized else ():
        dtype = formats[name] if own else formats["key"]
        stream = Stream(f"{seed}/quantized {name}")
        n = stream.one_of((3, 4, 5, 6))
        m = stream.one_of({"float8_e4m3fn": (0, 0, 2, -9), "float8_e5m2": (0, 0, 9, -16), "int8": (0,)}[dtype])
        most = {"float8_e4m3fn": 448, "float8_e5m2": 57344, "int8": 127}[dtype]
        shape = {"one": (), "heads": (shared,), "entries": (batch, shared)}[stream.by_weight(one=4, heads=3, entries=3)]
        for tensor in {name, f"past_{name}"} & tokens.keys():
            numbers = [max(-most, min(most, 2.0**m * round(2**n * x))) for x in tokens[tensor].ravel().tolist()]
            found[tensor] = (dtype, tokens[tensor].shape, [in_few_bits(number, dtype) for number in numbers])
        parts = Stream(f"{seed}/{name}_scale").whole(prod(shape), 513, 1023)
        found[f"{name}_scale"] = ("float32", shape, [part * 2.0 ** (-10 - n - m) for part in parts])
    return found
