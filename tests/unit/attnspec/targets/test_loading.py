"""From what a user types to an implementation, and one clear sentence for everything that is none."""

import importlib
import os
import re
import sys
import textwrap
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import attnspec
from attnspec.base.errors import AttnspecError, TargetError, UsageError
from attnspec.cases import load_suite
from attnspec.contract.implementation import Declined, Implementation, Outputs, Request
from attnspec.targets import load

SOFTMAX = """
import numpy as np

def softmax(x, axis=-1):
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
"""

ADAPTER = (
    SOFTMAX
    + """
class Adapter:
    name = "my attention"
    version = "1.2"
    dtypes = ("float64", "float32")
    conventions = {"softmax.fully_masked_row": "nan"}

    def softmax(self, x, axis=-1):
        return softmax(x, axis)

def make():
    return Adapter()

instance = Adapter()
number = 3
"""
)


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file of the working folder, under a name that no other test uses; what it leaves behind is undone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def write_file(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), "utf-8")
        return path

    yield write_file
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


def first_softmax_case():
    case = load_suite(select=("documents/001/softmax_of_columns",)).cases["documents/001/softmax_of_columns"]
    return Request("softmax", "float64", dict(case.inputs), dict(case.attributes)), case


def assert_works(implementation):
    request, case = first_softmax_case()
    answer = implementation.run(request)
    assert isinstance(answer, Outputs)
    assert abs(answer.values["output"] - case.golden("float64")["output"]).max() < 1e-12


