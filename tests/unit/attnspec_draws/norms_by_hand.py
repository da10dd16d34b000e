"""Draws of norms made from ``spec/draws.md`` in plain Python."""

from math import prod

from .by_hand import Stream, halved, short_lengths

LONG = [("width", 5), ("tokens", 3), ("heads", 1), ("batch", 1)]


def numbers_of(seed, dtype, shapes, normalized, epsilon):
    kind = Stream(f"{seed}/numbers").by_weight(coarse=5, full_width=4, small=2, large=2)
    found = {}
    for name, shape in shapes.items():
        stream, many = Stream(f"{seed}/{name}"), prod(shape)
        numbers = stream.full_width(many, dtype) if kind == "full_width" else stream.coarse(many)
        if name in normalized:
            factor = {"small": 2**-8, "large": 2**9}.get(kind, 1)
            numbers = [(1 if epsilon == number == 0 else number) * factor for number in numbers]
        found[name] = (shape, numbers)
    return found


def attributes_of(seed):
    offset = Stream(f"{seed}/weight_offset").of_pairs([("", 4), ("zero", 2), ("one", 4)])
    epsilon = Stream(f"{seed}/epsilon").one_of((1e-6, 1e-5, 0.0, 0.5))
    return {"epsilon": epsilon} | ({"weight_offset": offset} if offset else {})


def rms_norm(seed, dtype, elements, longest):
    """Tokens and weights, and the attributes."""
    stream = Stream(f"{seed}/extents")
    lengths = short_lengths(stream, ("batch", "heads", "tokens", "width"), LONG, longest)
    rank = stream.of_pairs([(1, 1), (2, 3), (3, 4), (4, 2)])
    lengths = halved(dict([*lengths.items()][-rank:]), lambda of: prod(of.values()), elements)
    attributes, shape = attributes_of(seed), (*lengths.values(),)
    shapes = {"x": shape, "weight": shape[-1:]}
    found = numbers_of(seed, dtype, shapes, ("x",), attributes["epsilon"])
    if Stream(f"{seed}/spoilt").share(8):
        stream = Stream(f"{seed}/spoilt feature")
        holding = stream.one_of((float("nan"), float("inf"), float("-inf")))
        found["x"][1][stream.below(prod(shape))] = holding
    return found, attributes


def qk_norm(seed, dtype, elements, longest):
    """Queries, keys, their weights and tables, and the attributes."""
    axes = ("batch", "heads", "key_heads", "tokens", "width")
    lengths = halved(
        short_lengths(Stream(f"{seed}/extents"), axes, LONG, longest),
        lambda of: max(of["heads"], of["key_heads"]) * of["batch"] * of["tokens"] * of["width"],
        elements,
    )
    batch, heads, key_heads, tokens, width = lengths.values()
    attributes = attributes_of(seed)
    over = Stream(f"{seed}/normalized_over").of_pairs([("", 4), ("head", 2), ("all_heads", 4)])
    attributes |= {"normalized_over": over} if over else {}
    together = over == "all_heads"
    shapes = {
        "query": (batch, heads, tokens, width),
        "key": (batch, key_heads, tokens, width),
        "query_weight": (width * (heads if together else 1),),
        "key_weight": (width * (key_heads if together else 1),),
    }
    found = numbers_of(seed, dtype, shapes, ("query", "key"), attributes["epsilon"])
    stream = Stream(f"{seed}/tables")
    has_tables, whole = stream.share(60) and width > 1, stream.share(50)
    fewer = stream.between(1, max(width // 2, 1))
    if has_tables:
        shape = (batch, tokens, width // 2 if whole else fewer)
        found |= {name: (shape, Stream(f"{seed}/{name}").coarse(prod(shape))) for name in ("cos", "sin")}
        pairing = Stream(f"{seed}/pairing").of_pairs([("", 4), ("half", 2), ("interleaved", 4)])
        attributes |= {"pairing": pairing} if pairing else {}
    return found, attributes
