import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


class Tape:
    """Gradients of tensors, as a tape gathers them."""

    def __init__(self):
        self.grads = {}

    def add(self, tensor, grad):
        known = self.grads.get(id(tensor))
        self.grads[id(tensor)] = grad if known is None else known + grad

    def of(self, tensor):
        return self.grads[id(tensor)]


class Mine(base.Backward):
    def run(self):
        p, tape = self.p, Tape()
        with base.quiet:
            self.forward()
            self.dw = self.grad_weights()
            self.delta = self.get_delta()
            self.dl = self.grad_logits()
            self.ds = self.grad_scores()
            query, key, value = (p.given[name] for name in ("query", "key", "value"))
            tape.add(value, self.group_sum(self.grad_value()))
            tape.add(query, self.grad_query())
            tape.add(key, self.group_sum(self.grad_key()))
            gs = None if p.sinks is None else self.grad_sinks()
            return base.finish(p, tape.of(query), tape.of(key), tape.of(value), self.dl, gs, self.delta, self.ds)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    return Mine(base.plan(**locals())).run()
