"""What goes wrong in QK-norm: which features, whose weights, and the order beside the rotation."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from attnspec_mistakes.misread_memory import as_it_lies_in_memory, overwriting, remembering, without_gaps
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.norms.rms_norms import (
    as_a_floor,
    by_reciprocal_in,
    centred,
    divided_too,
    of_the_first_token,
    offset_twice,
    outside,
    sum_of_squares,
    summed,
)
from attnspec_mistakes.patches import (
    Computation,
    altered,
    defaulting,
    exchanging,
    ignoring,
    on_calls,
    patch,
    replacing,
    through_float16,
)
from attnspec_reference.norms.qk_norm import NormalizedPair, heads_apart, heads_side_by_side, normalize, qk_norm, turn
from attnspec_reference.norms.rms_norm import divide_by_root, mean_square_of, multiply
from attnspec_reference.precision import Array, quietly, result_dtype, round_to, widen, widen_if_given
from attnspec_reference.rotary.apply_rotary import for_every_head, pairs_of, put_back

Norm = Callable[[Array, Array, float, str, str], Array]


def normalizing(**steps: Any) -> Computation:
    """Replace steps of both norms."""
    return patch(qk_norm, normalize=patch(normalize, **steps))


def with_norm(norm: Norm) -> Computation:
    """Replace both norms."""
    return patch(qk_norm, normalize=norm)


@quietly
def from_the_front(order: Callable[..., tuple[Array, Array]], **arguments: Any) -> NormalizedPair:
    """Widen, let a function do the rest with all arguments by name, and round."""
    qk_norm(**arguments)
    dtype = result_dtype(arguments["query"])
    wide = {name: widen_if_given(arguments.get(name), dtype) for name in ("query", "key", "cos", "sin")}
    weights = {name: widen(arguments[name], dtype) for name in ("query_weight", "key_weight")}
    words = {
        "normalized_over": arguments.get("normalized_over", "head"),
        "weight_offset": arguments.get("weight_offset", "zero"),
        "pairing": arguments.get("pairing", "half"),
    }
    pair = order(**wide, **weights, epsilon=arguments["epsilon"], **words)
    return NormalizedPair(*(round_to(dtype, each) for each in pair))


def in_order(order: Callable[..., tuple[Array, Array]]) -> Computation:
    """Make a computation of both outputs from the arguments, widened and complete."""
    return partial(from_the_front, order)


def rotated(x: Array, cos: Array | None, sin: Array | None, pairing: str) -> Array:
    """Rotate where there are tables."""
    return x if cos is None or sin is None else turn(x, cos, sin, pairing)


def each_by(one: Callable[..., Array]) -> Computation:
    """Make both outputs by one function of an input, its weight and the rest."""

    def order(*, query: Array, key: Array, query_weight: Array, key_weight: Array, **rest: Any) -> tuple[Array, Array]:
        return one(query, query_weight, **rest), one(key, key_weight, **rest)

    return in_order(order)


def rotated_first(x: Array, weight: Array, *, cos: Any, sin: Any, epsilon: float, pairing: str, **words: str) -> Array:
    """Rotate, and normalize what comes of it."""
    turned = rotated(x, cos, sin, pairing)
    return normalize(turned, weight, epsilon, words["normalized_over"], words["weight_offset"])


def weighted_last(x: Array, weight: Array, *, cos: Any, sin: Any, epsilon: float, pairing: str, **words: str) -> Array:
    """Normalize, rotate, and multiply by the weight at last."""
    over, offset = words["normalized_over"], words["weight_offset"]
    plain = rotated(normalize(x, np.ones_like(weight), epsilon, over, "zero"), cos, sin, pairing)
    if over == "head":
        return multiply(plain, weight, offset)
    return heads_apart(multiply(heads_side_by_side(plain), weight, offset), x.shape)


def rotated_part_alone(
    x: Array, weight: Array, *, cos: Any, sin: Any, epsilon: float, pairing: str, **words: str
) -> Array:
    """Normalize by the features that are rotated, and leave the others as they were."""
    width = x.shape[3] if cos is None else 2 * cos.shape[2]
    if width == x.shape[3] or words["normalized_over"] != "head":
        return rotated(normalize(x, weight, epsilon, *list(words.values())), cos, sin, pairing)
    part = normalize(x[..., :width], weight[:width], epsilon, "head", words["weight_offset"])
    return np.concatenate([rotated(part, cos, sin, pairing), x[..., width:]], axis=-1)


def rest_dropped(x: Array, weight: Array, *, cos: Any, sin: Any, epsilon: float, pairing: str, **words: str) -> Array:
    """Put zeros where nothing is rotated."""
    output = rotated(normalize(x, weight, epsilon, *list(words.values())), cos, sin, pairing)
    return output if cos is None else np.where(np.arange(x.shape[3]) < 2 * cos.shape[2], output, 0)


def over_all(x: Array, weight: Array, epsilon: float, normalized_over: str, weight_offset: str) -> Array:
    """Normalize the features of all heads together, with the weights of one."""
    if normalized_over == "all_heads":
        return normalize(x, weight, epsilon, normalized_over, weight_offset)
    together = heads_side_by_side(x)
    plain = divide_by_root(together, mean_square_of(together), epsilon)
    return multiply(heads_apart(plain, x.shape), weight, weight_offset)


def by_head(x: Array, weight: Array, epsilon: float, normalized_over: str, weight_offset: str) -> Array:
    """Normalize each head by itself, with the weights of its own features."""
    if normalized_over == "head":
        return normalize(x, weight, epsilon, normalized_over, weight_offset)
    plain = divide_by_root(x, mean_square_of(x), epsilon)
    return heads_apart(multiply(heads_side_by_side(plain), weight, weight_offset), x.shape)


def over_heads(x: Array, weight: Array, epsilon: float, normalized_over: str, weight_offset: str) -> Array:
    """Average over the heads, for each feature."""
    if normalized_over == "all_heads":
        return normalize(x, weight, epsilon, normalized_over, weight_offset)
    mean = np.mean(x * x, axis=1, keepdims=True)
    return multiply(divide_by_root(x, mean, epsilon), weight, weight_offset)


def with_weights(change: Callable[[Array, int], Array]) -> Norm:
    """Rearrange the weights of all heads."""

    def norm(x: Array, weight: Array, epsilon: float, normalized_over: str, weight_offset: str) -> Array:
        changed = change(weight, x.shape[1]) if normalized_over == "all_heads" else weight
        return normalize(x, changed, epsilon, normalized_over, weight_offset)

    return norm


def of_first_head(weight: Array, heads: int) -> Array:
    """Take the weights of the first head for all."""
    return np.tile(weight.reshape(heads, -1)[0], heads)


def feature_by_feature(weight: Array, heads: int) -> Array:
    """Read the weights of all heads as if those of one feature stood together."""
    return weight.reshape(-1, heads).T.ravel()


def heads_interleaved_apart(together: Array, shape: tuple[int, ...]) -> Array:
    """Take the heads of each feature to lie side by side."""
    batch, heads, tokens, features = shape
    return np.moveaxis(together.reshape(batch, tokens, features, heads), 3, 1)


def only(name: str) -> Computation:
    """Normalize one of both, and only rotate the other."""

    def order(*, cos: Any, sin: Any, pairing: str, epsilon: float, **rest: Any) -> tuple[Array, Array]:
        made: dict[str, Array] = {}
        for each in ("query", "key"):
            x = rest[each]
            if each == name:
                words = rest["normalized_over"], rest["weight_offset"]
                x = normalize(x, rest[f"{each}_weight"], epsilon, *words)
            made[each] = rotated(x, cos, sin, pairing)
        return made["query"], made["key"]

    return in_order(order)


def only_query_rotated(*, cos: Any, sin: Any, pairing: str, epsilon: float, **rest: Any) -> tuple[Array, Array]:
    """Normalize both, and rotate the query."""
    words = rest["normalized_over"], rest["weight_offset"]
    query, key = (normalize(rest[each], rest[f"{each}_weight"], epsilon, *words) for each in ("query", "key"))
    return rotated(query, cos, sin, pairing), key


def offset_for_query_alone(*, cos: Any, sin: Any, pairing: str, epsilon: float, **rest: Any) -> tuple[Array, Array]:
    """Add 1 to the weights of the query, and not to those of the key."""
    over = rest["normalized_over"]
    query = normalize(rest["query"], rest["query_weight"], epsilon, over, rest["weight_offset"])
    key = normalize(rest["key"], rest["key_weight"], epsilon, over, "zero")
    return rotated(query, cos, sin, pairing), rotated(key, cos, sin, pairing)


def together(*, query: Array, key: Array, cos: Any, sin: Any, pairing: str, epsilon: float, **rest: Any) -> Any:
    """Normalize queries and keys of all heads by one root, as they lie in the fused projection."""
    if rest["normalized_over"] == "head":
        raise ValueError("Each head is normalized by itself.")
    both = np.concatenate([query, key], axis=1)
    weight = np.concatenate([rest["query_weight"], rest["key_weight"]])
    output = rotated(normalize(both, weight, epsilon, "all_heads", rest["weight_offset"]), cos, sin, pairing)
    return output[:, : query.shape[1]], output[:, query.shape[1] :]


def root_of_query(*, query: Array, key: Array, cos: Any, sin: Any, pairing: str, epsilon: float, **rest: Any) -> Any:
    """Divide the key by the root of the query, head by head."""
    heads, key_heads = query.shape[1], key.shape[1]
    if rest["normalized_over"] != "head" or heads % key_heads:
        raise ValueError(f"There are {heads} query heads and {key_heads} key heads.")
    words = rest["normalized_over"], rest["weight_offset"]
    first = normalize(query, rest["query_weight"], epsilon, *words)
    mean = mean_square_of(query[:, :: heads // key_heads])
    second = multiply(divide_by_root(key, mean, epsilon), rest["key_weight"], rest["weight_offset"])
    return rotated(first, cos, sin, pairing), rotated(second, cos, sin, pairing)


def with_own_weight(name: str, own: str) -> Computation:
    """Take the weight of the other one, where it has the same length."""

    def computed(**arguments: Any) -> NormalizedPair:
        if np.shape(arguments[name]) != np.shape(arguments[own]):
            raise ValueError(f"{name} and {own} have other lengths.")
        return qk_norm(**{**arguments, name: arguments[own]})

    return computed


def of_first(axis: int) -> Callable[[Any], Array]:
    """Take the first row of the tables for all along an axis."""
    return lambda table: np.broadcast_to(np.take(np.asarray(table), [0], axis=axis), np.shape(table))


def in_half_precision(**arguments: Any) -> Any:
    """Take the mean of the squares in the dtype of the inputs, where it is half precision."""
    dtype = result_dtype(arguments["query"])
    if dtype.itemsize > 2:
        return qk_norm(**arguments)

    def mean_square(x: Array) -> Array:
        return summed(x.astype(dtype)).astype(x.dtype)

    return normalizing(mean_square_of=mean_square)(**arguments)


def by_reciprocal_in_half(**arguments: Any) -> Any:
    """Keep one over the root in the dtype of the query, where it may overflow."""
    return normalizing(divide_by_root=by_reciprocal_in(result_dtype(arguments["query"])))(**arguments)


def one_table_as_none(**arguments: Any) -> NormalizedPair:
    """Rotate only where both tables are there, and fit them to the tokens."""
    cos, sin = (arguments.pop(name, None) for name in ("cos", "sin"))
    if cos is None or sin is None:
        return qk_norm(**arguments)
    batch, _, tokens, features = np.shape(arguments["query"])
    shape = (batch, tokens, min(np.shape(cos)[-1], features // 2))
    cos, sin = (np.resize(np.asarray(table), shape) for table in (cos, sin))
    return qk_norm(**arguments, cos=cos, sin=sin)


def weights_fitted(**arguments: Any) -> NormalizedPair:
    """Repeat weights that are too short, and cut those that are too long."""
    over = arguments.get("normalized_over", "head")
    for name in ("query", "key"):
        _, heads, _, features = np.shape(arguments[name])
        length = features if over == "head" else heads * features
        arguments[f"{name}_weight"] = np.resize(np.asarray(arguments[f"{name}_weight"]), length)
    return qk_norm(**arguments)


def key_fitted(**arguments: Any) -> NormalizedPair:
    """Normalize queries and keys in calls of their own, which see nothing of each other."""
    query, key = arguments.pop("query"), arguments.pop("key")
    weights = arguments.pop("query_weight"), arguments.pop("key_weight")
    outputs = [
        qk_norm(query=x, key=x, query_weight=weight, key_weight=weight, **arguments).query_output
        for x, weight in zip((query, key), weights, strict=True)
    ]
    return NormalizedPair(*outputs)


def axes_filled_in(**arguments: Any) -> NormalizedPair:
    """Take queries and keys without heads for those of one head."""
    shapes = [np.shape(arguments[name]) for name in ("query", "key")]
    for name in ("query", "key"):
        x = np.asarray(arguments[name])
        arguments[name] = x if x.ndim == 4 else x.reshape(x.shape[0], -1, *x.shape[-2:])
    return NormalizedPair(*(output.reshape(shape) for output, shape in zip(qk_norm(**arguments), shapes, strict=True)))


def known_word(name: str, words: tuple[str, str]) -> Computation:
    """Take an unknown word for the first one."""
    return altered(qk_norm, **{name: lambda word: word if word in words else words[0]})


def halves_crossed(*, cos: Any, sin: Any, pairing: str, epsilon: float, **rest: Any) -> tuple[Array, Array]:
    """Take the second feature of each pair of a query from the key, and the first one of a key from the query."""
    words = rest["normalized_over"], rest["weight_offset"]
    query, key = (
        rotated(normalize(rest[each], rest[f"{each}_weight"], epsilon, *words), cos, sin, pairing)
        for each in ("query", "key")
    )
    if cos is None:
        return query, key
    pairs = int(cos.shape[2])
    feature: Array = np.arange(int(query.shape[3]))
    second = feature % 2 == 1 if pairing == "interleaved" else feature >= pairs
    taken, heads = feature < 2 * pairs, min(query.shape[1], key.shape[1])
    first_query, first_key = query[:, :heads], key[:, :heads]
    crossed = np.where(second & taken, first_key, first_query), np.where(~second & taken, first_query, first_key)
    return np.concatenate([crossed[0], query[:, heads:]], 1), np.concatenate([crossed[1], key[:, heads:]], 1)


def partner_of_first_heads_alone(x: Array, cos: Array, sin: Array, pairing: str) -> Array:
    """Let the features of a pair be their own partners in every second head, where a part of a head is rotated."""
    output = turn(x, cos, sin, pairing)
    pairs = cos.shape[2]
    if pairing != "half" or 2 * pairs == x.shape[3]:
        return output
    first, second = pairs_of(x[..., : 2 * pairs], pairing)
    table, of_sines = for_every_head(cos), for_every_head(sin)
    alone = put_back(first * (table - of_sines), second * (table + of_sines), pairing, x[..., 2 * pairs :])
    return np.where((np.arange(x.shape[1]) % 2 == 1)[:, np.newaxis, np.newaxis], alone, output)


def without_rest(output: Array, arguments: Mapping[str, Any]) -> Array:
    """Put zeros where nothing is rotated, though tables are given."""
    cos = arguments.get("cos")
    if cos is None:
        return output
    return np.where(np.arange(output.shape[3]) < 2 * np.shape(cos)[2], output, np.zeros_like(output))


FUNCTIONS: Mapping[str, Making] = {
    "qk_norm.after_rotation": each_by(rotated_first),
    "qk_norm.weight_after_rotation": each_by(weighted_last),
    "qk_norm.over_all_heads": with_norm(over_all),
    "qk_norm.over_each_head": with_norm(by_head),
    "qk_norm.over_heads": with_norm(over_heads),
    "qk_norm.all_heads_by_default": on_calls(
        qk_norm, lambda arguments: "normalized_over" not in arguments, with_norm(over_all)
    ),
    "qk_norm.query_and_key_together": in_order(together),
    "qk_norm.weights_feature_by_feature": with_norm(with_weights(feature_by_feature)),
    "qk_norm.weights_of_first_head": with_norm(with_weights(of_first_head)),
    "qk_norm.query_weight_for_key": with_own_weight("key_weight", "query_weight"),
    "qk_norm.key_weight_for_query": with_own_weight("query_weight", "key_weight"),
    "qk_norm.weights_exchanged": exchanging(qk_norm, ("query_weight", "key_weight")),
    "qk_norm.weights_ignored": normalizing(multiply=lambda normalized, _weight, _offset: normalized),
    "qk_norm.root_of_query": in_order(root_of_query),
    "qk_norm.key_as_it_is": only("query"),
    "qk_norm.query_as_it_is": only("key"),
    "qk_norm.mean_subtracted": normalizing(divide_by_root=centred),
    "qk_norm.sum_of_squares": normalizing(mean_square_of=sum_of_squares),
    "qk_norm.root_of_first_token": normalizing(mean_square_of=of_the_first_token),
    "qk_norm.epsilon_outside_the_root": normalizing(divide_by_root=outside),
    "qk_norm.epsilon_ignored": normalizing(divide_by_root=lambda x, mean_square, _: x / np.sqrt(mean_square)),
    "qk_norm.epsilon_fixed": altered(qk_norm, epsilon=lambda _: 1e-6),
    "qk_norm.epsilon_as_floor": normalizing(divide_by_root=as_a_floor),
    "qk_norm.epsilon_divided": normalizing(divide_by_root=divided_too),
    "qk_norm.mean_in_half_precision": in_half_precision,
    "qk_norm.reciprocal_in_half_precision": by_reciprocal_in_half,
    "qk_norm.through_float16": patch(qk_norm, widen=through_float16),
    "qk_norm.offset_ignored": ignoring(qk_norm, "weight_offset"),
    "qk_norm.offset_always": normalizing(multiply=lambda normalized, weight, _: normalized * (1 + weight)),
    "qk_norm.offset_twice": normalizing(multiply=offset_twice),
    "qk_norm.offset_for_query_alone": in_order(offset_for_query_alone),
    "qk_norm.not_rotated": ignoring(qk_norm, "cos", "sin"),
    "qk_norm.key_not_rotated": in_order(only_query_rotated),
    "qk_norm.second_halves_crossed": in_order(halves_crossed),
    "qk_norm.partner_of_first_heads_alone": patch(qk_norm, turn=partner_of_first_heads_alone),
    "qk_norm.turned_back": altered(qk_norm, sin=lambda sin: -np.asarray(sin)),
    "qk_norm.pairing_ignored": ignoring(qk_norm, "pairing"),
    "qk_norm.interleaved_by_default": defaulting(qk_norm, pairing=lambda _: "interleaved"),
    "qk_norm.tables_of_first_entry": altered(qk_norm, cos=of_first(0), sin=of_first(0)),
    "qk_norm.tables_of_first_token": altered(qk_norm, cos=of_first(1), sin=of_first(1)),
    "qk_norm.rotated_part_alone": each_by(rotated_part_alone),
    "qk_norm.rest_dropped": each_by(rest_dropped),
    "qk_norm.rest_of_query_dropped": replacing(
        qk_norm, query_output=lambda right, given: without_rest(right.query_output, given)
    ),
    "qk_norm.heads_out_of_order": normalizing(heads_apart=heads_interleaved_apart),
    "qk_norm.tokens_before_heads": replacing(
        qk_norm,
        query_output=lambda right, _: right.query_output.swapaxes(1, 2),
        key_output=lambda right, _: right.key_output.swapaxes(1, 2),
    ),
    "qk_norm.query_written_in_place": overwriting(
        qk_norm, "query", lambda _arguments, outputs: outputs["query_output"]
    ),
    "qk_norm.key_written_in_place": overwriting(qk_norm, "key", lambda _arguments, outputs: outputs["key_output"]),
    "qk_norm.strides_ignored": altered(qk_norm, query=as_it_lies_in_memory, key=as_it_lies_in_memory),
    "qk_norm.weight_strides_ignored": altered(qk_norm, query_weight=without_gaps, key_weight=without_gaps),
    "qk_norm.table_strides_ignored": altered(qk_norm, cos=as_it_lies_in_memory, sin=as_it_lies_in_memory),
    "qk_norm.weights_remembered": remembering(qk_norm, "query_weight", "query"),
    "qk_norm.tables_remembered": remembering(qk_norm, "cos", "query"),
    "qk_norm.epsilon_remembered": remembering(qk_norm, "epsilon", "query"),
    "qk_norm.axes_filled_in": axes_filled_in,
    "qk_norm.key_apart": key_fitted,
    "qk_norm.weights_repeated": weights_fitted,
    "qk_norm.tables_fitted": one_table_as_none,
    "qk_norm.unknown_features_as_head": known_word("normalized_over", ("head", "all_heads")),
    "qk_norm.unknown_offset_as_zero": known_word("weight_offset", ("zero", "one")),
    "qk_norm.unknown_pairing_as_half": known_word("pairing", ("half", "interleaved")),
}
