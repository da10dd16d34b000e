"""What the judge is made of is loaded before a candidate is there."""

import subprocess
import sys

LOADED = """
import ast, importlib.util, re, sys
from attnspec_draws.judge.own_modules import load_own_modules
load_own_modules(())
loaded = dict(sys.modules)
late = set()
IN_THE_CANDIDATE = (
    "attnspec_adapters", "attnspec_modules", "attnspec.tensors", "attnspec.command", "attnspec_draws.commands",
    "attnspec_authoring",
)
for name, module in loaded.items():
    if not name.startswith("attnspec") or not getattr(module, "__file__", None):
        continue
    if name == "attnspec.process.serving":
        # It runs in the candidate's own process.
        continue
    tree = ast.parse(open(module.__file__).read())
    for node in ast.walk(tree):
        # What is registered by name; adapters and tensors are in the candidate's process, the command runs,
        # and what the authors have is for other commands, of a checkout.
        if isinstance(node, ast.Constant) and re.fullmatch(r"attnspec[\\w.]*:\\w+", str(node.value)):
            if not node.value.startswith(IN_THE_CANDIDATE):
                late.add((name, node.value.partition(":")[0]))
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                late.update((name, alias.name) for alias in node.names)
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                late.add((name, node.module))
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "np":
                if importlib.util.find_spec(f"numpy.{node.attr}") is not None:
                    late.add((name, f"numpy.{node.attr}"))
print(sorted((by, wanted) for by, wanted in late if wanted not in loaded))
"""


def test_what_is_imported_where_it_is_needed_is_loaded():
    reported = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True).stdout
    assert reported == "[]\n"
