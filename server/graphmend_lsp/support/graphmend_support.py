# ruff: noqa
# fmt: off
# isort: skip_file
# mypy: ignore-errors
"""What code that GraphMend has mended imports. It needs torch alone.

GraphMend writes this file, with what the mended files of the project import, and replaces it when they import more or when GraphMend
has a newer one. Do not edit it. Two copies in one process (of two projects, or of two versions) work together: what they share is kept in torch.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import functools
import importlib
import inspect
import json
import linecache
import os
import re
import sys
import threading
import types
import warnings
import weakref
import zlib
from operator import index as operator_index
from typing import Any, Callable, Dict, List, Optional, Tuple, Type, TypeVar

import torch

__all__ = [
    "all_rows", "any_size", "call_in_graph", "captures", "check", "check_tensor_all", "chosen_rows", "defer", "number", "of_numbers", "operator",
    "pack_padded", "pad_packed", "print_in_graph", "recurrent", "runs_deferred", "sets_up", "state_operator", "while_loop", "while_tracing",
]

VERSION = 20
F = TypeVar("F", bound=Callable[..., Any])

# Never change what is in here: copies of other versions use it, too.
_shared: Dict[str, Any] = vars(torch).setdefault("_graphmend", {"raised": {}, "deferred": None})


class _Waiting(threading.local):
    """The effects that wait in a thread; None where no function under `runs_deferred` is running."""

    effects: Any = None


_waiting: Any = _shared.setdefault("waiting 2", _Waiting())


def check(holds: Any, error: Callable[..., BaseException], *arguments: Any) -> bool:
    """Raise `error(*arguments)` where `holds` is false; an operator of the graph does so in compiled code.

    `error` is an exception's class, and `arguments` are texts, numbers, True, False and None; or a function that makes the
    exception, of what `call_in_graph` takes. What it gives is True, so that it can stand in an `assert`.
    A graph raises past a handler that was traced; where one is, this breaks the graph, and the handler gets the exception.
    """
    if not torch.compiler.is_compiling() or not isinstance(holds, torch.Tensor) or _may_be_caught(error):
        if not holds:
            raise error(*arguments)
    else:  # an operator whose value nobody uses would be left out
        if isinstance(error, type):
            made = torch.ops.graphmend.check_1(holds, _raised(error, arguments))
        else:
            numbers: Any = []
            tensors: Any = []
            pattern = [_taken(one, numbers, tensors) for one in arguments]
            made = torch.ops.graphmend.check_2(holds, _called(error, pattern, False), numbers, tensors)
        torch._assert_async(made, "graphmend_support.check")
    return True


def check_tensor_all(holds: torch.Tensor, error: Type[BaseException] = RuntimeError) -> None:
    """Raise where an element of `holds` is false, as `torch._check_tensor_all_with` does; as an operator in compiled code."""
    if torch.compiler.is_compiling() and isinstance(holds, torch.Tensor) and holds.dtype == torch.bool:
        check(holds._is_all_true(), error, _said_by_torch())
    else:
        torch._check_tensor_all_with(error, holds)


def _said_by_torch() -> str:
    """The text of a check that is given no message."""
    try:
        torch._check_with(RuntimeError, False, None)
    except RuntimeError as raised:
        return str(raised)
    return ""


_said_by_torch._dynamo_marked_constant = True


def _may_be_caught(error: Any) -> bool:
    """Whether one of the functions that Dynamo traces right now calls from inside a `try` that may catch the exception."""
    try:
        frames = torch._guards.TracingContext.extract_stack()
    except AttributeError:  # another torch
        return False
    inside = os.path.dirname(torch.__file__), __file__  # what torch catches it raises again
    return any(_is_handled(one.filename, one.lineno, error) for one in frames if not one.filename.startswith(inside))


_may_be_caught._dynamo_marked_constant = True


@functools.lru_cache(maxsize=1024)
def _is_handled(file: str, line: Any, error: Any) -> bool:
    lines = linecache.getlines(file)
    if line is None or not any("except" in one or "suppress" in one for one in lines):
        return False
    try:
        waiting: Any = [(ast.parse("".join(lines)), False)]
    except SyntaxError:
        return True
    while waiting:
        node, handled = waiting.pop()
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and getattr(child, "lineno", line) <= line <= getattr(child, "end_lineno", line):
                    inner = handled or (name == "body" and _handles(node, error))
                    if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
                        inner = False  # it is called elsewhere
                    if inner and isinstance(child, ast.stmt):
                        return True
                    waiting.append((child, inner))
    return False


def _handles(node: Any, error: Any) -> bool:
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return any("suppress" in ast.dump(one.context_expr) for one in node.items)
    kinds = [error] if isinstance(error, type) else _named_in(error)
    known = {base.__name__ for kind in kinds for base in kind.__mro__}
    for handler in getattr(node, "handlers", ()):
        wanted = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        names = [getattr(one, "attr", getattr(one, "id", None)) for one in wanted]
        if not kinds or any(one is None or one in known or not hasattr(builtins, one) for one in names):
            return True
    return False


def _named_in(function: Any) -> Any:
    """The classes of exceptions that a function names."""
    names = {**vars(builtins), **function.__globals__}
    found = [names.get(one) for one in function.__code__.co_names]
    return [one for one in found if isinstance(one, type) and issubclass(one, BaseException)]


def _raised(error: Type[BaseException], arguments: Any) -> str:
    """The name under which the operator finds the exception; Dynamo calls this while it traces."""
    number = 0
    while True:
        name = json.dumps([error.__module__, error.__qualname__, list(arguments), number])
        if _shared["raised"].setdefault(name, error) is error:
            return name
        number += 1  # another class of that name: a file that was loaded twice


_raised._dynamo_marked_constant = True  # as assume_constant_result, which loads Dynamo


def _check(holds: torch.Tensor, raised: str) -> torch.Tensor:
    if not holds:
        module, name, arguments, _ = json.loads(raised)
        error = _shared["raised"].get(raised)
        if error is None:  # the graph was made by another process
            error = functools.reduce(getattr, name.split("."), importlib.import_module(module))
        raise error(*arguments)
    return torch.ones((), dtype=torch.bool, device=holds.device)


def _check_fake(holds: torch.Tensor, raised: str) -> torch.Tensor:
    return torch.empty((), dtype=torch.bool, device=holds.device)


def _tags_of() -> Dict[str, Any]:
    """What keeps an operator out of CUDA graphs, which do not run Python again."""
    unsafe = getattr(torch.Tag, "cudagraph_unsafe", None)
    return {"tags": () if unsafe is None else (unsafe,)}


if not hasattr(torch.ops.graphmend, "check_1"):
    _library = _shared["library 1"] = torch.library.Library("graphmend", "FRAGMENT")
    _library.define("check_1(Tensor holds, str raised) -> Tensor", **_tags_of())
    _library.impl("check_1", _check, "CompositeExplicitAutograd")
    torch.library.register_fake("graphmend::check_1", _check_fake, lib=_library)


def defer(effect: Callable[[], object]) -> None:
    """Run an effect when the function under `runs_deferred` is over; at once when this thread runs none."""
    effects = _waiting.effects
    if effects is None:
        effects = _shared["deferred"]  # that of version 1, which all threads share
        if effects is not None and effects is _shared.get("lent"):
            effects = None  # another thread's
    if effects is None:
        _in_its_function(effect)()
    else:
        effects.append(effect)


def runs_deferred(function: F) -> F:
    """Let effects that `function` defers run when it returns or raises, outside of its graphs.

    Those that wait when it is called, from a function that lets them run later, run before it. It raises a TypeError for
    what another decorator has made more than a function.
    """
    _require_function(function)

    @torch.compiler.disable
    def flush(effects: Any) -> None:
        now = list(effects)
        effects.clear()
        _waiting.effects = None
        try:
            for effect in now:
                _in_its_function(effect)()
        finally:
            _waiting.effects = effects

    @torch.compiler.disable(recursive=False)
    def run(args: Any, kwargs: Any) -> Any:
        before = _waiting.effects
        effects = [] if before is None else before
        flush(effects)
        if _shared["deferred"] is None:
            _shared["deferred"] = _shared["lent"] = effects  # where version 1 puts its own
        try:
            return function(*args, **kwargs)
        finally:
            try:
                flush(effects)
            finally:
                _waiting.effects = before
                if before is None and _shared["deferred"] is effects:
                    _shared["deferred"] = _shared["lent"] = None

    @torch.compiler.disable(recursive=False)
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return run(args, kwargs)

    return wrapper


def _require_function(function: Any) -> None:
    """Raise a TypeError for what has state or attributes of its own: a wrapper around it would hide them."""
    own = [name for name in getattr(function, "__dict__", ()) if name != "__wrapped__" and not name.startswith("_torchdynamo")]
    if own or not isinstance(function, (types.FunctionType, types.MethodType)):
        raise TypeError(f"{function!r} is more than a function")


def print_in_graph(text: str, *values: Any) -> None:
    """Print a text with these values; in a graph, an operator of it prints, and a tensor without dimensions is a number."""
    if torch.compiler.is_compiling() and hasattr(torch._higher_order_ops, "print"):  # torch 2.11 and later
        torch._higher_order_ops.print(text, *values)
    else:
        print(text.format(*values))


def call_in_graph(effect: Callable[..., object], *values: Any) -> None:
    """Call `effect(*values)`; in a graph, an operator of it does, at this place among the other operators that are ordered.

    `values` are tensors, what Python knows while it traces (numbers, texts, shapes, dtypes, None), and lists and tuples of such.
    The function gets a tensor without its history of gradients, and nothing but its parameters and what is global.
    """
    if torch.compiler.is_compiling():
        numbers: Any = []
        tensors: Any = []
        pattern = [_taken(one, numbers, tensors) for one in values]
        name = _called(effect, pattern, True)
        if name:
            torch.ops.graphmend.call_1(name, numbers, tensors)
            return
    _in_its_function(effect)(*values)


_ndarray: Any = getattr(sys.modules.get("numpy"), "ndarray", ())


def _in_its_function(effect: Any) -> Any:
    """A lambda under the name of the function that it stands in, which is what log records show."""
    if torch.compiler.is_compiling() or not isinstance(effect, types.FunctionType) or effect.__code__.co_name != "<lambda>":
        return effect
    path = getattr(effect.__code__, "co_qualname", effect.__qualname__)  # Python 3.10 has none, and Dynamo gives no other
    inside = path.rpartition(".<locals>.<lambda>")[0].rpartition(".")[2]
    if not inside.isidentifier():
        return effect
    code = effect.__code__.replace(co_name=inside)
    return types.FunctionType(code, effect.__globals__, inside, effect.__defaults__, effect.__closure__)


def _taken(value: Any, numbers: Any, tensors: Any, detached: bool = True, other: Any = None) -> Any:
    """What of a value is known while Python traces; the rest goes into `numbers` and `tensors`. `other` is asked of what is none of these."""
    if isinstance(value, torch.Tensor):
        tensors.append(value.detach() if detached else value)
        return ("tensor",)
    if isinstance(value, (list, tuple)):
        kind = "shape" if isinstance(value, torch.Size) else "list" if isinstance(value, list) else "tuple"
        return (kind, [_taken(one, numbers, tensors, detached) for one in value])
    if isinstance(value, _ndarray):
        tensors.append(torch.from_numpy(value))
        return ("array",)
    if isinstance(value, dict):
        return ("dict", [_taken(one, numbers, tensors, detached) for one in value.values()], list(value))
    if isinstance(value, int) and not isinstance(value, bool):
        numbers.append(value)
        return ("number",)
    found = None if other is None else other(value, tensors)
    return ("constant", value) if found is None else found


def _given(pattern: Any, numbers: Any, tensors: Any, arrays: bool = True, other: Any = None) -> Any:
    kind, *rest = pattern
    if kind in ("methods", "module"):
        return other(kind, rest, tensors)
    if kind in ("tensor", "number"):
        return next(tensors if kind == "tensor" else numbers)
    if kind == "array":
        return next(tensors).numpy() if arrays else next(tensors)
    if kind == "constant":
        return rest[0]
    made = [_given(one, numbers, tensors, arrays, other) for one in rest[0]]
    if kind == "dict":
        return dict(zip(rest[1], made))
    return made if kind == "list" else tuple(made) if kind == "tuple" else torch.Size(made)


def _called(effect: Any, pattern: Any, ordered: bool) -> str:
    """The name under which an operator finds the function; empty where this torch cannot keep an operator's order."""
    if ordered and not _is_ordered():
        return ""
    number = 0
    code = effect.__code__
    while True:
        name = f"{effect.__module__}:{code.co_firstlineno}:{zlib.crc32(repr(pattern).encode())}:{number}"
        known, same = _shared["called 1"].setdefault(name, (effect, pattern))
        if known.__code__ is code and known.__globals__ is effect.__globals__ and repr(same) == repr(pattern):
            return name
        number += 1


