"""A branch that says something and computes: the message goes into the graph, `torch.where` chooses the values.

What it does
------------
Under ``if torch.isnan(x).any():`` stand a message and what the branch computes. Each message comes in front of the ``if``, as an
operator of the graph that says it where the condition holds (see `message`). Of what is left, ``torch.where`` chooses the values
(see `where`). The condition has a name, and is computed once. A branch of several messages becomes an operator for each.

Why it costs
------------
Dynamo cannot know which side to trace, so it ends the graph at the condition, waits for the value, and starts another graph. No
graph can log or print.

Safety
------
The message appears in the calls in which it appeared before, with the values of its place. What `message` and `where` take for
granted, this mend does, too.

When it is refused
------------------
For a message that reads what the branch changes before it, for a message under ``else`` or ``elif``, for a message that appears
once only, for a text over several lines, for a condition that does more than give a value where the mend would compute it twice,
and for what `message` or `where` refuses.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from graphmend_lsp.mending.facts.effects import changed_by
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.facts.speakers import message_of
from graphmend_lsp.mending.lowering.choice import choices
from graphmend_lsp.mending.lowering.said import message_in_graph
from graphmend_lsp.mending.rules.aside import RULE
from graphmend_lsp.mending.rules.aside.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax.branches import branch_of
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.edits import one_line
from graphmend_lsp.mending.syntax.formatting import first_line, goes_over_lines, line_limit, name_for
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, Unreadable, assigned, loaded, read
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.mending.syntax.wrapping import layout
from graphmend_lsp.model import Declined, Mend, Span, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_TITLE = "Put the message into the graph, and choose with torch.where"
_ALONE = "Put the messages into the graph"


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mends of a branch that says something and computes, best first; empty when the break is no such branch."""
    source = place.source
    target = branch_of(source, place.node)
    if not isinstance(target, ast.If) or source.code(target).startswith("elif"):
        return ()
    messages = [one for one in target.body if message_of(source, place.request.sources, one) is not None]
    only = len(messages) == len(target.body)
    if not messages or (only and (len(messages) == 1 or target.orelse)):
        return ()
    if not all(source.starts_line(one) for one in target.body):
        raise Refused("The statements share a line with others; put each on its own line.")
    if any(goes_over_lines(source, one) for one in walk(target)):
        raise Refused("A string over several lines stands in a part that would move.")
    _refuse_changed(source, target, messages)
    said = []
    for one in messages:
        mend = message_in_graph(RULE.name, _at(place, _with_only(source, target, one)))
        if mend is None:
            raise Refused(f"`{first_line(source, one)}` appears only once, or late; move it out of the `if`.")
        said.append(mend)
    if only:
        return (_said_alone(source, target, messages, said),)
    found = choices(RULE.name, _at(place, _without(source.text.value, [source.range(one) for one in messages])))
    return tuple(one if isinstance(one, Declined) else _joined(source, target, messages, said, one) for one in found)


def _refuse_changed(source: Source, target: ast.If, messages: Sequence[ast.stmt]) -> None:
    """Refuse a message that reads what the branch sets or changes before it: the message comes first."""
    for at, one in enumerate(target.body):
        before = [each for each in target.body[:at] if each not in messages]
        changed = {name for each in before for name in assigned(each)}
        nodes = [node for each in before for node in walk(each)]
        changed |= {name for node in nodes for name in changed_by(node)}
        changed |= {name for node in nodes if _is_stored(node) for name in loaded(node)}
        if one in messages and (names := sorted(loaded(one) & changed)):
            raise Refused(f"`{first_line(source, one)}` reads `{names[0]}`, which the branch changes before it.")


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load)


