"""TorchDynamo's own settings, for one function: it captures numbers and sizes that depend on data where it may.

What it does
------------
A small decorator goes on the outermost compiled function. It sets, while that function runs, the settings that TorchDynamo
needs to trace what the break is about: ``capture_scalar_outputs`` and ``capture_dynamic_output_shape_ops`` for numbers read from
tensors (``.item()``, ``int(t)``) and for results whose size depends on data (``torch.nonzero``, ``x[mask]``, ``torch.unique``),
``allow_rnn`` for `torch.nn.LSTM` and its like, ``trace_autograd_ops`` for `torch.autograd.grad` and ``backward()``.

Why it costs
------------
Each of these ends the graph by default, though most programs run in one graph with the setting. The device is still waited
for where Python or a size needs the number: a rule that removes the read is better, and stands before this one.

Safety
------
The decorator runs uncompiled, makes the setting and calls the function. Whether that changes anything is not read from the
source: it is proven, under eager, aot_eager and inductor, with all values and sizes that the original takes, empty ones
among them. A setting that makes an error of what was a break, for any of these, is not offered.

Measured with torch 2.13, breaks and graphs of one call of a function that has 1 and 2 without the setting:

* ``@torch._dynamo.patch_dynamo_config(capture_scalar_outputs=True)``: 1 and 1, because the graph in which it is traced was begun
  without the setting; torch takes none of the other settings there.
* ``@torch._dynamo.config.patch(...)`` on the function: 1 (a frame is skipped) and 1, an error under ``fullgraph=True``.
* The same with ``@torch.compiler.disable(recursive=False)`` above it: 0 and 1 on the ``forward`` of a module, also under
  ``fullgraph=True``; on a function that is given to `torch.compile` as without it.
* The decorator that this rule writes, also around what `torch.compile` gave: 0 and 1, on functions and modules, also under
  ``fullgraph=True``.

On an inlined function each of them breaks the graph itself. The decorator takes 30 microseconds a call, and uses nothing
that torch 2.8 to 2.13 do not all have.

When it is refused
------------------
When the break was not met in a run; when the outermost function is not a ``def`` of a file that is mended, is a coroutine or a
generator, or has a decorator that is not torch's; when it has the setting already; and when the file uses `torch.jit`. When a
number from data is divided by, is an exponent, is shifted or goes to a function of `math`: Python raises for some values, where
a graph gives infinity or NaN, or ends the process (``7 % n`` with inductor, where ``n`` is 0). A product of two of them is
told, because a graph computes with 64 bits, and so is ``int(t)`` of what may be NaN.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace

from graphmend_lsp.mending.rules.capture import RULE
from graphmend_lsp.mending.rules.capture.arithmetic import Arithmetic
from graphmend_lsp.mending.rules.capture.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.imports import add_function, dotted, spell
from graphmend_lsp.mending.syntax.outermost import Outermost, outermost
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.model import Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_DATA = ("capture_scalar_outputs", "capture_dynamic_output_shape_ops")
_AUTOGRAD = ("trace_autograd_ops",)
_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "GB0124": _DATA, "GB0036": _DATA, "GB0014": ("allow_rnn",), "GB9186": _AUTOGRAD, "GB0123": _AUTOGRAD,
}  # fmt: skip
_HELPERS: Mapping[tuple[str, ...], str] = {
    _DATA: "_capture_data", ("allow_rnn",): "_capture_rnn", _AUTOGRAD: "_capture_autograd",
}  # fmt: skip
_WORDS: Mapping[tuple[str, ...], str] = {
    _DATA: "numbers and sizes that depend on data", ("allow_rnn",): "recurrent layers", _AUTOGRAD: "gradients",
}  # fmt: skip
_TOLD: Mapping[tuple[str, ...], str] = {
    _DATA: "The device is still waited for where Python, or a size, needs the number.",
    ("allow_rnn",): "torch calls `allow_rnn` experimental.",
    _AUTOGRAD: "The gradient is computed inside the graph.",
}
_KNOWN = (
    "torch.compile", "torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.set_grad_enabled",
    "torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast", "typing.override", "typing_extensions.override",
)  # fmt: skip
_OURS = "torch._dynamo.config.patch"


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The settings of the outermost function; empty where the break is in no function."""
    settings = next((_SETTINGS[one] for one in _SETTINGS if one in place.gb_ids), None)
    if settings is None or place.function is None:
        return ()
    if place.request.site.evidence == "static":
        raise Refused("Which function TorchDynamo compiles is known when the program is run.")
    _refuse_moved(place)
    found = outermost(place.request, place.source, place.function)
    if isinstance(found, str):
        raise Refused(found)
    _refuse(found, settings)
    product = whole = None
    for one in _arithmetic(place, found) if settings is _DATA else ():
        if (node := one.raising()) is not None:
            words = (
                "raises for some numbers in Python, and gives something else or ends the process when it is captured"
            )
            raise Refused(f"Line {getattr(node, 'lineno', 0)}: `{one.source.code(node)}` {words}.")
        product, whole = product or one.product(), whole or one.whole()
    mend = _mend(place, found, settings)
    if product is not None:
        words = f"Line {getattr(product, 'lineno', 0)}: a product of whole numbers beyond 64 bits is another one."
        mend = replace(mend, cautions=(words,))
    if whole is not None:
        words = (
            f"Line {getattr(whole, 'lineno', 0)}: `int` of NaN or infinity raises, and gives a number under inductor."
        )
        mend = replace(mend, cautions=(*mend.cautions, words))
    return (mend,)


