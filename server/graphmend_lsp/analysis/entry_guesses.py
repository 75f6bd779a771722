"""What in a file can be run although nobody wrote an entry for it: models of transformers, compiled functions, modules.

Reads text only. Nothing is named in a file that does work when it is imported, for to run one of these imports it. In a
notebook, what its cells call counts, with the arguments that they give it.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from graphmend_lsp.analysis.entry_models import pick_models, used_by_others
from graphmend_lsp.analysis.outline import Chunk, Class, imported, outline
from graphmend_lsp.analysis.reach import World
from graphmend_lsp.model import Entry, EntryKind
from graphmend_lsp.notebook import is_notebook

MOST_COMPILED = 6
MOST_MODULES = 3
_COMPILE = "torch.compile"
_WORK = re.compile(
    r"^(_?main|_?run\w*|_?train\w*|_?fit|_?test\w*|_?eval\w*|_?demo\w*|_?bench\w*|backward|step|zero_grad|save\w*|download\w*"
    r"|launch|app|cli|exit|generate|start|serve)$"
)
# what outlives the process, as a step of training does not
_LASTING = re.compile(r"^(save\w*|download\w*|push\w*|launch|system|_?exit)$")
_HARMLESS = re.compile(r"^(logging|warnings|sys|os|torch)\b|logger|^get_ipython\(\)")


def guess_entries(source: str, path: str) -> tuple[Entry, ...]:
    """The entries of the file whose inputs are to be made up: its models and what it compiles, else its outermost modules."""
    if not re.search(r"\btorch\b|\btransformers\b|PreTrainedModel", source):
        return ()
    try:
        tree = _parsed(source)
        if tree is None:
            return ()
        if is_notebook(path) and (called := _called(tree, source)):
            return tuple(Entry(path, name, "called") for name in called)
        if works_when_imported(tree):
            return ()
        chunks = [chunk for _, chunk in outline(source.removeprefix("\ufeff"))]
        found = [Entry(path, name, "transformers") for name in pick_models(chunks, 2)]
        found += [Entry(path, name, kind) for name, kind in _compiled(tree, chunks)][:MOST_COMPILED]
        if not found:
            found = [Entry(path, name, "module") for name in _modules(chunks)][:MOST_MODULES]
    except (RecursionError, MemoryError):
        return ()
    return tuple(found)


def _called(tree: ast.Module, source: str) -> list[str]:
    """What the cells of a notebook compile and call, else the modules that they make and call, where the cells up to there
    do no work."""
    chunks = [chunk for _, chunk in outline(source.removeprefix("\ufeff"))]
    world = World(chunks)
    compiled = [name for name, kind in _compiled(tree, chunks) if kind == "compiled" and "." not in name]
    made = [
        target.id
        for statement in _top(tree.body)
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)
        for target in statement.targets
        if isinstance(target, ast.Name) and world.is_module(_made_of(statement.value))
    ]
    models = {*compiled, *made}
    found = [name for name in compiled if _comes_first(tree, name, models)]
    return (
        found[:MOST_COMPILED]
        or [name for name in dict.fromkeys(made) if _comes_first(tree, name, models)][:MOST_MODULES]
    )


def _made_of(value: ast.expr) -> str:
    """The class that an object is made of: ``Net`` in ``Net(8).to(device).eval()``."""
    while isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute) and isinstance(value.func.value, ast.Call):
            value = value.func.value
        else:
            return _last(value.func)
    return ""


def _sets_mode(statement: ast.stmt, models: set[str]) -> bool:
    """``model.eval()``, ``model = Net().train()``: no work, although it is called so."""
    value = statement.value if isinstance(statement, (ast.Expr, ast.Assign)) else None
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    owner = value.func.value
    is_model = isinstance(owner, ast.Call) or (isinstance(owner, ast.Name) and owner.id in models)
    return value.func.attr in ("eval", "train") and is_model and not any(map(_has_call, value.args))


def _has_call(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Call) for each in ast.walk(node))


def _comes_first(tree: ast.Module, name: str, models: set[str]) -> bool:
    """Whether the cells call a name, and do no work before they do."""
    for statement in _top(tree.body):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
        if any(isinstance(call.func, ast.Name) and call.func.id == name for call in calls):
            return not any(_LASTING.match(_last(call.func)) for call in calls)
        if _works(statement) and not _sets_mode(statement, models):
            return False
    return False


def works_when_imported(tree: ast.Module) -> bool:
    """Whether importing the file would train, run or save something: it is a script without a guard."""
    return any(_works(statement) for statement in _top(tree.body))


def _works(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return _does_work(statement.value)
    if isinstance(statement, (ast.For, ast.While, ast.With)):
        return any(isinstance(node, ast.Call) and _does_work(node) for node in ast.walk(statement))
    return isinstance(statement, ast.Assign) and any(
        isinstance(node, ast.Call) and _WORK.match(_last(node.func)) and not _is_compile_call(node)
        for node in ast.walk(statement.value)
    )


def _does_work(call: ast.Call) -> bool:
    written = ast.unparse(call.func)
    if _HARMLESS.search(written) and _last(call.func) not in ("exit", "_exit", "system", "save"):
        return False
    return _WORK.match(_last(call.func)) is not None


def _is_compile_call(node: ast.Call) -> bool:
    return _last(node.func) == "compile"


def _top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that importing the file carries out, those of the guard for scripts left out."""
    for statement in body:
        if isinstance(statement, ast.If):
            if "__name__" not in ast.unparse(statement.test) and "TYPE_CHECKING" not in ast.unparse(statement.test):
                yield from _top(statement.body)
            yield from _top(statement.orelse)
        elif isinstance(statement, ast.Try):
            yield from _top([*statement.body, *statement.orelse, *statement.finalbody])
        else:
            yield statement