def the_sentence(target, **options):
    """The message for a target that cannot be used: one line, without a stack."""
    with pytest.raises(TargetError) as caught:
        load(target, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert "Traceback" not in message
    return message


def test_a_built_in_name_stands_for_its_adapter():
    implementation = load("reference")
    assert implementation.declaration.name == "attnspec reference"
    assert implementation.declaration.adapter == "reference"
    assert_works(implementation)


def test_a_built_in_name_goes_before_a_file_of_that_name(write):
    write("reference.py", "name = 'mine'\n" + SOFTMAX)
    assert load("reference").declaration.name == "attnspec reference"
    assert load("./reference.py").declaration.name == "mine"


@pytest.mark.parametrize(
    "target",
    [
        "house.room",
        "house.room:instance",
        "house.room:Adapter",
        "house.room.Adapter",
        "house.room:make",
        "./house/room.py",
        "house/room.py",
        "./house/room.py:Adapter",
        "./house/room.py:make",
        "./house/room.py:instance",
    ],
)
def test_modules_files_classes_factories_and_instances_are_found(target, write):
    write("house/room.py", ADAPTER)
    implementation = load(target)
    assert implementation.declaration.adapter == target
    assert implementation.declaration.operations == ("softmax",)
    assert_works(implementation)


def test_an_absolute_path_and_a_path_with_a_colon_are_paths(write):
    path = write("a:b/room.py", ADAPTER)
    assert_works(load(str(path)))
    assert load(f"{path}:Adapter").declaration.name == "my attention"


def test_a_file_may_import_its_neighbours(write):
    write("neighbour_of_room.py", SOFTMAX)
    write("room.py", "from neighbour_of_room import softmax")
    assert_works(load("./room.py"))


def test_a_file_is_taken_as_it_stands_however_quickly_it_was_edited(write, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for name in ("one", "two"):
        path = write("edited.py", f"name = {name!r}\n\ndef softmax(x, axis=-1):\n    return x\n")
        os.utime(path, (1_000_000_000, 1_000_000_000))
        assert load(str(path)).declaration.name == name
        assert not (path.parent / "__pycache__").exists()


def test_what_an_adapter_declares_is_read():
    adapter = SimpleNamespace(
        softmax=lambda x, axis=-1: x, name="mine", version=3, dtypes=["float32"], conventions={"accumulation": "dtype"}
    )
    declaration = load(adapter).declaration
    assert (declaration.name, declaration.version, declaration.adapter) == ("mine", "3", "SimpleNamespace")
    assert declaration.dtypes == ("float32",)
    assert declaration.conventions == {"accumulation": "dtype"}


def test_what_an_adapter_does_not_declare_has_a_default(write):
    write("room_without_words.py", SOFTMAX + "\n__version__ = '0.3'")
    declaration = load("./room_without_words.py").declaration
    assert (declaration.name, declaration.version) == ("room_without_words", "0.3")
    assert declaration.dtypes == ("float64",)
    assert declaration.conventions == {}


@pytest.mark.parametrize("dtypes", ["float32", ("float32",), ["float32"]])
def test_one_dtype_or_several_may_be_declared_by_name(dtypes):
    assert load(SimpleNamespace(softmax=lambda x: x, dtypes=dtypes)).declaration.dtypes == ("float32",)


def test_dtypes_may_be_those_of_numpy():
    declared = (np.float32, np.dtype("float64"), ml_dtypes.bfloat16)
    declaration = load(SimpleNamespace(softmax=lambda x: x, dtypes=declared)).declaration
    assert declaration.dtypes == ("float32", "float64", "bfloat16")
    assert load(SimpleNamespace(softmax=lambda x: x, dtypes=np.float32)).declaration.dtypes == ("float32",)


def test_objects_are_taken_as_they_are(write, monkeypatch):
    write("room_of_objects.py", ADAPTER)
    monkeypatch.syspath_prepend(".")
    module = importlib.import_module("room_of_objects")
    for target in (module, module.Adapter, module.instance, module.make):
        assert_works(load(target))
    assert_works(load(module.softmax, bare_operation="softmax"))


def test_one_function_stands_for_the_operation_that_is_named(write):
    write("one_function.py", SOFTMAX.replace("softmax", "shares"))
    implementation = load("./one_function.py:shares", bare_operation="softmax")
    assert implementation.declaration.name == "shares"
    assert implementation.declaration.operations == ("softmax",)
    assert_works(implementation)


def test_one_function_keeps_what_its_file_declares(write):
    declared = "\ndtypes = ('float32',)\nconventions = {'accumulation': 'float32'}\nversion = 7\nname = 'all of it'\n"
    write("declaring_file.py", SOFTMAX.replace("softmax", "shares") + declared)
    for target in ("./declaring_file.py:shares", "declaring_file.shares", "declaring_file:shares"):
        declaration = load(target, bare_operation="softmax").declaration
        assert (declaration.name, declaration.version) == ("shares", "7")
        assert declaration.dtypes == ("float32",)
        assert declaration.conventions == {"accumulation": "float32"}


def test_public_functions_of_the_users_file_that_are_no_operations_are_known(write):
    others = (
        "\nfrom os.path import join\ndef attention(q): ...\ndef _private(): ...\nclass Layer: ...\nlater = softmax\n"
    )
    write("beside.py", SOFTMAX + others)
    assert load("./beside.py").declaration.not_graded == ("attention",)
    assert load("./beside.py:softmax", bare_operation="softmax").declaration.not_graded == ()
    assert load("reference").declaration.not_graded == ()


def test_a_function_that_only_shares_an_operations_name_leaves_the_others_as_they_are(write):
    write("parts.py", "def softmax(logits, sink, ok): ...\ndef split_heads(x, num_heads):\n    return x\n")
    implementation = load("./parts.py")
    assert implementation.declaration.operations == ("split_heads",)
    assert implementation.declaration.not_graded == ()
    assert "parts.py: softmax(logits, sink, ok) demands 'sink'" in implementation.declaration.unfit["softmax"]
    assert implementation.run(Request("softmax", "float64", {}, {})) == Declined("softmax is not offered")


def test_where_no_function_can_be_called_the_first_says_why(write):
    write("parts.py", "def softmax(): ...\ndef split_heads(tokens): ...\n")
    with pytest.raises(TargetError, match=r"softmax\(\) has no argument 'x'"):
        load("./parts.py")


def test_an_implementation_is_returned_as_it_is(write):
    reference = load("reference")
    assert load(reference) is reference
    wrapped = attnspec.features_first(SimpleNamespace(softmax=lambda x, axis=0: x))
    assert isinstance(wrapped, Implementation)
    assert load(wrapped) is wrapped


@pytest.mark.parametrize("target", ["./wrapped.py:adapter", "./wrapped.py:make"])
def test_a_file_may_hold_or_make_an_implementation(target, write):
    write(
        "wrapped.py",
        "import attnspec\n" + SOFTMAX + "\nclass Columns:\n    softmax = staticmethod(softmax)\n"
        "adapter = attnspec.features_first(Columns)\ndef make():\n    return adapter\n",
    )
    assert isinstance(load(target), type(attnspec.features_first(SimpleNamespace(softmax=lambda x: x))))


def test_an_installed_adapter_is_found_by_its_name(write, monkeypatch):
    write("installed_room.py", ADAPTER)
    monkeypatch.syspath_prepend(".")
    entries = [
        EntryPoint("my-attention", "installed_room:Adapter", "attnspec.adapters"),
        EntryPoint("my-broken-attention", "installed_room:Gone", "attnspec.adapters"),
    ]
    monkeypatch.setattr(
        "importlib.metadata.entry_points",
        lambda group, name: [entry for entry in entries if (entry.group, entry.name) == (group, name)],
    )
    assert load("my-attention").declaration.name == "my attention"
    message = the_sentence("my-broken-attention")
    assert "The installed adapter 'my-broken-attention' could not be loaded: AttributeError" in message


BAD_FILES = {
    "raises": ("raise RuntimeError('no luck')", "'./bad.py'|'bad.py' could not be imported: RuntimeError: no luck"),
    "ends the program": ("import sys\nsys.exit(3)", "could not be imported: SystemExit: 3"),
    "syntax": ("x = 1\n\ndef softmax(:\n    pass\n", "SyntaxError in line 3 of bad.py: "),
    "indentation": ("def softmax(x):\nreturn x\n", "IndentationError in line 2 of bad.py: "),
    "null byte": ("x = '\0'", "SyntaxError.*null byte"),
    "missing package": ("import no_such_package_at_all", "No module named 'no_such_package_at_all'"),
    "computes": ("import numpy as np\n\nx = np.ones(3) @ np.ones(4)\n", "ValueError: .* .line 3 of bad.py.$"),
    "relative import": ("from . import softmax", "It belongs to a package: name it as a module, package.module"),
    "misspelt": ("def sofmax(x): return x\ndef softmx(x): return x", "Is 'sofmax' meant to be 'softmax'.$"),
    "nothing": ("x = 1", "It defines no function at all"),
    "no operations": (
        "def attention(query): return query",
        "holds none of the operations .*It defines attention. .*bad.py:attention bare_operation=OPERATION",
    ),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_a_file_that_cannot_be_used_is_said_in_a_sentence(kind, write):
    content, sentence = BAD_FILES[kind]
    write("bad.py", content)
    message = the_sentence("./bad.py")
    assert "bad.py" in message
    assert re.search(sentence, message), message


def test_a_syntax_error_in_another_file_names_that_file(write):
    write("broken_part.py", "x = = 1")
    write("whole.py", "import broken_part")
    assert "SyntaxError in line 1 of broken_part.py" in the_sentence("./whole.py")


def test_a_file_that_failed_once_fails_again_and_leaves_nothing_behind(write):
    write("half_way.py", "def softmax(x):\n    return x\nraise RuntimeError('half way')")
    assert "half way" in the_sentence("./half_way.py")
    assert "half_way" not in sys.modules
    assert "half way" in the_sentence("half_way")


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("no_such_module", "There is no module 'no_such_module' to import"),
        ("no_such_module.inside", "There is no module 'no_such_module' to import for 'no_such_module.inside'"),
        ("no_such_module:Adapter", "There is no module 'no_such_module' to import for 'no_such_module:Adapter'"),
        ("textwrap.no_such_thing", "textwrap has no attribute 'no_such_thing'"),
        ("textwrap:no_such_thing", "textwrap has no attribute 'no_such_thing'"),
        ("lesson.ipynb", "'lesson.ipynb' is a notebook. Call attnspec.validate"),
        ("textwrap", "textwrap holds none of the operations"),
        ("./gone.py", "There is no file 'gone.py' (from './gone.py')"),
        ("./gone.py:Adapter", "There is no file 'gone.py' (from './gone.py:Adapter')"),
        (".", "'.' names no implementation: give a module (package.module), a file (./mine.py:MyAdapter)"),
        ("", "'' names no implementation"),
        (":", "':' names no implementation"),
        (".relative:Adapter", "'.relative:Adapter' names no implementation"),
        ("../folder/", "'../folder/' names no implementation"),
        ("two words", "'two words' names no implementation"),
    ],
)
def test_what_cannot_be_found_is_said_in_a_sentence(target, sentence, write):
    assert sentence in the_sentence(target)


def test_a_missing_package_of_a_module_is_distinguished_from_a_missing_module(write):
    write("needs_a_package.py", "import no_such_package_at_all")
    write("asks_for_a_package.py", "raise ModuleNotFoundError('please install it')")
    assert "it needs the module 'no_such_package_at_all'" in the_sentence("needs_a_package")
    assert "ModuleNotFoundError: please install it" in the_sentence("asks_for_a_package")


class NeedsAWidth:
    def __init__(self, width):
        self.width = width

    def softmax(self, x):
        return x


class EndsTheProgram:
    def __init__(self):
        raise SystemExit(1)

    def softmax(self, x):
        return x


class RaisesOnReading:
    @property
    def softmax(self):
        raise RuntimeError("not today")


class RaisesOnItsName:
    def softmax(self, x):
        return x

    @property
    def name(self):
        raise RuntimeError("no name")


def bare(query, key, value):
    return value


def declaring(**attributes):
    return SimpleNamespace(softmax=lambda x, axis=-1: x, **attributes)


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        (NeedsAWidth, "NeedsAWidth could not be made into an adapter: calling it without arguments raised TypeError"),
        (EndsTheProgram, "EndsTheProgram could not be made into an adapter"),
        (lambda: None, "holds none of the operations"),
        (None, "NoneType holds none of the operations"),
        (3, "int holds none of the operations"),
        (RaisesOnReading(), "RaisesOnReading: reading its attribute 'softmax' raised RuntimeError: not today"),
        (RaisesOnItsName(), "RaisesOnItsName: reading its attribute 'name' raised RuntimeError: no name"),
        (declaring(dtypes=("float8",)), "declares the dtype 'float8'; the dtypes are float64"),
        (declaring(dtypes=3), "declares the dtype '3'; the dtypes are float64"),
        (declaring(dtypes=()), "declares no dtype; the dtypes are float64"),
        (declaring(conventions=["zero"]), "declares its conventions as a list; declare a dict"),
    ],
)
def test_an_object_that_cannot_be_used_is_said_in_a_sentence(target, sentence):
    assert sentence in the_sentence(target)


