"""A notebook's cells, carried out as a kernel would: statement by statement, up to the first that calls what is to be run.

The text is the program that the cells make (`graphmend_lsp.notebook`). Magics do nothing in it. Runs in a child process only.
"""

from __future__ import annotations
import __future__

import ast
import asyncio
import contextlib
import inspect
import os
from collections.abc import Callable
from copy import deepcopy
from types import ModuleType
from typing import Any

from .failures import FailedError, failure
from .wire import EntrySpec

SUFFIX = ".ipynb"
KIND = "called"
MOST = 3
"""Calls that are noted; a loop that makes more is left."""
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
_NOTE = "__graphmend_note__"
_Noted = tuple[Any, tuple[Any, ...], dict[str, Any]]
_CALLS: dict[str, list[_Noted]] = {}
_REMEDY = "Write a graphmend_entry function that returns (callable, args)."


class _EnoughError(BaseException):
    """The calls that were wanted are there."""


def folder_of(file: str) -> str:
    """The folder that a notebook's kernel starts in. JupyterLab's client names ``ROOT/.virtual_documents/FOLDER/nb.ipynb``."""
    root, found, rest = os.path.dirname(os.path.abspath(file)).partition(f"{os.sep}.virtual_documents")
    return os.path.normpath(root + rest) if found else root


def carry_out(module: ModuleType, text: str, entry: EntrySpec) -> None:
    """Run the program in the module: for an entry of kind ``called`` up to the statement that calls that; for a function up to
    its definition, and of what follows the definitions; else all of it.

    Raises whatever the program does.
    """
    tree = compile(text, module.__file__ or "", "exec", ast.PyCF_ONLY_AST | _AWAIT, dont_inherit=True)
    assert isinstance(tree, ast.Module)
    space = vars(module)
    space.setdefault("display", _show_nothing)
    space.setdefault("get_ipython", _Shell)
    noted = _CALLS[module.__name__] = []
    if entry["kind"] == KIND:
        space[_NOTE] = _noting(noted)
        tree = ast.fix_missing_locations(_Noting(entry["function"]).visit(tree))
    try:
        _run(tree, module, entry, noted)
    except _EnoughError:
        return
    finally:
        space.pop(_NOTE, None)


def _run(tree: ast.Module, module: ModuleType, entry: EntrySpec, noted: list[_Noted]) -> None:
    flags = _AWAIT

    def execute(statement: ast.stmt) -> None:
        code = compile(ast.Module([statement], []), module.__file__ or "", "exec", flags, dont_inherit=True)
        result = eval(code, vars(module))
        if inspect.iscoroutine(result):
            asyncio.run(result)

    for number, statement in enumerate(tree.body):
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            for name in statement.names:
                flags |= getattr(__future__, name.name).compiler_flag
        execute(statement)
        if noted:
            return
        if entry["kind"] == "function" and getattr(statement, "name", "") == entry["function"]:
            for later in tree.body[number + 1 :]:
                if isinstance(later, _DEFINITIONS):
                    with contextlib.suppress(Exception):  # it may need what did not run
                        execute(later)
            return


def calls_of(
    module: ModuleType, entry: EntrySpec
) -> tuple[Callable[..., Any], list[tuple[tuple[Any, ...], dict[str, Any]]]]:
    """What the notebook called, and with what, in copies.

    Raises:
        FailedError: it never did.
    """
    noted = _CALLS.get(module.__name__, [])
    if not noted:
        name = os.path.basename(entry["file"])
        message = f"No cell of {name} calls {entry['function']} when its cells run from the first to the last."
        raise FailedError(failure("entry", "no-inputs", message, _REMEDY, entry["file"]))
    function = noted[0][0]
    return function, [(_copied(args), _copied(kwargs)) for called, args, kwargs in noted if called is function]


_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def _noting(noted: list[_Noted]) -> Callable[..., Any]:
    def note(function: Any, /, *args: Any, **kwargs: Any) -> Any:
        import torch

        noted.append((function, _copied(args), _copied(kwargs)))
        if len(noted) == MOST:
            raise _EnoughError
        with torch.compiler.set_stance("force_eager"):
            return function(*args, **kwargs)

    return note


def _copied(value: Any) -> Any:
    import torch
    from torch.utils import _pytree

    def copy(leaf: Any) -> Any:
        if isinstance(leaf, (torch.nn.Module, torch.nn.Parameter)) or callable(leaf):
            return leaf
        if not isinstance(leaf, torch.Tensor):
            with contextlib.suppress(Exception):  # what cannot be copied is shared by all calls
                return deepcopy(leaf)
            return leaf
        with torch.no_grad():
            made = leaf.detach().clone()
        return made.requires_grad_() if leaf.requires_grad else made

    return _pytree.tree_map(copy, value)


class _Noting(ast.NodeTransformer):
    """Has each call of a name, where the cells themselves make it, go through the note."""

    def __init__(self, name: str) -> None:
        self._name = name

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == self._name:
            name = ast.copy_location(ast.Name(_NOTE, ast.Load()), node.func)
            return ast.copy_location(ast.Call(name, [node.func, *node.args], node.keywords), node)
        return node

    def _left(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _left  # noqa: N815


class _Shell:
    """In the place of IPython's shell: magics and commands do nothing."""

    def run_line_magic(self, *_args: Any, **_options: Any) -> None:
        """``%magic``."""

    def run_cell_magic(self, *_args: Any, **_options: Any) -> None:
        """``%%magic``."""

    def getoutput(self, *_args: Any, **_options: Any) -> None:
        """``!command`` whose output is a value: there is none."""

    def system(self, *_args: Any, **_options: Any) -> None:
        """``!command``."""


def _show_nothing(*_values: Any, **_options: Any) -> None:
    """In the place of IPython's `display`."""
