"""Other orders of tiles, splits and merges."""

import numpy as np
from kernels import Packed, Paged, SplitKeys, Tiled


class TilesBackwards(Tiled):
    """The last keys come first, as in causal kernels that start at the diagonal."""

    def key_blocks(self, call, entry, rows):
        yield from reversed(list(super().key_blocks(call, entry, rows)))


class KeyByKey(Tiled):
    """Tiles of one key."""

    key_tile = 1


class WideTiles(Tiled):
    """Tiles of many queries and few keys."""

    query_tile = 3
    key_tile = 16


class OnlyTilesThatAreSeen(Tiled):
    """Tiles that no query of the block may attend to are not even loaded."""

    key_tile = 16

    def key_blocks(self, call, entry, rows):
        for columns in super().key_blocks(call, entry, rows):
            if self.visible(call, entry, rows, columns).any():
                yield columns


class LazyRescaling(Tiled):
    """The running maximum moves only when it is left behind by more than two, as in FlashAttention 4."""

    slack = 2.0

    def fold(self, largest, denominator, total, logits, values):
        new = np.maximum(largest, logits.max(axis=1, keepdims=True))
        kept = np.where((new - largest <= self.slack) & (largest > -np.inf), largest, new)
        shift = np.where(kept == -np.inf, 0, kept)
        correction = np.where(kept == largest, 1, np.exp(largest - shift))
        parts = np.exp(logits - shift)
        total = np.where(correction == 0, 0, total * correction) + parts @ values
        return kept, denominator * correction + parts.sum(axis=1, keepdims=True), total


class NormalisedAtEachTile(Tiled):
    """The output is kept normalised all along, and corrected by the ratio of the sums."""

    def fold(self, largest, denominator, total, logits, values):
        new, grown, unnormalised = super().fold(largest, denominator, total * denominator, logits, values)
        return new, grown, unnormalised / np.where(grown == 0, 1, grown)

    def finish(self, largest, denominator, total):
        return super().finish(largest, denominator, total * denominator)


class FixedSplits(SplitKeys):
    """Parts of two keys each, however many that are: split-K decoding."""

    def portions(self, call, entry):
        keys = call.key.shape[2]
        return [np.arange(first, min(first + 2, keys)) for first in range(0, keys, 2)] or [np.arange(0)]


class Ring(SplitKeys):
    """Parts are merged one after the other, as they come round the ring."""

    def merge(self, call, head, partial):
        output, logsumexp = partial[0]
        more = list(partial[1:])
        if call.sinks is not None:
            more.append((np.zeros_like(output), np.full_like(logsumexp, call.sinks[head])))
        for other, sums in more:
            # Both shares, since one minus the other would lose the small one; none where neither has a key.
            kept = np.where(logsumexp == -np.inf, 0, 1 / (1 + np.exp(sums - logsumexp)))[:, None]
            added = np.where(sums == -np.inf, 0, 1 / (1 + np.exp(logsumexp - sums)))[:, None]
            output = kept * output + added * other
            logsumexp = np.logaddexp(logsumexp, sums)
        return output, logsumexp


class Tree(SplitKeys):
    """Parts are merged in pairs, and pairs in pairs."""

    parts = 5

    def merge(self, call, head, partial):
        if len(partial) == 1:
            return super().merge(call, head, partial)
        without_sink = type(call)(**{**vars(call), "sinks": None})
        pairs = [partial[first : first + 2] for first in range(0, len(partial), 2)]
        return self.merge(call, head, [super(Tree, self).merge(without_sink, head, pair) for pair in pairs])


class OneTokenPages(Paged):
    """Pages that hold one token."""

    page = 1


class ZeroedPages(Paged):
    """Wide pages, most of which nobody wrote to."""

    page, stale = 16, 0.0


class PackedBackwards(Packed):
    """The last sequence lies first in memory."""

    def attend(self, call):
        turned = type(call)(**vars(call))
        for name in ("query", "key", "value", "key_lengths", "query_lengths"):
            array = getattr(turned, name)
            setattr(turned, name, None if array is None else array[::-1])
        if turned.mask is not None and turned.mask.ndim == 4:
            turned.mask = turned.mask[::-1]
        output, logsumexp = super().attend(turned)
        return output[::-1], logsumexp[::-1]


LOOPS = (
    TilesBackwards,
    KeyByKey,
    WideTiles,
    OnlyTilesThatAreSeen,
    LazyRescaling,
    NormalisedAtEachTile,
    FixedSplits,
    Ring,
    Tree,
    OneTokenPages,
    ZeroedPages,
    PackedBackwards,
)
