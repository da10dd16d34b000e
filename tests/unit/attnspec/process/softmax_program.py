"""The source of a small program that speaks the process protocol rightly, parts of which a test replaces."""

import shlex
import sys

CASES = ("columns", "queries", "rows", "scores", "whole_array")
"""The cases `documents/001/softmax_of_*`, in their order; the second pass runs them backwards."""

PROGRAM = """
import json, math, os, signal, subprocess, sys, time

SLEEPS = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
runs = 0


after_it = ""


def send(message):
    os.write(1, f"{json.dumps(message)}\\n{after_it}".encode())


def right_and(request, more):
    '''Answer rightly, and write more in one go with the answer, so that no request can come in between.'''
    global after_it
    after_it = more
    right(request)
    after_it = ""


def number(item):
    return float(item) if isinstance(item, str) else item


def softmax(row):
    exponentials = [math.exp(item - max(row)) for item in row]
    return [item / sum(exponentials) for item in exponentials]


def on_start(request):
    send({"type": "started", "protocol": 1, "name": "small", "operations": ["softmax"]})


def on_run(request):
    if request["operation"] != "softmax":
        send({"type": "unsupported", "seq": request["seq"], "message": "no such operation"})
        return
    x, axis = request["inputs"]["x"], request["attributes"].get("axis", -1)
    if len(x["shape"]) != 2:
        send({"type": "rejected", "seq": request["seq"], "message": "matrices alone"})
        return
    rows, (height, width) = [[number(item) for item in row] for row in x["data"]], x["shape"]
    if axis is None:
        flat = softmax([item for row in rows for item in row])
        data = [flat[width * index : width * (index + 1)] for index in range(height)]
    elif axis == 0:
        data = [list(row) for row in zip(*map(softmax, zip(*rows)))]
    else:
        data = [softmax(row) for row in rows]
    answer(request, data)


def word(item):
    return str(item) if item in (math.inf, -math.inf) or item != item else item


def answer(request, data, **more):
    data = [list(map(word, row)) for row in data]
    tensor = {"dtype": "float64", "shape": request["inputs"]["x"]["shape"], "data": data}
    send({"type": "outputs", "seq": request["seq"], "outputs": {"output": tensor}} | more)


def on_stop():
    pass

"""

LOOP = """

right = on_run


def third(request):
    global runs
    runs += 1
    at_third(request) if runs == 3 and FIRST else right(request)


def at_third(request):
    right(request)


FIRST = not os.path.exists(__file__ + ".again")
open(__file__ + ".again", "w").close()
on_run = third
"""

MAIN = """

for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "stop":
        break
    on_start(request) if request["type"] == "start" else on_run(request)
on_stop()
"""


def command_of(folder, code="", main=MAIN, name="program.py"):
    """Write the program, with more code and another main loop, and return the command that starts it."""
    path = folder / name
    path.write_text(PROGRAM + LOOP + code + main, "utf-8")
    return shlex.join([sys.executable, "-S", str(path)])
