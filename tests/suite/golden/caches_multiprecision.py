"""The operations of caches, from an element of a result back to the token that it comes from."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from multiprecision import Evaluation, many_digits


def number_of(value, number):
    """A number as it is: an infinity and NaN are no fractions."""
    return number(float(value)) if number is many_digits else Fraction(float(value))


class AppendCache(Evaluation):
    operation = "append_cache"

    def appended(self, name, index, number):
        past, new = getattr(self.inputs, f"past_{name}"), getattr(self.inputs, name)
        entry, head, token, feature = index
        is_new = token >= past.shape[2]
        source = new[entry, head, token - past.shape[2], feature] if is_new else past[index]
        return number_of(source, number)

    def present_key(self, index, number):
        return self.appended("key", index, number)

    def present_value(self, index, number):
        return self.appended("value", index, number)


class ScatterCache(Evaluation):
    operation = "scatter_cache"

    def written(self, index, number, seen):
        axis = self.attributes.get("axis", -2) % self.inputs.cache.ndim
        length, update = self.inputs.cache.shape[axis], self.inputs.update
        indices = getattr(self.inputs, "write_indices", None)
        first = 0 if indices is None else int(indices[index[0]])
        tokens = range(update.shape[axis] if seen is None else seen)
        hits = [token for token in tokens if index[axis] in (first + token, (first + token) % length)]
        if not hits:
            return number_of(self.inputs.cache[index], number)
        return number_of(update[(*index[:axis], hits[-1], *index[axis + 1 :])], number)

    def present(self, index, number):
        return self.written(index, number, None)

    def history(self, index, number):
        return self.written(index[1:], number, int(sum(self.inputs.step_lengths[: index[0] + 1])))


class WriteWindow(Evaluation):
    operation = "write_window"

    def written(self, name, index, number, seen):
        cache, new = getattr(self.inputs, f"{name}_cache"), getattr(self.inputs, name)
        entry, head, slot, feature = index
        keep, past = self.attributes.get("keep", 0), int(self.inputs.past_lengths[entry])
        ring = cache.shape[2] - keep
        for token in reversed(range(new.shape[2] if seen is None else seen)):
            position = past + token
            if position == slot if slot < keep else position >= keep and (position - slot) % ring == 0:
                return number_of(new[entry, head, token, feature], number)
        return number_of(cache[index], number)

    def present_key(self, index, number):
        return self.written("key", index, number, None)

    def present_value(self, index, number):
        return self.written("value", index, number, None)

    def key_history(self, index, number):
        return self.written("key", index[1:], number, int(sum(self.inputs.step_lengths[: index[0] + 1])))

    def value_history(self, index, number):
        return self.written("value", index[1:], number, int(sum(self.inputs.step_lengths[: index[0] + 1])))


class InPages:
    """Pools that tokens are written into, each into a page and a position there."""

    def written(self, name, index, number):
        pool, new = getattr(self.inputs, f"{name}_pool"), getattr(self.inputs, name)
        page, position, head, feature = index
        if (page, position) not in self.destinations():
            return number_of(pool[index], number)
        written = new[self.destinations().index((page, position)), head, feature]
        scale = getattr(self.inputs, f"{name}_scale", None)
        if scale is None:
            return number_of(written, number)
        divisor = scale if np.ndim(scale) == 0 else scale[head]
        return number_of(self.quantized(float(written), float(divisor), pool.dtype), number)

    @staticmethod
    def quantized(written, divisor, dtype):
        if np.isnan(written):
            return written
        numbers = np.arange(-128, 128) if dtype.kind == "i" else np.arange(256, dtype=np.uint8).view(dtype)
        finite = sorted({float(each) for each in numbers if np.isfinite(float(each))})
        if np.isinf(written):
            return finite[-1 if written > 0 else 0]
        quotient = Fraction(written) / Fraction(divisor)
        distances = [abs(Fraction(each) - quotient) for each in finite]
        nearest = [each for each, distance in zip(finite, distances, strict=True) if distance == min(distances)]
        if len(nearest) == 1:
            return nearest[0]
        codes = [int(np.array(each).astype(dtype).view(np.uint8)) for each in nearest]
        return next(each for each, code in zip(nearest, codes, strict=True) if code % 2 == 0)

    def present_key(self, index, number):
        return self.written("key", index, number)

    def present_value(self, index, number):
        return self.written("value", index, number)


class WriteSlots(InPages, Evaluation):
    operation = "write_slots"

    def destinations(self):
        size = self.inputs.key_pool.shape[1]
        return [(slot // size, slot % size) if slot >= 0 else None for slot in self.inputs.slot_mapping.tolist()]


class WritePagedCache(InPages, Evaluation):
    operation = "write_paged_cache"

    def destinations(self):
        size, starts = self.inputs.key_pool.shape[1], self.inputs.page_starts.tolist()
        tokens = zip(self.inputs.batch_indices.tolist(), self.inputs.positions.tolist(), strict=True)
        return [
            (int(self.inputs.page_indices[starts[sequence] + position // size]), position % size)
            for sequence, position in tokens
        ]
