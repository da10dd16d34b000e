"""A mistake: a wrong implementation that somebody might well write.

Functions are Python, texts are data. A module of mistakes has a table ``FUNCTIONS`` of what makes each by its id, and
beside it lies a JSON file of the module's name with the texts of the same ids in the same order.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias, cast

from attnspec_mistakes.patches import Computation

_OPERATIONS = {
    "absorbed": "absorbed_latent_attention",
    "latent": "latent_attention",
    "append": "append_cache",
    "merge": "merge_states",
    "multi_head": "multi_head_attention",
    "pages": "write_paged_cache",
    "scatter": "scatter_cache",
    "sdpa": "scaled_dot_product_attention",
    "sdpa_backward": "scaled_dot_product_attention_backward",
    "single_head": "single_head_attention",
    "slots": "write_slots",
    "window": "write_window",
}
"""The short name that an id begins with to the operation's name, where they differ."""


@dataclass(frozen=True)
class Mistake:
    """One wrong implementation of one operation, and the sentences for the one who wrote it.

    Attributes
    ----------
    id
        The operation's short name, a point, and the name of the mistake, such as ``sdpa.scale_missing``.
    operation
        Name of the operation that is implemented wrongly.
    clause
        Id of the clause of the specification that is violated.
    sentence
        What went wrong, in one plain sentence for a student.
    engineer
        What went wrong in the code, in one sentence for somebody who writes kernels.
    remedy
        What to do, in one plain sentence.
    function
        Computes what the mistake computes: it takes the operation's arguments by keyword and returns a mapping or a
        named tuple of outputs. It raises ``ValueError`` where the shapes do not allow the mistake.
    erratum
        Id of the erratum about a document with this mistake, or None.
    source
        Address of a public report of this mistake, or None.
    shows_in
        Dtypes in which the cases must notice it. Most mistakes show in float64 and float32; what half precision
        shows beside that is measured, not promised.
    begin
        For a mistake that remembers earlier calls: makes an implementation that has not been called yet, and
        `function` is then what its first call computes. None for all others.
    in_layout
        For a mistake that can be made in layouts alone in which the operation has other arguments: each of these
        layouts to what takes the arguments that it has there. `function` is the first of them. Empty for all others,
        which can be made in every layout.
    other_ways
        The same mistake with another number in it, such as the size of a tile, or beside another habit that is right.
        Cases are made to notice `function` alone; a failure may be put down to any.
    """

    id: str
    operation: str
    clause: str
    sentence: str
    engineer: str
    remedy: str
    function: Computation
    erratum: str | None = None
    source: str | None = None
    shows_in: tuple[str, ...] = ("float64", "float32")
    begin: Callable[[], Computation] | None = None
    in_layout: Mapping[str, Computation] = field(default_factory=dict[str, "Computation"])
    other_ways: tuple[Computation, ...] = ()

    @property
    def layout(self) -> str | None:
        """The layout in which `function` takes its arguments; None for the contract's own."""
        return next(iter(self.in_layout), None)

    @property
    def listed_as(self) -> str:
        """The id in the catalogue: that of the mistake itself in any of its ways, and of the first of two at once."""
        return self.id.partition("+")[0]

    def in_other_ways(self) -> Iterator["Mistake"]:
        """Give the mistake in each of its other ways; the ids have a plus sign and a number behind them."""
        for number, function in enumerate(self.other_ways, 1):
            yield replace(self, id=f"{self.id}+{number}", function=function, other_ways=())

    def is_made_in(self, layout: str | None) -> bool:
        """Say whether it can be made in a layout, by its name; None is the contract's own."""
        return not self.in_layout or layout in self.in_layout


class Made(NamedTuple):
    """What a mistake computes; its fields are those of :class:`Mistake`."""

    function: Computation
    begin: Callable[[], Computation] | None = None
    in_layout: Mapping[str, Computation] = {}
    other_ways: tuple[Computation, ...] = ()


Making: TypeAlias = "Computation | Mapping[str, Computation] | Made"
"""What stands in ``FUNCTIONS``: a function; those by layout of what some layouts alone allow; or what remembers."""


def of_sizes(make: Callable[[int], Computation], *sizes: int) -> Made:
    """Make a mistake in tiles of the first size, and of the others that people take."""
    first, *others = map(make, sizes)
    return Made(first, other_ways=tuple(others))


def mistakes_in(*modules: ModuleType) -> tuple[Mistake, ...]:
    """Return the mistakes of some modules, in the order of their texts.

    Raises
    ------
    ValueError
        An id has a text and no function or the other way round, or they are in another order.
    """
    return tuple(mistake for module in modules for mistake in _in_module(module))


def _in_module(module: ModuleType) -> Iterator[Mistake]:
    functions: Mapping[str, Making] = module.FUNCTIONS
    path = Path(cast("str", module.__file__)).with_suffix(".json")
    texts: dict[str, dict[str, str]] = json.loads(path.read_bytes())
    if list(texts) != list(functions):
        alone = sorted(texts.keys() ^ functions.keys())
        raise ValueError(
            f"{path.name} and FUNCTIONS of {module.__name__} differ in {', '.join(alone) or 'their order'}: "
            "give each mistake a text and a function, in the same order."
        )
    for identifier, making in functions.items():
        short_name = identifier.partition(".")[0]
        text: dict[str, Any] = {**texts[identifier], **_made(making)._asdict()}
        if "shows_in" in text:
            text["shows_in"] = tuple(text["shows_in"].split())
        yield Mistake(identifier, _OPERATIONS.get(short_name, short_name), **text)


def _made(making: Making) -> Made:
    if isinstance(making, Made):
        return making
    if isinstance(making, Mapping):
        return Made(next(iter(making.values())), in_layout=making)
    return Made(making)