def _at(place: Place, text: str) -> Place:
    """The same place in a text in which nothing else stands elsewhere."""
    source = read(place.source.path, text)
    if isinstance(source, Unreadable):
        raise Refused(source.reason)
    known = place.source
    source = replace(source, noted=known.noted, rested=known.rested, style=known.style)
    site = source.site(place.span)
    if site is None:
        raise Refused("The condition cannot be found without the message.")
    return replace(
        place,
        source=source,
        site=site,
        request=replace(place.request, sources={**place.request.sources, source.path: text}),
    )


def _without(text: str, ranges: Sequence[tuple[int, int]]) -> str:
    """The text with spaces in place of these ranges."""
    for start, end in ranges:
        blank = "".join(one if one in "\r\n" else " " for one in text[start:end])
        text = text[:start] + blank + text[end:]
    return text


def _with_only(source: Source, target: ast.If, statement: ast.stmt) -> str:
    """The file with nothing but one statement under the condition."""
    text = source.text.value
    colon = text.index(":", source.range(target.test)[1])
    start, end = source.range(statement)
    return _without(text, [(colon + 1, start), (end, source.range(target)[1])])


def _joined(source: Source, target: ast.If, messages: Sequence[ast.stmt], said: Sequence[Mend], chosen: Mend) -> Mend:
    """The mends as one, in place of the branch, and of what the choice replaces with it."""
    own, region = source.range(target), _region(source, target, chosen)
    parts = [
        _part(source, own, _with_only(source, target, one), mend) for one, mend in zip(messages, said, strict=True)
    ]
    silent = _without(source.text.value, [source.range(one) for one in messages])
    parts.append(_part(source, region, silent, chosen))
    beside = dict.fromkeys(
        edit for mend in (*said, chosen) for edit in mend.edits if not _is_inside(source, region, edit)
    )
    *rest, last = _named(source, target.test, parts)
    text = "\n".join((*(_laid_out(source, target, one) for one in rest), last)).replace(
        "\n", f"\n{source.indentation(target)}"
    )
    span = Span(*map(source.text.position, region))
    return replace(
        chosen,
        title=_TITLE,
        edits=(*beside, TextEdit(source.path, span, text.replace("\n", source.newline))),
        changes=tuple(dict.fromkeys(one for mend in (*said, chosen) for one in mend.changes)),
        cautions=tuple(dict.fromkeys(one for mend in (*said, chosen) for one in mend.cautions)),
        assumes=tuple(dict.fromkeys(one for mend in (*said, chosen) for one in mend.assumes)),
        inductor=any(mend.inductor for mend in (*said, chosen)),
    )


def _said_alone(source: Source, target: ast.If, messages: Sequence[ast.stmt], said: Sequence[Mend]) -> Mend:
    """The messages of a branch that does nothing else, in place of the branch."""
    own = source.range(target)
    parts = [
        _part(source, own, _with_only(source, target, one), mend) for one, mend in zip(messages, said, strict=True)
    ]
    beside = dict.fromkeys(edit for mend in said for edit in mend.edits if not _is_inside(source, own, edit))
    made = [_laid_out(source, target, one) for one in _named(source, target.test, [*parts, ""])]
    text = "\n".join(one for one in made if one).replace("\n", f"\n{source.indentation(target)}")
    span = Span(*map(source.text.position, own))
    return replace(
        said[0],
        title=_ALONE,
        edits=(*beside, TextEdit(source.path, span, text.replace("\n", source.newline))),
        changes=tuple(dict.fromkeys(one for mend in said for one in mend.changes)),
        cautions=tuple(dict.fromkeys(one for mend in said for one in mend.cautions)),
        assumes=tuple(dict.fromkeys(one for mend in said for one in mend.assumes)),
        inductor=any(mend.inductor for mend in said),
    )


def _region(source: Source, target: ast.If, chosen: Mend) -> tuple[int, int]:
    """The range of the branch, with what a choice replaces together with it: a return behind it."""
    start, end = source.range(target)
    for first, last in (_range(source, edit) for edit in chosen.edits if edit.path == source.path):
        if start <= first < end:
            end = max(end, last)
    return start, end