def _compiled(tree: ast.Module, chunks: list[Chunk]) -> Iterator[tuple[str, EntryKind]]:
    """What the file compiles: functions and methods by decorator, names by assignment, classes that compile in a method."""
    names: dict[str, str] = {}
    partials: set[str] = set()
    assigned: dict[str, ast.expr] = {}
    seen: dict[tuple[str, EntryKind], None] = {}
    world = World(chunks)
    for statement in _top(tree.body):
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            names.update(imported(statement))
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if isinstance(statement, ast.FunctionDef) and _is_decorated(statement, names, partials):
                seen[statement.name, "compiled"] = None
        elif isinstance(statement, ast.ClassDef):
            for name, kind in _of_class(statement, names, partials, world):
                seen[name, kind] = None
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name):
                assigned[target.id] = statement.value
                if _is_partial(statement.value, names):
                    partials.add(target.id)
                elif isinstance(statement.value, ast.Call) and _compiles(statement.value.func, names, partials):
                    if statement.value.args:
                        seen[target.id, "compiled"] = None
                    else:
                        partials.add(target.id)  # torch.compile(mode=...) waits for its function
                elif isinstance(statement.value, ast.Attribute) and _dotted(statement.value, names) == _COMPILE:
                    names[target.id] = _COMPILE
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            function = statement.value.func
            owner = function.value if isinstance(function, ast.Attribute) and function.attr == "compile" else None
            if isinstance(owner, ast.Name) and owner.id in assigned:
                seen[owner.id, "compiled"] = None
    yield from seen


def _of_class(
    statement: ast.ClassDef, names: dict[str, str], partials: set[str], world: World
) -> Iterator[tuple[str, EntryKind]]:
    compiles = False
    for item in statement.body:
        if not isinstance(item, ast.FunctionDef):
            continue
        if _is_decorated(item, names, partials):
            yield (
                (statement.name, "module") if item.name == "forward" else (f"{statement.name}.{item.name}", "compiled")
            )
        compiles = compiles or any(
            isinstance(node, ast.Call) and node.args and _compiles(node.func, names, partials)
            for node in ast.walk(item)
        )
    if compiles and world.is_module(statement.name):
        yield statement.name, "module"


def _is_decorated(function: ast.FunctionDef, names: dict[str, str], partials: set[str]) -> bool:
    for each in function.decorator_list:
        if _compiles(each, names, partials):
            return True
        if isinstance(each, ast.Call) and (_compiles(each.func, names, partials) or _is_partial(each, names)):
            return True
    return False


def _compiles(node: ast.expr, names: dict[str, str], partials: set[str]) -> bool:
    return _dotted(node, names) == _COMPILE or (isinstance(node, ast.Name) and node.id in partials)


def _is_partial(node: ast.expr, names: dict[str, str]) -> bool:
    """``functools.partial(torch.compile, ...)``."""
    if not isinstance(node, ast.Call) or not node.args or _dotted(node.func, names) != "functools.partial":
        return False
    return _dotted(node.args[0], names) == _COMPILE


def _modules(chunks: list[Chunk]) -> Iterator[str]:
    """The modules with a `forward` that no other class of the file is made of or derived from."""
    classes: dict[str, Class] = {}
    for chunk in chunks:
        classes.update(chunk.classes)
    world = World(chunks)
    bases = {_last(base) for known in classes.values() for base in known.bases}
    used = used_by_others(classes)
    modules = [
        name
        for name, known in classes.items()
        if "." not in name and "forward" in known.methods and world.is_module(name)
    ]
    whole = [name for name in modules if name not in used and name not in bases]
    yield from whole or modules[-1:]


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value, names)
        return f"{owner}.{node.attr}" if owner else ""
    return names.get(node.id, "") if isinstance(node, ast.Name) else ""


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _parsed(source: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