_called._dynamo_marked_constant = True


def _is_ordered() -> bool:
    """Whether the operator is one that keeps its place; it is made so when a graph first needs it."""
    if "ordered 1" not in _shared:
        try:
            effects = importlib.import_module("torch._higher_order_ops.effects")
            kinds = getattr(effects, "_EffectType", None) or importlib.import_module("torch._library.effects").EffectType
            effects._register_effectful_op(torch.ops.graphmend.call_1.default, kinds.ORDERED)
            _shared["ordered 1"] = True
        except (ImportError, AttributeError):
            _shared["ordered 1"] = False
    return _shared["ordered 1"]


def _call(name: str, numbers: Any, tensors: Any) -> Any:
    if name not in _shared["called 1"]:
        raise RuntimeError("graphmend_support: another process made this graph; compile it in this one")
    effect, pattern = _shared["called 1"][name]
    rest = iter(numbers), iter(tensors)
    return _in_its_function(effect)(*[_given(one, *rest) for one in pattern])


def _say(name: str, numbers: Any, tensors: Any) -> None:
    _call(name, numbers, tensors)


def _check_made(holds: torch.Tensor, name: str, numbers: Any, tensors: Any) -> torch.Tensor:
    if not holds:
        raise _call(name, numbers, tensors)
    return torch.ones((), dtype=torch.bool, device=holds.device)


_shared.setdefault("called 1", {})
if not hasattr(torch.ops.graphmend, "call_1"):
    _caller = _shared["library call 1"] = torch.library.Library("graphmend", "FRAGMENT")
    _caller.define("call_1(str name, SymInt[] numbers, Tensor[] tensors) -> ()", **_tags_of())
    _caller.impl("call_1", _say, "CompositeExplicitAutograd")
    torch.library.register_fake("graphmend::call_1", lambda name, numbers, tensors: None, lib=_caller)
    _caller.define("check_2(Tensor holds, str name, SymInt[] numbers, Tensor[] tensors) -> Tensor", **_tags_of())
    _caller.impl("check_2", _check_made, "CompositeExplicitAutograd")
    torch.library.register_fake("graphmend::check_2", lambda holds, *_: _check_fake(holds, ""), lib=_caller)


