"""Parameters of kernels beside the operation's arguments, as the table of a family has them: sizes, buffers, switches.

Expressions hold sizes in braces, which are written out for a layout when the adapter is.
"""

import inspect
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from attnspec.contract.layout import layout_name
from attnspec.families.lookup import family_of
from attnspec.targets.naming import plain_name

_FAMILIES = Path(__file__).parents[1] / "families"

_STRIDE = re.compile(r"(?:stride|strides)_?(?P<tensor>[a-z]+?)_?(?P<axis>[a-z0-9]?)$|(?P<first>[a-z]+)_strides?$")
"""Names of strides: one for each axis of a tensor, or one for all."""


class Filled(NamedTuple):
    """Source that an adapter hands over for a parameter, the arguments that it names, and what stands before the call.

    `buffer` is the output that the function writes into it; `guards` are conditions that decline what it cannot say;
    `forms` are expressions for it, each perhaps with a guard behind a bar.
    """

    expression: str
    uses: tuple[str, ...] = ()
    buffer: str | None = None
    guards: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()


class Kernels:
    """The table of the family of an operation."""

    def __init__(self, operation: str) -> None:
        family = family_of(operation)
        table = _FAMILIES / family.name / "kernel_parameters.toml"
        self._tables: Mapping[str, Any] = tomllib.loads(table.read_text("utf-8")) if table.is_file() else {}
        self._unstated = {**self._table("unstated"), **family.unstated.get(operation, {})}

    def filled(self, parameter: inspect.Parameter, names: Sequence[str], outputs: Sequence[str]) -> Filled | None:
        """Return what is handed over for a parameter that is no argument; None where its default will do, or unknown.

        `names` are all parameters of the function; `outputs` are those of the operation.
        """
        name, demanded = plain_name(parameter.name), parameter.default is inspect.Parameter.empty
        if demanded:
            buffers = self._table("buffers")
            called_buffers = {plain_name(each) for buffer in buffers.values() for each in buffer["names"]}
            has_buffers = not called_buffers.isdisjoint(map(plain_name, names))
            for output, buffer in buffers.items():
                is_exact = has_buffers and parameter.name in buffer.get("exact", ())
                if output in outputs and (is_exact or _is_among(name, buffer["names"])):
                    return Filled(output, buffer=output)
            for word, called in self._table("values").items():
                if _is_among(name, called):
                    return Filled(word)
        elif parameter.default is False:
            for word, called in self._table("switches").items():
                if _is_among(name, called):
                    return Filled(word)
        for size, facts in self._table("sizes").items():
            if (demanded or facts.get("despite_default")) and _is_among(name, facts["names"]):
                return Filled(f"{{{size}}}")
        return self._part(name, names) or (self._stride(parameter.name.lower(), names) if demanded else None)

    def _part(self, name: str, names: Sequence[str]) -> Filled | None:
        """Return one side of an argument of which each side has a parameter of its own, or one for both sides."""
        own = [plain_name(each) for each in names]
        for facts in self._table("parts").values():
            if _is_among(name, facts["names"]):
                partner = self._table("parts").get(facts.get("partner"), {}).get("names", ())
                is_whole = any(_is_among(each, partner) for each in own)
                guards = () if is_whole else (f"{facts['guard']}|{facts['says']}",)
                forms = (*facts.get("forms", ()), facts["expression"])
                return Filled(facts["expression"], tuple(facts["uses"].split()), guards=guards, forms=forms)
        return None

    def _stride(self, name: str, names: Sequence[str]) -> Filled | None:
        """Return a stride in elements: that of the axis at the position among the tensor's strides, or all."""
        found = _STRIDE.match(name)
        if found is None:
            return None
        tensor = self._table("strides").get((found["tensor"] or found["first"])[:1])
        if tensor is None:
            return None
        if not found["axis"]:
            return Filled(f"tuple(stride // {tensor}.itemsize for stride in {tensor}.strides)")
        beginning = name[: len(name) - 1]
        position = [each.lower() for each in names if each.lower()[:-1] == beginning].index(name)
        return Filled(f"{tensor}.strides[{position}] // {tensor}.itemsize")

    def forms(self, argument: str, default: object) -> tuple[str, ...]:
        """Return the ways in which a function may take an argument, the contract's own last; empty for that alone."""
        forms = self._table("forms").get(argument)
        if forms is None:
            return ()
        several = tuple(forms.get("several", ()))
        return several if isinstance(default, tuple | list) else (*several, *forms.get("open", ()), argument)

    def forms_beside(self, argument: str, default: object, built_in: Collection[str]) -> tuple[str, ...]:
        """Return further ways in which a function may take an argument beside others that are `built_in`."""
        forms = [form for each in built_in for form in self._table("forms").get(argument, {}).get(each, ())]
        if default is inspect.Parameter.empty:
            return tuple(forms)
        split = (form.split("|") for form in forms)
        return tuple(f"{default!r} if {condition} else {expression}" for expression, condition, _ in split)

    def built_in(self, text: str, which: str) -> Mapping[str, str]:
        """Return arguments that a function's "words" say are built in, or that may be "unsaid", each with its guard."""
        table = {name: facts for name, facts in self._table("built_in").items() if which in facts}
        return {argument: facts["guard"] for argument, facts in table.items() if re.search(facts[which], text)}

    @property
    def implied(self) -> Mapping[str, Sequence[str]]:
        """Arguments that the shapes of some tensors give, so that a function may do without them."""
        return self._table("implied")

    def unstated(self, argument: str) -> str | None:
        """Return what stands for an argument that a case leaves out, as an expression; None where nothing does."""
        return self._unstated.get(argument)

    def queries(self, layout: str | None) -> Mapping[str, tuple[str, str, str]]:
        """Return the ways in which queries are handed over in a layout: expression, what restores a result, a guard."""
        return self._table("queries").get((layout_name(layout) or "").partition("_")[0], {})

    def output_forms(self, output: str) -> Sequence[str]:
        """Return the forms in which an output may come."""
        return self._table("outputs").get(output, {}).get("forms", ())

    def buffer_lines(self, buffers: Sequence[str], layout: str | None, tensors: str) -> list[str]:
        """Return the lines that make the buffers; they hold NaN, so that a row that is not written shows."""
        lines: list[str] = []
        for name in buffers:
            facts = self._table("buffers")[name]
            shape = self.written_out(facts.get(f"shape_{layout_name(layout)}", facts["shape"]), layout)
            dtype = facts["dtype"]
            if tensors == "torch":
                kind = "" if dtype == "query.dtype" else f", dtype=torch.{dtype}"
                lines.append(f'{name} = query.new_full({shape}, float("nan"){kind})')
            else:
                kind = dtype if dtype == "query.dtype" else f"np.{dtype}"
                lines.append(f"{name} = np.full({shape}, np.nan, {kind})")
        return lines

    def written_out(self, expression: str, layout: str | None) -> str:
        """Return an expression with its sizes read from the tensors of a layout."""
        name = layout_name(layout) or next(iter(self._table("axes")), "")
        kind = name.partition("_")[0]
        tensors: Mapping[str, str] = self._table("tensors").get(name, {})

        def size(match: re.Match[str]) -> str:
            word = match[1]
            facts = self._table("sizes").get(word)
            if facts is None:
                return tensors.get(word, word).partition(" ")[0]
            if kind in facts:
                return facts[kind]
            tensor, letter = facts["of"].split()
            called, _, axes = tensors.get(tensor, tensor).partition(" ")
            axes = axes or self._table("axes").get(name, "")
            return f"{called}.shape[{axes.index(letter)}]" if letter in axes else "1"

        return re.sub(r"\{(\w+)\}", size, expression)

    def _table(self, name: str) -> Mapping[str, Any]:
        return self._tables.get(name, {})


def _is_among(name: str, names: Sequence[str]) -> bool:
    return name in map(plain_name, names)
