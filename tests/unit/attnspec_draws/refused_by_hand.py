"""Inputs of another shape, made from ``spec/draws.md`` in plain Python and nested lists."""

import numpy as np

from .by_hand import Stream

LENGTHS = {"key_lengths": "key", "query_lengths": "query"}
UNKNOWN_WORDS = {
    "pairing": ["", "HALF", "halves", "neox"],
    "scaling": ["", "YARN", "ntk", "su"],
    "mode": ["", "LINEAR", "ring"],
    "weight_offset": ["", "ONE", "minus_one"],
    "normalized_over": ["", "HEAD", "heads"],
}
OF_THE_RANK = {"in_front", "behind", "first"}


def along(array, axis, change):
    """Change the list of parts along an axis."""
    return change(array) if axis == 0 else [along(part, axis - 1, change) for part in array]


def swapped(array, rank, axis):
    """Exchange an axis with the next one, or the last with the first."""
    if axis + 1 < rank:
        return along(array, axis, lambda parts: [list(part) for part in zip(*parts, strict=True)])
    # The last goes to the front by single steps, and then the first, which is the second now, to the end.
    for step in range(rank - 2, -1, -1):
        array = swapped(array, rank, step)
    for step in range(1, rank - 1):
        array = swapped(array, rank, step)
    return array


def reshaped(array, rank, change, axis, elements):
    """The numbers of an input of another shape; None where there is no such axis, or nothing would change."""
    if np.size(array) == 0 or axis >= max(rank, 1) or (rank == 0 and change not in ("in_front", "behind")):
        return None
    changed = {
        "longer": lambda: along(array, axis, lambda parts: [*parts, parts[-1]]),
        "shorter": lambda: along(array, axis, lambda parts: parts[:-1]),
        "single": lambda: along(array, axis, lambda parts: parts[:1]),
        "swapped": lambda: swapped(array, rank, axis),
        "in_front": lambda: [array],
        "behind": lambda: along(array, rank, lambda number: [number]),
        "first": lambda: array[0],
    }[change]()
    return None if np.shape(changed) == np.shape(array) or np.size(changed) > elements else changed


def refused_of(seed, inputs, table, elements):
    """Clause, and by name the numbers of the inputs that have another shape; None where the draw stays as it is.

    `inputs` has the inputs by name as nested lists and their ranks; `table` the clauses of axes, and that of the rank,
    by the name of the input; `elements` is how many an input may have.
    """
    stream = Stream(f"{seed}/refused")
    names = [name for name in table if name in inputs]
    if not stream.share(4) or not names:
        return None
    name = stream.one_of(names)
    array, rank = inputs[name]
    change = stream.by_weight(longer=3, shorter=3, single=3, swapped=2, in_front=2, behind=2, first=1)
    axis = stream.below(max(rank, 1))
    axes, of_rank = table[name]
    following = axes[(axis + 1) % max(rank, 1)] if len(axes) == rank else None
    clause = of_rank if change in OF_THE_RANK else axes[0] if len(axes) == 1 else axes[axis]
    clause = following if change == "swapped" and clause is None else clause
    changed = reshaped(array, rank, change, axis, elements)
    if clause is None or changed is None:
        return None
    found = {name: changed}
    stream, others = Stream(f"{seed}/refused_twice"), [other for other in names if other != name]
    if stream.share(30) and others:
        other = stream.one_of(others)
        changed = reshaped(*inputs[other], change, axis, elements)
        found |= {} if changed is None or np.size(changed) == 0 else {other: changed}
    return clause, found


def values_that_do_not_fit(operation, argument, inputs, attributes):
    """All values of an argument that must be refused, in the order of the page."""
    stated = attributes.get(argument)
    if argument in LENGTHS:
        lengths, most = inputs.get(argument, []), inputs[LENGTHS[argument]].shape[2]
        each = [(position, length) for position in range(len(lengths)) for length in (-1, most + 1)]
        return [[*lengths[:position], length, *lengths[position + 1 :]] for position, length in each]
    if argument == "num_heads":
        features = inputs["query" if operation == "multi_head_attention" else "x"].shape[-1]
        return [heads for heads in range(2, features + 2) if features % heads]
    if argument in UNKNOWN_WORDS:
        return UNKNOWN_WORDS[argument] if operation != "qk_norm" or argument != "pairing" or "cos" in inputs else []
    if argument == "keep":
        return [inputs["key_cache"].shape[2], -1]
    if argument == "width":
        return [stated + 1, stated - 1, 0, -stated]
    if stated is None:
        return []
    if argument == "high_frequency_factor":
        low = attributes.get("low_frequency_factor")
        return [] if low is None else [low, low / 2]
    if argument == "proportion":
        return [-0.125, 1.125]
    return [[*stated, stated[-1]], stated[:-1]] if argument.endswith("factors") else [0, -stated]


def misfit_of(seed, operation, inputs, attributes, table):
    """Argument, value and clause of what must be refused; None for most draws.

    `table` has argument and clause of each row of the page.
    """
    stream = Stream(f"{seed}/misfit")
    if not stream.share(3):
        return None
    found = [(row, values_that_do_not_fit(operation, row[0], inputs, attributes)) for row in table]
    found = [(row, values) for row, values in found if values]
    if not found:
        return None
    (argument, clause), values = stream.one_of(found)
    return argument, stream.one_of(values), clause