def state_operator(*changed: str) -> Callable[[F], F]:
    """Make a method of a module, which changes these of its buffers in place and gives None, one operator of the graph.

    It runs uncompiled. It gets its tensors without their history of gradients, and may change nothing else that is seen.
    A parameter may be among them, changed through its `data`. Where one is neither a buffer nor a parameter, as in a replica
    of `DataParallel` or with a parametrization, the method is called as it is.
    """

    def decorate(method: F) -> Any:
        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> None:
            held = getattr(self, "_buffers", {}), getattr(self, "_parameters", {})
            buffers = [held[0][one] if one in held[0] else held[1].get(one) for one in changed]
            inside = torch.compiler.is_compiling() or vars(torch).get("_graphmend_operators")
            if not inside or not all([isinstance(one, torch.Tensor) for one in buffers]):
                return method(self, *args, **kwargs)
            buffers = [buffer.data if one in held[1] else buffer for one, buffer in zip(changed, buffers)]
            numbers: Any = []
            tensors: Any = []
            pattern = [_taken(one, numbers, tensors) for one in (*args, *kwargs.values())]
            name = _changing(method, self, changed, list(kwargs), pattern)
            torch.ops.graphmend.change_1(name, buffers, numbers, tensors)
            return None

        return call

    return decorate


def _changing(method: Any, module: Any, changed: Any, keywords: Any, pattern: Any) -> str:
    """The name under which the operator finds the method and its module."""
    text = repr((changed, keywords, pattern))
    number = 0
    while True:
        name = f"{method.__module__}:{method.__qualname__}:{zlib.crc32(text.encode())}:{number}"
        known = _shared["changing 1"].setdefault(name, (method, weakref.ref(module), changed, keywords, pattern))
        if known[0] is method and known[1]() is module and repr(known[2:]) == text:
            return name
        if known[1]() is None:
            del _shared["changing 1"][name]
            continue
        number += 1


_changing._dynamo_marked_constant = True


def _change(name: str, buffers: Any, numbers: Any, tensors: Any) -> None:
    known = _shared["changing 1"].get(name)
    module = known and known[1]()
    if module is None:
        raise RuntimeError("graphmend_support: another process made this graph; compile it in this one")
    method, _, changed, keywords, pattern = known
    rest = iter(numbers), iter(tensors)
    values = [_given(one, *rest) for one in pattern]
    count = len(values) - len(keywords)
    places = [module._buffers if one in module._buffers else module._parameters for one in changed]
    own = [held[one] for one, held in zip(changed, places)]
    try:
        for one, held, buffer in zip(changed, places, buffers):
            held[one] = buffer
        with torch.no_grad():
            method(module, *values[:count], **dict(zip(keywords, values[count:])))
        for one, held, buffer in zip(changed, places, buffers):
            if held.get(one) is not buffer:
                raise RuntimeError(f"graphmend_support.state_operator: the method puts another tensor in the place of `{one}`")
    finally:
        for one, held, tensor in zip(changed, places, own):
            held[one] = tensor


_shared.setdefault("changing 1", {})
if not hasattr(torch.ops.graphmend, "change_1"):
    _changer = _shared["library change 1"] = torch.library.Library("graphmend", "FRAGMENT")
    _changer.define("change_1(str name, Tensor(a!)[] buffers, SymInt[] numbers, Tensor[] tensors) -> ()", **_tags_of())
    _changer.impl("change_1", _change, "CompositeExplicitAutograd")
    torch.library.register_fake("graphmend::change_1", lambda *_: None, lib=_changer)


def while_tracing(function: F) -> F:
    """Let Dynamo call `function` while it traces, and take what it gives for a constant; anew for other arguments."""
    function._dynamo_marked_constant = True
    return function


def sets_up(flag: str) -> Callable[[F], F]:
    """Let Dynamo call a function that sets up the modules that it is given, and then trace the compiled function from its start again.

    `flag` is the attribute of a module by which whoever calls it asks whether that is done; then it is neither missing nor None nor
    False. So the graph is one of modules that are set up, and each module is asked with its own code. The function gives nothing.
    Where it raises or leaves the flag, and after a number of new starts, Dynamo traces it as it would any function.
    """

    def decorate(function: F) -> Any:
        left: Any = weakref.WeakSet()  # modules whose flag it has left, or for which it has raised

        def now(*modules: Any) -> bool:
            attempt = getattr(torch._guards.CompileContext.try_get(), "attempt", 0)
            if attempt >= 16 or any(one in left for one in modules):  # Dynamo gives up after 100
                return False
            if not hasattr(torch._dynamo.exc, "UnspecializeRestartAnalysis"):  # another torch
                return False
            try:
                function(*modules)
                found = [getattr(one, flag, None) for one in modules]
                done = any(one is not None and one is not False for one in found)
            except Exception:
                done = False
            if not done:
                left.update(modules)
                return False
            raise torch._dynamo.exc.UnspecializeRestartAnalysis()

        now._dynamo_marked_constant = True  # type: ignore[attr-defined]

        @functools.wraps(function)
        def run(*modules: Any) -> None:
            if not torch.compiler.is_dynamo_compiling() or not now(*modules):
                function(*modules)

        return run

    return decorate


def while_loop(test: Callable[..., Any], turn: Callable[..., Any], carried: Any, training: bool = False) -> Any:
    """Turn `carried`, a tuple of tensors, while `test(*carried)` holds; `turn(*carried)` gives the next ones, also as a tuple.

    In a graph it is `torch.while_loop`, of copies. That has no gradients: where they are on, where one of the tensors asks for
    them, and in `training`, it is a loop of Python's, as in uncompiled code.
    """
    if torch.compiler.is_compiling() and not (training or torch.is_grad_enabled() or any([one.requires_grad for one in carried])):
        return torch.while_loop(test, turn, tuple([one.clone() for one in carried]))
    while test(*carried):
        carried = turn(*carried)
    return carried


def of_numbers(function: F) -> F:
    """Let Dynamo call a function of whole numbers while it traces, and take the number or tuple that it gives for a constant.

    With another number Dynamo traces anew. Where the function raises or warns, uncompiled code calls it, and does the same.
    """

    def attempt(*numbers: int) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return (function(*numbers),)
        except Exception:
            return None

    attempt._dynamo_marked_constant = True

    @functools.wraps(function)
    def run(*numbers: int) -> Any:
        if torch.compiler.is_compiling():
            found = attempt(*[operator_index(one) for one in numbers])
            if found is not None:
                return found[0]
        return function(*numbers)

    return run


def captures(**settings: bool) -> Callable[[F], F]:
    """Let Dynamo trace a function that it compiles with these of its settings (`torch._dynamo.config`).

    It takes the place of the function, so it raises a TypeError for what another decorator has made more than that.
    """

    def decorate(function: F) -> F:
        _require_function(function)

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with torch._dynamo.config.patch(**settings):
                return function(*args, **kwargs)

        torch._dynamo.eval_frame.skip_code(run.__code__)  # settings are made outside of what is compiled
        return run

    return decorate


