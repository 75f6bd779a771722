"""TorchDynamo's settings for one function: the decorator that makes them while the outermost compiled function runs.

Where it may stand and how it is written; what a setting changes is not known here.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from graphmend_lsp.mending.syntax.formatting import layout, line_limit
from graphmend_lsp.mending.syntax.imports import add_function, dotted, spell
from graphmend_lsp.mending.syntax.outermost import Outermost
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.mending.syntax.support import is_supported, supported
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit

DATA = ("capture_scalar_outputs", "capture_dynamic_output_shape_ops")
AUTOGRAD = ("trace_autograd_ops",)
RNN = ("allow_rnn",)
_HELPERS: Mapping[tuple[str, ...], str] = {DATA: "_capture_data", RNN: "_capture_rnn", AUTOGRAD: "_capture_autograd"}
WORDS: Mapping[tuple[str, ...], str] = {
    DATA: "numbers and sizes that depend on data", RNN: "recurrent layers", AUTOGRAD: "gradients",
}  # fmt: skip
WAITS = "Python still waits for the device where it, or a size, needs the number."
_KNOWN = (
    "torch.compile", "torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.set_grad_enabled",
    "torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast", "typing.override", "typing_extensions.override",
)  # fmt: skip
_NO_FUNCTIONS = frozenset({
    "property", "cached_property", "staticmethod", "classmethod", "setter", "getter", "deleter", "cache", "lru_cache",
    "singledispatch", "singledispatchmethod", "register", "overload", "jit",
})  # fmt: skip
_TRACING = frozenset(("is_tracing", "trace", "trace_module", "TracerWarning", "load", "save"))
"""What of `torch.jit` has nothing to do with compiling source by TorchScript."""

_UNSCRIPTED = ("torch.jit.unused", "torch.jit.ignore")
_OURS = "torch._dynamo.config.patch"


def decorated(found: Outermost, settings: tuple[str, ...], *others: str) -> list[TextEdit]:
    """The edits that put the decorator on the outermost function, with what it needs.

    `others` are functions of the support module that the same mend imports into the file.
    """
    source, function = found.source, found.function
    below = function.decorator_list[_unscripted(source, function) :]
    first = below[0] if below else function
    from_support = supported(source, source.tree, "captures", *others)
    if from_support is not None:
        given = ", ".join(f"{one}=True" for one in settings)
        return [*from_support[1], _above(source, first, f"{from_support[0]['captures']}({given})")]
    return _own(source, settings, first, below)


def _own(
    source: Source, settings: tuple[str, ...], first: ast.expr | Function, decorators: Sequence[ast.expr]
) -> list[TextEdit]:
    """The decorator written into a file that cannot import it."""
    patch, added = spell(source, _OURS, source.tree)
    call = f"{patch}({', '.join(f'{one}=True' for one in settings)})"
    spots: list[TextEdit] = [added] if added is not None else []
    wraps, more = spell(source, "functools.wraps", source.tree)
    spots += [more] if more is not None else []
    name = _HELPERS[settings]
    known = all(_is_known(source, one) for one in decorators)
    lines = _helper(source, name, call, wraps, patch.removesuffix(".config.patch"), settings)
    if not known:  # what another decorator gives may be more than a function, which the wrapper is not
        own = f'{source.indent}assert hasattr(function, "__code__") and not vars(function).keys() - {{"__wrapped__"}}'
        lines[2:2] = [own]
    same = _defined(source, lines)
    if same is None:
        fresh = source.fresh(name)
        spots.append(add_function(source, [lines[0].replace(name, fresh), *lines[1:]]))
        same = fresh
    return [*spots, _above(source, first, same)]


def reaches(name: str) -> str:
    """What the setting of a function changes besides, as a sentence."""
    return f"The setting covers what `{name}` calls, too; where another compiled function calls `{name}`, the graph breaks."


def has_settings(found: Outermost, settings: tuple[str, ...]) -> bool:
    """Whether the function has the decorator, or torch's own, already."""
    return any(_sets(found.source, one, settings) for one in found.function.decorator_list)


def refuse_undecorated(found: Outermost) -> None:
    """Refuse where the decorator may not stand.

    Raises:
        Refused: for a coroutine or generator, beside a decorator that gives no function, and in a file that TorchScript
            compiles.
    """
    source, function = found.source, found.function
    if not isinstance(function, ast.FunctionDef) or _is_generator(source, function):
        raise Refused(f"`{function.name}` does not run when it is called: it is a coroutine or a generator.")
    for one in function.decorator_list:  # ours refuses, at import, what others have made more than a function
        if not _is_known(source, one) and _last(source, one) in _NO_FUNCTIONS:
            raise Refused(f"`{function.name}` is decorated with `{source.code(one)}`; set it by hand.")
    if not _unscripted(source, function) and (used := _scripting(source, function)) is not None:
        raise Refused(f"The file uses `{used}`: TorchScript compiles no function with this decorator.")


def _unscripted(source: Source, function: Function) -> int:
    """How many decorators at the top of a function keep TorchScript from compiling it: the settings' stands below them."""
    names = [_name(source, one) for one in function.decorator_list]
    return next((at for at, one in enumerate(names) if one not in _UNSCRIPTED), len(names))


