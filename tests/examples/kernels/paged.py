"""Keys and values in pages of a pool, found through a table: paged attention."""

import numpy as np

from kernels.tiled import Tiled


class Paged(Tiled):
    """The pool holds pages in another order than the sequence; what no token was written to holds a stale number."""

    page = 3
    stale = 7.0

    def attend(self, call):
        keys = call.key.shape[2]
        count = -(-keys // self.page)
        table = np.random.default_rng(keys).permutation(count)
        call.scratch["table"] = table
        call.scratch["pools"] = [self.pool(array, table) for array in (call.key, call.value)]
        return super().attend(call)

    def pool(self, array, table):
        batch, heads, tokens, width = array.shape
        pool = np.full((batch, heads, len(table), self.page, width), self.stale, array.dtype)
        for token in range(tokens):
            pool[:, :, table[token // self.page], token % self.page] = array[:, :, token]
        return pool

    def key_blocks(self, call, entry, rows):
        for number in range(len(call.scratch["table"])):
            yield np.arange(number * self.page, (number + 1) * self.page)

    def query_block(self, call, entry, head, rows):
        shared = self.shared_head(call, head)
        keys, values = (pool[entry, shared] for pool in call.scratch["pools"])
        state = self.start(call, head, rows)
        for number, columns in enumerate(self.key_blocks(call, entry, rows)):
            page = self.page_index(call, number)
            written = self.written(call, entry, columns)
            logits = self.logits(call, entry, head, call.query[entry, head], keys[page], rows, columns[written])
            state = self.fold(*state, logits, values[page][: len(columns[written])])
        return self.finish(*state)

    def page_index(self, call, number):
        return call.scratch["table"][number]

    def written(self, call, entry, columns):
        return columns < call.key.shape[2]

    def products(self, call, query, key):
        return super().products(call, query, key)

    def logits(self, call, entry, head, query, key, rows, columns):
        scores = self.products(call, query[rows], key[: len(columns)])
        scores = self.cap(call, scores)
        scores = self.biased(call, entry, head, scores, rows, columns)
        scores = self.masked(call, entry, head, scores, rows, columns)
        return np.where(self.visible(call, entry, rows, columns), scores, -np.inf).astype(call.query.dtype)