def operator(*changed: str, like: Callable[..., Any] = None, flags: Any = (), only: Any = (), modules: Any = (), methods: Any = ()) -> Callable[[F], Any]:
    """Make a function one operator of the graph, which runs uncompiled. Uncompiled code calls the function as it is.

    It changes the parameters `changed` in place, and gives tensors like those that `like` gives for the arguments of its
    parameters' names: of their shapes, dtypes and strides, and in memory of their own; without `like` it has no gradient.
    A size that only the values decide is `any_size()` there. What has no annotation is a tensor; what is annotated as `object`
    holds what Python knows while it traces (numbers, texts, None), tensors, arrays of numpy, and lists, tuples and dicts of such.
    Its gradients are those of the function, which a backward pass runs again, with copies of the tensors as they were. Under
    autocast nothing is an operator; nor is it where an argument is of another type than its parameter says, or holds booleans
    or complex numbers and is none of the parameters `flags`: these make results of other dtypes; nor where a tensor is empty:
    its loops do not run; nor where a parameter of `only` has another value. The graph breaks there. What is annotated as a
    `torch.nn.Module` is taken as its parameters and buffers; all modules in it must be torch's, or of one of the classes `modules`
    of the same file (`"Own.act"`: the attribute `act` of `Own` must hold a module), and must now neither draw random numbers nor change
    anything (dropout, statistics): else the graph breaks there, too.
    With `methods` the first parameter is an object, of which the function calls these alone, which do not read it; the graph breaks
    for an object whose class overrides one.
    Its name holds a checksum of the file's path, and a number where the file was loaded before: each copy has its own.
    """

    def decorate(function: F) -> Any:
        parameters = inspect.signature(function).parameters
        names = list(parameters)
        defaults = {name: one.default for name, one in parameters.items() if one.default is not one.empty}
        said = {**dict.fromkeys(names, torch.Tensor), "return": None if like is None else torch.Tensor}
        said.update({name: _annotation(one, function) for name, one in function.__annotations__.items()})
        if like is None:
            function.__annotations__ = said
            return torch.library.custom_op(_named(function), mutates_args=changed, **_tags_of())(function)
        calling = bool(methods)
        nested = [at for at, name in enumerate(names) if said[name] is object or _is_module(said[name]) or (calling and not at)]
        plain = [at for at in range(len(names)) if at not in nested]
        places = [names.index(one) for one in changed]
        taken, given = _schema(function, said, [names[at] for at in plain], [names[at] for at in nested], len(places))

        def whole(arguments: Any, arrays: bool = True) -> Any:
            if not nested:
                return list(arguments)
            *own, name, numbers, tensors = arguments
            values = dict(zip(plain, own))
            values.update(zip(nested, _given(_shared["structures 1"][name], iter(numbers), iter(tensors), arrays, _lent)))
            return [values[at] for at in range(len(names))]

        def alone(*arguments: Any) -> Any:
            with torch.set_grad_enabled(arguments[-1]):
                values = whole(arguments[:-1])
                for at in places:
                    values[at] = values[at].clone()
                with contextlib.ExitStack() as lent:
                    results = function(*[lent.enter_context(one) if isinstance(one, _Lent) else one for one in values])
                return _joined([values[at] for at in places], results)

        read = list(inspect.signature(like).parameters)
        read = [names.index(one) for one in read] if set(read) <= set(names) else range(len(names))

        def alike(*arguments: Any) -> Any:
            values = whole(arguments[:-1], False)
            return _joined([values[at] for at in places], like(*[values[at] for at in read]))

        made = _differentiable(_named(function), f"{taken}bool gradients) -> {given}", alone, alike)
        fixed = dict(only)
        own, asked = [tuple([f"{function.__module__}.{one}" for one in each]) for each in (modules, methods)]
        short = [one.rpartition(".")[2] for one in methods]
        types_of = [one.split(" ") for one in taken[1:].split(", ")[: len(plain)]]
        kinds = [(at, kind, name in flags, fixed.get(name, ...)) for at, (kind, name) in zip(plain, types_of)]
        kinds += [(at, own if _is_module(said[names[at]]) else "", names[at] in flags, fixed.get(names[at], ...)) for at in nested]

        def own_module(value: Any, tensors: Any) -> Any:
            return _taken_module(value, tensors, own)

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            if not torch.compiler.is_compiling() and not vars(torch).get("_graphmend_operators"):
                return function(*arguments, **named)
            if named or len(arguments) != len(names):
                left = names[len(arguments) :]
                filled = {**defaults, **named}
                if not all([one in filled for one in left]) or not all([one in left for one in named]):
                    return function(*arguments, **named)  # which raises
                arguments = (*arguments, *[filled[one] for one in left])
            for at, kind, flagged, value in kinds:
                one = arguments[at]
                if calling and not at:
                    if not _has_methods(type(one), asked) or not _keeps_methods(one, short):
                        return function(*arguments)
                    continue
                if not _suits(one, kind, flagged) or (value is not ... and (one is not None if value is None else one != value)):
                    return function(*arguments)
                if isinstance(one, torch.Tensor) and torch.is_autocast_enabled(one.device.type):
                    return function(*arguments)
                if at in places and not _is_filled(one):
                    return function(*arguments)
            given = arguments
            if torch.is_grad_enabled():  # its backward pass needs them as they are now
                arguments = tuple([_kept(one) for one in arguments])
            if nested:
                numbers: Any = []
                tensors: Any = []
                pattern = ("list", [
                    _taken(arguments[at], numbers, tensors, False, own_module) if at or not calling else ("methods", _class(type(arguments[at])))
                    for at in nested
                ])
                arguments = (*[arguments[at] for at in plain], _structure(pattern), numbers, tensors)
            results = made(*arguments, torch.is_grad_enabled())
            if not places:
                return results
            results = list(_tensors(results))
            for at in places:
                given[at].copy_(results.pop(0))
            return None if not results else results[0] if len(results) == 1 else tuple(results)

        return call

    return decorate


def _is_filled(tensor: torch.Tensor) -> bool:
    """Whether other elements may be copied into a tensor as a whole: not into a leaf, nor where elements share memory."""
    if torch.is_grad_enabled() and tensor.requires_grad and tensor.is_leaf:
        return False
    return not any([step == 0 and size > 1 for step, size in zip(tensor.stride(), tensor.shape)])


def _annotation(annotation: Any, function: Any) -> Any:
    """What an annotation means; the tensors of one dtype of an older torch are tensors."""
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, function.__globals__)
        except Exception:  # a name that only type checkers see
            return annotation
    return torch.Tensor if isinstance(annotation, type(torch.LongTensor)) else annotation


def _schema(function: Any, said: Any, plain: Any, nested: Any, filled: int) -> Any:
    """The start of the schema of an operator, open behind its parameters, and what it gives with as many tensors that it fills."""
    probe = types.FunctionType(function.__code__, function.__globals__, None, None, function.__closure__)
    probe.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(one, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=said[one]) for one in plain],
        return_annotation=said["return"],
    )
    taken, given = torch.library.infer_schema(probe, mutates_args=()).rsplit(") -> ", 1)
    taken += ", " if plain else ""
    if nested:
        taken += "str structure, SymInt[] numbers, Tensor[] tensors, "
    number = filled + given.count("Tensor")
    return taken, given if not filled else "Tensor" if number == 1 else f"({', '.join(['Tensor'] * number)})"


def _joined(filled: Any, results: Any) -> Any:
    """The tensors that an operator fills and those that it gives; one alone as it is."""
    if not filled:
        return results
    every = [*filled, *([] if results is None else _tensors([results]))]
    return every[0] if len(every) == 1 else tuple(every)


