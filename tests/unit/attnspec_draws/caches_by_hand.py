"""Draws of caches made from ``spec/draws.md`` in plain Python."""

from math import prod

from .by_hand import Stream, halved, short_lengths


def numbers_of(seed, dtype, shapes, *, is_coarse=False):
    """Numbers by input, the first of which may hold one that is not finite."""
    stream = Stream(f"{seed}/numbers")
    wide, spoilt = stream.share(30) and not is_coarse, stream.share(10) and not is_coarse
    found = {}
    for name, shape in shapes.items():
        stream = Stream(f"{seed}/{name}")
        found[name] = (shape, stream.full_width(prod(shape), dtype) if wide else stream.coarse(prod(shape)))
    (shape, first), *_ = found.values()
    if spoilt and prod(shape):
        stream = Stream(f"{seed}/spoilt feature")
        holding = stream.one_of((float("nan"), float("inf"), float("-inf")))
        first[stream.below(prod(shape))] = holding
    return found


def appended(seed, dtype, elements, longest):
    """A past and what is put behind it."""
    stream = Stream(f"{seed}/extents")
    long = [("past", 4), ("new", 3), ("width", 2), ("heads", 1), ("batch", 1)]
    lengths = short_lengths(stream, ("batch", "heads", "past", "new", "width", "value_width"), long, longest)
    empty = stream.of_pairs([("", 22), ("past", 2), ("new", 1)])
    if empty:
        lengths[empty] = 0
    halved(
        lengths,
        lambda of: of["batch"] * of["heads"] * (of["past"] + of["new"]) * max(of["width"], of["value_width"]),
        elements,
    )
    batch, heads, past, new, width, value_width = lengths.values()
    shapes = {
        "past_key": (batch, heads, past, width),
        "past_value": (batch, heads, past, value_width),
        "key": (batch, heads, new, width),
        "value": (batch, heads, new, value_width),
    }
    return numbers_of(seed, dtype, shapes), {}


def steps_of(seed, steps, new):
    borders = sorted(Stream(f"{seed}/step_lengths").whole(steps - 1, 0, new))
    return ((steps,), [after - before for before, after in zip([0, *borders], [*borders, new], strict=True)])


def scattered(seed, dtype, elements, longest):
    """A cache, what is written into it, and where."""
    stream = Stream(f"{seed}/extents")
    long = [("new", 3), ("room", 3), ("width", 2), ("heads", 1), ("batch", 1)]
    lengths = short_lengths(stream, ("batch", "heads", "new", "room", "width", "steps"), long, longest)
    has_steps = stream.share(40)
    lengths["steps"] = lengths["steps"] if has_steps else 1
    halved(
        lengths,
        lambda of: of["steps"] * of["batch"] * of["heads"] * (of["new"] + of["room"]) * of["width"],
        elements,
    )
    batch, heads, new, room, width, steps = lengths.values()
    mode = Stream(f"{seed}/mode").of_pairs([("", 4), ("linear", 2), ("circular", 5)])
    axis = Stream(f"{seed}/axis").of_pairs([(None, 4), (-2, 2), (2, 1), (1, 3), (-3, 1), (3, 1), (-1, 1)])
    shapes = {}
    for name, tokens in (("cache", new + room), ("update", new)):
        shape = [batch, heads, width]
        shape.insert((-2 if axis is None else axis) % 4, tokens)
        shapes[name] = tuple(shape)
    found = numbers_of(seed, dtype, shapes)
    if Stream(f"{seed}/has write_indices").share(75):
        farthest = 2 * (new + room) if mode == "circular" else room
        found["write_indices"] = ((batch,), Stream(f"{seed}/write_indices").whole(batch, 0, farthest))
    if has_steps:
        found["step_lengths"] = steps_of(seed, steps, new)
    return found, ({} if axis is None else {"axis": axis}) | ({"mode": mode} if mode else {})