def _arithmetic(place: Place, found: Outermost) -> Iterator[Arithmetic]:
    """The functions that the number passes, from the break's own to the outermost one."""
    source, function = place.source, place.function
    assert function is not None
    yield Arithmetic(source, function, frozenset((place.node,)))
    frames = [one for one in place.request.site.chain if one.kind == "code"]
    for one, outer in ((found.source, found.function), *found.between):
        if outer is not function:
            calls = [one.node_at(frame.span) for frame in frames if frame.path == one.path]
            own = frozenset(node for node in calls if node is not None and one.function(node) is outer)
            yield Arithmetic(one, outer, own)


def _mend(place: Place, found: Outermost, settings: tuple[str, ...]) -> Mend:
    source, function = found.source, found.function
    patch, added = spell(source, _OURS, source.tree)
    call = f"{patch}({', '.join(f'{one}=True' for one in settings)})"
    spots: list[TextEdit] = [added] if added is not None else []
    wraps, more = spell(source, "functools.wraps", source.tree)
    spots += [more] if more is not None else []
    name = _HELPERS[settings]
    lines = _helper(source, name, call, wraps, patch.removesuffix(".config.patch"), settings)
    same = _defined(source, lines)
    if same is None:
        fresh = source.fresh(name)
        spots.append(add_function(source, [lines[0].replace(name, fresh), *lines[1:]]))
        same = fresh
    first = function.decorator_list[0] if function.decorator_list else function
    spots.append(_above(source, first, same))
    return Mend(
        rule=RULE.name,
        title=f"Let TorchDynamo capture {_WORDS[settings]} in `{function.name}`",
        path=source.path,
        span=place.request.site.span,
        edits=tuple(spots),
        changes=(
            _TOLD[settings],
            f"What `{function.name}` calls is captured, too; where another compiled function calls it, the graph breaks.",
        ),
        inductor=True,
    )


def _helper(source: Source, name: str, call: str, wraps: str, dynamo: str, settings: tuple[str, ...]) -> list[str]:
    one = source.indent
    return [
        f"def {name}(function):",
        f'{one}"""Let TorchDynamo capture {_WORDS[settings]} in a function that it compiles."""',
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
    text = f"@{decorator}{source.newline}{indent}{value[start:end]}"
    return TextEdit(source.path, source.between(start, end), text)


def _refuse_moved(place: Place) -> None:
    """Refuse a break whose frames stand in an older text."""
    chain = place.request.site.chain
    own = [one for one in chain[-1:] if one.kind == "code" and one.path == place.source.path]
    if any(one.span.start.line != place.request.site.span.start.line for one in own):
        raise Refused("The text was changed since the break was met.")


def _refuse(found: Outermost, settings: tuple[str, ...]) -> None:
    source, function = found.source, found.function
    if not isinstance(function, ast.FunctionDef) or _is_generator(source, function):
        raise Refused(f"`{function.name}` does not run when it is called: it is a coroutine or a generator.")
    for one in function.decorator_list:
        if _sets(source, one, settings):
            raise Refused(f"`{function.name}` has the setting already.")
        if _name(source, one) not in _KNOWN:
            raise Refused(f"`{function.name}` is decorated with `{source.code(one)}`; make the setting by hand.")
    if "torch.jit." in source.text.value:
        raise Refused("The file uses `torch.jit`, which compiles no function with this decorator.")


def _sets(source: Source, decorator: ast.expr, settings: tuple[str, ...]) -> bool:
    """Whether a decorator makes the settings: torch's own, or one that this rule wrote."""
    text = source.code(decorator)
    for one in source.tree.body:
        if isinstance(decorator, ast.Name) and isinstance(one, ast.FunctionDef) and one.name == decorator.id:
            text += source.code(one)
    return "config.patch" in text and all(one in text for one in settings)


def _is_generator(source: Source, function: Function) -> bool:
    return any(
        isinstance(one, (ast.Yield, ast.YieldFrom)) and source.function(one) is function for one in ast.walk(function)
    )


def _name(source: Source, decorator: ast.expr) -> str | None:
    return dotted(source, decorator.func if isinstance(decorator, ast.Call) else decorator)