def _structure(pattern: Any) -> str:
    """A name under which an operator finds how its arguments are put together."""
    name = str(zlib.crc32(repr(pattern).encode()))
    while repr(_shared["structures 1"].setdefault(name, pattern)) != repr(pattern):
        name += "'"
    return name


_structure._dynamo_marked_constant = True  # type: ignore[attr-defined]
_shared.setdefault("structures 1", {})


class _Sizes(threading.local):
    """What `any_size` gives in a thread where an operator runs, and how often it was asked; None where a graph is made."""

    size: Any = None
    asked: int = 0


_sizes: Any = _shared.setdefault("sizes", _Sizes())


def any_size() -> Any:
    """In `like` of an operator: a size that only the values of what the operator takes decide."""
    if _sizes.size is not None:
        _sizes.asked += 1
        return _sizes.size
    context = torch.library.get_ctx()
    try:
        return context.new_dynamic_size()
    except RuntimeError:  # torch asks for a setting (`capture_dynamic_output_shape_ops`), which other operators need
        env = getattr(context, "_shape_env", None)
        if env is None or not hasattr(env, "_constrain_range_for_size"):
            raise
        size = env.create_unbacked_symint()
        env._constrain_range_for_size(size.node.expr, None, None)
        return size


def _said(like: Callable[..., Any], arguments: Any, results: Any) -> Any:
    """What `like` gives for arguments of an operator that has given `results`: sizes that it leaves open are those of these."""
    before, asked = _sizes.size, _sizes.asked
    try:
        _sizes.size = 0
        first = like(*arguments)
        if _sizes.asked == asked:
            return first
        _sizes.size = 1
        second = like(*arguments)
    finally:
        _sizes.size, _sizes.asked = before, asked
    sized = []
    for one, other, result in zip(_tensors(first), _tensors(second), _tensors(results)):
        if one.shape != other.shape and one.dim() == result.dim():
            one = one.new_empty([r if a != b else a for a, b, r in zip(one.shape, other.shape, result.shape)])
        sized.append(one)
    return _exchanged(first, sized) if len(sized) == len(_tensors(first)) else first


_PLAIN: Any = {"SymInt": int, "int": int, "float": float, "bool": bool, "str": str, "Device": torch.device, "ScalarType": torch.dtype}


def _suits(value: Any, kind: Any, flagged: bool) -> bool:
    """Whether a value is of that type of a schema, and not empty; booleans and complex numbers suit where it is `flagged`.

    In the type's place stand the classes of modules of which an operator takes one, beside torch's own.
    """
    if not isinstance(kind, str):
        return isinstance(value, torch.nn.Module) and _only_computes(value, kind, value.training)
    if not kind:
        return _suits_structure(value, flagged)
    if kind in _PLAIN:
        return type(value) is _PLAIN[kind]
    if kind.endswith("[]"):
        return isinstance(value, (list, tuple)) and all([_suits(one, kind[:-2], flagged) for one in value])
    if not isinstance(value, torch.Tensor) or _is_empty(value):
        return False
    return flagged or not (value.dtype == torch.bool or value.is_complex())


def _suits_structure(value: Any, flagged: bool) -> bool:
    """Whether an operator takes a value that is made of others: not where a part is of a type that it would not have inside."""
    if isinstance(value, torch.Tensor):
        return _suits(value, "Tensor", flagged)
    if isinstance(value, _ndarray):
        return value.ndim > 0 and value.size > 0
    if type(value) is dict:
        return all([type(one) in _KNOWN for one in value]) and all([_suits_structure(one, flagged) for one in value.values()])
    if type(value) in (list, tuple, torch.Size):
        return all([_suits_structure(one, flagged) for one in value])
    return value is None or type(value) in _KNOWN


_KNOWN = (int, float, bool, str, torch.device, torch.dtype)


def _has_methods(kind: Any, methods: Any) -> bool:
    """Whether a class has these methods, by their full names, and overrides none."""
    return all([_full_name(getattr(kind, one.rpartition(".")[2], None)) == one for one in methods])


_has_methods._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _keeps_methods(one: Any, names: Any) -> bool:
    """Whether an object has the methods of its class, and none of its own in their place."""
    found = [(getattr(one, name), getattr(type(one), name)) for name in names]
    return all([getattr(own, "__func__", own) is shared for own, shared in found])


def _full_name(one: Any) -> str:
    return f"{getattr(one, '__module__', '')}.{getattr(one, '__qualname__', '')}"


def _class(kind: Any) -> str:
    """A name under which an operator finds a class."""
    number = 0
    while True:
        name = f"{_full_name(kind)}:{number}"
        if _shared["classes 1"].setdefault(name, weakref.ref(kind))() is kind:
            return name
        number += 1


_class._dynamo_marked_constant = True  # type: ignore[attr-defined]
_shared.setdefault("classes 1", {})


class _Methods:
    """What an operator has in the place of an object: the methods of its class, which do not read it."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def __getattr__(self, name: str) -> Any:
        found = inspect.getattr_static(self._kind, name)
        if isinstance(found, staticmethod):
            return found.__func__
        if not isinstance(found, types.FunctionType):
            raise AttributeError(f"graphmend_support.operator: the function reads `{name}` of an object that it is to call only")
        return types.MethodType(found, self)


def _is_module(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, torch.nn.Module)


_COMPUTING = frozenset(
    "Bilinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d Embedding Flatten Fold GroupNorm GRUCell Identity "
    "LayerNorm Linear LocalResponseNorm LSTMCell ModuleDict ModuleList ParameterDict ParameterList PixelShuffle PixelUnshuffle RMSNorm "
    "GRU LSTM RNN RNNCell Sequential Softmax LogSoftmax Softmin Unflatten Unfold Upsample AvgPool1d AvgPool2d AvgPool3d MaxPool1d MaxPool2d MaxPool3d "
    "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d CELU ELU GELU GLU Hardshrink "
    "Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid Mish PReLU ReLU ReLU6 SELU SiLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink "
    "Threshold CosineSimilarity PairwiseDistance ZeroPad1d ZeroPad2d ZeroPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d "
    "ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d MultiheadAttention TransformerDecoder "
    "TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer L1Loss MSELoss CrossEntropyLoss NLLLoss BCELoss BCEWithLogitsLoss "
    "SmoothL1Loss HuberLoss KLDivLoss NonDynamicallyQuantizableLinear".split()
)
_CALM = frozenset("Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout RReLU BatchNorm1d BatchNorm2d BatchNorm3d".split())
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def _only_computes(module: Any, modules: Any, training: bool) -> bool:
    """Whether a module and all modules in it are torch's or of these classes, draw no numbers now, and change nothing."""
    for one in module.modules():
        name = type(one).__name__
        known = type(one).__module__.startswith("torch.nn.modules.") and "forward" not in vars(one)
        own = _full_name(type(one)) in modules and "forward" not in vars(one)
        if not (known and name in _COMPUTING) and not (known and name in _CALM and _is_calm(one)) and not own:
            return False
        if any(vars(one).get(hooks) for hooks in _HOOKS) or getattr(one, "max_norm", None) is not None or getattr(one, "sparse", False):
            return False
        if one.training and known and isinstance(getattr(one, "dropout", None), float) and one.dropout > 0:
            return False
        if own and any([isinstance(each, torch.Tensor) or _is_shadowed(one, at) for at, each in vars(one).items()]):
            return False
        if own and any([at not in one._modules for kind, _, at in [each.rpartition(".") for each in modules] if kind == _full_name(type(one))]):
            return False
    return True


