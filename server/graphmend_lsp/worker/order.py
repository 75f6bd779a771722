"""Whether what stands behind a check of the graph waits for it, and what may raise beside a message of it. For children that
run user code.

A graph has no order but that of its data: Inductor puts what does not need a check's value into one kernel with what stands
in front of it (torch 2.13: ``n += 1`` of a buffer, or a reduction of ``table[ids]``, beside ``ids.max()``, which the check
reads). Then a call whose check fails leaves a buffer written, or raises what the check was there to prevent; on a GPU that
ends the process's context. The order of two checks is not looked at.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._library.custom_ops import OPDEFS
from torch.utils._python_dispatch import TorchDispatchMode

from .cuda import is_lost
from .locals_of import is_unseen, own_locals
from .lowered import as_given
from .observe import Observation
from .performing import PROBE_SECONDS, DeviceLostError, TooLongError, interrupted_after
from .places import SUPPORT
from .probes import limited
from .recipes import Recipe
from .wire import Difference

_NAMESPACE = "graphmend"
_MOST = 8  # calls that are made again without checks
_SPELLED = (
    (r"[LG]\['(\w+)'\]", r"\1"),
    (r"\._(?:buffers|parameters|modules)\['(\w+)'\]", r".\1"),
)  # what Dynamo writes, and what the program does
_aten = torch.ops.aten
_INDICES = {  # operators that raise for an index out of range -> which argument has the indices
    _aten.index: 1, _aten.index_put: 1, _aten.index_put_: 1, _aten._unsafe_index: 1, _aten.embedding: 1, _aten.gather: 2,
    _aten.index_select: 2, _aten.index_add: 2, _aten.index_copy: 2, _aten.index_fill: 2, _aten.scatter: 2,
    _aten.scatter_add: 2, _aten.scatter_reduce: 2, _aten.take: 1, _aten.put: 1, _aten.nll_loss_forward: 1,
    _aten._embedding_bag: 1, _aten.select: 2, _aten.one_hot: 0,
}  # fmt: skip
_CHECKING = re.compile(r"(?:^|_|:)check(?:_\d+)?$")
"""The names of operators that are checks: the support module's, and those of `guard`."""

_NUMBERED = re.compile(r"(?:primals_|arg)(\d+)")


def watching(found: list[Difference], forced: bool = False) -> Callable[..., Any]:
    """The backend aot_eager (with the default partitioner), which adds to `found` what its graphs write regardless of a check.

    `forced`: also what they look up with values that a check is about; no call with values that fail it shows what that does.
    """

    def compile_graph(graph: torch.fx.GraphModule, inputs: list[Any], **options: Any) -> Any:
        sources = [_source(node) for node in graph.graph.find_nodes(op="placeholder")]
        names = [_spelled(one) for one in sources]
        own = own_locals(sources)
        unseen: dict[int, Difference] = {}  # while nobody else holds it

        def tell(news: Iterable[Difference]) -> None:
            found.extend(one for one in news if one not in found)

        def look(lowered: torch.fx.GraphModule, example: Any) -> Any:
            written = written_regardless(lowered.graph, names)
            unseen.update((number, one) for number, one in written if number in own)
            tell(one for number, one in written if number not in own)
            tell([*said_regardless(lowered.graph), *(looked_up(lowered.graph) if forced else ())])
            return as_given(lowered, example)

        made = aot_autograd(fw_compiler=look, bw_compiler=as_given, keep_inference_input_mutations=True)
        compiled = made(graph, inputs, **options)
        if not own:
            return compiled

        def run(*given: Any) -> Any:
            tell(one for number, one in unseen.items() if not is_unseen(given[number]))
            return compiled(*given)

        return run

    return compile_graph


