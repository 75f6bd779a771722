"""The text of a while_loop mend: a call of the support module, or ``torch.while_loop`` beside the loop that runs uncompiled."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from graphmend_lsp.mending.lowering.lines import wrapped
from graphmend_lsp.mending.rules.while_loop.iteration import Iteration
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.compiled_branch import behind_colon, line_start, space_above
from graphmend_lsp.mending.syntax.formatting import line_limit, operand, render
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.model import TextEdit


@dataclass
class Writer:
    """Writes one loop anew: as a call, or as a twin beside the loop.

    `predicate` is the loop's test as a tensor. Of the twin, `torch` is how the package is spelled, with its dot, and `guard` the
    test. `changes` collects what is copied.
    """

    source: Source
    loop: ast.While
    iteration: Iteration
    predicate: str
    fresh: Callable[[str], str]
    torch: str = ""
    guard: str = ""
    changes: list[str] = field(default_factory=list)

    def call(self, called: str, static: str, training: str) -> TextEdit:
        """The loop as a call of the support module's function, which is spelled `called`, where `static` holds ("" for always).

        `training` tells whether modules that an iteration calls are in training; it is "" where it calls none.

        Raises:
            Refused: where the loop's text cannot move.
        """
        source, loop = self.source, self.loop
        self._refuse_text()
        carried = [*self.iteration.carried]
        names, value = ", ".join(carried), self._value()
        begin, end = source.range(loop)
        lines: list[str] = []
        if value is None or edits.comments(source, begin, edits.end_of_line(source, end)):
            turn = self.fresh("turn")
            lines = [*self._function(turn), ""]
            if len(carried) == 1:
                lines[-2] = f"{source.indent}return ({names},)"
        else:
            turn = f"lambda {names}: ({value},)"
        asked = f", {training}" if training else ""
        call = f"{called}(lambda {names}: {self.predicate}, {turn}, {_tuple(carried, True)}{asked})"
        inner = wrapped(source, loop, [f"{_tuple(carried)} = {call}"])
        if static:
            inner = [*wrapped(source, loop, [f"if {static}:"]), *self._inner(f"{_tuple(carried)} = {call}")]
        return self._in_place([*lines, *inner], bool(lines))

    def twin(self) -> list[TextEdit]:
        """The edits: the iteration as a lambda where it is short, else as a function; and the loop, as it was or calling it.

        Raises:
            Refused: where the loop's text cannot move.
        """
        self._refuse_text()
        copied = [
            one for one in self.iteration.carried if one in self.iteration.given_copies | self.iteration.taken_copies
        ]
        self.changes += [f"`{one}` is copied where another name may hold the same tensor." for one in copied]
        twin = self._short()
        if twin is None and self.iteration.counter is None and not self.iteration.given_copies:
            return [self._with_shared_function()]
        flag = self.fresh("in_graph")
        given = wrapped(self.source, self.loop, [f"{flag} = {self.guard}"])
        test = self.loop.test
        text = render(self.source, test)
        plain = isinstance(test, (ast.BoolOp, ast.Compare, ast.Call, ast.Name, ast.Attribute, ast.UnaryOp))
        plain = plain and not (isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or))
        return [
            edits.insert_before(self.source, self.loop, [*given, f"if {flag}:", *(twin or self._with_function())]),
            edits.rewrite(self.source, test, f"not {flag} and {text if plain else f'({text})'}"),
        ]

    def _refuse_text(self) -> None:
        if not self.source.starts_line(self.loop):
            raise Refused("The loop shares its line with other code; give it its own line.")
        if edits.comments(self.source, self.source.range(self.loop)[0], behind_colon(self.source, self.loop.test)):
            raise Refused("A comment stands inside the loop's test; put it above the loop.")

    def _value(self) -> str | None:
        """What an iteration that is one short assignment assigns; None for any other."""
        (first, *rest), carried = self.iteration.body, self.iteration.carried
        if rest or not isinstance(first, ast.Assign) or len(first.targets) != 1:
            return None
        if not isinstance(first.targets[0], ast.Name) or (first.targets[0].id,) != carried:
            return None
        value = render(self.source, first.value)
        return value if len(value) + len(self.predicate) <= line_limit(self.source) else None

    def _short(self) -> list[str] | None:
        """The lines for an iteration that is one short assignment; None for any other."""
        value = self._value()
        if value is None:
            return None
        return self._inner(self._call(f"{operand(value)}.clone()" if self.iteration.given_copies else value))

    def _with_shared_function(self) -> TextEdit:
        """The iteration as a function in front, which both forms of the loop call; its lines stay where they are."""
        source = self.source
        name, names = self.fresh("turn"), ", ".join(self.iteration.carried)
        turn = name if len(self.iteration.carried) > 1 else f"lambda {names}: ({name}({names}),)"
        call = self._call(f"{name}({names})", turn)
        again = f"{names} = {name}({names})"
        lines = [
            *self._function(name),
            "",
            f"if {self.guard}:",
            *self._inner(call),
            "else:",
            f"{source.indent}while {render(source, self.loop.test)}:",
            *(source.indent + one for one in self._inner(again)),
        ]
        return self._in_place(lines, True)

    def _in_place(self, lines: list[str], spaced: bool) -> TextEdit:
        """Lines in the loop's place, below an empty line where they are `spaced`."""
        source, base = self.source, self.source.indentation(self.loop)
        above = space_above(source, self.loop) if spaced else ""
        text = above + source.newline.join(base + one if one else one for one in lines)
        start, end = line_start(source, self.loop), source.range(self.loop)[1]
        return TextEdit(source.path, source.between(start, edits.end_of_line(source, end)), text)

    def _function(self, name: str) -> list[str]:
        """The iteration as a function."""
        if not self.source.starts_line(self.loop.body[0]):
            raise Refused("The body of the loop shares the line of its test; give it its own lines.")
        given = ", ".join(
            f"{one}.clone()" if one in self.iteration.given_copies else one for one in self.iteration.carried
        )
        head, *body = self._body().splitlines()
        return [f"def {name}({', '.join(self.iteration.carried)}):{head}", *body, f"{self.source.indent}return {given}"]

    def _with_function(self) -> list[str]:
        """The lines for an iteration that is a function, beside the loop as it was."""
        name, names = self.fresh("turn"), ", ".join(self.iteration.carried)
        lines = self._function(name)
        call = f"{name}({names})"
        twin = self._call(
            call if len(self.iteration.carried) == 1 else f"*{call}", name if len(self.iteration.carried) > 1 else ""
        )
        return ["", *(self.source.indent + one if one else one for one in lines), "", *self._inner(twin)]

    # -- parts ----------------------------------------------------------------------------------------------------

    def _call(self, given: str, name: str = "") -> str:
        """The statement that calls ``torch.while_loop``, with a lambda that gives `given`.

        `name` is a function of all carried names that gives all of them, where the iteration is one.
        """
        carried = [*self.iteration.carried]
        operands = [f"{one}.clone()" if one in self.iteration.taken_copies else one for one in carried]
        results = list(carried)
        if self.iteration.counter is not None:
            counter = self.iteration.counter
            operands.append(f"{self.torch}full((), {counter.name}, device={carried[0]}.device)")
            carried.append(counter.name)
            results.append(self.fresh("turns"))
            given = f"{given}, {counter.following}"
        names = ", ".join(carried)
        turn = f"lambda {names}: ({given}{',' if len(carried) == 1 else ''})"
        if name and self.iteration.counter is None:
            turn = name
        return f"{_tuple(results)} = {self.torch}while_loop(lambda {names}: {self.predicate}, {turn}, {_tuple(operands, True)})"

    def _inner(self, line: str) -> list[str]:
        return wrapped(self.source, self.loop, [self.source.indent + line])

    def _body(self) -> str:
        """The text of the iteration from behind the colon of the loop, without the statement that counts; lines end in ``\\n``.

        It is without the indentation of the loop.
        """
        value = self.source.text.value
        start, end = behind_colon(self.source, self.loop.test), self._end(self.iteration.body[-1])
        text = value[start:end]
        if self.iteration.counter is not None:
            step = self.iteration.counter.step
            if any(not self.source.starts_line(one) for one in self.loop.body):
                raise Refused("The statement that counts shares its line with another one; give it its own line.")
            first, last = line_start(self.source, step), self._end(step) + len(self.source.newline)
            text = value[start:first] + value[last:end] if first < end else text
        first_line, *lines = text.replace("\r\n", "\n").split("\n")
        indent = self.source.indentation(self.loop)
        return "\n".join([first_line, *(one.removeprefix(indent).rstrip() for one in lines)])

    def _end(self, statement: ast.stmt) -> int:
        """The offset of the end of the last line of a statement."""
        return edits.end_of_line(self.source, self.source.range(statement)[1])


def _tuple(parts: list[str], brackets: bool = False) -> str:
    if len(parts) == 1:
        return f"({parts[0]},)"
    return f"({', '.join(parts)})" if brackets else ", ".join(parts)
