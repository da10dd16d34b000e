"""Serve an in-process Python implementation over the process protocol, confined where it is to be.

``python -m attnspec.process.serving TARGET`` is what ``attnspec validate TARGET --isolate`` starts: a
target in a process of its own may crash or hang and costs one case only. The spec is ``spec/protocol.md``.
"""

import argparse
import gc
import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from typing import IO, Any

from attnspec.base.errors import AttnspecError, UsageError
from attnspec.contract.implementation import Declined, Implementation
from attnspec.process.messages import VERSIONS, Message, read_message, write_message
from attnspec.process.pipes import PIECE
from attnspec.process.served_messages import answer_message, read_run, refused_message, started_message
from attnspec.process.tensors_on_the_wire import Encoding
from attnspec.targets.target import LOADING, option_of, target_of

ENCODING: Encoding = "base64"
"""Every bit survives, and NumPy writes it without a loop."""


def serve(implementation: Implementation, stdin: IO[bytes], stdout: IO[bytes], encoding: Encoding = ENCODING) -> None:
    """Answer requests until ``stop`` or the end of `stdin`; the implementation must not have these two streams."""
    for line in stdin:
        message = read_message(line)
        if message["type"] == "stop":
            return
        if message["type"] == "start":
            _send(stdout, _start(implementation, message, encoding))
        elif message["type"] == "run":
            request = read_run(message, encoding)
            offered = request.operation in implementation.declaration.operations
            answer = implementation.run(request) if offered else Declined(f"{request.operation} is not offered")
            _send(stdout, answer_message(message["seq"], answer, encoding))


def serve_refusal(problem: str, stdin: IO[bytes], stdout: IO[bytes]) -> None:
    """Answer the start request with the reason why nothing can be run."""
    if stdin.readline():
        _send(stdout, refused_message(problem))


def _send(stdout: IO[bytes], message: Message) -> None:
    stdout.write(write_message(message))
    stdout.flush()


def _start(implementation: Implementation, message: Message, encoding: Encoding) -> Message:
    if VERSIONS[0] not in message.get("versions", ()):
        return refused_message(f"it speaks protocol {VERSIONS[0]}, which the harness did not offer")
    return started_message(implementation.declaration, encoding)


def keep_the_protocol_apart() -> tuple[IO[bytes], IO[bytes]]:
    """Move the protocol off stdin and stdout, so that no print of the target, in C or Python, meets it.

    Returns the two new ends of the protocol, requests first.
    """
    stdin, stdout = os.fdopen(os.dup(0), "rb", PIECE), os.fdopen(os.dup(1), "wb", PIECE)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return stdin, stdout


class ForbiddenCallError(RuntimeError):
    """Call of a function that must not be called."""


def forbid(names: Sequence[str]) -> None:
    """Replace functions, by dotted name, with one that raises when called; a target that is loaded later finds that.

    A name is such as ``torch.nn.functional.scaled_dot_product_attention``. Raises UsageError if there is no such
    function.
    """
    for name in names:
        owner, attribute = _owner_of(name)
        try:
            setattr(owner, attribute, _refusing(name, getattr(owner, attribute)))
        except TypeError:
            raise UsageError(
                f"--forbid {name}: it is part of a type that Python lets nobody change; forbid what calls it, or have "
                "its --sandbox see to it."
            ) from None


def limit_memory(megabytes: int) -> None:
    """Limit the memory of this process to so many MB; UsageError where the system cannot."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 10**6, megabytes * 10**6))
    except (ImportError, OSError, ValueError) as error:
        raise UsageError(f"The memory of a process cannot be limited to {megabytes} MB here: {error}.") from None


def _owner_of(name: str) -> tuple[Any, str]:
    """Return the module or class that has a function, and its name there."""
    *modules, attribute = name.split(".")
    for length in range(len(modules), 0, -1):
        try:
            owner: Any = import_module(".".join(modules[:length]))
            for part in modules[length:]:
                owner = getattr(owner, part)
        except (ImportError, AttributeError):
            continue
        if callable(getattr(owner, attribute, None)):
            return owner, attribute
    raise UsageError(f"--forbid {name}: there is no such function; write its dotted name, as it is imported.")


def _refusing(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def refused(*_arguments: Any, **_named: Any) -> Any:
        raise ForbiddenCallError(f"{name} was called, which is forbidden here")

    # `wraps` leaves the function there.
    del refused.__wrapped__
    return refused


def main(arguments: list[str] | None = None) -> int:
    """Serve the target that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m attnspec.process.serving", description=__doc__)
    parser.add_argument("target", help="what `attnspec validate` takes, such as my_package.attention")
    for name in LOADING:
        action = "append" if name == "renames" else "store"
        parser.add_argument(option_of(name), dest=name, action=action, help="as `attnspec validate` has it")
    parser.add_argument("--forbid", action="append", default=[], metavar="NAME", help="a function that must not run")
    parser.add_argument("--megabytes", type=int, metavar="N", help="how much memory may be taken")
    options = parser.parse_args(arguments)
    stdin, stdout = keep_the_protocol_apart()
    # As in the process of the harness: messages are many lists that hold no cycles.
    gc.set_threshold(100_000, 20, 20)
    with stdin, stdout:
        # Imported here, and only now: the import of the target may print.
        from attnspec.targets.loading import loaded

        try:
            if options.megabytes is not None:
                limit_memory(options.megabytes)
            forbid(options.forbid)
            implementation = loaded(target_of(options.target, {name: getattr(options, name) for name in LOADING}))
        except AttnspecError as problem:
            serve_refusal(str(problem), stdin, stdout)
            return 2
        try:
            serve(implementation, stdin, stdout)
        finally:
            implementation.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
