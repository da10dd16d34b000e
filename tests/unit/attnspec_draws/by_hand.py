"""Draws made from ``spec/draws.md`` in plain Python: what its streams say, word by word, without the harness."""

import struct
from itertools import product
from math import ceil, floor, log, pi, prod

MODULUS = 2**64


def fnv1a64(text):
    found = 0xCBF29CE484222325
    for byte in text.encode():
        found = (found ^ byte) * 0x100000001B3 % MODULUS
    return found


def splitmix64(state):
    state = (state + 0x9E3779B97F4A7C15) % MODULUS
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % MODULUS
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB % MODULUS
    return state ^ (state >> 31)


def in_float32(number):
    return struct.unpack("f", struct.pack("f", number))[0]


ROUNDED = {"float64": float, "float32": in_float32}


class Stream:
    def __init__(self, seed):
        self.next = splitmix64(fnv1a64(seed))

    def word(self):
        self.next, state = (self.next + 1) % MODULUS, self.next
        return splitmix64(state)

    def below(self, n):
        return self.word() * n // MODULUS

    def between(self, a, b):
        return a + self.below(b - a + 1)

    def any_size(self, a, b):
        d = self.between(a.bit_length(), b.bit_length())
        return self.between(max(a, 2 ** (d - 1)), min(b, 2**d - 1))

    def share(self, n):
        return self.below(100) < n

    def one_of(self, choices):
        return choices[self.below(len(choices))]

    def by_weight(self, **weights):
        return self.of_pairs([*weights.items()])

    def of_pairs(self, weights):
        return self.one_of([choice for choice, weight in weights for _ in range(weight)])

    def coarse(self, count):
        return [(sum(word >> field & 31 for field in (0, 16, 32, 48)) - 62) / 32 for word in self.words(count)]

    def full_width(self, count, dtype):
        return [ROUNDED[dtype]((word // 2**10 - 2**53) / 2**52) for word in self.words(count)]

    def whole(self, count, a, b):
        return [a + (word >> 48) * (b - a + 1) // 2**16 for word in self.words(count)]

    def words(self, count):
        return [self.word() for _ in range(count)]


def merged_states(seed, dtype, elements, longest):
    """Shape, and what the parts hold, in C order."""
    stream = Stream(f"{seed}/extents")
    lengths = {axis: stream.between(1, 6) for axis in ("batch", "heads", "queries", "width")}
    for _ in range(stream.of_pairs([(0, 1), (1, 4), (2, 1)])):
        axis = stream.by_weight(queries=5, width=4, heads=1)
        lengths[axis] = stream.any_size(1, longest)
    lengths = {axis: min(length, longest) for axis, length in lengths.items()}
    if stream.share(2):
        lengths["queries"] = 0
    while prod(lengths.values()) > elements:
        lengths[max(lengths, key=lengths.get)] //= 2
    shape = tuple(lengths.values())
    rows, width = prod(shape[:3]), shape[3]
    stream = Stream(f"{seed}/parts")
    wide = stream.share(30)
    factor, shift = max(stream.one_of((0, 1, 8, 64, 512)), 1), stream.one_of((0, 0, 16, -256))
    has_empty, holding = stream.share(30), stream.one_of((0.0, 1024.0, float("nan"), float("inf")))
    stream = Stream(f"{seed}/nearly largest")
    nearly, where = stream.share(6), stream.by_weight(above=2, below=2, both=1)
    is_heavy = Stream(f"{seed}/heavy").share(5)
    turned = is_heavy and Stream(f"{seed}/opposite").share(50)
    parts = {}
    for side in "ab":
        stream = Stream(f"{seed}/{side}")
        output = stream.full_width(rows * width, dtype) if wide else stream.coarse(rows * width)
        output = [ROUNDED[dtype](number + 4) * 2**13 for number in output] if is_heavy else output
        output = [-number for number in output] if turned and side == "b" else output
        logarithm = [ROUNDED[dtype](number * factor + shift) for number in stream.coarse(rows)]
        if nearly:
            sign = -1 if where == "below" or (where == "both" and side == "b") else 1
            most = sign * {"float32": 2.0**127, "float64": 2.0**1020}[dtype]
            coarse = Stream(f"{seed}/nearly largest {side}").coarse(rows)
            logarithm = [ROUNDED[dtype](1.125 + number / 16) * most for number in coarse]
        empty = [number < 30 for number in Stream(f"{seed}/empty {side}").whole(rows, 0, 99)]
        for row in range(rows if has_empty else 0):
            if empty[row]:
                logarithm[row] = float("-inf")
                output[row * width : (row + 1) * width] = [holding] * width
        parts |= {f"output_{side}": output, f"logsumexp_{side}": logarithm}
    stream = Stream(f"{seed}/spoilt")
    spoils, name = stream.share(6), stream.one_of([*parts])
    needed = name[-1] if name.startswith("output") else "ab"
    with_keys = [row for row in range(rows) if all(parts[f"logsumexp_{of}"][row] != float("-inf") for of in needed)]
    if spoils and with_keys:
        row, feature = with_keys[stream.below(len(with_keys))], stream.below(width)
        parts[name][row * width + feature if name.startswith("output") else row] = float("nan")
    return shape, parts


SPECIAL = (15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1024, 1025, 2048)


def axes_of_attention(seed, elements, longest, *, has_past):
    """The lengths of all axes of a draw that states and leaves out nothing."""
    stream = Stream(f"{seed}/extents")
    x = {"batch": stream.between(1, 3), "shared": stream.between(1, 3)}
    x["group"] = stream.of_pairs([(1, 5), (2, 3), (3, 2), (4, 1)])
    x |= {axis: stream.between(1, 8) for axis in ("queries", "keys", "width", "value_width", "past")}
    past = has_past and stream.share(18)
    for _ in range(stream.of_pairs([(1, 5), (2, 2), (0, 1)])):
        axis = stream.by_weight(keys=14, queries=8, width=4, value_width=3, heads=2, shared=2, batch=2, past=3)
        most = min(longest, 70) if axis in ("heads", "shared", "batch") else longest
        length = stream.any_size(9, max(most, 9))
        kind = stream.by_weight(any=14, special=5, tiles=2)
        if kind == "special":
            length = stream.one_of([each for each in SPECIAL if each <= most] or [length])
        if kind == "tiles":
            tile = stream.one_of((16, 32, 64, 128, 256))
            length = max(length // tile * tile, tile)
        x["group" if axis == "heads" else axis] = min(length, most)
    one, usual, alike = stream.share(18), stream.share(20), stream.share(75)
    width = stream.one_of((32, 64, 128))
    x["queries"] = 1 if one else x["queries"]
    x["width"] = width if usual else x["width"]
    x["value_width"] = x["width"] if alike else x["value_width"]
    match stream.by_weight(none=80, tokens=10, heads=3, width=3, keys=2, batch=2):
        case "tokens":
            x |= {"queries": x["keys"], "past": 0}
        case "heads":
            x |= {"batch": x["shared"], "group": 1}
        case "width":
            x |= dict.fromkeys(("width", "value_width"), min(x["keys"], 128))
        case "keys":
            x["queries"] = x["shared"]
        case "batch":
            x["queries"] = x["batch"]
    x = {axis: min(length, longest) for axis, length in x.items()}
    empty = stream.by_weight(none=950, keys=16, queries=12, batch=14, shared=8)
    if empty != "none":
        x[empty] = 0
    x["past"] = x["past"] if past else 0
    while largest(**x) > elements:
        order = ("batch", "shared", "group", "queries", "past", "width", "value_width", "keys")
        m = max(x.values())
        if m == 1:
            break
        axis = next(axis for axis in order if x[axis] > max(min(8, m - 1) // 2, 1))
        both = (
            ("width", "value_width") if axis in ("width", "value_width") and x["width"] == x["value_width"] else (axis,)
        )
        x |= dict.fromkeys(both, x[axis] // 2)
    return x


def largest(batch, shared, group, queries, keys, width, value_width, past):
    b, hq, hkv, sq, k = (max(n, 1) for n in (batch, shared * group, shared, queries, past + keys))
    return b * max(hq * sq * max(k, width, value_width), hkv * k * max(width, value_width))


def tokens_of_attention(seed, dtype, x):
    """Queries, keys and values, in C order, of the classes that change each element alone."""
    stream = Stream(f"{seed}/numbers")
    sharpness = stream.of_pairs([(1, 1), (2, 3), (4, 4), (8, 2)])
    chosen = stream.by_weight(
        plain=43,
        full_width=14,
        peaked=7,
        large=4,
        rising=7,
        tied=5,
        nearly_tied=4,
        equal=3,
        uniform=3,
        cancelling=4,
        tiny=3,
        far_below=3,
    )
    counts = {
        "query": x["batch"] * x["shared"] * x["group"] * x["queries"] * x["width"],
        "key": x["batch"] * x["shared"] * x["keys"] * x["width"],
        "value": x["batch"] * x["shared"] * x["keys"] * x["value_width"],
        "past_key": x["batch"] * x["shared"] * x["past"] * x["width"],
        "past_value": x["batch"] * x["shared"] * x["past"] * x["value_width"],
    }
    counts = {name: count for name, count in counts.items() if x["past"] or "past" not in name}
    if chosen == "full_width":
        found = {name: Stream(f"{seed}/{name}").full_width(count, dtype) for name, count in counts.items()}
        return chosen, {**found, "query": [2 * number for number in found["query"]]}
    found = {name: Stream(f"{seed}/{name}").coarse(count) for name, count in counts.items()}
    keys, values = ({f"{past}{name}" for past in ("", "past_")} for name in ("key", "value"))
    changes = {"query": sharpness * {"peaked": 8, "large": 8, "uniform": 0}.get(chosen, 1)}
    changes |= dict.fromkeys(keys, {"float64": 64, "float32": 8}[dtype] if chosen == "large" else 1)
    changes |= dict.fromkeys(values, {"float64": 2**-500, "float32": 2**-60}[dtype] if chosen == "tiny" else 1)
    found = {name: [changes[name] * number for number in numbers] for name, numbers in found.items()}
    if chosen == "cancelling":
        n = stream.between(1, 3)
        width = x["value_width"]
        for name in values & found.keys():
            tokens = x["past"] if "past" in name else x["keys"]
            found[name] = [
                ROUNDED[dtype](number + (64 if position // width % tokens // n % 2 == 0 else -64))
                for position, number in enumerate(found[name])
            ]
    return chosen, found


def short_lengths(stream, axes, long, longest):
    """Lengths between 1 and 6, some of any size."""
    lengths = {axis: stream.between(1, 6) for axis in axes}
    for _ in range(stream.of_pairs([(0, 1), (1, 4), (2, 1)])):
        axis = stream.of_pairs(long)
        lengths[axis] = stream.any_size(1, longest)
    return {axis: min(length, longest) for axis, length in lengths.items()}


def halved(lengths, count, elements):
    while count(lengths) > elements and max(lengths.values()) > 1:
        lengths[max(lengths, key=lengths.get)] //= 2
    return lengths


def numbers_of_softmax(seed, dtype, elements, longest):
    """The array of softmax, and its attributes."""
    stream = Stream(f"{seed}/extents")
    axes = [f"axis_{number}" for number in range(stream.of_pairs([(1, 2), (2, 5), (3, 3), (4, 2)]))]
    lengths = short_lengths(stream, axes, [(axis, 1) for axis in axes], longest)
    shape = (*halved(lengths, lambda found: prod(found.values()), elements).values(),)
    stream = Stream(f"{seed}/axis")
    said = stream.by_weight(default=4, last=1, from_front=4, from_end=3, whole=2)
    position = stream.below(len(axes))
    stated = {"last": -1, "from_front": position, "from_end": position - len(axes), "whole": None}
    stream = Stream(f"{seed}/numbers")
    chosen = stream.by_weight(
        plain=30, full_width=15, peaked=10, far=8, large=10, shifted=10, rising=10, tied=8, equal=7
    )
    stream, many = Stream(f"{seed}/x"), prod(shape)
    x = stream.full_width(many, dtype) if chosen == "full_width" else stream.coarse(many)
    stream = Stream(f"{seed}/nearly largest")
    nearly, side = stream.share(8), stream.by_weight(above=2, below=2, both=1)
    if nearly:
        largest = {"float32": 2.0**127, "float64": 2.0**1023}[dtype]
        x = [(1.5 + number / 4) * largest for number in Stream(f"{seed}/x").coarse(many)]
        chosen = "plain"
    stream = Stream(f"{seed}/hidden")
    hides = stream.share(20)
    hiding = stream.by_weight(scattered=5, leading=4, trailing=1)
    border = stream.below(many if said == "whole" else shape[{"default": -1, "last": -1, **stated}[said]])
    hidden = Stream(f"{seed}/hidden numbers").whole(many, 0, 99)
    positions = [*product(*map(range, shape))]
    along = -1 if said == "default" else stated[said]
    found = []
    for flat, index in enumerate(positions):
        if along is None:
            j, n, first = flat, many, 0
        else:
            j, n = index[along], shape[along]
            first = positions.index((*index[: along % len(axes)], 0, *index[along % len(axes) + 1 :]))
        stride = 1 if along is None else prod(shape[along % len(axes) + 1 :])
        number = {
            "peaked": lambda at: 16 * x[at],
            "far": lambda at: 128 * x[at],
            "large": lambda at: {"float32": 2.0**120, "float64": 2.0**1000}[dtype] * x[at],
            "shifted": lambda at: ROUNDED[dtype](x[at] + 1024),
            "rising": lambda at, j=j, n=n: ROUNDED[dtype](x[at] + j * min(200, n) // n * 0.25),
            "tied": lambda at, j=j, n=n, first=first, stride=stride: x[first + j % min(3, n) * stride],
            "equal": lambda at, first=first: x[first],
        }.get(chosen, lambda at: x[at])(flat)
        if nearly and (side == "below" or (side == "both" and j % 2 == 1)):
            number = -number
        hidden_here = {"scattered": hidden[flat] < 40 and j != border, "leading": j < border, "trailing": j > border}
        found.append(float("-inf") if hides and hidden_here[hiding] else number)
    return {"x": (shape, found)}, {} if said == "default" else {"axis": along}


def rotated(seed, dtype, elements, longest):
    """Features and tables, and the attributes."""
    stream = Stream(f"{seed}/extents")
    axes = ("batch", "heads", "tokens", "pairs", "untouched")
    long = [("tokens", 5), ("pairs", 4), ("heads", 2), ("batch", 1), ("untouched", 1)]
    lengths = short_lengths(stream, axes, long, longest)
    if not stream.share(40) or elements < 3:
        lengths["untouched"] = 0

    def width(found):
        return 2 * found["pairs"] + found["untouched"]

    halved(lengths, lambda found: found["batch"] * found["heads"] * found["tokens"] * width(found), elements)
    pairing = Stream(f"{seed}/pairing").of_pairs([(None, 2), ("half", 4), ("interleaved", 5)])
    kind = Stream(f"{seed}/tables").by_weight(coarse=5, full_width=3, quarter_turns=2)
    table = tuple(lengths[axis] for axis in ("batch", "tokens", "pairs"))
    shapes = {"x": (lengths["batch"], lengths["heads"], lengths["tokens"], width(lengths)), "cos": table, "sin": table}
    found = {}
    for name, shape in shapes.items():
        stream = Stream(f"{seed}/{name}")
        numbers = stream.full_width(prod(shape), dtype) if kind == "full_width" else stream.coarse(prod(shape))
        found[name] = (shape, numbers)
    if kind == "quarter_turns":
        turns = Stream(f"{seed}/turns").whole(prod(table), 0, 3)
        found |= {"cos": (table, [(1, 0, -1, 0)[n] for n in turns]), "sin": (table, [(0, 1, 0, -1)[n] for n in turns])}
    if Stream(f"{seed}/spoilt").share(8):
        stream = Stream(f"{seed}/spoilt feature")
        holding = stream.one_of((float("nan"), float("inf"), float("-inf")))
        found["x"][1][stream.below(prod(shapes["x"]))] = holding
    stand(seed, found, lengths["heads"], width(lengths))
    return found, {} if pairing is None else {"pairing": pairing}


def stand(seed, found, heads, width):
    """Let tokens be turned by no angle, and one of them hold what is not finite."""
    batch, tokens, pairs = found["cos"][0]
    stream = Stream(f"{seed}/standing")
    drawn = Stream(f"{seed}/standing tokens").whole(batch * tokens, 0, 99)
    standing = [position for position, number in enumerate(drawn) if number < 30]
    stands, spoils = stream.share(8), stream.share(50)
    number = stream.one_of((float("nan"), float("inf"), float("-inf")))
    head, feature = stream.below(heads), stream.below(width)
    if not stands or not standing:
        return
    for position in standing:
        for table, value in (("cos", 1), ("sin", 0)):
            found[table][1][position * pairs : (position + 1) * pairs] = [value] * pairs
    if spoils:
        entry, token = divmod(standing[0], tokens)
        found["x"][1][((entry * heads + head) * tokens + token) * width + feature] = number


def tables_of_rotary(seed, dtype, elements, longest):
    """Positions and frequencies, and the attributes."""
    stream = Stream(f"{seed}/extents")
    lengths = short_lengths(stream, ("batch", "tokens", "pairs"), [("tokens", 5), ("pairs", 4), ("batch", 1)], longest)
    batch, tokens, pairs = halved(lengths, lambda found: prod(found.values()), elements).values()
    stream = Stream(f"{seed}/positions")
    kind = stream.by_weight(counted=3, shifted=4, any=6, backwards=2, repeated=1)
    farthest = stream.of_pairs([(15, 3), (300, 4), (5000, 3), (131071, 2)])
    alike = stream.share(30)
    drawn = Stream(f"{seed}/position_ids").whole(batch * tokens, 0, farthest)
    positions = []
    for entry in range(batch):
        start = 0 if alike else entry * tokens
        for token in range(tokens):
            positions.append(
                {
                    "counted": token,
                    "shifted": drawn[start] + token,
                    "any": drawn[start + token],
                    "backwards": drawn[start] + tokens - 1 - token,
                    "repeated": drawn[start],
                }[kind]
            )
    if Stream(f"{seed}/turned inside").share(12):
        for first in range(0, batch * tokens, tokens):
            positions[first + 1 : first + tokens - 1] = positions[first + 1 : first + tokens - 1][::-1]
    kind = Stream(f"{seed}/frequencies").by_weight(halving=4, full_width=5, standing=1)
    eighths = Stream(f"{seed}/inverse_frequencies").whole(pairs, 8, 15)
    halving = [2.0 ** -(10 * pair // pairs) * eighths[pair] / 8 for pair in range(pairs)]
    full_width = [ROUNDED[dtype](abs(n) / 2) for n in Stream(f"{seed}/inverse_frequencies").full_width(pairs, dtype)]
    standing = [n if pair % 2 == 0 else 0.0 for pair, n in enumerate(full_width)]
    frequencies = {"halving": halving, "full_width": full_width, "standing": standing}[kind]
    stream = Stream(f"{seed}/factor")
    attributes = {"attention_factor": stream.one_of((0.5, 1, 1.25, 1.1386, 2, 0, -0.5))} if stream.share(40) else {}
    return {"position_ids": ((batch, tokens), positions), "inverse_frequencies": ((pairs,), frequencies)}, attributes


NEEDED = {
    "linear": "factor",
    "dynamic": "factor original_length",
    "llama3": "factor original_length low_frequency_factor high_frequency_factor",
    "longrope": "factor original_length short_factors long_factors",
    "yarn": "factor original_length",
}
USED = {
    "dynamic": "sequence_length",
    "longrope": "sequence_length attention_factor",
    "proportional": "factor proportion",
    "yarn": "beta_fast beta_slow truncate magnitude_scaling magnitude_scaling_all_dimensions attention_factor",
}
UNUSED = {
    "factor": 2.5,
    "original_length": 16,
    "sequence_length": 64,
    "attention_factor": 1.5,
    "low_frequency_factor": 1,
    "high_frequency_factor": 4,
    "proportion": 0.5,
    "beta_fast": 4,
    "truncate": False,
    "magnitude_scaling": 2,
}


def rotary_frequencies(seed, _, elements, longest):
    """No inputs, and the attributes."""
    stream = Stream(f"{seed}/extents")
    pairs = stream.between(1, 12)
    for _ in range(stream.of_pairs([(0, 1), (1, 4), (2, 1)])):
        stream.word()
        pairs = stream.any_size(1, longest)
    (pairs,) = halved({"pairs": min(pairs, longest)}, lambda found: found["pairs"], elements).values()
    scaling = Stream(f"{seed}/scaling").of_pairs(
        [
            *[(None, 2), ("none", 1), ("linear", 3), ("dynamic", 4)],
            *[("llama3", 5), ("longrope", 4), ("proportional", 3), ("yarn", 8)],
        ]
    )
    stream = Stream(f"{seed}/parameters")
    given = {
        "theta": stream.of_pairs([(None, 4), (500000, 4), (1000000, 2), (100, 2), (8, 1), (10000, 1)]),
        "factor": stream.of_pairs([(4, 4), (8, 3), (2, 3), (1.5, 2), (32, 2), (1, 1)]),
    }
    length = stream.of_pairs([(4096, 4), (8192, 3), (1024, 2), (32768, 2), (16, 1)])
    text = stream.of_pairs([(None, 2), (length // 2, 2), (length, 2), (length + 1, 2), ("longer", 5)])
    longer = length + stream.between(2, 8 * length)
    given |= {"original_length": length, "sequence_length": longer if text == "longer" else text}
    low = stream.of_pairs([(1, 4), (2, 2), (0.5, 1), (4, 1)])
    high = low + stream.of_pairs([(3, 4), (1, 2), (0.5, 1), (7, 1)])
    given |= {"low_frequency_factor": low, "high_frequency_factor": high, "proportion": stream.between(0, 8) / 8}
    given["beta_fast"] = stream.of_pairs([(None, 5), (16, 2), (64, 2), (8, 1)])
    given["beta_slow"] = stream.of_pairs([(None, 5), (2, 2), (0.5, 2), (4, 1)])
    given["truncate"] = stream.of_pairs([(None, 5), (False, 4), (True, 2)])
    which = stream.by_weight(neither=5, both=4, first=2, second=1, zero=1)
    first, second = stream.one_of((0.5, 0.75, 1, 1.25)), stream.one_of((0.5, 0.75, 1, 1.25))
    given["magnitude_scaling"] = first if which in ("both", "first", "zero") else None
    given["magnitude_scaling_all_dimensions"] = {"both": second, "second": second, "zero": 0}.get(which)
    given["attention_factor"] = stream.of_pairs([(None, 8), (1.25, 1), (0.5, 1), (0, 1)])
    for name in ("short_factors", "long_factors"):
        given[name] = [number / 8 for number in Stream(f"{seed}/{name}").whole(pairs, 8, 32)]
    stream = Stream(f"{seed}/unused")
    more, other = stream.share(25), stream.one_of([*UNUSED])

    def stated(scaling):
        names = f"{NEEDED.get(scaling, '')} {USED.get(scaling, '')}".split()
        found = {"width": 2 * pairs} | ({"scaling": scaling} if scaling else {})
        found |= {name: given[name] for name in ("theta", *names) if given[name] is not None}
        return found | ({other: UNUSED[other]} if more and other not in names else {})

    found = stated("linear" if scaling == "dynamic" and pairs == 1 else scaling)
    return {}, found if scaling != "yarn" or yarn_has_a_range(found) else stated("linear")


def yarn_has_a_range(found):
    width, theta = found["width"], found.get("theta", 10000)
    low, high = (
        width * log(found["original_length"] / (2 * pi * turns)) / (2 * log(theta))
        for turns in (found.get("beta_fast", 32), found.get("beta_slow", 1))
    )
    if found.get("truncate", True):
        if min(abs(low - round(low)), abs(high - round(high))) < 1 / 64:
            return False
        low, high = floor(low), ceil(high)
    return max(low, 0) <= min(high, width - 1)


def causal_mask(seed, _, elements, longest):
    """No inputs, and the attributes."""
    stream = Stream(f"{seed}/extents")
    lengths = {axis: stream.between(1, 8) for axis in ("queries", "keys")}
    for _ in range(stream.of_pairs([(0, 1), (1, 4), (2, 1)])):
        axis = stream.by_weight(queries=1, keys=1)
        lengths[axis] = stream.any_size(1, longest)
    lengths = {axis: min(length, longest) for axis, length in lengths.items()}
    if stream.share(25):
        square = halved({"queries": lengths["queries"]}, lambda found: found["queries"] ** 2, elements)
        queries = keys = square["queries"]
        found = {"query_length": queries}
    else:
        queries, keys = halved(lengths, lambda found: found["queries"] * found["keys"], elements).values()
        keys = 0 if Stream(f"{seed}/empty").share(4) else keys
        found = {"query_length": queries, "key_length": keys}
    stream = Stream(f"{seed}/offset")
    kind = stream.of_pairs([("unstated", 3), ("zero", 1), ("last", 3), ("any", 5)])
    offset = {"zero": 0, "last": keys - queries, "any": stream.between(-queries, keys)}
    found |= {"offset": offset[kind]} if kind in offset else {}
    return {}, found | ({"additive": True} if Stream(f"{seed}/additive").share(50) else {})


SHARES_OF_RULES = {
    "is_causal": 50,
    "window": 30,
    "chunk": 25,
    "prefix_lengths": 25,
    "query_starts": 15,
    "query_documents": 25,
    "parents": 20,
    "attended_blocks": 25,
    "key_lengths": 25,
    "query_lengths": 15,
    "left_padding": 20,
    "block_size": 50,
}


def attention_mask(seed, _, elements, longest):
    """The arrays, and the attributes."""
    stream = Stream(f"{seed}/extents")
    lengths = {axis: stream.between(1, 8) for axis in ("batch", "queries", "keys")}
    for _ in range(stream.of_pairs([(0, 1), (1, 4), (2, 1)])):
        axis = stream.by_weight(queries=1, keys=1)
        lengths[axis] = stream.any_size(1, longest)
    lengths = {axis: min(length, longest) for axis, length in lengths.items()}
    batch, queries, keys = halved(lengths, lambda found: prod(found.values()), elements).values()
    rules = {name for name, share in SHARES_OF_RULES.items() if Stream(f"{seed}/has {name}").share(share)}
    if "query_starts" in rules:
        rules -= {"prefix_lengths", "query_documents", "parents", "key_lengths", "query_lengths", "left_padding"}
    found = {"query_length": queries} | ({} if keys == queries else {"key_length": keys})
    stream = Stream(f"{seed}/positions")
    kind, offset = stream.of_pairs([("key 0", 3), ("offset", 4), ("last", 4)]), stream.between(-queries, keys)
    if kind == "offset" and "query_starts" not in rules:
        found["offset"] = offset
    if kind == "last":
        found["causal_alignment"] = "bottom_right"
    window, block, table = (Stream(f"{seed}/{name}") for name in ("window", "block_size", "attended_block_size"))
    sides = [window.between(0, 4), window.between(0, 4)]
    values = {
        "is_causal": True,
        "window": [None if side == 4 else side for side in sides],
        "chunk": Stream(f"{seed}/chunk").between(1, 5),
        "block_size": [block.between(1, 4), block.between(1, 4)],
    }
    found |= {name: value for name, value in values.items() if name in rules}
    arrays = {}
    most = {"key_lengths": keys, "query_lengths": queries, "left_padding": keys // 2, "prefix_lengths": keys}
    for name, largest in most.items():
        if name in rules:
            arrays[name] = ((batch,), Stream(f"{seed}/{name}").whole(batch, 0, largest))
    for side, length in (("query", queries), ("key", keys)):
        if "query_documents" in rules:
            name = f"{side}_documents"
            arrays[name] = ((batch, length), Stream(f"{seed}/{name}").whole(batch * length, -1, 2))
        if "query_starts" in rules:
            name, count = f"{side}_starts", min(3, elements - 1) + 1
            arrays[name] = ((count,), sorted(Stream(f"{seed}/{name}").whole(count, 0, length)))
    if "parents" in rules:
        numbers = Stream(f"{seed}/parents").whole(batch * queries, 0, 65535)
        drafts = [number * (index % queries + 1) // 65536 - 1 for index, number in enumerate(numbers)]
        arrays["parents"] = ((batch, queries), drafts)
    if "attended_blocks" in rules:
        size = [table.between(1, 4), table.between(1, 4)]
        shape = (ceil(queries / size[0]), ceil(keys / size[1]))
        found["attended_block_size"] = size
        arrays["attended_blocks"] = (
            shape,
            [number < 60 for number in Stream(f"{seed}/attended_blocks").whole(prod(shape), 0, 99)],
        )
    stated = {*found, *arrays}
    shows = stated & {"is_causal", "window", "chunk", "offset", "parents"}
    if kind != "last" and shows and stated & {"key_length", "offset", "key_lengths", "query_lengths", "query_starts"}:
        found["causal_alignment"] = "top_left"
    return arrays, found


def context_of(seed, dtype, elements, longest):
    """The states, and the attributes."""
    stream = Stream(f"{seed}/extents")
    lengths = short_lengths(stream, ("tokens", "width"), [("tokens", 3), ("width", 2)], longest)
    alike = stream.share(15)
    if alike:
        lengths = dict.fromkeys(lengths, min(lengths.values()))
    halved(lengths, lambda found: prod(found.values()), elements)
    if alike:
        lengths = dict.fromkeys(lengths, min(lengths.values()))
    tokens, width = lengths.values()
    stream = Stream(f"{seed}/numbers")
    kind = stream.by_weight(coarse=6, full_width=3, large=1)
    sharpness = stream.of_pairs([(1, 2), (2, 3), (4, 2), (8, 1)])
    found = {}
    for name, shape, factor in (("encoder_states", (tokens, width), 1), ("decoder_state", (width,), sharpness)):
        stream, many = Stream(f"{seed}/{name}"), prod(shape)
        numbers = stream.full_width(many, dtype) if kind == "full_width" else stream.coarse(many)
        found[name] = (shape, [number * factor * (256 if kind == "large" else 1) for number in numbers])
    stream = Stream(f"{seed}/scale")
    stated, scale = stream.share(40), stream.one_of((1, 0.5, 0.25, 0.1, 2, -0.5))
    if kind == "large":
        return found, {"scale": 2**-16}
    return found, {"scale": scale} if stated else {}


def heads_of(seed, dtype, elements, longest, *, split):
    """The numbers that are moved, and the attributes."""
    stream = Stream(f"{seed}/extents")
    axes, long = ("batch", "heads", "tokens", "width"), [("tokens", 5), ("width", 4), ("heads", 4), ("batch", 1)]
    lengths = short_lengths(stream, axes, long, longest)
    batch, heads, tokens, width = halved(lengths, lambda found: prod(found.values()), elements).values()
    shape = (batch, tokens, heads * width) if split else (batch, heads, tokens, width)
    kind = Stream(f"{seed}/numbers").by_weight(coarse=1, full_width=3)
    stream, many = Stream(f"{seed}/x"), prod(shape)
    numbers = stream.full_width(many, dtype) if kind == "full_width" else stream.coarse(many)
    if Stream(f"{seed}/spoilt").share(20):
        stream = Stream(f"{seed}/spoilt feature")
        holding = stream.one_of((float("nan"), float("inf"), float("-inf")))
        numbers[stream.below(many)] = holding
    return {"x": (shape, numbers)}, {"num_heads": heads} if split else {}


def split_heads(seed, dtype, elements, longest):
    """Tokens that are to be split."""
    return heads_of(seed, dtype, elements, longest, split=True)


def combined_heads(seed, dtype, elements, longest):
    """Heads that are to be combined."""
    return heads_of(seed, dtype, elements, longest, split=False)


def with_projections(seed, dtype, shapes):
    """All tensors of attention with projections, and the scale."""
    stream = Stream(f"{seed}/numbers")
    kind, sharpness = stream.by_weight(coarse=7, full_width=3), stream.of_pairs([(1, 2), (2, 3), (4, 2)])
    found = {}
    for name, shape in shapes.items():
        stream, many = Stream(f"{seed}/{name}"), prod(shape)
        numbers = stream.full_width(many, dtype) if kind == "full_width" else stream.coarse(many)
        factor = 2.0 ** -(len(f"{shape[0]:b}") // 2) if name.startswith("w_") else 1
        factor *= sharpness if name == "w_query" else 1
        found[name] = (shape, [number * factor for number in numbers])
    stream = Stream(f"{seed}/scale")
    scale = {"scale": stream.one_of((1, 0.5, 0.25, 0.1, 2))} if stream.share(35) else {}
    if Stream(f"{seed}/large").share(8):
        for name in {"w_query", "w_key", "b_query", "b_key"} & found.keys():
            found[name] = (found[name][0], [number * 256 for number in found[name][1]])
        scale = {"scale": 2**-16}
    return found, scale


def random_weights(seed, elements):
    """The attributes of random weights."""
    stream = Stream(f"{seed}/fans")
    rows = stream.any_size(1, 4096)
    fewest = ceil(4096 / rows)
    columns = stream.any_size(fewest, max(elements // rows, fewest))
    stream = Stream(f"{seed}/seed")
    kind, number = stream.by_weight(zero=1, any=7), stream.any_size(1, 2147483647) - 1
    return {"fan_in": rows, "fan_out": columns, "seed": 0 if kind == "zero" else number}


def one_head(seed, dtype, elements, longest):
    """All inputs of a single head, and its attributes."""
    stream = Stream(f"{seed}/extents")
    axes = ("tokens", "features", "width", "value_width", "output_width")
    long = [("tokens", 5), ("features", 3), ("width", 3), ("value_width", 1), ("output_width", 1)]
    lengths = short_lengths(stream, axes, long, longest)
    mixes = stream.share(60)

    def largest_of(tokens, features, width, value_width, output_width):
        widest = max(features, width, value_width)
        return max(tokens * tokens, tokens * widest, features * widest, value_width * output_width)

    halved(lengths, lambda found: largest_of(**found), elements)
    tokens, features, width, value_width, output_width = lengths.values()
    shapes = {"x": (tokens, features), "w_query": (features, width), "w_key": (features, width)}
    shapes["w_value"] = (features, value_width)
    return with_projections(seed, dtype, shapes | ({"w_output": (value_width, output_width)} if mixes else {}))


def several_heads(seed, dtype, elements, longest):
    """The inputs of several heads but for a mask, and the attributes."""
    stream = Stream(f"{seed}/extents")
    axes = ("batch", "heads", "queries", "keys", "width")
    long = [("keys", 5), ("queries", 4), ("heads", 3), ("width", 3), ("batch", 1)]
    lengths = short_lengths(stream, axes, long, longest)
    alike = stream.share(20)

    def largest_of(batch, heads, queries, keys, width):
        tokens = batch * max(queries, keys) * heads * width
        return max(batch * heads * queries * keys, tokens, (heads * width) ** 2)

    halved(lengths, lambda found: largest_of(**found), elements)
    if alike:
        lengths["queries"] = lengths["keys"] = min(lengths["queries"], lengths["keys"])
    elif Stream(f"{seed}/no keys").share(3):
        lengths["keys"] = 0
    batch, heads, queries, keys, width = lengths.values()
    features = heads * width
    shapes = {"query": (batch, queries, features), "key": (batch, keys, features), "value": (batch, keys, features)}
    shapes |= dict.fromkeys(("w_query", "w_key", "w_value", "w_output"), (features, features))
    biases = ("b_query", "b_key", "b_value", "b_output")
    shapes |= {name: (features,) for name in biases if Stream(f"{seed}/given {name}").share(50)}
    found, scale = with_projections(seed, dtype, shapes)
    causal = {"is_causal": True} if Stream(f"{seed}/causal").share(30) else {}
    return found, {"num_heads": heads, **causal, **scale}