def _is_shadowed(module: Any, name: str) -> bool:
    """Whether a module has something of its own in the place of a method of its class."""
    return isinstance(getattr(type(module), name, None), types.FunctionType)


def _is_calm(module: Any) -> bool:
    return not module.training or getattr(module, "p", 1) == 0


_only_computes._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _module(module: Any, modules: Any) -> str:
    """A name under which an operator finds a module."""
    names = _shared["names of modules 2"].setdefault(module, {})
    if modules not in names:
        known = _shared["modules 2"]
        names[modules] = f"{_full_name(type(module))}:{len(known)}"
        known[names[modules]] = (weakref.ref(module), _without_tensors(module), modules)
    return names[modules]


_module._dynamo_marked_constant = True  # type: ignore[attr-defined]
_shared.setdefault("modules 2", {})
_shared.setdefault("names of modules 2", weakref.WeakKeyDictionary())
_lending = _shared.setdefault("lending 1", threading.RLock())


class _Nth:
    """What stands in the place of a module's tensor; a recurrent layer keeps weak references to it."""

    def __init__(self, at: int) -> None:
        self.at = at


_Nth = _shared.setdefault("nth 1", _Nth)  # type: ignore[misc]  # another copy finds it in what this one keeps


def _taken_module(value: Any, tensors: Any, modules: Any) -> Any:
    """What of a module is known while Python traces, with all its classes; None for what is none."""
    if not isinstance(value, torch.nn.Module):
        return None
    held = [*value.parameters(), *value.buffers()]
    tensors.extend([_kept(one) for one in held] if torch.is_grad_enabled() else held)
    return ("module", _module(value, modules), len(held))


def _lent(kind: str, rest: Any, tensors: Any) -> Any:
    """What a function that runs as an operator gets for an object whose methods it calls, or for a module."""
    if kind == "methods":
        return _Methods(_shared["classes 1"][rest[0]]())
    return _Lent(rest[0], [next(tensors) for _ in range(rest[1])])


def _without_tensors(module: Any) -> Any:
    """A copy for a backward pass that the module does not live to see: without its tensors."""
    own = [*module.parameters(), *module.buffers()]
    try:
        return copy.deepcopy(module, {id(one): _Nth(at) for at, one in enumerate(own)})
    except Exception:
        return None


class _Lent:
    """A module whose parameters and buffers are these tensors, as long as an operator runs."""

    def __init__(self, name: str, tensors: List[torch.Tensor]) -> None:
        self.name, self.tensors, self.own, self.flat = name, tensors, [], []

    def __enter__(self) -> Any:
        module, bare, modules = _shared["modules 2"].get(self.name, (lambda: None, None, None))
        module = module()
        places: Any = {}
        if module is not None:
            places = {id(one): at for at, one in enumerate([*module.parameters(), *module.buffers()])}
            if len(places) != len(self.tensors) or not _only_computes(module, modules, module.training):
                what = "a module has other parameters or hooks, or another mode, than when it was compiled"
                raise RuntimeError(f"graphmend_support.operator: {what}; call torch._dynamo.reset() to compile it again")
        elif bare is None:
            raise RuntimeError("graphmend_support: another process made this graph; compile it in this one")
        module = bare if module is None else module
        _lending.acquire()
        for one in module.modules():
            for held in (one._parameters, one._buffers):
                self.own += [(held, name, value) for name, value in held.items() if value is not None]
        for held, name, value in self.own:
            held[name] = self.tensors[value.at if isinstance(value, _Nth) else places[id(value)]]
        for one in module.modules():  # a recurrent layer runs with lists of its weights
            if isinstance(one, torch.nn.RNNBase):
                kept = {each: vars(one)[each] for each in ("_flat_weights", "_flat_weight_refs") if each in vars(one)}
                self.flat.append((one, kept))
                weights = [getattr(one, each, None) for each in one._flat_weights_names]
                vars(one).update(_flat_weights=weights)
                vars(one).update(_flat_weight_refs=[None if each is None else weakref.ref(each) for each in weights])
        return module

    def __exit__(self, *_: Any) -> None:
        for held, name, value in self.own:
            held[name] = value
        for one, kept in self.flat:
            vars(one).pop("_flat_weight_refs", None)
            vars(one).update(kept)
        _lending.release()


def _is_empty(tensor: torch.Tensor) -> bool:
    """Whether a tensor has no elements; not where its size depends on data."""
    if not torch.compiler.is_compiling():
        return tensor.numel() == 0
    from torch.fx.experimental import symbolic_shapes

    return hasattr(symbolic_shapes, "guard_or_false") and symbolic_shapes.guard_or_false(tensor.numel() == 0)


def _kept(value: Any) -> Any:
    """A value that later changes in place do not reach; parameters change behind a backward pass only."""
    if isinstance(value, dict):
        return {name: _kept(one) for name, one in value.items()}
    if isinstance(value, tuple) and not isinstance(value, torch.Size):
        return tuple([_kept(one) for one in value])
    if isinstance(value, list):
        return [_kept(one) for one in value]
    return value.clone() if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter) else value


def number(kind: Any, *others: str) -> Callable[[F], F]:
    """Make a function of tensors that gives a number of Python's one operator of the graph, which runs it uncompiled.

    `kind` is `float` or `int`; or the names of parameters, where it gives a float if one of these is floating-point.
    """

    def decorate(function: F) -> Any:
        names = list(inspect.signature(function).parameters)

        def dtype(tensors: Any) -> torch.dtype:
            if isinstance(kind, str):
                asked = (kind, *others)
                floats = any(one.is_floating_point() for name, one in zip(names, tensors) if name in asked)
            else:
                floats = kind is float
            return torch.float64 if floats else torch.int64

        def compute(*tensors: torch.Tensor) -> torch.Tensor:
            return torch.tensor(function(*tensors), dtype=dtype(tensors), device="cpu")

        def fake(*tensors: torch.Tensor) -> torch.Tensor:
            return torch.empty((), dtype=dtype(tensors), device="cpu")

        schema = f"({', '.join(f'Tensor {name}' for name in names)}) -> Tensor"
        made = torch.library.custom_op(_named(function), compute, mutates_args=(), schema=schema, **_tags_of())
        made.register_fake(fake)

        @functools.wraps(function)
        def run(*tensors: Any) -> Any:
            if torch.compiler.is_compiling():
                return made(*[one.detach() for one in tensors]).item()
            return function(*tensors)

        return run

    return decorate


def _named(function: Callable[..., Any]) -> str:
    file = function.__globals__.get("__file__") or function.__code__.co_filename
    module = re.sub(r"\W", "_", function.__module__, flags=re.ASCII)
    name = re.sub(r"\W", "_", function.__qualname__, flags=re.ASCII)
    # inductor keeps code that calls an operator and its gradient: another number wherever these take other arguments
    return _free(f"graphmend_{module}_{zlib.crc32(file.encode(), 1)}::{name}")


def _free(wanted: str) -> str:
    """A name that no operator has: torch frees the operator that had it, and code from before a reload still calls that one."""
    space, first = wanted.split("::")
    name, number = first, 1
    while hasattr(getattr(torch.ops, space), name):
        number += 1
        name = f"{first}_{number}"
    return f"{space}::{name}"


def _versions(tensors: List[torch.Tensor]) -> List[Optional[int]]:
    """How often each tensor was changed in place; of those made in `torch.inference_mode`, which do not count, None."""
    return [None if one.is_inference() else one._version for one in tensors]