@pytest.mark.parametrize(
    ("conventions", "sentence"),
    [
        ({"fully_maskd_row": "nan"}, "declares the unknown convention 'fully_maskd_row'; the conventions are"),
        ({"fully_masked_row": "one"}, "declares fully_masked_row='one'; the choices for fully_masked_row are zero"),
        ({"softmx.fully_masked_row": "nan"}, "but there is no operation 'softmx'"),
        ({3: "nan"}, "declares the unknown convention '3'"),
        ({"fully_masked_row": None}, "declares fully_masked_row=None"),
    ],
)
def test_an_unknown_convention_is_said_in_a_sentence(conventions, sentence):
    with pytest.raises(UsageError, match="SimpleNamespace declares") as caught:
        load(SimpleNamespace(softmax=lambda x: x, conventions=conventions))
    assert sentence in str(caught.value)


def test_a_module_is_no_function(write):
    write("whole_module.py", SOFTMAX)
    message = the_sentence("./whole_module.py", bare_operation="softmax")
    assert 'bare_operation="softmax" needs a function, but ./whole_module.py is a module' in message
    assert "name it: ./whole_module.py:FUNCTION" in message


def test_an_operation_that_does_not_exist_is_said_with_those_that_do():
    message = the_sentence(bare, bare_operation="attention")
    assert message.startswith("There is no operation 'attention'; the operations are softmax, ")


def test_every_sentence_is_one_of_attnspecs_own_errors():
    assert issubclass(TargetError, AttnspecError)
    assert issubclass(UsageError, AttnspecError)


class Called:
    def __call__(self, x, axis=-1):
        return x


def test_a_class_that_stands_for_one_operation_is_made_before_it_is_called():
    assert load(Called, bare_operation="softmax").declaration.operations == ("softmax",)
    with pytest.raises(TargetError, match="could not be made into an adapter"):
        load(NeedsAWidth, bare_operation="softmax")
