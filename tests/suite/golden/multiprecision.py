"""Every operation with as many decimal digits as one likes, written from the contract, one element at a time.

Nothing here bounds an error or hurries. A number is computed plainly with mpmath at the precision in force; where
an element might be a fraction, :meth:`Evaluation.exact` proves it with rational arithmetic or gives up.
"""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from functools import cached_property
from types import SimpleNamespace

import mpmath
import numpy as np

UNGRADED = object()
"""Stands for an element of a padded query, which the contract leaves open."""


def many_digits(number: float):
    return mpmath.mpf(float(number))


def dot(left, right):
    return sum(a * b for a, b in zip(left, right, strict=True))


class Evaluation:
    """The outputs of one operation for given inputs and attributes."""

    def __init__(self, inputs, attributes) -> None:
        self.inputs = SimpleNamespace(**inputs)
        self.attributes = attributes
        self._known = {}

    def element(self, output: str, index: tuple[int, ...]):
        """The element at the precision in force: an mpf; an int where it is exact by definition; or UNGRADED."""
        return getattr(self, output)(index, many_digits)

    def exact(self, output: str, index: tuple[int, ...]) -> Fraction | None:
        """The element as a fraction, where rational arithmetic suffices to find it."""
        try:
            return getattr(self, output)(index, Fraction)
        except (OverflowError, ValueError):  # a NaN or an infinity is no fraction
            return None

    def remembered(self, number, key, compute):
        key = (mpmath.mp.dps if number is many_digits else "exact", key)
        if key not in self._known:
            self._known[key] = compute()
        return self._known[key]


class Row:
    """One query against its keys; numbers are all mpf or all Fraction, and an irrational scale is None."""

    def __init__(self, number, dots, values, *, scale, width, softcap=None, biases=None, allowed=None, sink=None):
        self.dots, self.values = dots, values
        self.number, self.softcap, self.sink = number, softcap, sink
        self.biases = [number(0)] * len(dots) if biases is None else biases
        self.allowed = [True] * len(dots) if allowed is None else allowed
        if scale is not None:
            self.scale = number(scale)
        elif number is many_digits:
            self.scale = 1 / mpmath.sqrt(width)
        else:
            root = math.isqrt(width)
            self.scale = Fraction(1, root) if root * root == width else None

    def score(self, j):
        if self.scale is None:
            return self.dots[j] if self.dots[j] == 0 else None
        return self.scale * self.dots[j]

    def logit(self, j):
        score = self.score(j)
        if not self.softcap:
            return None if score is None else score + self.biases[j]
        if self.number is many_digits:
            return self.softcap * mpmath.tanh(score / self.softcap) + self.biases[j]
        return self.biases[j] if score == 0 else None

    @cached_property
    def attended(self):
        return [j for j, allowed in enumerate(self.allowed) if allowed]

    @cached_property
    def powers(self):
        """exp(logit - greatest), the same for the sink, the greatest logit; None where a NaN has come in."""
        logits = {j: self.logit(j) for j in self.attended}
        every = [*logits.values(), *([] if self.sink is None else [self.sink])]
        if any(mpmath.isnan(logit) or logit == mpmath.inf for logit in every) or max(every) == -mpmath.inf:
            return None
        greatest = max(every)
        sink = 0 if self.sink is None else mpmath.exp(self.sink - greatest)
        return {j: mpmath.exp(logit - greatest) for j, logit in logits.items()}, sink, greatest

    @property
    def dead(self):
        return not self.attended and self.sink is None

    def weight(self, j):
        if self.number is Fraction:
            return self._exact_mean([int(j == other) for other in range(len(self.dots))])
        if self.dead:
            return 0
        if self.powers is None:
            return mpmath.nan
        powers, *_ = self.powers
        return powers[j] / self.total if j in powers else 0

    @cached_property
    def total(self):
        powers, sink, _ = self.powers
        return mpmath.fsum(powers.values()) + sink

    def logsumexp(self):
        if self.number is Fraction:
            return self.logit(self.attended[0]) if len(self.attended) == 1 and self.sink is None else None
        if self.dead:
            return -mpmath.inf
        return mpmath.nan if self.powers is None else self.powers[2] + mpmath.log(self.total)

    def mean(self, column):
        values = [row[column] for row in self.values]
        if self.number is Fraction:
            return self._exact_mean(values)
        if self.dead:
            return 0
        if self.powers is None:
            return mpmath.nan
        return mpmath.fsum(power * values[j] for j, power in self.powers[0].items()) / self.total

    def _exact_mean(self, values):
        """The common mean of all groups of keys that are seen to have equal logits; a sink has the value 0."""
        groups = defaultdict(list)
        for j in self.attended:
            logit = self.logit(j)
            groups[(self.dots[j], self.biases[j]) if logit is None else logit].append(Fraction(values[j]))
        if self.sink is not None:
            groups[self.sink].append(Fraction(0))
        means = {sum(group) / len(group) for group in groups.values()} or {Fraction(0)}
        return means.pop() if len(means) == 1 else None


