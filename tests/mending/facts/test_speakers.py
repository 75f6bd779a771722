"""Functions of the program that only say something are messages: found through imports, decorators and functools."""

from __future__ import annotations

import ast

import pytest

from graphmend_lsp.mending.facts.speakers import message_of
from graphmend_lsp.mending.syntax.source import Source, read

MODEL = """import pkg.prints as said
from pkg.utils import rank_zero_warn, rank_zero_info as info, print_rank_0, warn_once, log_stats, cached, shown
from pkg.utils import raising, returning, counting, leaking, deep_level, near_level, traced, maybe, loud, unknown, listed
from pkg.utils import computing, kept, wrapped_twice, rebound, argued, forgotten
from pkg.utils import verbose, set_up, stepped, stated, resting
from pkg import prints


def own(text):
    print("own", text)


class Model:
    def forward(self, x, given):
        {call}
        return x
"""
PACKAGE = "from pkg.prints import rank_zero_warn, rank_zero_info, print_rank_0, warn_once, log_stats, cached, shown\nfrom .prints import *\n"
NAMES = "raising returning counting leaking deep_level near_level traced maybe loud unknown listed computing kept wrapped_twice rebound argued forgotten verbose set_up stepped stated resting"
PRINTS = '''import functools
import os
import traceback
import warnings
from functools import partial, wraps

import torch.distributed as dist
from pkg import _logger as log


def rank_zero_only(fn):
    """Call a function on rank 0."""

    @wraps(fn)
    def wrapped_fn(*args, **kwargs):
        if rank_zero_only.rank == 0:
            return fn(*args, **kwargs)
        return None

    return wrapped_fn


rank_zero_only.rank = int(os.environ.get("LOCAL_RANK", 0))


def _warn(*args, **kwargs):
    warnings.warn(*args, **kwargs)


@rank_zero_only
def rank_zero_info(*args, **kwargs):
    log.info(*args, **kwargs)


rank_zero_warn = rank_zero_only(_warn)
shown = partial(warnings.warn, category=FutureWarning)
_seen = set()
_told = False
counts = []
_shared = []


def print_rank_0(*values, sep=" "):
    if not dist.is_initialized() or dist.get_rank() == 0:
        print(*values, sep=sep, flush=True)


def warn_once(text):
    if text in _seen:
        return
    _seen.add(text)
    _warn(text)


@functools.lru_cache(maxsize=None)
def cached(text):
    log.warning(text)


def log_stats(name, x):
    mean = x.float().mean().item()
    for line in (f"{name}: {mean:.3f}", str(x.shape)):
        log.info(line)


def listed(x):
    _shared.append(x)
    print(x)


def reader():
    return _shared


def raising(x):
    print(x)
    raise ValueError(x)


def returning(x):
    print(x)
    return x


def counting(x):
    counts.append(x)
    print(x)


def leaking(x):
    x.zero_()
    print(x)


def deep_level(x):
    warnings.warn(x, stacklevel=3)


def near_level(x):
    warnings.warn(x, stacklevel=2)


def traced(x):
    log.error(x, exc_info=True)


def maybe(x):
    global _told
    if not _told:
        _told = True
        print(x)


def loud(x):
    with open("log.txt", "a") as file:
        print(x, file=file)


def unknown(x):
    traceback.print_stack()


def computing(x):
    x = x * 2
    print("twice", x)


def argued(fn):
    fn("text")


def by_name(fn):
    def inner(*args):
        return other(*args)

    return inner


@by_name
def wrapped_twice(x):
    print(x)


def rebound(x):
    print(x)


rebound = counting
VERBOSE = bool(os.environ.get("VERBOSE"))
SETTINGS = {"loud": True}
step = 0


class State:
    loud = False
    quiet = True

    def count(self):
        self.loud = not self.loud


def verbose(x):
    if VERBOSE:
        print(x)


def set_up(x):
    if SETTINGS["loud"]:
        print(x)


def stepped(x):
    print(step, x)


def advance():
    global step
    step += 1


def stated(x):
    if State.loud:
        print(x)


def resting(x):
    if State.quiet:
        print(x)
'''
SOURCES = {
    "/lib/pkg/__init__.py": "import logging\n\n_logger = logging.getLogger(__name__)\n",
    "/lib/pkg/utils/__init__.py": PACKAGE.replace("*", ", ".join(NAMES.split())),
    "/lib/pkg/prints.py": PRINTS,
}
SOURCES["/lib/pkg/utils/__init__.py"] = SOURCES["/lib/pkg/utils/__init__.py"].replace("from .prints", "from ..prints")


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ('print("x")', "print"),
        ('own("x")', "print"),
        ('rank_zero_warn("x", UserWarning)', "warn"),
        ('info("x")', "log"),
        ('print_rank_0("x", x.sum())', "print"),
        ('warn_once("x")', "warn"),
        ('log_stats("x", x)', "log"),
        ('said.log_stats("x", x)', "log"),
        ('prints.rank_zero_warn("x")', "warn"),
        ('shown("x")', "warn"),
        ('cached("x")', "log"),
        ("near_level(x)", "warn"),
        ("maybe(x)", "print"),
        ("computing(x)", "print"),
        ("cached(x)", None),  # another tensor is said again, and the graph hands over others
        ("verbose(x)", "print"),
        ("resting(x)", "print"),
        ("set_up(x)", None),  # a dict that may change before the graph ends
        ("stepped(x)", None),
        ("stated(x)", None),
        ("returning(x)", None),
        ("raising(x)", None),
        ("counting(x)", None),  # a public name: others may read it
        ("listed(x)", None),  # another function reads it
        ("leaking(x)", None),
        ("deep_level(x)", None),  # names the caller of the function around the message
        ("traced(x)", None),
        ("loud(x)", None),
        ("unknown(x)", None),
        ("argued(print)", None),
        ("wrapped_twice(x)", None),
        ("rebound(x)", None),
        ("forgotten(x)", None),
        ("given(x)", None),
        ("given.print(x)", None),
    ],
)
def test_functions_that_only_say_something_are_messages(call: str, kind: str | None) -> None:
    source = read("/lib/pkg/model.py", MODEL.replace("{call}", call))
    assert isinstance(source, Source)
    (statement,) = [one for one in source.nodes if isinstance(one, ast.Expr) and source.code(one) == call]
    found = message_of(source, SOURCES, statement)
    assert (found and found.kind) == kind
