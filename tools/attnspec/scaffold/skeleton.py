"""Skeleton of an adapter: a file to fill in."""

from __future__ import annotations

from attnspec.contract import EXAMPLES, OPERATIONS
from attnspec.contract.operation import REQUIRED


def _source(default: object) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)


def skeleton(operation: str) -> str:
    """Return an adapter that runs and offers nothing of `operation` yet, with all that it may declare as comments."""
    known = OPERATIONS[operation]
    optional = [
        *(f"{name}=None" for name in known.optional_inputs),
        *(f"{name}={_source(default)}" for name, default in known.attributes.items() if default is not REQUIRED),
    ]
    has_backward = any(other.backward_of == operation for other in OPERATIONS.values())
    backward = '# backward = "autograd"  # its gradients are validated, too, as the library of its tensors gives them\n'
    signature = "".join(
        f"    {part},\n" for part in [*known.required_arguments, *(["*"] if optional else []), *optional]
    )
    return f'''"""An adapter for attnspec, begun by `attnspec init`: `attnspec validate` runs it.

Write the call of your function. Delete the arguments that it does not have: cases that need them are unsupported then.
"""

# What may be declared. Nothing needs to be.
# dtypes = ("float64", "float32", "float16", "bfloat16")  # float64 alone if not said
# tensors = "torch"  # it takes and returns tensors of torch or jax, not NumPy's arrays
{backward if has_backward else ""}# layout = "bshe"  # how its tensors lie, as `attnspec validate --help` lists it
# conventions = {{"{EXAMPLES.convention}": "{EXAMPLES.choice}"}}  # `attnspec explain conventions` lists them
# without = ()  # what it does not offer; `attnspec explain capabilities` lists the words


def {operation}(
{signature}):
    """{known.sentence[:1].upper()}{known.sentence[1:]}."""
    raise NotImplementedError("the call of your function is still to be written")
'''