class Softmax(Evaluation):
    operation = "softmax"

    def output(self, index, number):
        axis = self.attributes.get("axis", -1)
        x = self.inputs.x
        line = x.ravel() if axis is None else np.moveaxis(x, axis, -1)[tuple(np.delete(index, axis))]
        position = np.ravel_multi_index(index, x.shape) if axis is None else index[axis]
        key = None if axis is None else tuple(np.delete(index, axis))
        ones = {"scale": 1, "width": 1}
        row = self.remembered(number, key, lambda: Row(number, [*map(number, line)], [], **ones))
        return row.weight(position)


class CausalMask(Evaluation):
    operation = "causal_mask"

    def output(self, index, number):
        attend = index[1] <= index[0] + self.attributes.get("offset", 0)
        return (0 if attend else -mpmath.inf) if self.attributes.get("additive") else int(attend)


class SplitHeads(Evaluation):
    operation = "split_heads"

    def output(self, index, number):
        item, head, token, feature = index
        x = self.inputs.x
        return number(x[item, token, head * (x.shape[2] // self.attributes["num_heads"]) + feature])


class CombineHeads(Evaluation):
    operation = "combine_heads"

    def output(self, index, number):
        head, feature = divmod(index[2], self.inputs.x.shape[3])
        return number(self.inputs.x[index[0], head, index[1], feature])


class ScaledDotProductAttention(Evaluation):
    operation = "scaled_dot_product_attention"

    def given(self, name):
        return getattr(self.inputs, name, None)

    def with_past(self, name):
        new, past = self.given(name), self.given(f"past_{name}")
        return new if past is None else np.concatenate([past, new], axis=2)

    def present_key(self, index, number):
        return number(self.with_past("key")[index])

    def present_value(self, index, number):
        return number(self.with_past("value")[index])

    def counts(self, name, item, shared, number):
        """What the numbers of a key head are multiplied by."""
        scale = self.given(f"{name}_scale")
        if scale is None:
            return number(1)
        whole = (self.inputs.key.shape[0], self.inputs.key.shape[1])
        return number(float(np.broadcast_to(scale, whole)[item, shared]))

    def graded(self, item, query):
        lengths = self.given("query_lengths")
        return lengths is None or query < lengths[item]

    def row(self, item, head, query, number):
        return self.remembered(number, (item, head, query), lambda: self.new_row(item, head, query, number))

    def new_row(self, item, head, query, number):
        keys, values = self.with_past("key"), self.with_past("value")
        shared = head // (self.inputs.query.shape[1] // keys.shape[1])
        keys, values = keys[item, shared], values[item, shared]
        queries, width = self.inputs.query.shape[2:]
        past = len(keys) - self.inputs.key.shape[2]
        # Lengths, and where the query stands
        end = len(keys) if self.given("key_lengths") is None else int(self.inputs.key_lengths[item])
        rows = queries if self.given("query_lengths") is None else int(self.inputs.query_lengths[item])
        alignment = self.attributes.get("causal_alignment", "top_left")
        position = query + (past if alignment == "top_left" else end - rows)
        left, right = self.attributes.get("window") or (None, None)
        allowed, biases = [], []
        for j in range(len(keys)):
            bias = number(0)
            attend = j < end
            if self.attributes.get("is_causal"):
                attend = attend and j <= position
            if left is not None:
                attend = attend and j >= position - left
            if right is not None:
                attend = attend and j <= position + right
            if self.given("alibi_slopes") is not None:
                bias -= number(self.inputs.alibi_slopes[head]) * abs(position - j)
            if self.given("mask") is not None:
                shape = (*self.inputs.query.shape[:3], len(keys))
                entry = np.broadcast_to(self.inputs.mask, shape)[item, head, query, j]
                attend = attend and (bool(entry) if self.inputs.mask.dtype == bool else entry != -np.inf)
                if attend and self.inputs.mask.dtype != bool:
                    bias += number(entry)
            allowed.append(bool(attend))
            biases.append(bias)
        sinks, softcap = self.given("sinks"), self.attributes.get("softcap")
        vector = [*map(number, self.inputs.query[item, head, query].tolist())]
        of_query, of_key, of_value = (self.counts(name, item, shared, number) for name in ("query", "key", "value"))
        return Row(
            number,
            [of_query * of_key * dot(vector, map(number, key)) for key in keys.tolist()],
            [[of_value * number(entry) for entry in value] for value in values.tolist()],
            scale=self.attributes.get("scale"),
            width=width,
            softcap=number(softcap) if softcap else None,
            biases=biases,
            allowed=allowed,
            sink=None if sinks is None else number(sinks[head]),
        )

    def output(self, index, number):
        return self.row(*index[:3], number).mean(index[3]) if self.graded(index[0], index[2]) else UNGRADED

    def weights(self, index, number):
        return self.row(*index[:3], number).weight(index[3]) if self.graded(index[0], index[2]) else UNGRADED

    def logsumexp(self, index, number):
        return self.row(*index, number).logsumexp() if self.graded(index[0], index[2]) else UNGRADED

    def scores(self, index, number):
        return self.row(*index[:3], number).score(index[3]) if self.graded(index[0], index[2]) else UNGRADED

    def logits(self, index, number):
        if not self.graded(index[0], index[2]):
            return UNGRADED
        row = self.row(*index[:3], number)
        return row.logit(index[3]) if row.allowed[index[3]] else -mpmath.inf


class SingleHeadAttention(Evaluation):
    operation = "single_head_attention"

    def projected(self, name, number):
        def project():
            tokens = [[*map(number, token)] for token in self.inputs.x]
            columns = [[*map(number, column)] for column in getattr(self.inputs, f"w_{name}").T]
            return [[dot(token, column) for column in columns] for token in tokens]

        return self.remembered(number, name, project)

    def query(self, index, number):
        return self.projected("query", number)[index[0]][index[1]]

    def key(self, index, number):
        return self.projected("key", number)[index[0]][index[1]]

    def value(self, index, number):
        return self.projected("value", number)[index[0]][index[1]]

    def row(self, token, number):
        def compare():
            query, values = self.projected("query", number)[token], self.projected("value", number)
            dots = [dot(query, key) for key in self.projected("key", number)]
            return Row(number, dots, values, scale=self.attributes.get("scale"), width=len(query))

        return self.remembered(number, token, compare)

    def scores(self, index, number):
        return self.row(index[0], number).score(index[1])

    def weights(self, index, number):
        return self.row(index[0], number).weight(index[1])

    def output(self, index, number):
        row = self.row(index[0], number)
        matrix = getattr(self.inputs, "w_output", None)
        if matrix is None:
            return row.mean(index[1])
        means = [row.mean(column) for column in range(len(matrix))]
        return None if None in means else dot(means, map(number, matrix[:, index[1]]))


class MultiHeadAttention(Evaluation):
    operation = "multi_head_attention"

    def projected(self, name, item, number):
        def project():
            matrix, bias = getattr(self.inputs, f"w_{name}"), getattr(self.inputs, f"b_{name}", None)
            columns = [[*map(number, column)] for column in matrix.T]
            addends = [number(0)] * len(columns) if bias is None else [*map(number, bias)]
            tokens = [[*map(number, token)] for token in getattr(self.inputs, name)[item]]
            return [[dot(t, c) + b for c, b in zip(columns, addends, strict=True)] for t in tokens]

        return self.remembered(number, (name, item), project)

    def row(self, item, head, query, number):
        return self.remembered(number, (item, head, query), lambda: self.new_row(item, head, query, number))

    def new_row(self, item, head, query, number):
        heads = self.attributes["num_heads"]
        width = self.inputs.w_query.shape[1] // heads
        part = slice(head * width, (head + 1) * width)
        projected = self.projected("query", item, number)[query][part]
        keys = [key[part] for key in self.projected("key", item, number)]
        allowed, biases = [True] * len(keys), [number(0)] * len(keys)
        if (mask := getattr(self.inputs, "mask", None)) is not None:
            shape = (len(self.inputs.query), heads, self.inputs.query.shape[1], len(keys))
            entries = np.broadcast_to(mask, shape)[item, head, query]
            allowed = [bool(entry) if mask.dtype == bool else entry != -np.inf for entry in entries]
            if mask.dtype != bool:
                biases = [
                    number(entry) if attend else number(0) for entry, attend in zip(entries, allowed, strict=True)
                ]
        if self.attributes.get("is_causal"):
            allowed = [attend and j <= query for j, attend in enumerate(allowed)]
        return Row(
            number,
            [dot(projected, key) for key in keys],
            [value[part] for value in self.projected("value", item, number)],
            scale=self.attributes.get("scale"),
            width=width,
            biases=biases,
            allowed=allowed,
        )

    def weights(self, index, number):
        return self.row(*index[:3], number).weight(index[3])

    def means(self, item, query, number):
        heads = self.attributes["num_heads"]
        width = self.inputs.w_query.shape[1] // heads
        return [self.row(item, head, query, number).mean(column) for head in range(heads) for column in range(width)]

    def output(self, index, number):
        item, query, column = index
        means = self.remembered(number, ("means", item, query), lambda: self.means(item, query, number))
        if None in means:
            return None
        bias = getattr(self.inputs, "b_output", None)
        applied = dot(means, map(number, self.inputs.w_output[:, column]))
        return applied if bias is None else applied + number(bias[column])


class ContextVector(Evaluation):
    operation = "context_vector"

    def row(self, number):
        def compare():
            states = [[*map(number, state)] for state in self.inputs.encoder_states]
            query = [*map(number, self.inputs.decoder_state)]
            dots = [dot(query, state) for state in states]
            return Row(number, dots, states, scale=self.attributes.get("scale"), width=len(query))

        return self.remembered(number, "row", compare)

    def context(self, index, number):
        return self.row(number).mean(index[0])

    def weights(self, index, number):
        return self.row(number).weight(index[0])

    def scores(self, index, number):
        return self.row(number).score(index[0])

    def raw_scores(self, index, number):
        return self.row(number).dots[index[0]]


class AttentionToLatents:
    """Scaled dot-product attention, to keys that latents are or make; `attention` is that of a form."""

    attention: ScaledDotProductAttention

    def __init__(self, inputs, attributes) -> None:
        super().__init__(inputs, attributes)
        names = ("mask", "key_lengths", "query_lengths")
        self.beside = {name: inputs[name] for name in names if name in inputs}

    def weights(self, index, number):
        return self.attention.weights(index, number)

    def logsumexp(self, index, number):
        return self.attention.logsumexp(index, number)

    def scores(self, index, number):
        return self.attention.scores(index, number)

    def logits(self, index, number):
        return self.attention.logits(index, number)


class AbsorbedLatentAttention(AttentionToLatents, Evaluation):
    """Attention whose one key head has latents and rotated keys, and whose values are the latents."""

    operation = "absorbed_latent_attention"

    def __init__(self, inputs, attributes) -> None:
        super().__init__(inputs, attributes)
        self.attention = self.attending(inputs["latent"])

    def queries(self):
        return np.concatenate([self.inputs.query_latent, self.inputs.query_rotary], axis=-1)

    def attending(self, latents):
        key = np.concatenate([latents, self.inputs.key_rotary], axis=-1)
        given = {"query": self.queries(), "key": key[:, np.newaxis], "value": latents[:, np.newaxis]}
        return ScaledDotProductAttention({**given, **self.beside}, self.attributes)

    def output_latent(self, index, number):
        return self.attention.output(index, number)


class LatentAttention(AttentionToLatents, Evaluation):
    """Attention to keys and values of heads: products of numbers with seven bits, which float64 holds exactly."""

    operation = "latent_attention"

    def __init__(self, inputs, attributes) -> None:
        super().__init__(inputs, attributes)
        self.stated = {name: value for name, value in attributes.items() if name != "magnitude"}
        self.attention = self.attending(self.made(self.inputs.w_value))
        self.of_latents = self.attending(self.made(np.eye(inputs["latent"].shape[-1])))

    def given(self, name):
        return getattr(self.inputs, name, None)

    def made(self, matrices):
        """What the heads make of latents, of the past and of the new ones."""
        heads = self.inputs.query_content.shape[1]
        matrices = np.broadcast_to(matrices, (heads, *matrices.shape[-2:]))
        past = self.given("past_latent")
        return [
            None if latents is None else latents[:, np.newaxis] @ matrices for latents in (past, self.inputs.latent)
        ]

    def attending(self, values):
        magnitude = 1.0 if self.attributes.get("scale") is not None else self.attributes.get("magnitude", 1.0)
        query = np.concatenate([self.inputs.query_content, self.inputs.query_rotary], axis=-1) * magnitude**2
        given = {"query": query, **self.beside}
        rotated = (self.given("past_key_rotary"), self.inputs.key_rotary)
        for name, content, rotary, value in zip(
            ("past_", ""), self.made(self.inputs.w_key), rotated, values, strict=True
        ):
            if content is not None:
                shared = np.broadcast_to(rotary[:, np.newaxis], (*content.shape[:3], rotary.shape[-1]))
                given[f"{name}key"] = np.concatenate([content, shared], axis=-1)
                given[f"{name}value"] = value
        return ScaledDotProductAttention(given, self.stated)

    def output(self, index, number):
        return self.attention.output(index, number)

    def output_latent(self, index, number):
        return self.of_latents.output(index, number)

    def present(self, name, index, number):
        new, past = self.given(name), self.given(f"past_{name}")
        return number((new if past is None else np.concatenate([past, new], axis=1))[index])

    def present_latent(self, index, number):
        return self.present("latent", index, number)

    def present_key_rotary(self, index, number):
        return self.present("key_rotary", index, number)


def evaluation(operation: str, inputs, attributes) -> Evaluation:
    return {kind.operation: kind for kind in Evaluation.__subclasses__()}[operation](inputs, attributes)


# Rounding

FEW_DIGITS, MANY_DIGITS = 60, 2000
CLOSE, VERY_CLOSE = mpmath.mpf(10) ** -50, mpmath.mpf(10) ** -1900


def nearest(number) -> float:
    """The float64 nearest to an mpf, ties to even."""
    if not mpmath.isfinite(number):
        return float(number)
    if number == 0 or mpmath.mag(number) < -1080:
        return 0.0
    if mpmath.mag(number) > 1030:
        return math.inf if number > 0 else -math.inf
    sign, mantissa, exponent, _ = number._mpf_
    return rounded((-1) ** sign * int(mantissa) * Fraction(2) ** int(exponent))


def rounded(number: Fraction) -> float:
    try:
        return number.numerator / number.denominator + 0.0
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def decided(number, distance) -> bool:
    """Whether an mpf keeps clear of zero and of every middle between two float64 numbers."""
    if not mpmath.isfinite(number) or abs(number) > mpmath.mpf(2) ** 1026:
        return True
    if abs(number) < distance:
        return False
    value = min(max(nearest(number), -1.7976931348623157e308), 1.7976931348623157e308)
    for towards in (-math.inf, math.inf):
        neighbour = math.nextafter(value, towards)
        if math.isinf(neighbour):
            neighbour = math.copysign(2.0, neighbour) * mpmath.mpf(2) ** 1023
        middle = (mpmath.mpf(value) + neighbour) / 2
        if abs(number - middle) < distance * max(1, abs(number)):
            return False
    return True


def correctly_rounded(evaluation: Evaluation, output: str, index: tuple[int, ...]) -> float | None:
    """The element rounded once, with as many digits as that takes; None where it is not graded."""
    with mpmath.workdps(FEW_DIGITS):
        number = evaluation.element(output, index)
        if number is UNGRADED or isinstance(number, int):
            return None if number is UNGRADED else float(number)
        if decided(number, CLOSE):
            return nearest(number)
    with mpmath.workdps(MANY_DIGITS):
        number = evaluation.element(output, index)
        # So close to zero every number rounds to zero; it is no boundary.
        if abs(number) < VERY_CLOSE or decided(number, VERY_CLOSE):
            return nearest(number) if abs(number) >= VERY_CLOSE else 0.0
    proof = evaluation.exact(output, index)
    if proof is None:
        raise AssertionError(f"{output}{list(index)} is next to a middle, and no rational arithmetic proves it")
    return rounded(proof)