def _differentiable(name: str, schema: str, function: Callable[..., Any], like: Callable[..., Any]) -> Any:
    """An operator of a function of tensors, lists of tensors and Python values; its gradient is another such operator."""

    def run(*arguments: Any) -> Any:
        asked = bool(number) and arguments[-1]
        with _whole_dispatch(), torch.set_grad_enabled(asked):
            # torch multiplies by a weight that needs a gradient in another way, which rounds otherwise, also where none is recorded
            tensors = [one.detach().requires_grad_((asked or not number) and one.requires_grad) for one in _tensors(arguments)]
            before = _versions(tensors)
            arguments = _exchanged(arguments, tensors)
            results = function(*arguments)
            tried = vars(torch).get("_graphmend_tried")  # a verification asks whether `like` holds for other arguments
            if tried is not None and not number:
                with torch.no_grad():
                    tried(agrees, arguments)
            later["constant"] = [asked and not one.requires_grad for one in _tensors(results)]
            results = _new(results, _said(like, arguments, results), arguments)
            if before != _versions(tensors):
                raise RuntimeError("graphmend_support.operator: the function changes what it is given")
            return results

    def agrees(*arguments: Any) -> None:
        results = function(*arguments)
        _new(results, _said(like, arguments, results), arguments)

    def fake(*arguments: Any) -> Any:
        said = like(*arguments)
        return _exchanged(said, [torch.empty_like(one) for one in _tensors(said)])

    def gradients(out: Any, *arguments: Any) -> Any:
        *arguments, needed, history = arguments
        with torch.enable_grad():
            inputs = [
                one.detach().requires_grad_() if need and not one.requires_grad else one
                for one, need in zip(_tensors(arguments), needed)
            ]
            results = [one for one in _tensors(function(*_exchanged(arguments, inputs))) if _has_gradients(one)]
        wanted = [one for one, need in zip(inputs, needed) if need]
        pairs = [(one, gradient) for one, gradient in zip(results, out) if one.requires_grad]
        found = [None] * len(wanted)
        if pairs:
            found = torch.autograd.grad(
                [one for one, _ in pairs], wanted, [one for _, one in pairs], allow_unused=True, create_graph=history
            )
        return [torch.zeros_like(one) if gradient is None else gradient for one, gradient in zip(wanted, found)]

    def like_gradients(out: Any, *arguments: Any) -> Any:
        return [one for one, need in zip(_tensors(arguments[:-2]), arguments[-2]) if need]

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*_tensors(inputs))
        ctx.arguments = _exchanged(inputs, [None] * len(_tensors(inputs)))
        ctx.places = [isinstance(one, (list, tuple)) for one in inputs], [len(_tensors([one])) for one in inputs]
        constant = later.pop("constant", [])  # a gradient that is the same for every input
        ctx.mark_non_differentiable(*[one for one, fixed in zip(_tensors(output), constant) if fixed])
        ctx.has_gradients = [_has_gradients(one) for one in _tensors(output)]

    def backward(ctx: Any, *out: Any) -> Any:
        listed, counts = ctx.places
        saved = iter(ctx.saved_tensors)
        arguments = [
            one if not count else [next(saved) for _ in range(count)] if many else next(saved)
            for one, many, count in zip(ctx.arguments, listed, counts)
        ]
        flags = [
            bool(one)
            for flag, many, count in zip(ctx.needs_input_grad, listed, counts)
            if count
            for one in (flag if many else [flag])
        ]
        out = [one for one, has in zip(_tensors(out), ctx.has_gradients) if has]
        # with a history of its own, torch computes some gradients by another formula, which rounds otherwise (silu)
        found = iter(of_gradient()(out, *arguments, flags, torch.is_grad_enabled()))
        flag = iter(flags)
        result = []
        for many, count, value in zip(tensor_lists, counts, ctx.arguments):
            own = [next(found) if next(flag) else None for _ in range(count)]
            empty = isinstance(value, (list, tuple)) and not value  # which torch takes for a list of tensors
            result.append(own if many or empty else own[0] if own else None)
        return tuple(result)

    def of_gradient() -> Any:
        if "gradient" not in later:
            taken = schema.rsplit(") -> ", 1)[0].lstrip("(")
            flags = f"bool[] needed{number}, bool history{number}"
            later["gradient"] = _differentiable(
                _free(f"{name}_backward"), f"(Tensor[] out{number}, {taken}, {flags}) -> Tensor[]", gradients, like_gradients
            )
        return later["gradient"]

    later: Dict[str, Any] = {}
    tensor_lists = ["Tensor[]" in one for one in schema.rsplit(") -> ", 1)[0].split(", ")]
    number = schema.count(" needed")
    made = torch.library.custom_op(name, run, mutates_args=(), schema=schema, **_tags_of())
    made.register_fake(fake)
    made.register_autograd(backward, setup_context=keep)
    if not number:
        of_gradient()  # code that inductor kept of another process calls it, and nothing is traced that would make it
    return made


def _whole_dispatch() -> Any:
    """Lets operators that are called inside of one have gradients of their own."""
    excluded = torch._C._dispatch_tls_local_exclude_set()
    for name in dir(torch._C.DispatchKey):
        if name.startswith("Autograd") or name == "ADInplaceOrView":
            key = getattr(torch._C.DispatchKey, name)
            excluded = excluded.remove(key) if excluded.has(key) else excluded
    return torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), excluded)


def _has_gradients(one: torch.Tensor) -> bool:
    return one.is_floating_point() or one.is_complex()


def _tensors(values: Any) -> Any:
    """The tensors among values, and of lists among them."""
    if isinstance(values, torch.Tensor):
        return [values]
    return [one for value in values if isinstance(value, (torch.Tensor, list, tuple)) for one in _tensors(value)]


