"""Prints in the graph: texts and numbers of tensors are printed by an operator, at the same place.

What it does
------------
``print("halfway")`` and ``print(f"mean {x.mean().item():.3f}")`` become a call of ``print_in_graph``, which prints as before
when it runs uncompiled, and is `torch._higher_order_ops.print` in a graph (torch 2.11 and later).

Why it costs
------------
A graph cannot write text: Dynamo ends it at the print, prints in Python, and starts another graph.

Safety
------
The operator is ordered: prints keep their order, none is dropped or made twice, also in loops and with gradients. A tensor
without dimensions is formatted as the number that it holds. Uncompiled nothing but the builtin runs. The text is compared under
eager, aot_eager and inductor. Inductor may print before an earlier operator raises: code before the print that may raise is a
caution.

When it is refused
------------------
For a tensor that is printed as a tensor (its text tells of gradients, which a graph does not know), for sizes and other Python
values, which may change from call to call, for braces in a text without numbers, with `file`, `end`, `sep` or `flush`, and in
functions that `torch.func` or `vmap` map, which have no rule for the operator.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.facts.scalars import Scalars
from graphmend_lsp.mending.lowering.in_graph import PRINTS, maps, may_raise_before
from graphmend_lsp.mending.lowering.late import before, kept_for_itself
from graphmend_lsp.mending.rules.printed import RULE
from graphmend_lsp.mending.rules.printed.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import add_function, is_builtin, spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.support import supported
from graphmend_lsp.model import Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_OPERATOR = "torch._higher_order_ops.print"


@dataclass
class _Said:
    """What a print says: the text with a field for each value, and the values' texts."""

    source: Source
    kinds: Kinds
    text: str = ""
    values: list[str] = field(default_factory=list)

    def take(self, node: ast.expr) -> None:
        """One argument of the print.

        Raises:
            Refused: for what is neither constant nor a number of a tensor.
        """
        if isinstance(node, ast.Constant):
            self.text += _escaped(str(node.value))
        elif isinstance(node, ast.JoinedStr):
            for one in node.values:
                if isinstance(one, ast.FormattedValue):
                    self._field(one)
                else:
                    self.take(one)
        else:
            self._value(node, "", direct=False)

    def _field(self, node: ast.FormattedValue) -> None:
        spec = ""
        if node.format_spec is not None:
            parts = getattr(node.format_spec, "values", [])
            if not all(isinstance(one, ast.Constant) for one in parts):
                raise Refused(f"`{render(self.source, node.value)}` is formatted in a way that is computed.")
            spec = "".join(str(one.value) for one in parts)
        if node.conversion != -1 or "{" in spec or "}" in spec:
            raise Refused(f"`{render(self.source, node.value)}` is converted to a text first.")
        if isinstance(node.value, ast.Constant):
            self.text += _escaped(format(node.value.value, spec))
        else:
            self._value(node.value, spec, direct=True)

    def _value(self, node: ast.expr, spec: str, *, direct: bool) -> None:
        """A number of a tensor: ``t.item()``, or a tensor without dimensions that a format makes a number of."""
        scalars = Scalars(self.source, self.kinds)
        called = node.func if isinstance(node, ast.Call) and not node.args and not node.keywords else None
        read = isinstance(called, ast.Attribute) and called.attr == "item"
        tensor = called.value if isinstance(called, ast.Attribute) and read else node
        zero = scalars.is_zero_dim(tensor)
        if self.kinds.of(tensor) != "tensor" or not (read or (direct and zero)):
            raise Refused(
                f"GraphMend cannot tell whether `{render(self.source, node)}` is a number of a tensor, or constant."
            )
        if any(one.kind in ("effect", "random") for one in hazards(self.source, tensor)):
            raise Refused(f"`{render(self.source, node)}` does more than computing a number.")
        text = render(self.source, tensor)
        self.values.append(text if zero else f"{operand(text)}.reshape(())")
        self.text += f"{{:{spec}}}" if spec else "{}"


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The print in the graph; empty when the break is no print."""
    source = place.source
    node = place.node.value if isinstance(place.node, ast.Expr) else place.node
    inside = [one for one in (node, *source.ancestors(node)) if isinstance(one, ast.Call)]
    call = next((one for one in inside if is_builtin(source, one.func, "print")), None)
    if call is None or place.function is None or not isinstance(source.parents.get(call), ast.Expr):
        return ()
    if place.function.name.startswith(PRINTS):
        return ()
    if call.keywords or any(isinstance(one, ast.Starred) for one in call.args):
        raise Refused(f"`{render(source, call)}` says where or how it prints.")
    if maps(source, place.function):
        raise Refused("The file maps this function by `torch.func`, in which no operator of the graph prints.")
    said = _Said(source, Kinds(source))
    for at, one in enumerate(call.args):
        said.text += " " if at else ""
        said.take(one)
    if not said.values and ("{" in said.text or "}" in said.text):
        raise Refused("Backends differ in how they print a text with braces and without numbers.")
    mend = _mend(source, call, said)
    words = may_raise_before(place, call)
    return (mend if words is None else replace(mend, cautions=(words,)),)


def _mend(source: Source, call: ast.Call, said: _Said) -> Mend:
    found = supported(source, call, "print_in_graph")
    name, spots = _own(source) if found is None else (found[0]["print_in_graph"], list(found[1]))
    spots.append(edits.rewrite(source, call, f"{name}({', '.join((_quoted(said.text), *said.values))})"))
    return Mend(
        rule=RULE.name,
        title="Print in the graph",
        path=source.path,
        span=source.span(call),
        edits=tuple(spots),
        assumes=kept_for_itself(source, call, before(source, call)),
        inductor=True,
    )


def _own(source: Source) -> tuple[str, list[TextEdit]]:
    """The function written into a file that cannot import it: its name, and the edits."""
    operator, added = spell(source, _OPERATOR, source.tree)
    torch = operator.removesuffix("._higher_order_ops.print")
    if torch == operator:
        raise Refused("The operator is imported by its own name; import torch.")
    one = source.indent
    lines = [
        f"def {PRINTS}(text, *values):",
        f'{one}"""Print, also in a graph: a tensor without dimensions as its number."""',
        f"{one}if {torch}.compiler.is_compiling():",
        f"{one * 2}{operator}(text, *values)",
        f"{one}else:",
        f"{one * 2}print(text.format(*values))",
    ]
    name = _defined(source, lines)
    spots: list[TextEdit] = [added] if added is not None else []
    if name is None:
        name = source.fresh(PRINTS)
        spots.append(add_function(source, [lines[0].replace(PRINTS, name), *lines[1:]]))
    return name, spots


def _defined(source: Source, lines: list[str]) -> str | None:
    """The name of the very same function of the module, if there is one."""
    (wanted,) = ast.parse("\n".join(lines)).body
    body = [ast.dump(one) for one in getattr(wanted, "body", [])]
    return next(
        (
            one.name
            for one in source.tree.body
            if isinstance(one, ast.FunctionDef) and [ast.dump(part) for part in one.body] == body
        ),
        None,
    )


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _quoted(text: str) -> str:
    """A text as Python's, in double quotes where it holds none."""
    quoted = repr(text)
    return f'"{quoted[1:-1]}"' if quoted[0] == "'" and '"' not in text and "\\'" not in quoted else quoted
