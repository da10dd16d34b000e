"""The formula of each operation of attention in lines of NumPy, with the features of one case and no others.

Each function returns the lines that compute an operation's outputs from its inputs, under the contract's names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from attnspec.base.literals import number_literal

if TYPE_CHECKING:
    from attnspec.cases import Case


def formula(case: Case) -> list[str]:
    """Return the lines that compute the outputs of a case, or draw what is graded by its properties."""
    return _FORMULAS[case.operation](case)


def _softmax_lines(case: Case) -> list[str]:
    axis = case.attributes.get("axis", -1)
    return [
        f"exponentials = np.exp(x - x.max(axis={axis}, keepdims=True))",
        f"output = exponentials / exponentials.sum(axis={axis}, keepdims=True)",
    ]


def _causal_mask_lines(case: Case) -> list[str]:
    rows = case.attributes["query_length"]
    columns = case.attributes.get("key_length")
    lines = [
        f"position = np.arange({rows})[:, None] + {case.attributes.get('offset', 0)}",
        f"output = np.arange({rows if columns is None else columns}) <= position",
    ]
    return [*lines, "output = np.where(output, 0.0, -np.inf)"] if case.attributes.get("additive") else lines


def _split_heads_lines(case: Case) -> list[str]:
    heads = case.attributes["num_heads"]
    return ["B, S, D = x.shape", f"output = x.reshape(B, S, {heads}, D // {heads}).swapaxes(1, 2)"]


def _combine_heads_lines(_case: Case) -> list[str]:
    return ["B, H, S, E = x.shape", "output = x.swapaxes(1, 2).reshape(B, S, H * E)"]


def _context_vector_lines(case: Case) -> list[str]:
    return [
        "raw_scores = encoder_states @ decoder_state",
        f"scores = raw_scores * {_scale_expression(case, 'len(decoder_state)')}",
        "exponentials = np.exp(scores - scores.max())",
        "weights = exponentials / exponentials.sum()",
        "context = weights @ encoder_states",
    ]


def _single_head_attention_lines(case: Case) -> list[str]:
    return [
        "query, key, value = x @ w_query, x @ w_key, x @ w_value",
        f"scores = query @ key.T * {_scale_expression(case, 'query.shape[1]')}",
        "exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))",
        "weights = exponentials / exponentials.sum(axis=-1, keepdims=True)",
        "output = weights @ value" + (" @ w_output" if "w_output" in case.inputs else ""),
    ]


def _multi_head_attention_lines(case: Case) -> list[str]:
    def projected(name: str, tokens: str) -> str:
        return f"{tokens} @ w_{name}" + (f" + b_{name}" if f"b_{name}" in case.inputs else "")

    heads = case.attributes["num_heads"]
    # Each number of tokens is written out: with -1 instead, a batch of no entries cannot be reshaped.
    return [
        "B, Sq, D = query.shape",
        *(
            f"{short} = ({projected(name, name)}).reshape(B, {name}.shape[1], {heads}, D // {heads}).swapaxes(1, 2)"
            for short, name in _SHORT.items()
        ),
        f"scores = q @ k.swapaxes(-1, -2) * {_scale_expression(case, f'(D // {heads})')}",
        *_mask_lines(case, queries="scores.shape[2]", keys="scores.shape[3]"),
        *_weights_lines(case),
        f"combined = {_weighted_sum_expression(case, 'v')}.swapaxes(1, 2).reshape(B, Sq, D)",
        f"output = {projected('output', 'combined')}",
    ]


_SHORT = {"q": "query", "k": "key", "v": "value"}


def _scaled_dot_product_attention_lines(case: Case) -> list[str]:
    inputs = case.inputs
    lines: list[str] = []
    past = "past_key" in inputs
    for name, tensors in (("query", ("query",)), ("key", ("past_key", "key")), ("value", ("past_value", "value"))):
        if f"{name}_scale" in inputs:
            lines += [f"{tensor} = {tensor} * {_scale_of_heads(case, name)}" for tensor in tensors if tensor in inputs]
    if past:
        lines.append("key, value = np.concatenate([past_key, key], 2), np.concatenate([past_value, value], 2)")
    if _has_stored_outputs(case, "present_key", "present_value"):
        lines.append("present_key, present_value = key, value")
    if case.shapes["query"][1] != case.shapes["key"][1]:
        shared = "query.shape[1] // key.shape[1]"
        lines.append(f"key, value = np.repeat(key, {shared}, axis=1), np.repeat(value, {shared}, axis=1)")
    lines.append(f"scores = query @ key.swapaxes(-1, -2) * {_scale_expression(case, 'query.shape[-1]')}")
    lines += _mask_lines(case, queries="query.shape[2]", keys="key.shape[2]", past="past_key.shape[2]" if past else "0")
    lines += _weights_lines(case)
    lines.append(f"output = {_weighted_sum_expression(case, 'value')}")
    return lines


def _latent_attention_lines(case: Case) -> list[str]:
    lines: list[str] = []
    past = "past_latent" in case.inputs
    if past:
        lines += [f"{name} = np.concatenate([past_{name}, {name}], 1)" for name in ("latent", "key_rotary")]
    if _has_stored_outputs(case, "present_latent", "present_key_rotary"):
        lines.append("present_latent, present_key_rotary = latent, key_rotary")
    magnitude = case.attributes.get("magnitude", 1.0)
    scale = _scale_expression(case, "(query_content.shape[-1] + query_rotary.shape[-1])")
    if magnitude != 1 and case.attributes.get("scale") is None:
        scale = f"{number_literal(magnitude)} ** 2 * {scale}"
    return [
        *lines,
        "key, value = latent[:, None] @ w_key, latent[:, None] @ w_value",
        "scores = query_content @ key.swapaxes(-1, -2) + query_rotary @ key_rotary[:, None].swapaxes(-1, -2)",
        f"scores = scores * {scale}",
        *_mask_lines(
            case, queries="scores.shape[2]", keys="scores.shape[3]", past="past_latent.shape[1]" if past else "0"
        ),
        *_weights_lines(case),
        f"output_latent = {_weighted_sum_expression(case, 'latent[:, None]')}",
        # A matrix that follows the mean does what it does to the values.
        "output = output_latent @ w_value" if _has_spoilt_latents(case) else "output = weights @ value",
    ]


def _absorbed_latent_attention_lines(case: Case) -> list[str]:
    return [
        "key = latent[:, None]",
        "scores = query_latent @ key.swapaxes(-1, -2) + query_rotary @ key_rotary[:, None].swapaxes(-1, -2)",
        f"scores = scores * {_scale_expression(case, '')}",
        *_mask_lines(case, queries="scores.shape[2]", keys="scores.shape[3]"),
        *_weights_lines(case),
        f"output_latent = {_weighted_sum_expression(case, 'latent[:, None]')}",
    ]


def _has_spoilt_latents(case: Case) -> bool:
    names = ("latent", "past_latent", "key_rotary", "past_key_rotary")
    return not all(np.isfinite(case.inputs[name]).all() for name in names if name in case.inputs)


def _scale_of_heads(case: Case, name: str) -> str:
    """Return the scale of quantized numbers, in a shape that broadcasts against (B, H, S, E)."""
    scale, heads, shared = (case.inputs[tensor] for tensor in (f"{name}_scale", name, "key"))
    if not scale.ndim:
        return f"{name}_scale"
    if scale.shape[-1] == 1 or heads.shape[1] == shared.shape[1]:
        return f"{name}_scale[..., None, None]"
    return f"np.repeat({name}_scale, {heads.shape[1] // shared.shape[1]}, axis=-1)[..., None, None]"


def _scaled_dot_product_attention_backward_lines(case: Case) -> list[str]:
    inputs = case.inputs
    batch, heads, _, width = inputs["query"].shape
    shared, keys, of_values = inputs["value"].shape[1:]
    grouped = heads != shared
    lines: list[str] = []
    if grouped:
        lines.append(
            f"key, value = np.repeat(key, {heads // shared}, axis=1), np.repeat(value, {heads // shared}, axis=1)"
        )
    lines.append(f"scores = query @ key.swapaxes(-1, -2) * {_scale_expression(case, 'query.shape[-1]')}")
    lines += _mask_lines(case, queries="query.shape[2]", keys="key.shape[2]")
    lines += _weights_lines(case)
    # Minus infinity in a mask excludes, and is no number that spreads.
    spoilt = any(np.isnan(array).any() or (name != "mask" and np.isinf(array).any()) for name, array in inputs.items())
    selects = spoilt and _has_exclusion(case)
    lines += [
        f"grad_value = {_sum_expression('weights', 'grad_output', of_queries=False, selects=selects)}",
        "grad_weights = grad_output @ value.swapaxes(-1, -2)",
        f"products = {_selection_expression('weights * grad_weights', selects)}",
        "delta = products.sum(axis=-1, keepdims=True)",
    ]
    above = "grad_weights - delta"
    if "grad_logsumexp" in inputs:
        above += " + grad_logsumexp[..., None]"
    lines.append(f"grad_logits = {_selection_expression(f'weights * ({above})', selects)}")
    mask = inputs.get("mask")
    if mask is not None and mask.dtype != np.bool_:
        missing = 4 - mask.ndim
        repeated = tuple(axis for axis in range(4) if axis < missing or mask.shape[axis - missing] == 1)
        lines.append(f"grad_mask = grad_logits.sum(axis={repeated}).reshape(mask.shape)")
    if "sinks" in inputs:
        lines += _gradients_of_sinks(case, spoilt=spoilt)
    softcap = case.attributes.get("softcap")
    bent = f" * (1 - np.tanh(scores / {number_literal(softcap)}) ** 2)" if softcap else ""
    lines.append(f"grad_scores = {_selection_expression(f'grad_logits{bent}', selects and bool(bent))}")
    scale = _scale_expression(case, "query.shape[-1]")
    lines.append(f"grad_query = {_sum_expression('grad_scores', 'key', of_queries=True, selects=selects)} * {scale}")
    lines.append(f"grad_key = {_sum_expression('grad_scores', 'query', of_queries=False, selects=selects)} * {scale}")
    if grouped:
        groups = f"{batch}, {shared}, {heads // shared}, {keys}"
        lines.append(f"grad_key = grad_key.reshape({groups}, {width}).sum(axis=2)")
        lines.append(f"grad_value = grad_value.reshape({groups}, {of_values}).sum(axis=2)")
    if _has_stored_outputs(case, "delta"):
        lines.append("delta = delta[..., 0]")
    return lines


def _gradients_of_sinks(case: Case, *, spoilt: bool) -> list[str]:
    """Return the lines from delta to the gradients of the sinks."""
    sink = "sink" if "query_lengths" in case.inputs else "sinks[:, None, None]"
    less = "grad_logsumexp[..., None] - delta" if "grad_logsumexp" in case.inputs else "-delta"
    products = f"share * ({less})"
    return [
        f"share = np.where(largest == -np.inf, 0, np.exp({sink} - largest)) / np.where(total == 0, 1, total)",
        f"products = {f'np.where(share == 0, 0, {products})' if spoilt else products}",
        "grad_sinks = products.sum(axis=(0, 2, 3))",
    ]


def _sum_expression(factors: str, tensor: str, *, of_queries: bool, selects: bool) -> str:
    """Return a sum over keys of what each holds times its factor, or over queries; what is excluded adds nothing."""
    if not selects:
        return f"{factors if of_queries else f'{factors}.swapaxes(-1, -2)'} @ {tensor}"
    spread = f"{tensor}[:, :, None]" if of_queries else f"{tensor}[..., None, :]"
    return f"np.where(allowed[..., None], {factors}[..., None] * {spread}, 0).sum(axis={-2 if of_queries else -3})"


def _selection_expression(numbers: str, selects: bool) -> str:
    return f"np.where(allowed, {numbers}, 0)" if selects else numbers


def _scale_expression(case: Case, width: str) -> str:
    scale = case.attributes.get("scale")
    return f"{width} ** -0.5" if scale is None else f"({number_literal(scale)})"


def _mask_lines(case: Case, *, queries: str, keys: str, past: str = "0") -> list[str]:
    """Return the lines from the scores to the logits and to the keys that may be attended."""
    inputs, attributes = case.inputs, case.attributes
    softcap, window, causal = (attributes.get(name) for name in ("softcap", "window", "is_causal"))
    placed = causal or window is not None or "alibi_slopes" in inputs
    lines = ["logits = scores"]
    if softcap:
        lines = [f"logits = {number_literal(softcap)} * np.tanh(scores / {number_literal(softcap)})"]
    tests: list[str] = []
    if placed or "key_lengths" in inputs:
        lines.append(f"j = np.arange({keys})")
    counts = {
        "L": "key_lengths.reshape(-1, 1, 1, 1)" if "key_lengths" in inputs else keys,
        "N": "query_lengths.reshape(-1, 1, 1, 1)" if "query_lengths" in inputs else queries,
    }
    bottom = attributes.get("causal_alignment") == "bottom_right"
    if placed:
        offset = f"{counts['L']} - {counts['N']}" if bottom else past
        lines.append(f"p = np.arange({queries})[:, None]" + ("" if offset == "0" else f" + {offset}"))
    if "alibi_slopes" in inputs:
        lines.append("logits = logits - alibi_slopes[:, None, None] * np.abs(p - j)")
    mask = inputs.get("mask")
    if mask is not None:
        boolean = mask.dtype == np.bool_
        if not boolean:
            lines.append("logits = logits + mask")
        tests.append("mask" if boolean else "(mask != -np.inf)")
    if causal:
        tests.append("(j <= p)")
    left, right = window or (None, None)
    tests += [f"(j >= p - {left})"] if left is not None else []
    tests += [f"(j <= p + {right})"] if right is not None else []
    if "key_lengths" in inputs:
        tests.append(f"(j < {counts['L']})")
    if "query_lengths" in inputs:
        tests.append(f"(np.arange({queries})[:, None] < {counts['N']})")
    if tests:
        lines.append(f"allowed = np.ones(logits.shape, bool) & {' & '.join(tests)}")
        lines.append("logits = np.where(allowed, logits, -np.inf)")
    return lines


def _weights_lines(case: Case) -> list[str]:
    """Return the lines from the logits to the weights; a query without any key gets none."""
    excludes = _has_exclusion(case)
    lines = ["largest = np.max(logits, axis=-1, keepdims=True, initial=-np.inf)"]
    sink = "sinks[:, None, None]"
    if "sinks" in case.inputs:
        if "query_lengths" in case.inputs:
            counted = "np.arange(query.shape[2])[:, None] < query_lengths.reshape(-1, 1, 1, 1)"
            lines.append(f"sink = np.where({counted}, {sink}, -np.inf)")
            sink = "sink"
        lines.append(f"largest = np.maximum(largest, {sink})")
    exponentials = "np.exp(logits - largest)"
    lines.append(f"exponentials = {f'np.where(allowed, {exponentials}, 0)' if excludes else exponentials}")
    lines.append("total = exponentials.sum(axis=-1, keepdims=True)")
    if "sinks" in case.inputs:
        lines[-1] += f" + np.where(largest == -np.inf, 0, np.exp({sink} - largest))"
    lines.append(f"weights = exponentials / {'np.where(total == 0, 1, total)' if excludes else 'total'}")
    if _has_stored_outputs(case, "logsumexp"):
        lines.append("logsumexp = (largest + np.log(total))[..., 0]")
    return lines


def _weighted_sum_expression(case: Case, value: str) -> str:
    """Return the weighted sum of values; what an excluded value holds has no effect, be it NaN."""
    tensors = ("value", "past_value", "latent", "past_latent")
    names = (name for name in tensors if name in case.inputs and name not in case.generated)
    values = [case.inputs[name] for name in names]
    if _has_exclusion(case) and not all(np.isfinite(array).all() for array in values):
        products = f"weights[..., None] * {value}[:, :, None]"
        return f"np.where(allowed[..., None], {products}, 0).sum(axis=-2)"
    return f"(weights @ {value})" if value == "v" else f"weights @ {value}"


def _has_exclusion(case: Case) -> bool:
    attributes = case.attributes
    bounded = any(side is not None for side in attributes.get("window") or ())
    given = any(name in case.inputs for name in ("mask", "key_lengths", "query_lengths"))
    return given or bounded or bool(attributes.get("is_causal"))


def _has_stored_outputs(case: Case, *outputs: str) -> bool:
    return any(name in case.golden("float64") for name in outputs)


def _merge_states_lines(case: Case) -> list[str]:
    """Return the lines that merge two parts; they select where a part has no keys."""
    inputs = case.inputs
    selects = any(np.isneginf(inputs[name]).any() for name in ("logsumexp_a", "logsumexp_b"))
    weigh, average = "np.exp({logarithm} - largest)", "{weight}[..., None] * {output}"
    if selects:
        weigh = f"np.where({{logarithm}} == -np.inf, 0, {weigh})"
        average = f"np.where({{logarithm}}[..., None] == -np.inf, 0, {average})"
    names = {
        side: {n: f"{n}_{side}" for n in ("weight", "output")} | {"logarithm": f"logsumexp_{side}"} for side in "ab"
    }
    taken = " + ".join(average.format(**names[side]) for side in "ab")
    return [
        "largest = np.maximum(logsumexp_a, logsumexp_b)",
        *(f"weight_{side} = {weigh.format(**names[side])}" for side in "ab"),
        "total = weight_a + weight_b",
        f"output = ({taken}) / {'np.where(total == 0, 1, total)' if selects else 'total'}[..., None]",
        "logsumexp = largest + np.log(total)",
    ]


def _glorot_normal_lines(case: Case) -> list[str]:
    """Return the lines that draw a weight matrix and hold its mean and spread against what they should be."""
    attributes = case.attributes
    return [
        f"fan_in, fan_out, seed = {attributes['fan_in']}, {attributes['fan_out']}, {attributes['seed']}",
        "spread = np.sqrt(2 / (fan_in + fan_out))",
        "output = np.random.default_rng(seed).normal(0.0, spread, (fan_in, fan_out))",
        'print("mean", output.mean(), "standard deviation", output.std(), "should be", spread)',
        "assert abs(output.mean()) < 6 * spread / np.sqrt(output.size)",
        "assert abs(output.std() - spread) < 6 * spread / np.sqrt(2 * output.size)",
        "assert abs(output).max() > 2.5 * spread",
    ]


_FORMULAS: Mapping[str, Callable[[Case], list[str]]] = {
    function.__name__.removeprefix("_").removesuffix("_lines"): function
    for function in (
        *(_softmax_lines, _causal_mask_lines, _split_heads_lines, _combine_heads_lines, _context_vector_lines),
        *(_glorot_normal_lines, _merge_states_lines, _single_head_attention_lines, _multi_head_attention_lines),
        *(_latent_attention_lines, _absorbed_latent_attention_lines),
        *(_scaled_dot_product_attention_lines, _scaled_dot_product_attention_backward_lines),
    )
}
