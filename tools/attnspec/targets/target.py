"""Target: what is validated and how it is reached, as one value, read from options and written into reports here."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar, cast

from attnspec.base.errors import AttnspecError, UsageError
from attnspec.contract import EXAMPLES, IN_LAYOUT, OPERATIONS

For = Literal["python", "process"]
"""The one kind of target that an option is for: of Python, or talked to in a process of its own."""

_OPTIONS = {"operation": "as", "renames": "rename", "show_stderr": "stderr"}
"""Fields whose option has another name."""


_FOR_LOADING: Mapping[str, Any] = {"alone": "python", "loads": True}
_FOR_PYTHON: Mapping[str, Any] = {"alone": "python"}
_FOR_A_PROCESS: Mapping[str, Any] = {"alone": "process"}


@dataclass(frozen=True)
class Target:
    """What is validated, and how it is reached; the order of fields is that of a report's ``invocation``.

    `python` is an argument of :func:`attnspec.load`, `command` a program. `renames` has its own name first. Timeouts
    are in seconds; `timeout`, of one call, isolates too. `without` adds to the declared capabilities.
    """

    python: object = None
    command: str | None = None
    operation: str | None = field(default=None, metadata=_FOR_LOADING)
    layout: str | None = field(default=None, metadata={"loads": True})
    renames: Mapping[str, str] = field(default_factory=dict[str, str], metadata=_FOR_LOADING)
    device: str | None = field(default=None, metadata=_FOR_LOADING)
    tensors: str | None = field(default=None, metadata=_FOR_LOADING)
    backward: str | None = field(default=None, metadata=_FOR_LOADING)
    isolate: bool = field(default=False, metadata=_FOR_PYTHON)
    timeout: float | None = None
    without: tuple[str, ...] = ()
    start_timeout: float | None = field(default=None, metadata=_FOR_A_PROCESS)
    show_stderr: bool = field(default=False, metadata=_FOR_A_PROCESS)
    transcript: Path | None = field(default=None, metadata=_FOR_A_PROCESS)

    def __post_init__(self) -> None:
        """Refuse names of arguments that no operation has, by UsageError."""
        everywhere = (OPERATIONS, *IN_LAYOUT.values()) if self.renames else ()
        known = {argument for there in everywhere for operation in there.values() for argument in operation.arguments}
        for own, argument in self.renames.items():
            # A parameter that holds several matrices is said to be these, in their order.
            if not {*argument.split("+")} <= known:
                raise UsageError(
                    f"--rename {own}={argument}: no operation has an argument {argument!r}; "
                    f"write your own name first: --rename {EXAMPLES.own_name}={EXAMPLES.argument}."
                )

    @property
    def name(self) -> str:
        """Name of the target in messages."""
        return str(self.command if self.python is None else self.python)

    @property
    def is_imported(self) -> bool:
        """Whether it is Python that runs in this process."""
        return self.python is not None and self.command is None and not self.isolate and self.timeout is None

    @property
    def said(self) -> dict[str, Any]:
        """Fields that results depend on beside a target of Python itself."""
        names = [each.name for each in fields(self) if each.metadata.get("alone") != "process"]
        return {name: getattr(self, name) for name in names if name != "python"}

    def texts(self, name: str) -> list[str]:
        """Return the texts with which an option says a field; none where it was not given."""
        if name == "renames":
            return [f"{own}={argument}" for own, argument in self.renames.items()]
        if name == "without":
            return [*self.without]
        value: Any = getattr(self, name)
        if value is None or value is False:
            return []
        return ["given" if value is True else f"{value:g}" if isinstance(value, float) else str(value)]

    def options_for(self, alone: For) -> Iterator[str]:
        """Give the options that were given and are for such targets alone."""
        for each in fields(self):
            if each.metadata.get("alone") == alone and self.texts(each.name):
                yield option_of(each.name)


LOADING = tuple(each.name for each in fields(Target) if each.metadata.get("loads"))
"""The fields that loading a target of Python needs."""


def option_of(name: str) -> str:
    """Return the option of the command line that says a field."""
    return f"--{_OPTIONS.get(name, name.replace('_', '-'))}"


def target_of(python: object, given: Mapping[str, Any]) -> Target:
    """Make a target from options or keywords: fields of `Target` by name, None for those not given.

    `renames` is ``K=V`` texts or a mapping; `without` one text or several, each with perhaps several words. Raises
    UsageError if a text cannot be read, or a name is to stand for an argument that no operation has.
    """
    said = {name: value for name, value in given.items() if value is not None}
    if "renames" in said:
        own: Any = said["renames"]
        said["renames"] = dict(cast("Any", own)) if isinstance(own, Mapping) else pairs(own, option_of("renames"))
    if "without" in said:
        said["without"] = words(as_tuple(said["without"]))
    return Target(python, **said)


def invocation_fields(target: Target) -> dict[str, Any]:
    """Return what a report keeps of a target, by option: of a program that it is one, for its words are elsewhere."""
    # The capabilities it lacks stand in the implementation's declaration.
    said = {name: value for name, value in target.said.items() if name != "without"}
    said["command"] = target.command is not None
    return {option_of(name).removeprefix("--"): value for name, value in said.items()}


def written_options(target: Target) -> dict[str, str]:
    """Return option to text for all that results depend on; the text is empty where nothing was said."""
    return {option_of(name): ", ".join(target.texts(name)) for name in target.said}


def loading_words(target: Target) -> list[str]:
    """Return the words of a command line that say how a target of Python is loaded."""
    return [f"{option_of(name)}={text}" for name in LOADING for text in target.texts(name)]


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Read ``K=V`` options, several in one text with commas between them; UsageError if one has no equals sign."""
    found: dict[str, str] = {}
    for text in words(texts):
        name, sign, value = text.partition("=")
        if not (name and sign and value):
            raise UsageError(f"{option} {text}: write it as NAME=VALUE.")
        found[name] = value
    return found