def written_regardless(graph: torch.fx.Graph, names: Sequence[str]) -> list[tuple[int, Difference]]:
    """The buffers and arguments that a functional graph with a check in it writes, and whose value does not need the check's.

    By the number of the graph's input (-1: not known). `names` are those of the inputs in the program, as far as they are
    known ("" where they are not).
    """
    checks = [node for node in graph.nodes if _is_check(node)]
    if not checks:
        return []
    behind = _behind(checks, lambda one: one.users)
    found = []
    for node in graph.find_nodes(op="call_function", target=torch.ops.aten.copy_.default):
        written = node.args[0]
        if written.op == "placeholder" and node not in behind:
            number = _NUMBERED.match(written.name)
            at = -1 if number is None else int(number[1]) - written.name.startswith("primals_")
            name = names[at] if 0 <= at < len(names) else ""
            what = f"`{name}`" if name else "a buffer or an argument"
            detail = f"{what} may be written although the check fails"
            found.append((at, _difference("state", "compiled code", detail, "caught")))
    return found


def said_regardless(graph: torch.fx.Graph) -> list[Difference]:
    """The operators of a graph that may raise for their data, and whose value no message of it needs.

    Inductor may run such an operator in front of the message or behind it, wherever it stands.
    """
    said = [node for node in graph.nodes if _is_message(node)]
    if not said:
        return []
    found = []
    needed = [_behind([one], lambda one: one.all_input_nodes) for one in said]
    for node in graph.nodes:
        if not _may_raise(node) or all(node in one for one in needed):
            continue
        detail = f"`{_operator_of(node)}` may raise, and compiled code may say a message before it or not at all"
        found.append(_difference("exception", "a call that raises in the graph", detail, "raised-between"))
    return found


def _is_message(node: torch.fx.Node) -> bool:
    """Whether an operator says a message, in its order: the support module's, or torch's print."""
    if node.op != "call_function" or getattr(node.target, "__name__", "") != "with_effects":
        return False
    return "call_1" in str(node.args[1]) or str(node.args[1]) == "print"


def _may_raise(node: torch.fx.Node) -> bool:
    """Whether an operator may raise for its data: an index that is no constant, a check, or one that is not torch's own."""
    target = node.target
    if node.op != "call_function" or _is_message(node):
        return False
    place = _INDICES.get(getattr(target, "overloadpacket", None))
    if place is not None:
        given = torch.utils._pytree.tree_leaves(node.args[place]) if len(node.args) > place else [node]
        return any(isinstance(one, torch.fx.Node) and not _is_mask(one) for one in given)
    return isinstance(target, torch._ops.OpOverload) and target.namespace not in ("aten", "prims", "prim", "profiler")


def _is_mask(node: torch.fx.Node) -> bool:
    """Whether a value is a tensor of booleans, which is no index that may be out of range."""
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype == torch.bool


def _operator_of(node: torch.fx.Node) -> str:
    return str(getattr(node.target, "overloadpacket", node.target)).rpartition(".")[2]


def looked_up(graph: torch.fx.Graph) -> list[Difference]:
    """What a graph looks up with a value that one of its checks reads, too, and that the graph has computed.

    That may raise where the check fails, and before it does.
    """
    found = []
    for check in filter(_is_check, graph.nodes):
        read = _behind(
            [one for one in check.all_input_nodes if one.op != "placeholder"], lambda one: one.all_input_nodes
        )
        computed = {one for one in read if one.op == "call_function"}
        for node in graph.nodes:
            indices = _INDICES.get(getattr(node.target, "overloadpacket", None))
            if indices is None or len(node.args) <= indices:
                continue
            given = [
                one for one in torch.utils._pytree.tree_leaves(node.args[indices]) if isinstance(one, torch.fx.Node)
            ]
            if computed & _behind(given, lambda one: one.all_input_nodes):
                detail = f"`{node.target.overloadpacket.__name__}` behind the check reads what it checks, and may raise first"
                found.append(_difference("exception", "a call whose check fails", detail, "raised-between"))
    return found


