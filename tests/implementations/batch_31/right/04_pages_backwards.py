import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np


class Kernel(base.Attention):
    """From the last page to the first, each an attention of its own, merged by logarithms as it comes"""

    page_size = 1

    def reduce(self, logits, allowed, value):
        sink = self.sink()
        shape = logits.shape[:3]
        state = (np.zeros((*shape, self.Ev), self.compute), np.full(shape, -np.inf, self.compute))
        if sink is not None:
            state = (state[0], np.broadcast_to(sink, shape))
        for start in reversed(range(0, self.K, self.page_size)):
            page = slice(start, min(start + self.page_size, self.K))
            part = base.Attention.reduce(self.without_sinks(), logits[..., page], allowed[..., page], value[:, :, page])
            state = base.merge([state, (part[0], part[2])])
        safe = np.where(state[1] == -np.inf, 0, state[1])
        return state[0], np.where(allowed, np.exp(logits - safe[..., None]), 0), state[1]

    def without_sinks(self):
        other = base.Attention()
        other.__dict__.update(self.__dict__, sinks=None)
        return other


class Pages(base.Paged):
    def prepare(self, sequences, rest):
        self.kernel = type("Kernel", (Kernel,), {"page_size": self.page_size})

    def gather(self, pool, pages, count):
        j = np.arange(count)
        slots = pages.astype(np.int64)[j // self.page_size] * self.page_size + j % self.page_size
        return pool.reshape(-1, *pool.shape[2:])[slots].swapaxes(0, 1)[None]


layout = "paged_csr"
dtypes = base.DTYPES
scaled_dot_product_attention = base.paged_csr(Pages)
