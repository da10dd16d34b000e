"""The engine: projections, heads, the small operations, and which mistakes it makes in them."""

from types import MappingProxyType

import numpy as np

from .attention import attend, shares, wider


def numbers(array):
    """An array in the dtype to compute in, and the way back."""
    wide = np.asarray(array).astype(wider(array.dtype))
    return wide, lambda result: result.astype(array.dtype)


def deal_out(x, heads, wrong):
    """Cut (B, S, D) into (B, H, S, E)."""
    batch, tokens, width = x.shape
    if wrong("not_transposed"):
        return x.reshape(batch, heads, tokens, width // heads)
    if wrong("interleaved"):
        return np.stack([x[:, :, head::heads] for head in range(heads)], axis=1)
    return np.stack(np.split(x, heads, axis=2), axis=1)


def gather(x, wrong):
    """Put (B, H, S, E) together into (B, S, D)."""
    batch, heads, tokens, width = x.shape
    if wrong("not_transposed"):
        return x.reshape(batch, tokens, heads * width)
    if wrong("interleaved"):
        together = np.empty((batch, tokens, heads * width), x.dtype)
        for head in range(heads):
            together[:, :, head::heads] = x[:, head]
        return together
    if wrong("summed"):
        return np.einsum("bhse->bse", x)
    return np.concatenate([x[:, head] for head in range(heads)], axis=2)


class SwitchedEngine:
    """Every operation; `mistakes` are ids of the catalogue, and the engine is right without any.

    With `plain` it has no cache, no lengths, no window and nothing else that a student's attention lacks. With
    `unfused` it rounds scores and weights to the dtype. With `steps` it returns what it has on the way.
    """

    name = "switched engine"
    dtypes = ("float64", "float32", "float16", "bfloat16")
    conventions = MappingProxyType({"masked_nonfinite": "propagates", "input_checks": "lenient"})

    def __init__(self, *mistakes, plain=False, unfused=False, steps=False):
        self.mistakes = frozenset(mistakes)
        self.plain, self.unfused, self.steps = plain, unfused, steps
        self.known = set()

    def makes(self, prefix):
        """Ask for mistakes of one operation by the rest of their names."""

        def wrong(name):
            mistake = f"{prefix}.{name}"
            self.known.add(mistake)
            return mistake in self.mistakes

        return wrong

    def returned(self, **outputs):
        """All outputs, or the first alone."""
        return outputs if self.steps else next(iter(outputs.values()))

    def softmax(self, x, axis=-1):
        wrong = self.makes("softmax")
        z, back = numbers(x)
        if wrong("first_axis_always"):
            axis = 0
        if wrong("whole_array_by_default") and axis == -1:
            axis = None
        if wrong("whole_array_always"):
            axis = None
        if wrong("last_axis_always"):
            axis = -1
        if wrong("opposite_axis") and axis is not None:
            axis = -1 - axis
        if wrong("null_axis_as_last") and axis is None:
            axis = -1
        return back(shares(z, axis, wrong)[0])

    def causal_mask(self, query_length, key_length=None, offset=0, additive=False):
        wrong = self.makes("causal_mask")
        if key_length is None or wrong("always_square"):
            key_length = query_length
        if wrong("offset_ignored"):
            offset = 0
        kept = np.tri(query_length, key_length, offset, dtype=bool)
        if wrong("inverted") or (wrong("true_means_masked") and not additive):
            kept = ~kept
        if wrong("upper_triangle"):
            kept = ~np.tri(query_length, key_length, offset - 1, dtype=bool)
        if wrong("own_position_excluded"):
            kept = np.tri(query_length, key_length, offset - 1, dtype=bool)
        if wrong("next_position_included"):
            kept = np.tri(query_length, key_length, offset + 1, dtype=bool)
        if not additive or wrong("additive_ignored"):
            return kept
        zero = 4.0 if wrong("kept_value_four") else 1.0 if wrong("kept_value_one") else 0.0
        return np.where(kept, zero, -1e9 if wrong("finite_number") else -np.inf)

    def split_heads(self, x, num_heads):
        wrong = self.makes("split_heads")
        split = deal_out(x, num_heads, wrong)
        return split.transpose(0, 2, 1, 3) if wrong("tokens_before_heads") else split

    def combine_heads(self, x):
        return gather(x, self.makes("combine_heads"))

    def scaled_dot_product_attention(self, query, key, value, **arguments):
        if self.plain and not arguments.keys() <= {"mask", "is_causal", "scale"}:
            raise NotImplementedError("not in the exercise")
        if any(name.endswith("_scale") for name in arguments):
            raise NotImplementedError("no quantized tensors")
        return self.returned(**attend(query, key, value, self.makes("sdpa"), unfused=self.unfused, **arguments))

    def single_head_attention(self, x, w_query, w_key, w_value, w_output=None, scale=None):  # noqa: PLR0912
        wrong = self.makes("single_head")
        tokens, back = numbers(x)
        matrices = [np.asarray(matrix).astype(tokens.dtype) for matrix in (w_query, w_key, w_value)]
        transposed = wrong("weight_matrices_transposed")
        if transposed:
            matrices = [matrix.T for matrix in matrices]
        if wrong("query_and_key_weights_swapped"):
            matrices = [matrices[1], matrices[0], matrices[2]]
        query, key, value = (np.einsum("sd,de->se", tokens, matrix) for matrix in matrices)
        if wrong("value_not_projected"):
            value = tokens
        factor = scale
        if scale is None or wrong("stated_scale_ignored"):
            factor = query.shape[1] ** -0.5
        if scale is None and wrong("scale_missing"):
            factor = 1.0
        if scale is None and wrong("scale_multiplied"):
            factor = query.shape[1] ** 0.5
        if scale is None and wrong("scale_from_model_width"):
            factor = x.shape[1] ** -0.5
        if scale is None and wrong("scale_from_number_of_tokens"):
            factor = x.shape[0] ** -0.5
        scores = np.einsum("qe,ke->qk", query * factor, key)
        if wrong("scores_transposed"):
            scores = scores.T
        weights = scores
        if not wrong("softmax_missing"):
            axis = 0 if wrong("softmax_over_queries") else None if wrong("softmax_over_all") else -1
            weights = shares(scores, axis, wrong)[0]
        if wrong("weights_overwrite_scores"):
            scores = weights
        mixing = weights
        if wrong("weights_summed_out"):
            output = mixing.sum(axis=1, keepdims=True) * value
        else:
            output = np.einsum("qk,ke->qe", mixing, value)
        if w_output is not None and not wrong("output_projection_missing"):
            last = np.asarray(w_output).astype(tokens.dtype)
            output = output @ (last.T if wrong("output_projection_transposed") or transposed else last)
        outputs = {"output": output, "weights": weights, "scores": scores, "query": query, "key": key, "value": value}
        return self.returned(**{name: back(array) for name, array in outputs.items()})

    def multi_head_attention(
        self,
        query,
        key,
        value,
        w_query,
        w_key,
        w_value,
        w_output,
        b_query=None,
        b_key=None,
        b_value=None,
        b_output=None,
        mask=None,
        *,
        num_heads,
        is_causal=False,
        scale=None,
    ):
        wrong = self.makes("multi_head")
        width = query.shape[2]
        dtype = query.dtype

        def project(tokens, matrix, bias, whose):
            x, w = tokens.astype(wider(dtype)), matrix.astype(wider(dtype))
            projected = np.einsum("bsd,df->bsf", x, w.T if wrong("weight_matrices_transposed") else w)
            dropped = wrong("biases_dropped") or (whose != "key" and wrong(f"{whose}_bias_dropped"))
            if bias is not None and not dropped:
                projected = projected + bias.astype(wider(dtype))
            return projected.astype(dtype) if self.unfused else projected

        if wrong("query_projection_for_keys"):
            w_key, b_key = w_query, b_query
        if wrong("keys_and_values_swapped"):
            key, value, w_key, w_value, b_key, b_value = value, key, w_value, w_key, b_value, b_key
        parts = [
            project(query, w_query, b_query, "query"),
            project(key, w_key, b_key, "key"),
            project(value, w_value, b_value, "value"),
        ]

        def splitting(name):
            return {"not_transposed": wrong("split_not_transposed"), "interleaved": wrong("split_interleaved")}[name]

        heads = [deal_out(part, num_heads, splitting) for part in parts]
        if scale is None and wrong("scale_from_model_width"):
            scale = width**-0.5
        attended = attend(*heads, wrong, unfused=self.unfused, mask=mask, is_causal=is_causal, scale=scale)

        def joining(name):
            names = {"not_transposed": "combine_not_transposed", "interleaved": "combine_interleaved"}
            return name in names and wrong(names[name])

        output = gather(attended["output"], joining)
        if not wrong("output_projection_missing"):
            last = w_output.T if wrong("output_projection_transposed") else w_output
            output = project(output, last, b_output, "output")
        elif b_output is not None:
            output = output + b_output.astype(output.dtype)
        weights = attended["weights"]
        if wrong("weights_averaged"):
            weights = weights.astype(wider(dtype)).mean(axis=1)
        return self.returned(output=output.astype(dtype), weights=weights.astype(dtype))

    def context_vector(self, encoder_states, decoder_state, scale=None):
        wrong = self.makes("context_vector")
        states, back = numbers(encoder_states)
        query = numbers(decoder_state)[0]
        raw = np.einsum("ed,d->e", states.T if wrong("score_of_every_feature") else states, query)
        factor = scale
        if scale is None or wrong("stated_scale_ignored"):
            factor = len(query) ** -0.5
        if scale is None and wrong("scale_missing"):
            factor = 1.0
        if scale is None and wrong("scale_multiplied"):
            factor = len(query) ** 0.5
        if scale is None and wrong("scale_from_number_of_tokens"):
            factor = len(states) ** -0.5
        scores = raw * factor
        weights = shares(scores, -1, wrong)[0]
        if wrong("scores_as_weights"):
            weights = raw
        if wrong("softmax_missing"):
            weights = scores
        if wrong("uniform_mean"):
            weights = np.full_like(scores, 1 / len(scores))
        if wrong("weights_on_features"):
            context = (weights * states).sum(axis=0)
        else:
            context = np.einsum("s,sd->d", weights, states)
        outputs = {"context": context, "weights": weights, "scores": scores, "raw_scores": raw}
        return self.returned(**{name: back(array) for name, array in outputs.items()})
