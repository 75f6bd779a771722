"""Mutants of the rules' own examples and refusals: programs close to what a rule mends, with what it must not overlook.

One seed, one program with its break marked: statements inserted, removed, swapped, doubled and wrapped, names, operators,
functions and constants exchanged, inputs of other dtypes and shapes. Many mutants do not run at all; most of the others
are declined, or mended; a mend of a mutant that changes what it does is a defect of the rule or of the proof.
"""

from __future__ import annotations

import ast
import copy
import functools
import random
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from graphmend_lsp.mending import rules_by_name
from graphmend_lsp.model import Break, Frame, Span
from graphmend_lsp.text import Text

MARK = "__mark__"
HERE = "__here__"
MOST = 4  # mutations of one program
_NO_RUN = "import torch\ncalls = [(torch.arange(1.0, 5.0),), (-torch.arange(1.0, 5.0),), (torch.tensor([3.0, -2.0, 0.0, 1.0]),)]"
TRAPS = (
    "{n}.add_(1)", "{n}.mul_(0.5)", "{n} += 1", "{n} = {n}[:]", "{n} = {n}.detach()", "{n} = {n} * 1", "{n}[0] = 2.0", "{n} = {n}.double()",
    "{n} = {n}.half()", "{n} = {n}.long()", "{n} = {n} / 0", "{n} = {n} - {n}", "{n} = {n}.sum()", "{n} = {n}.reshape(-1)", "{n} = {n}.flip(0)",
    "{n} = {n}.unsqueeze(0)", "w = {n}", "w = {n}[:]", "w = {n}.view(-1)", "w.add_(1)", "w[0] = 0.5", "NOTES.append({n}.shape[0])",
    "NOTES.append({n})", "NOTES.append(1)", 'print("seen", {n}.shape)', 'print("value", {n}.detach())', 'warnings.warn("odd")',
    "{n} = torch.nn.functional.dropout({n})", "{n} = {n} + torch.rand(())", "{n} = None", "{n} = 2.0", "{n} = -0.0 * {n}", "{n} = {n}.clone()",
    "{n}.zero_()", "{n} = {n}.exp()", "{n} = {n}.sqrt()", "{n} = {n}.log()", "{n} = {n}.relu()", "{n} = -{n}", "global KEPT; KEPT = {n}",
    "{n} = {n} + {m}", "{n} = {m}", "{n}, {m} = {m}, {n}", "{n}.copy_({m})", "{n} = {n}.requires_grad_()", "{n} = {n}.t()", "{n} = {n}.int()",
    "if {n}.sum() > 0: return {n}", "if {n}.dim() > 1: {n} = {n}[0]", "if {n}.shape[0] > 5: return {n} * 0", "if torch.is_grad_enabled(): {n} = {n} * 2",
    "if {n}.requires_grad: {n} = {n} * 3", "if len(NOTES) > 2: {n} = {n} * 2", "assert {n} is not {m}", "{n} = {n} if {m} is None else {m}",
    "{n} = torch.where({n} > 0, {n}, {m})", "{n} = [{n}, {m}][0]", "{n} = {n}[{n} > 0]", "{n} = {n}.sum().item()", "{n} = {n}.tolist()[0]",
    "del {n}", "{n}.data.add_(1)", "{n} = ({n} > 0)", "{n} = {n}[0]", "{n} = {n}.mean(-1, keepdim=True)", "{n} = torch.stack([{n}, {n}])",
)  # fmt: skip
METHODS = (
    ("sum", "mean", "prod", "max", "min", "amax", "amin", "norm", "numel"), ("any", "all"), ("argmax", "argmin", "argsort"),
    ("sqrt", "log", "exp", "sin", "abs", "relu", "square", "reciprocal", "round"), ("isnan", "isinf", "isfinite"),
    ("float", "double", "half", "int", "long", "bool"), ("add_", "mul_", "sub_", "copy_"), ("clone", "detach"),
    ("equal", "allclose"), ("item", "tolist"),
)  # fmt: skip
CONSTANTS = (0, 1, -1, 2, 3, 0.5, -0.0, 1e30, 7, True, False)
ALTERED = (
    "a.double()", "a.half()", "a.long()", "a.int()", "a.bfloat16()", "torch.stack([a, -a])", "a.reshape(-1)[:1]", "a.reshape(-1)[0]",
    "a.clone().requires_grad_()", "a[:0]", "a.reshape(-1)[:3]", "-a", "a * 0", "a.unsqueeze(0)",
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A program with an entry, the place of its break, and the frames that lead there."""

    text: str
    rule: str
    span: Span
    gb_id: str
    chain: tuple[tuple[str, Span], ...]

    def site(self, path: str) -> Break:
        """The break, as a run of the entry would tell it."""
        chain = tuple(Frame(path, name, span) for name, span in self.chain)
        gb_type = "Data-dependent branching" if self.gb_id == "GB0170" else self.gb_id
        return Break(path, self.span, self.gb_id, gb_type, "", "dynamo", entries=("",), chain=chain)


@dataclass(frozen=True)
class _Seedling:
    rule: str
    source: str
    run: str
    gb_id: str
    outermost: str | None
    title: str = ""


@functools.cache
def seedlings() -> tuple[_Seedling, ...]:
    """What is mutated."""
    found: list[_Seedling] = []
    for name, rule in rules_by_name().items():
        found += [
            _Seedling(name, one.before, one.run or _NO_RUN, one.gb_id, one.outermost, one.title)
            for one in rule.examples
        ]
        found += [_Seedling(name, one.source, _NO_RUN, one.gb_id, one.outermost, one.title) for one in rule.refusals]
    return tuple(found)


def mutant(seed: int, wanted: str | None = None, about: str | None = None) -> Mutant | None:
    """The program with that number; None where the mutation made no program.

    `wanted` names a rule, `about` is a regular expression that the titles of the examples must match.
    """
    chance = random.Random(seed)
    known = [
        one for one in seedlings() if wanted in (None, one.rule) and (about is None or re.search(about, one.title))
    ]
    rules = sorted({one.rule for one in known})
    rule = chance.choice(rules)  # each rule as often, however many examples it has
    one = chance.choice([each for each in known if each.rule == rule])
    try:
        tree = ast.parse(_marked(one.source))
    except SyntaxError:
        return None
    for _ in range(chance.randint(0, MOST)):
        tree = _Mutation(tree, chance).done()
    run = one.run + (_altered(chance) if chance.random() < 0.25 else "")
    try:
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        compile(text, "mutant", "exec")
        return _unmarked(text, one, run)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _marked(source: str) -> str:
    """The source with its marks as a call, or a statement before the marked one."""
    as_call = source.replace("⟦", f"{MARK}(").replace("⟧", ")")
    try:
        ast.parse(as_call)
    except SyntaxError:
        start = source.index("⟦")
        indent = source[source.rindex("\n", 0, start) + 1 : start] if "\n" in source[:start] else ""
        if indent.strip():
            raise
        return source.replace("⟦", f"{HERE}\n{indent}").replace("⟧", "")
    return as_call


def _altered(chance: random.Random) -> str:
    form = chance.choice(ALTERED)
    return (
        "\nimport torch\ndef alter(a):\n    try:\n"
        f"        return {form} if isinstance(a, torch.Tensor) else a\n    except Exception:\n        return a\n"
        "calls = [tuple(alter(one) for one in call) if isinstance(call, tuple) else call for call in calls]"
    )


def _unmarked(text: str, one: _Seedling, run: str) -> Mutant | None:
    tree = ast.parse(text)
    lines = text.split("\n")
    text_span: tuple[int, int, int, int] | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == MARK and node.args:
            inner = node.args[0]
            if node.lineno != node.end_lineno:
                return None
            line = lines[node.lineno - 1].encode()
            keep = isinstance(inner, (ast.BinOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.UnaryOp))
            keep = keep and not line[: node.col_offset].decode().rstrip().endswith(
                ("if", "while", "assert", "(", "=", "return")
            )
            head, tail = (b"(", b")") if keep else (b"", b"")
            middle = line[inner.col_offset : inner.end_col_offset]
            lines[node.lineno - 1] = (
                line[: node.col_offset] + head + middle + tail + line[node.end_col_offset :]
            ).decode()
            start = len((line[: node.col_offset] + head).decode())
            text_span = (node.lineno, start + 1, node.lineno, start + len(middle.decode()) + 1)
            break
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Name) and node.value.id == HERE:
            following = next(
                (each for each in ast.walk(tree) if isinstance(each, ast.stmt) and each.lineno == node.lineno + 1), None
            )
            if following is None or following.end_lineno is None or following.end_col_offset is None:
                return None
            del lines[node.lineno - 1]
            text_span = (node.lineno, following.col_offset + 1, following.end_lineno - 1, following.end_col_offset + 1)
            break
    if text_span is None or any(word in line for line in lines for word in (f"{MARK}(", HERE)):
        return None
    body = "\n".join(lines)
    head = "import warnings\nimport torch\nNOTES = []\nKEPT = None\n"
    entry = f"\n\ndef graphmend_entry():\n{textwrap.indent(run, '    ')}\n    return fn, calls\n"
    if "from __future__" in body:
        return None
    shift = head.count("\n")
    span = Span.of(text_span[0] + shift, text_span[1], text_span[2] + shift, text_span[3])
    whole = head + body + entry
    return Mutant(whole, one.rule, span, one.gb_id, tuple(_chain(whole, span, one.outermost)))


def _chain(text: str, span: Span, outermost: str | None) -> Iterator[tuple[str, Span]]:
    inner = "<module>"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.lineno <= span.start.line <= (node.end_lineno or 0):
            inner = node.name
    if outermost is not None:
        at = max(text.find(f"{inner}(", text.find(f"def {inner}(") + len(inner) + 5), 0)
        place = Text(text)
        yield outermost, Span(place.position(at), place.position(at + len(inner)))
    yield inner, span


class _Mutation:
    """One change of a tree, at a place that chance chooses."""

    def __init__(self, tree: ast.Module, chance: random.Random) -> None:
        self.tree = copy.deepcopy(tree)
        self.chance = chance
        self.functions = [
            node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef) and node.name != "__init__"
        ]

    def done(self) -> ast.Module:
        """The changed tree."""
        if not self.functions:
            return self.tree
        function = self.chance.choice(self.functions)
        blocks = [block for node in ast.walk(function) for block in _blocks(node)]
        changes: tuple[Callable[[], None], ...] = (
            lambda: self.insert(function, blocks), lambda: self.insert(function, blocks), lambda: self.insert(function, blocks),
            lambda: self.remove(blocks), lambda: self.swap(blocks), lambda: self.double(blocks), lambda: self.wrap(function, blocks),
            lambda: self.rename(function), lambda: self.rename(function), lambda: self.operator(function), lambda: self.constant(function),
            lambda: self.method(function), lambda: self.negate(function), lambda: self.give_more(function),
        )  # fmt: skip
        self.chance.choice(changes)()
        return self.tree

    def names(self, function: ast.FunctionDef) -> list[str]:
        a = function.args
        found = [one.arg for one in (*a.posonlyargs, *a.args, *a.kwonlyargs) if one.arg != "self"]
        found += [
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ]
        return sorted(set(found)) or ["x"]

    def insert(self, function: ast.FunctionDef, blocks: list[list[ast.stmt]]) -> None:
        names = self.names(function)
        trap = self.chance.choice(TRAPS).format(n=self.chance.choice(names), m=self.chance.choice(names))
        block = self.chance.choice(blocks)
        at = self.chance.randint(0, len(block))
        block[at:at] = ast.parse(trap).body

    def remove(self, blocks: list[list[ast.stmt]]) -> None:
        block = self.chance.choice(blocks)
        if len(block) > 1:
            del block[self.chance.randrange(len(block))]

    def swap(self, blocks: list[list[ast.stmt]]) -> None:
        block = self.chance.choice(blocks)
        if len(block) > 1:
            at = self.chance.randrange(len(block) - 1)
            block[at : at + 2] = [block[at + 1], block[at]]

    def double(self, blocks: list[list[ast.stmt]]) -> None:
        block = self.chance.choice(blocks)
        at = self.chance.randrange(len(block))
        again = copy.deepcopy(block[at])
        if not any(isinstance(node, ast.Name) and node.id in (MARK, HERE) for node in ast.walk(again)):
            block.insert(at + self.chance.randint(0, 1), again)

    def wrap(self, function: ast.FunctionDef, blocks: list[list[ast.stmt]]) -> None:
        block = self.chance.choice(blocks)
        at = self.chance.randrange(len(block))
        name = self.chance.choice(self.names(function))
        form = self.chance.choice((
            "for turn in range(2):\n    pass", "if {n}.dim():\n    pass", "if {n}.sum() > 1:\n    pass", "try:\n    pass\nexcept ValueError:\n    {n} = {n} * 2",
            "with torch.no_grad():\n    pass", "while True:\n    pass\n    break", "try:\n    pass\nfinally:\n    NOTES.append(3)",
            "if {n}.shape[0] > 3:\n    pass\nelse:\n    {n} = {n} - 1", "with torch.autocast('cpu', dtype=torch.bfloat16):\n    pass",
        ))  # fmt: skip
        outer = ast.parse(form.format(n=name)).body[0]
        inner = next(one for one in _blocks(outer))
        inner[0] = block[at]
        block[at] = outer

    def rename(self, function: ast.FunctionDef) -> None:
        names = self.names(function)
        found = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id in names]
        if found:
            self.chance.choice(found).id = self.chance.choice(names)

    def operator(self, function: ast.FunctionDef) -> None:
        found = [
            node for node in ast.walk(function) if isinstance(node, (ast.BinOp, ast.AugAssign, ast.Compare, ast.BoolOp))
        ]
        if not found:
            return
        node = self.chance.choice(found)
        if isinstance(node, ast.Compare):
            node.ops[0] = self.chance.choice((ast.Lt(), ast.Gt(), ast.LtE(), ast.GtE(), ast.Eq(), ast.NotEq()))
        elif isinstance(node, ast.BoolOp):
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        else:
            node.op = self.chance.choice(
                (ast.Add(), ast.Sub(), ast.Mult(), ast.Div(), ast.Pow(), ast.FloorDiv(), ast.Mod())
            )

    def constant(self, function: ast.FunctionDef) -> None:
        found = [
            node
            for node in ast.walk(function)
            if isinstance(node, ast.Constant) and isinstance(node.value, (int, float))
        ]
        if found:
            self.chance.choice(found).value = self.chance.choice(CONSTANTS)

    def method(self, function: ast.FunctionDef) -> None:
        found = [
            node
            for node in ast.walk(function)
            if isinstance(node, ast.Attribute) and any(node.attr in group for group in METHODS)
        ]
        if found:
            node = self.chance.choice(found)
            node.attr = self.chance.choice(next(group for group in METHODS if node.attr in group))

    def negate(self, function: ast.FunctionDef) -> None:
        found = [node for node in ast.walk(function) if isinstance(node, (ast.If, ast.While, ast.IfExp))]
        if not found:
            return
        node = self.chance.choice(found)
        name = self.chance.choice(self.names(function))
        form = self.chance.choice(
            (
                "not (TEST)",
                "TEST and {n}.max() > 0",
                "TEST or {n}.min() < 0",
                "{n} is not None and TEST",
                "bool(TEST)",
                "TEST if {n}.dim() else False",
            )
        )
        new = ast.parse(form.format(n=name), mode="eval").body
        node.test = _Put(node.test).visit(new)

    def give_more(self, function: ast.FunctionDef) -> None:
        found = [node for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
        if found:
            node = self.chance.choice(found)
            assert node.value is not None
            name = ast.Name(self.chance.choice(self.names(function)), ast.Load())
            node.value = ast.Tuple([node.value, name], ast.Load())


class _Put(ast.NodeTransformer):
    def __init__(self, test: ast.expr) -> None:
        self.test = test

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.test if node.id == "TEST" else node


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block