def window(seed, dtype, elements, longest):
    """A window, what is written into it, and how much came before."""
    stream = Stream(f"{seed}/extents")
    axes = ("batch", "heads", "slots", "new", "width", "value_width", "steps")
    long = [("slots", 4), ("new", 4), ("width", 2), ("heads", 1), ("batch", 1)]
    lengths = short_lengths(stream, axes, long, longest)
    has_steps = stream.share(40)
    lengths["steps"] = lengths["steps"] if has_steps else 1
    halved(
        lengths,
        lambda of: (
            of["batch"] * of["heads"] * max(of["steps"] * of["slots"], of["new"]) * max(of["width"], of["value_width"])
        ),
        elements,
    )
    batch, heads, slots, new, width, value_width, steps = lengths.values()
    shapes = {
        "key_cache": (batch, heads, slots, width),
        "value_cache": (batch, heads, slots, value_width),
        "key": (batch, heads, new, width),
        "value": (batch, heads, new, value_width),
    }
    found = numbers_of(seed, dtype, shapes)
    found["past_lengths"] = ((batch,), Stream(f"{seed}/past_lengths").whole(batch, 0, 3 * slots))
    if has_steps:
        found["step_lengths"] = steps_of(seed, steps, new)
    stream = Stream(f"{seed}/keep")
    keeps, keep = stream.share(50), stream.below(slots)
    return found, {"keep": keep} if keeps else {}


def pools_of(lengths):
    """How many pages the pools have."""
    return -(-lengths["tokens"] // lengths["size"]) + lengths["spare"]


def lengths_of_pools(seed, elements, longest, *, in_sequences):
    axes = ("tokens", "size", "spare", "heads", "width", "value_width")
    long = [("tokens", 4), ("size", 3), ("spare", 1), ("heads", 1), ("width", 2)]
    if in_sequences:
        axes, long = ("batch", *axes), [*long, ("batch", 1)]
    lengths = short_lengths(Stream(f"{seed}/extents"), axes, long, longest)

    def largest(of):
        in_pool = pools_of(of) * of["size"] * of["heads"] * max(of["width"], of["value_width"])
        return max(in_pool, of.get("batch", 0) + 1)

    return halved(lengths, largest, elements)


def any_order(seed, count):
    words = Stream(seed).words(count)
    return sorted(range(count), key=words.__getitem__)


def shapes_of_pools(lengths):
    tokens, heads, pool = lengths["tokens"], lengths["heads"], (pools_of(lengths), lengths["size"])
    return {
        "key_pool": (*pool, heads, lengths["width"]),
        "value_pool": (*pool, heads, lengths["value_width"]),
        "key": (tokens, heads, lengths["width"]),
        "value": (tokens, heads, lengths["value_width"]),
    }


def slots(seed, dtype, elements, longest):
    """Pools, tokens and their slots, and scales."""
    lengths = lengths_of_pools(seed, elements, longest, in_sequences=False)
    shapes, tokens, heads = shapes_of_pools(lengths), lengths["tokens"], lengths["heads"]
    is_quantized = Stream(f"{seed}/quantized").share(30)
    found = numbers_of(seed, dtype, shapes, is_coarse=is_quantized)
    order = any_order(f"{seed}/slot_mapping", pools_of(lengths) * lengths["size"])[:tokens]
    chances = Stream(f"{seed}/skipped tokens").whole(tokens, 0, 99)
    if Stream(f"{seed}/skipped").share(40):
        order = [-1 - chance if chance < 30 else slot for chance, slot in zip(chances, order, strict=True)]
    found["slot_mapping"] = ((tokens,), order)
    if is_quantized:
        for name in ("key_pool", "value_pool"):
            found[name] = (shapes[name], Stream(f"{seed}/{name}").whole(prod(shapes[name]), -8, 8))
        is_per_head = Stream(f"{seed}/scales").share(50)
        for name in ("key_scale", "value_scale"):
            scales = [2.0**exponent for exponent in Stream(f"{seed}/{name}").whole(heads, -9, 0)]
            found[name] = ((heads,), scales) if is_per_head else ((), scales[:1])
    return found, {}


def pages(seed, dtype, elements, longest):
    """Pools, tokens with their sequences and positions, and the table of pages."""
    lengths = lengths_of_pools(seed, elements, longest, in_sequences=True)
    batch, tokens, size, count = lengths["batch"], lengths["tokens"], lengths["size"], pools_of(lengths)
    found = numbers_of(seed, dtype, shapes_of_pools(lengths))
    starts = [0, *sorted(Stream(f"{seed}/page_starts").whole(batch - 1, 0, count)), count]
    entries = any_order(f"{seed}/entries", count * size)[:tokens]
    sequences = [max(b for b in range(batch) if starts[b] <= entry // size) for entry in entries]
    return found | {
        "batch_indices": ((tokens,), sequences),
        "positions": ((tokens,), [entry - starts[b] * size for entry, b in zip(entries, sequences, strict=True)]),
        "page_indices": ((count,), any_order(f"{seed}/page_indices", count)),
        "page_starts": ((batch + 1,), starts),
    }, {}