def _named(source: Source, test: ast.expr, parts: Sequence[str]) -> list[str]:
    """The parts with a name for the condition, which is computed once in front of them; as they are where it has one."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    if isinstance(test, ast.Name):
        return list(parts)
    code = source.code(test)
    *messages, chosen = parts  # "" where nothing is chosen
    wanted = name_for(code)
    name = source.fresh("condition" if wanted in source.names else wanted)
    lines = chosen.split("\n")
    if given := next((one for one in lines if one.partition(" = ")[2] == code), None):  # the choice names it, too
        lines.remove(given)
        name, chosen = given.partition(" = ")[0], "\n".join(lines)
    else:
        chosen = _with_name(chosen, test, name) or ""
    named = [_with_name(one, test, name) for one in messages]
    is_chosen = bool(chosen) or not parts[-1]
    if "\n" not in code and is_chosen and all(named):
        return [f"{name} = {code}", *(one for one in named if one is not None), chosen]
    if found := hazards(source, test):
        raise Refused(f"`{source.code(found[0].node)}` is more than a value, and would be computed twice.")
    return list(parts)


def _with_name(part: str, test: ast.expr, name: str) -> str | None:
    """Statements with a name in place of a condition, as long as nothing that it is made of has changed; None without one."""
    wanted, of = ast.dump(test), loaded(test)
    found: list[tuple[int, int, int]] = []
    for statement in ast.parse(part).body:
        found += [
            (one.lineno, one.col_offset, one.end_col_offset or 0)
            for one in walk(statement)
            if isinstance(one, ast.expr) and ast.dump(one) == wanted and one.lineno == one.end_lineno
        ]
        if of & {*assigned(statement), *(each for one in walk(statement) for each in changed_by(one))}:
            break
    lines = part.split("\n")
    for number, start, end in sorted(found, reverse=True):
        line = lines[number - 1].encode()
        lines[number - 1] = (line[:start] + name.encode() + line[end:]).decode()
    return "\n".join(lines) if found else None


def _laid_out(source: Source, target: ast.If, text: str) -> str:
    """A message as it is written now that the condition has a name."""
    if "\n" not in text or "\n" in (joined := one_line(text)):
        return text
    base = source.indentation(target)
    lines = layout(base + _without_parentheses(joined), source.indent, line_limit(source))
    return "\n".join(line.removeprefix(base) for line in lines)


def _without_parentheses(call: str) -> str:
    """A call of a lambda without the parentheses that were put around the lambda's body to break its line."""
    made = ast.parse(call, mode="eval").body
    said = made.args[0] if isinstance(made, ast.Call) and made.args else None
    if not isinstance(said, ast.Lambda):
        return call
    text = call.encode()
    start, end = said.body.col_offset, said.body.end_col_offset or 0
    head, tail = text[:start], text[end:]
    around = head.endswith(b": (") and tail.startswith(b")")
    return (head[:-1] + text[start:end] + tail[1:]).decode() if around else call


def _part(source: Source, region: tuple[int, int], text: str, mend: Mend) -> str:
    """What a mend puts in the place of the branch in that text, without indentation."""
    start, end = region
    parts, at = [], start
    for first, last, new in sorted(
        (*_range(source, one), one.text) for one in mend.edits if _is_inside(source, region, one)
    ):
        parts += [text[at:first], new]
        at = last
    parts.append(text[at:end])
    lines = "".join(parts).replace("\r\n", "\n").split("\n")
    base = source.text.line(source.text.position(start).line)[: source.text.position(start).column - 1]
    return "\n".join(line.removeprefix(base).rstrip() for line in lines if line.strip())


def _is_inside(source: Source, region: tuple[int, int], edit: TextEdit) -> bool:
    first, last = _range(source, edit)
    return edit.path == source.path and region[0] <= first and last <= region[1]


def _range(source: Source, edit: TextEdit) -> tuple[int, int]:
    return source.text.offset(edit.span.start), source.text.offset(edit.span.end)