def words(texts: Sequence[str]) -> tuple[str, ...]:
    """Read words, several in one text with commas between them."""
    return tuple(word for text in texts for word in text.replace(" ", "").split(",") if word)


def as_tuple(names: Sequence[str] | str | None) -> tuple[str, ...]:
    """Return one name, several names or None as a tuple of names."""
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(names)


_Function = TypeVar("_Function", bound="Callable[..., Any]")


class ArrayOptions(TypedDict, total=False):
    """How the arrays of a target are: laid out, on which device, of which library."""

    layout: str | None
    device: str | None
    tensors: str | None


class LoadOptions(ArrayOptions, total=False):
    """The keywords of `attnspec.load`; `renames` has the contract's name first."""

    bare_operation: str | None
    renames: Mapping[str, str] | None
    backward: str | None


class CandidateOptions(ArrayOptions, total=False):
    """The keywords of `attnspec.judge` that are about its target."""

    operation: str | None
    renames: Mapping[str, str] | None


class TargetOptions(CandidateOptions, total=False):
    """The keywords of `attnspec.validate` that are about its target."""

    backward: str | None
    without: Sequence[str] | str | None


def spelled_out(options: Any) -> Callable[[_Function], _Function]:
    """Let a function of the Python API show the keywords of a TypedDict one by one, and refuse all others.

    Its errors name these keywords, too, in place of options.
    """
    keywords = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation.__forward_arg__)
        for name, annotation in options.__annotations__.items()
    ]
    loads = "operation" not in options.__annotations__

    def decorate(function: _Function) -> _Function:
        own = inspect.signature(function)
        before = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        shown = own.replace(parameters=[*before, *keywords])

        @functools.wraps(function)
        def checked(*arguments: Any, **given: Any) -> Any:
            shown.bind(*arguments, **given)
            try:
                return function(*arguments, **given)
            except AttnspecError as error:
                from attnspec.targets.keywords import in_python

                error.args = tuple(in_python(str(said), loads=loads) for said in error.args)
                raise

        cast("Any", checked).__signature__ = shown
        return cast("_Function", checked)

    return decorate
