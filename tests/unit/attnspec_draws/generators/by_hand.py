"""The streams of ``spec/draws.md`` in plain whole numbers, without NumPy and without the harness."""

MODULUS = 2**64


def fnv1a64(text):
    found = 14695981039346656037
    for byte in text.encode("utf-8"):
        found = (found ^ byte) * 1099511628211 % MODULUS
    return found


def splitmix64(state):
    state = (state + 11400714819323198485) % MODULUS
    state = (state ^ state // 2**30) * 13787848793156543929 % MODULUS
    state = (state ^ state // 2**27) * 10723151780598845931 % MODULUS
    return state ^ state // 2**31


def words(seed, count, first=0):
    base = splitmix64(fnv1a64(seed))
    return [splitmix64((base + position) % MODULUS) for position in range(first, first + count)]


class ByHand:
    """A stream, word by word."""

    def __init__(self, seed):
        self.seed, self.position = seed, 0

    def word(self):
        (found,) = words(self.seed, 1, self.position)
        self.position += 1
        return found

    def below(self, bound):
        return self.word() * bound // MODULUS

    def between(self, least, most):
        return least + self.below(most - least + 1)

    def of_any_size(self, least, most):
        digits = self.between(len(f"{least:b}"), len(f"{most:b}"))
        return self.between(max(least, 2 ** (digits - 1)), min(most, 2**digits - 1))

    def percent(self, share):
        return self.below(100) < share

    def one_of(self, choices):
        return choices[self.below(len(choices))]

    def weighted(self, weights):
        return self.one_of([choice for choice, weight in weights.items() for _ in range(weight)])
