"""Which numbers of a draw lie in one part of memory, by ``spec/draws.md``, in plain Python."""

from math import prod

from .by_hand import Stream


def sharing_memory(seed, shapes):
    """Which inputs are one array, and no axis; or which one has one part for all, and its axis; None for neither."""
    stream = Stream(f"{seed}/one array")
    is_given = stream.share(5)
    together = {}
    for name, shape in shapes.items():
        together.setdefault(shape, []).append(name)
    choices = [names for shape, names in together.items() if len(names) > 1 and prod(shape)]
    if is_given and choices:
        is_whole, names = stream.share(50), stream.one_of(choices)
        apart = stream.one_of(names)
        return [name for name in names if is_whole or len(names) == 2 or name != apart], None
    stream = Stream(f"{seed}/one part")
    is_one, name = stream.share(5), stream.one_of([*shapes])
    layout = stream.by_weight(broadcast=2, heads_broadcast=2, tokens_broadcast=2, features_broadcast=2)
    shape = shapes[name]
    axis = {
        "broadcast": 0,
        "heads_broadcast": 1 if len(shape) == 4 else None,
        "tokens_broadcast": len(shape) - 2,
        "features_broadcast": len(shape) - 1,
    }[layout]
    if not is_one or axis is None or shape[axis] == 1 or not prod(shape):
        return None
    return [name], axis