def _behind(
    nodes: Sequence[torch.fx.Node], following: Callable[[torch.fx.Node], Iterable[torch.fx.Node]]
) -> set[torch.fx.Node]:
    """The nodes, and all that follow them."""
    found = set(nodes)
    waiting = list(nodes)
    while waiting:
        for one in following(waiting.pop()):
            if one not in found:
                found.add(one)
                waiting.append(one)
    return found


def raised_behind(
    made: Sequence[Recipe], seen: Sequence[Observation], call: Callable[[Recipe], Observation]
) -> list[Difference]:
    """What the calls of a mended program that raise would raise otherwise, if its checks of the graph let them pass.

    `call` makes a call, uncompiled.
    """
    if not has_checks():
        return []
    found: list[Difference] = []
    raising = [(one, was.raised) for one, was in zip(made, seen, strict=True) if was.raised is not None]
    for recipe, raised in [(one, was) for one, was in raising if not one.probe][:_MOST]:
        try:
            with limited(), interrupted_after(PROBE_SECONDS), _unchecked():
                now = call(replace(recipe, own=False)).raised
        except TooLongError:
            continue
        except DeviceLostError as lost:
            now = lost.raised
        if now is not None and (now.type, now.message) != (raised.type, raised.message):
            said = now.message.split("\n")[0]
            detail = f"behind the check stands what raises {now.type} ({said}), which compiled code may raise first"
            found.append(_difference("exception", "a call whose check fails", detail, "raised-between"))
        if is_lost():
            break
    return [one for number, one in enumerate(found) if one not in found[:number]]


def has_checks() -> bool:
    """Whether the programs of this process may have a check or a message in the graph that a mend made."""
    return _support() is not None or any(one._qualname.startswith(_NAMESPACE) for one in list(OPDEFS.values()))


def _is_check(node: torch.fx.Node) -> bool:
    """Whether a node is an operator of a mend that is there to raise: its value is asserted, which is always true."""
    return _is_ours(node.target) and any(
        getattr(user.target, "overloadpacket", None) is torch.ops.aten._assert_async for user in node.users
    )


def _is_ours(target: Any) -> bool:
    return isinstance(target, torch._ops.OpOverload) and target.namespace.startswith(_NAMESPACE)


def _source(node: torch.fx.Node) -> str:
    """Where Dynamo takes an input of its graph from: ``L['self']._buffers['n']``."""
    source = getattr(node.meta.get("grapharg"), "source", None)
    name = getattr(source, "name", "")
    return str(name() if callable(name) else name)


def _spelled(text: str) -> str:
    """A source as the program writes it: ``self.n``."""
    for pattern, by in _SPELLED:
        text = re.sub(pattern, by, text)
    return text


@contextmanager
def _unchecked() -> Iterator[None]:
    """No check of a mend raises while the context lasts."""
    support = _support()
    code = support.check.__code__ if support is not None else None
    try:
        if support is not None:
            support.check.__code__ = _passes.__code__
        with _Passing():
            yield
    finally:
        if support is not None:
            support.check.__code__ = code


def _passes(*_arguments: Any) -> bool:
    return True


class _Passing(TorchDispatchMode):
    """What a check of a mend raises is passed over; its value is True. Its other operators (`opaque`) raise what they raise."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not (_is_ours(func) and _CHECKING.search(func._schema.name)):
            return func(*args, **(kwargs or {}))
        try:
            return func(*args, **(kwargs or {}))
        except Exception:
            return torch.ones((), dtype=torch.bool)


def _support() -> Any:
    """The support module that this process has imported, whatever its name."""
    return next(
        (
            one
            for one in list(sys.modules.values())
            if isinstance(one, ModuleType) and SUPPORT in (vars(one).get("__doc__") or "") and "check" in vars(one)
        ),
        None,
    )


def _difference(what: str, call: str, detail: str, kind: str) -> Difference:
    return Difference(what=what, where="", call=call, detail=detail, severity="exception", assumes=kind)
