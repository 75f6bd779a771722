"""What Python programs do around tensors: copies, exceptions, files, the environment, globals, containers, classes."""

import collections
import contextlib
import copy
import dataclasses
import functools
import gc
import inspect
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import traceback
import types
import weakref
import zlib

import torch

counts = {"calls": 0}
total_calls = 0
history = []
losses = []
kept = types.SimpleNamespace()


def copy_of_dict(x):
    options = copy.deepcopy({"scale": [1, 2]})
    return x + options["scale"][0]


def copy_of_tensor(x):
    hidden = x.sin()
    kept_hidden = copy.deepcopy(hidden.detach())
    return hidden.cos() + kept_hidden


def shallow_copy_of_tensor(x):
    hidden = x.sin()
    return copy.copy(hidden) + 1


def copy_of_list_of_tensors(x):
    states = copy.deepcopy([x.detach(), x.detach() + 1])
    return states[0] + states[1]


def try_that_passes(x):
    try:
        y = x.sin()
    except RuntimeError:
        y = x
    return y + 1


def try_that_raises(x):
    try:
        raise ValueError("always")
    except ValueError:
        y = x + 1
    return y


def try_with_print(x):
    hidden = x.cos()
    try:
        y = hidden.sin()
        print("tried")
    except RuntimeError:
        y = hidden
    return y + 1


def try_with_branch(x):
    hidden = x.cos()
    try:
        if hidden.sum() > 0:
            hidden = hidden * 2
    except RuntimeError:
        pass
    return hidden + 1


def try_factorization(x):
    matrix = torch.outer(x, x) + torch.eye(4)
    try:
        factor = torch.linalg.cholesky(matrix)
    except RuntimeError:
        factor = torch.eye(4)
    return factor @ x


def finally_with_print(x):
    try:
        y = x.sin()
    finally:
        print("done")
    return y + 1


def read_file(x):
    with open(os.devnull) as file:
        text = file.read()
    return x + len(text)


def environment_variable(x):
    return x + (1 if os.environ.get("CONSTRUCT_FLAG") else 2)


def file_exists(x):
    hidden = x.sin()
    return hidden + (1 if os.path.exists("/") else 2)


def path_name(x):
    return x + len(pathlib.Path("/models/small").name)


def run_program(x):
    subprocess.run([sys.executable, "--version"], capture_output=True, check=True)
    return x + 1


def save_tensor(x):
    hidden = x.sin()
    torch.save(hidden, io.BytesIO())
    return hidden + 1


def checksum(x):
    return x + zlib.crc32(b"a") % 7


def collect_garbage(x):
    hidden = x.sin()
    gc.collect()
    return hidden + 1


def lock(x):
    guard = threading.Lock()
    with guard:
        y = x + 1
    return y


def signature(x):
    return x + len(inspect.signature(lock).parameters)


def halves(x):
    for scale in (1, 2):
        yield x / scale


def generator_function(x):
    total = 0
    for half in halves(x):
        total = total + half
    return total


def generator_expression(x):
    return sum(x[index] for index in range(3))


def set_attribute_of_global(x):
    kept.scale = 3
    return x + kept.scale


def set_tensor_of_global(x):
    kept.hidden = x.sin()
    return kept.hidden + 1


def global_counter(x):
    global total_calls
    total_calls += 1
    return x + 1


def append_tensor_to_global(x):
    hidden = x.sin()
    history.append(hidden.detach())
    return hidden + 1


def append_number_to_global(x):
    hidden = x.sin()
    losses.append(hidden.sum().item())
    return hidden + 1


def count_in_global_dict(x):
    counts["calls"] += 1
    return x + 1


def sorted_keys(x):
    parts = {"b": x, "a": x + 1}
    return sum(parts[key] for key in sorted(parts))


@dataclasses.dataclass
class Pair:
    values: torch.Tensor
    scale: int


def build_dataclass(x):
    pair = Pair(x, 2)
    return pair.values * pair.scale


Scaled = collections.namedtuple("Scaled", "values scale")


def build_namedtuple(x):
    pair = Scaled(x, 2)
    return pair.values * pair.scale


def default_dict(x):
    groups = collections.defaultdict(list)
    groups["a"].append(x)
    return groups["a"][0] + 1


def counter(x):
    words = collections.Counter([1, 1, 2])
    return x + words[1]


def regular_expression(x):
    return x + (1 if re.match("a", "ab") else 0)


def json_text(x):
    return x + len(json.dumps({"a": 1}))


@functools.lru_cache
def doubled(number):
    return number * 2


def cached_function(x):
    return x + doubled(3)


def class_in_function(x):
    class Options:
        scale = 2

    return x * Options.scale


def identity(x):
    return x + (1 if id(x) else 2)


def type_name(x):
    return x + len(type(x).__name__)


def execute_text(x):
    exec("scale = 1")
    return x + 1


def evaluate_text(x):
    return x + eval("1 + 1")


def import_inside(x):
    import math as mathematics

    return x + mathematics.pi


def import_new_module(x):
    import colorsys

    return x + colorsys.ONE_THIRD


def loaded_modules(x):
    return x + ("torch" in sys.modules)


def print_stack(x):
    traceback.print_stack(file=io.StringIO())
    return x + 1


def weak_reference(x):
    return x + (1 if weakref.ref(lock)() else 0)


@contextlib.contextmanager
def counted():
    counts["calls"] += 1
    try:
        yield
    finally:
        counts["calls"] -= 1


def own_context(x):
    with counted():
        y = x + 1
    return y


def own_context_with_print(x):
    hidden = x.sin()
    with counted():
        hidden = hidden + 1
        print("inside")
    return hidden + 1


def redirected_output(x):
    hidden = x.sin()
    with contextlib.redirect_stdout(io.StringIO()):
        hidden = hidden + 1
    return hidden + 1


def suppressed_error(x):
    with contextlib.suppress(ValueError):
        x = x + 1
    return x