def _exchanged(values: Any, tensors: Any) -> Any:
    """The values with other tensors, in order."""
    rest = iter(tensors)

    def exchanged(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return next(rest)
        return type(value)(map(exchanged, value)) if isinstance(value, (list, tuple)) else value

    return exchanged(values)


def _new(results: Any, like: Any, arguments: Any) -> Any:
    """The results in memory of their own, laid out as it was said."""
    known = {one.untyped_storage()._cdata for one in _tensors(arguments)}
    given, said = _tensors(results), _tensors(like)
    made = []
    for one, wanted in zip(given, said):
        if (one.shape, one.dtype, one.device) != (wanted.shape, wanted.dtype, wanted.device):
            words = [f"{tuple(each.shape)} {each.dtype} on {each.device}" for each in (one, wanted)]
            raise RuntimeError(f"graphmend_support.operator: the result is {words[0]}, and {words[1]} was said")
        new = one.detach()
        memory = one.untyped_storage()._cdata
        expected = torch.empty_like(wanted)
        if memory in known or new.stride() != expected.stride():
            new = expected.copy_(new)
        known.add(new.untyped_storage()._cdata)
        made.append(new)
    if len(given) != len(said):
        raise RuntimeError(f"graphmend_support.operator: {len(given)} results, and {len(said)} were said")
    return made[0] if isinstance(results, torch.Tensor) else type(like)(made)


def recurrent(layer: Callable[[], Any], *arguments: Any, **named: Any) -> Any:
    """What the layer that `layer()` is gives: one of torch's RNN, GRU or LSTM; in a graph, one operator of the library's own kernels.

    TorchDynamo ends its graph where it meets such a layer, also as an argument; so a function gives it: `lambda: self.lstm`. The
    graph breaks as before for packed sequences that `pack_padded` did not make, under autocast, where dropout draws random numbers, and
    for layers with hooks. A layer of another class is called as it is. The backward pass of the operator runs the layer again.
    """
    if not torch.compiler.is_compiling() and not vars(torch).get("_graphmend_operators"):
        return _call_packed(layer(), *arguments, **named)
    before = _let_recurrent(True)
    try:
        found = layer()
    finally:
        _let_recurrent(before)
    if not isinstance(found, torch.nn.RNNBase) and not any([isinstance(one, _Packed) for one in arguments]):
        return found(*arguments, **named)
    if len(arguments) + len(named) > 2 or not arguments or (named and "hx" not in named) or type(found) not in _RECURRENT:
        return _call_uncompiled(_call_packed, found, *arguments, **named)
    x, state, *_ = (*arguments, *named.values(), None)
    packed = x if isinstance(x, _Packed) else None
    x = x if packed is None else packed.padded
    if not isinstance(x, torch.Tensor) or x.dim() not in (2, 3):
        return _call_uncompiled(found, *arguments, **named)
    form = (found.bidirectional, found.num_layers, found.hidden_size, found.proj_size, found.batch_first)
    is_lstm = type(found) is torch.nn.LSTM
    if packed is not None:
        run = _lstm_of_packed if is_lstm else _recurrent_of_packed
        y, lengths, *states = run(found, x, packed.lengths, state, form, packed.batch_first, packed.sorted)
        return _Packed(y, lengths, False, packed.sorted), (tuple(states) if is_lstm else states[0])
    if not is_lstm:
        return _recurrent(found, x, state, form)
    y, *states = _lstm(found, x, state, form)
    return y, tuple(states)


class _Packed:
    """A packed sequence while a graph is made: padded, and how long each one is. `sorted`: by length, the longest first."""

    def __init__(self, padded: Any, lengths: Any, batch_first: Any, sorted: Any) -> None:
        self.padded, self.lengths, self.batch_first, self.sorted = padded, lengths, batch_first, sorted


def _call_packed(layer: Any, *arguments: Any, **named: Any) -> Any:
    """Call a layer outside of a graph, where a packed sequence is torch's own."""
    pack = torch.nn.utils.rnn.pack_padded_sequence
    real = [pack(one.padded, one.lengths, one.batch_first, one.sorted) if isinstance(one, _Packed) else one for one in arguments]
    return layer(*real, **named)


def pack_padded(input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> Any:
    """`torch.nn.utils.rnn.pack_padded_sequence`; in a graph, what `recurrent` takes, and gives for `pad_packed`."""
    if not torch.compiler.is_compiling() and not vars(torch).get("_graphmend_operators"):
        return torch.nn.utils.rnn.pack_padded_sequence(input, lengths, batch_first, enforce_sorted)
    known = isinstance(input, torch.Tensor) and isinstance(lengths, torch.Tensor) and input.dim() == 3 and lengths.dim() == 1
    if not known or lengths.dtype != torch.int64 or lengths.device.type != "cpu":
        return _call_uncompiled(torch.nn.utils.rnn.pack_padded_sequence, input, lengths, batch_first, enforce_sorted)
    return _Packed(input, lengths, batch_first, enforce_sorted)


def pad_packed(sequence: Any, batch_first: bool = False) -> Any:
    """`torch.nn.utils.rnn.pad_packed_sequence`, also of what `recurrent` gives in a graph."""
    if not isinstance(sequence, _Packed):
        return torch.nn.utils.rnn.pad_packed_sequence(sequence, batch_first)
    padded = sequence.padded.transpose(0, 1) if batch_first else sequence.padded
    return (padded if sequence.sorted else padded.contiguous()), sequence.lengths


_RECURRENT = (torch.nn.RNN, torch.nn.GRU, torch.nn.LSTM)


def _let_recurrent(traced: bool) -> bool:
    """Whether TorchDynamo takes recurrent layers, from now on and before; called while it traces."""
    config = importlib.import_module("torch._dynamo.config")
    before = getattr(config, "allow_rnn", True)
    if before is not traced and hasattr(config, "allow_rnn"):
        config.allow_rnn = traced
    return before


_let_recurrent._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _call_uncompiled(function: Any, *arguments: Any, **named: Any) -> Any:
    return function(*arguments, **named)


_call_uncompiled._torchdynamo_disable = True  # type: ignore[attr-defined]  # as torch.compiler.disable, which loads Dynamo


def _results_of(x: Any, form: Any) -> Any:
    """What results of a recurrent layer look like: its output, in whose memory the steps come first, and its last states."""
    twice, layers, width, projected, batch_first = form
    short, ways, first = projected or width, 1 + twice, batch_first and x.dim() == 3
    batch = () if x.dim() == 2 else (x.shape[0 if first else 1],)
    steps = (x.shape[1], x.shape[0]) if first else tuple(x.shape[:-1])
    y = x.new_empty((*steps, ways * short))
    states = [x.new_empty((ways * layers, *batch, size)) for size in (short, width)]
    return (y.transpose(0, 1) if first else y, *states)


@operator(like=lambda x, form: _results_of(x, form)[:2])
def _recurrent(layer: torch.nn.Module, x: torch.Tensor, state: object, form: object) -> Tuple[torch.Tensor, torch.Tensor]:
    return _call_uncompiled(layer, x, state)


@operator(like=lambda x, form: _results_of(x, form))
def _lstm(layer: torch.nn.Module, x: torch.Tensor, state: object, form: object) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    y, states = _call_uncompiled(layer, x, state)
    return (y, *states)


def _results_of_packed(x: Any, lengths: Any, form: Any) -> Any:
    """What results of a recurrent layer look like for a packed sequence: padded, with its lengths, and its last states."""
    twice, layers, width, projected, _ = form
    short, ways, batch = projected or width, 1 + twice, lengths.shape[0]
    y = x.new_empty((any_size(), batch, ways * short))
    states = [x.new_empty((ways * layers, batch, size)) for size in (short, width)]
    return (y, lengths.new_empty((batch,)), *states)


def _run_packed(layer: Any, x: Any, lengths: Any, state: Any, batch_first: Any, sorted: Any) -> Any:
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first, sorted)
    y, states = layer(packed, state)
    return (*torch.nn.utils.rnn.pad_packed_sequence(y), *(states if isinstance(states, tuple) else (states,)))


@operator(like=lambda x, lengths, form: _results_of_packed(x, lengths, form)[:3])
def _recurrent_of_packed(
    layer: torch.nn.Module, x: torch.Tensor, lengths: torch.Tensor, state: object, form: object, batch_first: object, sorted: object
) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return _call_uncompiled(_run_packed, layer, x, lengths, state, batch_first, sorted)


@operator(like=lambda x, lengths, form: _results_of_packed(x, lengths, form))
def _lstm_of_packed(
    layer: torch.nn.Module, x: torch.Tensor, lengths: torch.Tensor, state: object, form: object, batch_first: object, sorted: object
) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    return _call_uncompiled(_run_packed, layer, x, lengths, state, batch_first, sorted)


def all_rows(chosen: torch.Tensor) -> torch.Tensor:
    """The numbers of all rows; one that is not chosen counts from the end, so that it is negative."""
    numbers = torch.arange(len(chosen), device=chosen.device)
    return torch.where(chosen.reshape(len(chosen)), numbers, numbers - len(numbers))


def chosen_rows(rows: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """The rows of these numbers; zeros for one that is not chosen, so that nothing comes from it or goes back to it."""
    return rows.masked_fill((numbers < 0).reshape(-1, *[1] * (rows.dim() - 1)), 0)