def _marks_of_others(source: Source, function: Function) -> list[ast.expr]:
    """The decorators `torch.jit.script` of functions of the module that do not come to a function by any name."""
    defined: dict[str, list[ast.stmt]] = {}
    for one in source.tree.body:
        for name in _bound(one):
            defined.setdefault(name, []).append(one)
    found: list[ast.expr] = []
    for one in source.tree.body:
        if not isinstance(one, ast.FunctionDef):
            continue
        marks = [each for each in one.decorator_list if dotted(source, each) == "torch.jit.script"]
        waiting: list[ast.stmt] = [one] if marks else []
        seen = {one.name}
        while waiting:
            nodes = list(walk(waiting.pop()))
            named = {each.id for each in nodes if isinstance(each, ast.Name)}
            named |= {each.attr for each in nodes if isinstance(each, ast.Attribute)}
            waiting += [each for name in named - seen for each in defined.get(name, ())]
            seen |= named
        found += marks if function.name not in seen else []
    return found


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement of the module binds, or may bind."""
    bound = {one.id for one in walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return bound | {one.name for one in walk(statement) if isinstance(one, definitions)}


def _scripting(source: Source, function: Function) -> str | None:
    """What of `torch.jit` the file names that has to do with TorchScript; tracing runs Python code as it is.

    Functions that are marked to be scripted, and what they name, do not count where the function is none of them.
    """
    if "jit" not in source.text.value:
        return None
    marks = _marks_of_others(source, function)
    for node in walk(source.tree):
        if node in marks:
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "torch.jit" and not node.level:
            used = [f"torch.jit.{one.name}" for one in node.names]
        elif isinstance(node, (ast.Name, ast.Attribute)) and not isinstance(source.parents.get(node), ast.Attribute):
            used = [dotted(source, node) or ""]
        else:
            continue
        for name in used:
            if name == "torch.jit" or (name.startswith("torch.jit.") and name.split(".")[2] not in _TRACING):
                return name
    return None


def _helper(source: Source, name: str, call: str, wraps: str, dynamo: str, settings: tuple[str, ...]) -> list[str]:
    one = source.indent
    return [
        f"def {name}(function):",
        f'{one}"""Let TorchDynamo capture {WORDS[settings]} in a function that it compiles."""',
        "",
        f"{one}@{wraps}(function)",
        f"{one}def run(*args, **kwargs):",
        f"{one * 2}with {call}:",
        f"{one * 3}return function(*args, **kwargs)",
        "",
        f"{one}{dynamo}.eval_frame.skip_code(run.__code__)  # settings are made outside of what is compiled",
        f"{one}return run",
    ]


def _defined(source: Source, lines: list[str]) -> str | None:
    """The name of the very same function of the module, if there is one."""
    (wanted,) = ast.parse("\n".join(lines)).body
    body = [ast.dump(one) for one in getattr(wanted, "body", [])]
    for one in source.tree.body:
        if isinstance(one, ast.FunctionDef) and [ast.dump(part) for part in one.body] == body:
            return one.name
    return None


def _above(source: Source, node: ast.expr | Function, decorator: str) -> TextEdit:
    """One more decorator on the line above a decorator, or above a function that has none."""
    start, end = source.range(node)
    value = source.text.value
    if isinstance(node, ast.expr):
        start = value.rindex("@", 0, start)
    else:
        end = start + len("def")
    line = source.text.starts[source.text.position(start).line - 1]
    indent = value[line:start]
    if indent.strip():
        raise Refused("The function shares its line with something else.")
    lines = layout(f"{indent}@{decorator}", source.indent, line_limit(source))
    text = f"{source.newline.join(lines).lstrip()}{source.newline}{indent}{value[start:end]}"
    return TextEdit(source.path, source.between(start, end), text)


def _sets(source: Source, decorator: ast.expr, settings: tuple[str, ...]) -> bool:
    """Whether a decorator makes the settings: torch's own, or one that this rule wrote."""
    if _is_ours(source, decorator):
        return all(one in source.code(decorator) for one in settings)
    text = source.code(decorator)
    for one in source.tree.body:
        if isinstance(decorator, ast.Name) and isinstance(one, ast.FunctionDef) and one.name == decorator.id:
            text += source.code(one)
    return "config.patch" in text and all(one in text for one in settings)


def _is_known(source: Source, decorator: ast.expr) -> bool:
    return _name(source, decorator) in _KNOWN or _is_ours(source, decorator)


def _is_ours(source: Source, decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and is_supported(source, decorator.func, "captures")


def _is_generator(source: Source, function: Function) -> bool:
    return any(
        isinstance(one, (ast.Yield, ast.YieldFrom)) and source.function(one) is function for one in walk(function)
    )


def _name(source: Source, decorator: ast.expr) -> str | None:
    return dotted(source, decorator.func if isinstance(decorator, ast.Call) else decorator)


def _last(source: Source, decorator: ast.expr) -> str:
    return source.code(decorator.func if isinstance(decorator, ast.Call) else decorator).rpartition(".")[2]
