"""Effects that leave the graph: every candidate of every example run, and what one file's examples cannot show."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import types
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.mending import propose
from graphmend_lsp.mending.rule import DEFAULT_STYLE, Example, Style
from graphmend_lsp.mending.rules.defer import rule as defer
from graphmend_lsp.model import Break, Declined, Frame, Mend, Span
from graphmend_lsp.text import Text, apply_edits

from .conftest import PATH, seen_in, unmark

_INLINE = Style(support=None)  # as in a project whose files cannot import the support module


def candidates(
    rule: str,
    source: str,
    outermost: str | None = None,
    gb_id: str = "GB0059",
    seen: tuple[tuple[str, str], ...] = (),
) -> list[Mend]:
    """The mends of a marked program that pass every check, best first."""
    value, site = unmark(source, outermost, gb_id)
    return list(propose(site, {PATH: value}, [rule], seen_in(value, seen)).mends)


def outcome(source: str, run: str, backend: str | None = None, extra: Any = None) -> tuple[list[Any], int]:
    """What every call gives, says and raises, and how many graphs were compiled."""
    import torch

    torch._dynamo.reset()
    graphs = 0

    def count(module: Any, inputs: Any) -> Any:
        nonlocal graphs
        graphs += 1
        return torch._dynamo.lookup_backend(backend)(module, inputs)

    space: dict[str, Any] = {"__name__": "model", "__file__": "model.py", "torch": torch}
    exec(compile(source, PATH, "exec"), space)
    exec(compile(run, "run.py", "exec"), space)
    fn = torch.compile(space["fn"], backend=count) if backend else space["fn"]
    calls = [*space["calls"], *(extra(space["calls"]) if extra else ())]
    seen: list[Any] = []
    root = logging.getLogger()
    level = root.level
    for arguments in calls:
        said = io.StringIO()
        handler = logging.StreamHandler(said)
        root.addHandler(handler)
        root.setLevel(logging.INFO)
        result: Any
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                torch.manual_seed(0)
                result = fn(*arguments)
                result = repr(result)
            except (Exception, SystemExit) as error:
                result = (type(error), str(error))
        root.removeHandler(handler)
        root.setLevel(level)
        seen.append((result, said.getvalue().replace("CompiledFunctionBackward", "Backward")))
    return seen, graphs


_RUN = [one for one in defer.EXAMPLES if one.run is not None]


@pytest.mark.slow
@pytest.mark.parametrize("case", _RUN, ids=lambda case: case.title)
def test_every_candidate_says_the_same(case: Example) -> None:
    before, _ = unmark(case.before)
    mends = candidates("defer", case.before, case.outermost, case.gb_id)
    expected, _ = outcome(before, case.run or "")
    _, graphs_before = outcome(before, case.run or "", "eager")
    assert mends
    for mend in mends:
        after = apply_edits(before, mend.edits)
        assert outcome(after, case.run or "")[0] == expected, mend.title
        for backend in ("eager", "aot_eager"):
            same, _ = outcome(before, case.run or "", backend)
            got, graphs = outcome(after, case.run or "", backend)
            copied = any("copied" in change for change in mend.changes)
            assert copied or got == same, (mend.title, backend)
            assert graphs > 0 and (graphs < graphs_before or graphs_before == 0), (mend.title, backend)


_NET = """\
import torch


class Block(torch.nn.Module):
    def forward(self, x):
        y = x.sin()
        ⟦print("block", y)⟧
        return y + 1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        x = self.block(x)
        if x.shape[0] == 3:
            raise ValueError("three")
        return self.block(x)
"""


def test_a_text_before_an_exception_appears() -> None:
    (mend,) = candidates("defer", _NET, "Net.forward")
    before, _ = unmark(_NET)
    run = "fn = Net()\ncalls = [(torch.ones(2),), (torch.ones(3),), (torch.ones(2),)]"
    expected, _ = outcome(before, run)
    assert expected[1][0][0] is ValueError and "block" in expected[1][1]
    for backend in (None, "eager", "aot_eager"):
        assert outcome(apply_edits(before, mend.edits), run, backend)[0] == expected


def test_without_the_outermost_function_the_text_appears_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    import torch

    (mend,) = candidates("defer", _NET, "Net.forward")
    before, _ = unmark(_NET)
    space: dict[str, Any] = {"__name__": "model", "__file__": "model.py"}
    exec(compile(apply_edits(before, mend.edits), PATH, "exec"), space)
    space["Block"]()(torch.zeros(1))
    assert capsys.readouterr().out == "block tensor([0.])\n"


def test_a_second_mend_uses_the_helpers_of_the_first() -> None:
    source = """\
import torch


def f(x):
    for i in range(2):
        ⟦print("one", i)⟧
    return x + 1


def g(x):
    for i in range(2):
        ⟦print("two", i)⟧
    return x + 2
"""
    first, second = source.split("\n\ndef g")
    one = first + "\n\ndef g" + second.replace("⟦", "").replace("⟧", "")
    (mend,) = candidates("defer", one)
    text = apply_edits(unmark(one)[0], mend.edits)
    again = text.replace('print("two", i)', '⟦print("two", i)⟧')
    (mend,) = candidates("defer", again)
    after = apply_edits(text, mend.edits)
    assert after.count("from graphmend_support import defer, runs_deferred\n") == after.count("import torch\n") == 1
    assert after.count("@runs_deferred") == 2
    assert after.count("    defer(lambda i=i: print(") == 2


def test_a_name_that_helpers_of_the_file_itself_need() -> None:
    source = """\
import torch


def _defer(x):
    return x


def f(x):
    for i in range(2):
        ⟦print(i)⟧
    return _defer(x) + 1
"""
    value, site = unmark(source, gb_id="GB0059")
    answer = propose(site, {PATH: value}, ["defer"], styles={PATH: _INLINE})
    assert not answer.mends and any("already uses the name" in one.reason for one in answer.declined)
    assert "defer(lambda i=i: print(i))" in apply_edits(value, candidates("defer", source)[0].edits)


def test_messages_said_once_share_a_helper() -> None:
    source = """\
import logging

import torch

logger = logging.getLogger(__name__)


def f(x):
    ⟦logger.warning_once("a")⟧
    logger.warning_once("b")
    return x
"""
    (mend,) = candidates("defer", source, gb_id="GB0291")
    text = apply_edits(unmark(source)[0], mend.edits)
    again = text.replace('logger.warning_once("b")', '⟦logger.warning_once("b")⟧')
    (mend,) = candidates("defer", again, gb_id="GB0291")
    after = apply_edits(text, mend.edits)
    assert after.count("lambda *args, **kwargs: logger.warning_once(*args, **kwargs)") == 1
    assert '    _logger_warning_once("a")\n    _logger_warning_once("b")\n' in after


_LAYERS = """\
import torch


class Block(torch.nn.Module):
    def forward(self, x):
        y = x.sin()
        print("block", y)
        return y + 1
"""
_MAIN = """\
import torch
from pkg.layers import Block


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        x = self.block(x)
        print("half", x)
        return self.block(x)
"""


def _two_files(
    main: str, editable: bool = True, style: Style = DEFAULT_STYLE
) -> tuple[tuple[Mend, ...], tuple[Declined, ...]]:
    layers, model = "/p/pkg/layers.py", "/p/model.py"
    text = Text(_LAYERS)
    at = _LAYERS.index("print(")
    span = Span(text.position(at), text.position(_LAYERS.index(")", at) + 1))
    call = main.index("self.block(x)\n")
    outer = Frame(model, "Net.forward", Span(Text(main).position(call), Text(main).position(call + 13)))
    chain = (outer, Frame(layers, "Block.forward", span))
    styles = {layers: style, model: style}
    site = Break(layers, span, "GB0059", "print", "", "dynamo", chain=chain)
    answer = propose(site, {layers: _LAYERS, **({model: main} if editable else {})}, ["defer"], styles=styles)
    return answer.mends, answer.declined


@pytest.mark.parametrize(
    ("style", "imported"),
    [
        (DEFAULT_STYLE, "from pkg.layers import Block\n\nfrom graphmend_support import defer, runs_deferred\n"),
        (_INLINE, "from pkg.layers import Block\nfrom pkg.layers import _defer, _runs_deferred\n"),
    ],
)
def test_the_outermost_function_in_another_file(monkeypatch: pytest.MonkeyPatch, style: Style, imported: str) -> None:
    import torch

    ((mend,), _) = _two_files(_MAIN, style=style)
    texts = {"/p/pkg/layers.py": _LAYERS, "/p/model.py": _MAIN}
    after = {path: apply_edits(text, [e for e in mend.edits if e.path == path]) for path, text in texts.items()}
    assert imported in after["/p/model.py"]
    run = "fn = Net()\ncalls = [(torch.ones(2),), (torch.zeros(2),)]"
    seen = []
    torch._dynamo.symbolic_convert._import_module.cache_clear()  # it keeps the `pkg.layers` of another test
    for layers, main in ((_LAYERS, _MAIN), (after["/p/pkg/layers.py"], after["/p/model.py"])):
        package, module = types.ModuleType("pkg"), types.ModuleType("pkg.layers")
        exec(compile(layers, "layers.py", "exec"), module.__dict__)
        monkeypatch.setitem(sys.modules, "pkg", package)
        monkeypatch.setitem(sys.modules, "pkg.layers", module)
        seen.append([outcome(main, run, backend) for backend in (None, "eager", "aot_eager")])
    (old, new) = seen
    assert [one for one, _ in new] == [one for one, _ in old]
    assert [graphs for _, graphs in new] == [0, 1, 1]
    assert old[1][1] > 1


def test_the_outermost_function_cannot_be_edited() -> None:
    mends, declined = _two_files(_MAIN, editable=False)
    assert not mends
    assert "GraphMend may not edit that file" in declined[0].reason and "`forward`" in declined[0].reason


def test_the_outermost_file_does_not_import_the_other() -> None:
    main = _MAIN.replace("from pkg.layers import Block", "from other import Block")
    assert _two_files(main)[0]
    mends, declined = _two_files(main, style=_INLINE)
    assert not mends
    assert "imports nothing from `layers`" in declined[0].reason


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("indent", ["    ", "\t"])
def test_bytes_that_are_not_part_of_it_stay(newline: str, mark: str, indent: str) -> None:
    import ast

    for case in defer.EXAMPLES:
        value, site = unmark(case.before.replace("    ", indent), case.outermost, case.gb_id)
        value = mark + value.replace("\n", newline)
        mends = propose(site, {PATH: value}, ["defer"]).mends
        assert mends, case.title
        for mend in mends:
            after = apply_edits(value, mend.edits)
            assert after.startswith(mark + value[len(mark) : len(mark) + 6])
            assert after.count("\r\n") == (after.count("\n") if newline == "\r\n" else 0)
            ast.parse(after.removeprefix("\ufeff"))


_ONCE_SITES = {
    "t5/modeling_t5.py": 1019,
    "bart/modeling_bart.py": 1246,
    "biogpt/modeling_biogpt.py": 685,
    "pegasus/modeling_pegasus.py": 997,
    "whisper/modeling_whisper.py": 1104,
    "blenderbot/modeling_blenderbot.py": 951,
    "marian/modeling_marian.py": 946,
    "longformer/modeling_longformer.py": 1496,
}


@pytest.mark.parametrize("name", _ONCE_SITES)
@pytest.mark.slow
def test_messages_of_transformers_are_said_once(name: str) -> None:
    import ast
    import importlib.util

    spec = importlib.util.find_spec("transformers")
    assert spec is not None and spec.origin is not None
    path = Path(spec.origin).parent / "models" / name
    source = path.read_text(encoding="utf-8")
    line = _ONCE_SITES[name]
    call = next(
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and node.lineno == line and "once" in ast.unparse(node.func)
    )
    span = Text(source).span_from_utf8(call.lineno, call.col_offset, call.end_lineno or 0, call.end_col_offset or 0)
    site = Break(str(path), span, "GB0291", "logger", "", "dynamo", chain=(Frame(str(path), "forward", span),))
    # Without a run nothing says that Longformer's text holds no tensor: there the form that waits for the values is second.
    mend, *_ = propose(site, {str(path): source}, ["defer"]).mends
    after = apply_edits(source, mend.edits)
    assert after.count("_logger_warning_once(") == 1 and after.count("_logger_warning_once = while_tracing(") == 1
    kept = after.replace("_logger_warning_once(", "")
    assert kept.count("logger.warning_once(") == source.count("logger.warning_once(")  # one in the helper, one less
    assert len(after) - len(source) < 300


_TEXT = """\
import warnings

import torch


class Net(torch.nn.Module):
    name = "net"

    def forward(self, x, kind, *more):
        y = x.sin()
        {before}⟦warnings.warn({text})⟧
        return y + 1
"""


@pytest.mark.parametrize(
    ("text", "before", "says"),
    [
        ("f'{kind}'", "", True),
        ("f'{kind:>{more}}'", "", True),
        ("'of ' + f'{kind}'", "", True),
        ("'{} {name}'.format(kind, name=self.name)", "", True),
        ("'%s %d' % (kind, more[0])", "", True),
        ("f'{y}'", "", True),  # breaks at the helper as it did before, and is said there
        ("said", "said = f'a {kind}'; ", True),
        ("said", "said = f'a {kind}'; said += 'b'; ", True),
        ("kind", "", False),  # as an argument of its own a tensor would be computed while tracing
        ("*more", "", False),
        ("self.name", "", False),
        ("kind + 'a'", "", False),
        ("str(y)", "", False),
        ("f'{y.max()}'", "", False),
        ("f'{str(y)}'", "", False),
        ("said", "said = f'a {kind}'; said *= 2; ", False),
        ("said", "said = y; ", False),
        ("said", "said = kind; said = f'{said}'; ", False),
    ],
)
def test_a_text_of_what_python_may_hold_can_be_said_while_tracing(text: str, before: str, says: bool) -> None:
    source = _TEXT.format(text=text, before=before)
    titles = [mend.title for mend in candidates("defer", source, "forward", "GB0007")]
    assert any("while tracing" in title for title in titles) is says, titles


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_text_with_a_tensor_is_said_in_each_call(backend: str) -> None:
    source = _TEXT.format(text="f'{kind} {y.shape} {x}'", before="").replace("class Net", "class Logged")
    source = source.replace("⟦warnings.warn", "⟦logger.warning_once").replace(
        "import torch\n", "import logging\n\nimport torch\n\nlogger = logging.getLogger('said')\n"
    )
    (mended,) = (mend for mend in candidates("defer", source, "forward", "GB0291") if "while tracing" in mend.title)
    set_up = "logger.warning_once = logger.warning\nfn = Logged()\n"
    run = set_up + "calls = [(torch.ones(2), 'a'), (torch.zeros(2), 'a'), (torch.zeros(3), 'b'), (torch.ones(2), 2)]"
    plain = unmark(source)[0]
    expected, _ = outcome(plain, run)
    assert len({said for _, said in expected}) == 4
    assert outcome(apply_edits(plain, mended.edits), run, backend)[0] == expected


@pytest.mark.parametrize("changed", [{"outcome": "frame skipped"}, {"graphs": 1}])
def test_a_text_at_the_end_that_costs_something_is_deferred(changed: dict[str, Any]) -> None:
    """A reason never says that it costs no graph where the report says what it costs."""
    before, site = unmark('def f(x):\n    y = x.sin()\n    ⟦print("end")⟧\n    return y\n', None, "GB0059")
    (declined,) = propose(site, {PATH: before}, ["defer"]).declined
    assert declined.reason == "print already stands at the end of `f`. There it costs no graph."
    answer = propose(replace(site, **changed), {PATH: before}, ["defer"])
    assert [one.title for one in answer.mends] == ["Mend graph break: run print after f"] and not answer.declined


@pytest.mark.parametrize("inline", [False, True], ids=["imported", "inline"])
def test_a_message_waits_for_the_decorators_of_a_function_whose_wrapper_is_compiled(inline: bool) -> None:
    library = "import functools\n\n\ndef paired(function):\n    @functools.wraps(function)\n    def wrapper(*args):\n        return function(*args), 1\n\n    return wrapper\n"
    program = "import torch\nfrom library import paired, known\n\n\ndef known(function):\n    return function\n\n\n@known\n@paired\ndef fn(x):\n    for y in x:\n        print(y.shape)\n    return x * 2\n"
    call = program.index("print(")
    value = Text(program)
    place = Span(value.position(call), value.position(call + len("print(y.shape)")))
    at = library.index("function(*args)")
    within = Span(Text(library).position(at), Text(library).position(at + len("function(*args)")))
    chain = (Frame("library.py", "paired.<locals>.wrapper", within), Frame("program.py", "fn", place))
    site = Break("program.py", place, "GB0059", "", "", "dynamo", chain=chain)
    style = Style(support=None) if inline else Style()
    found = propose(
        site,
        {"program.py": program, "library.py": library},
        ["defer"],
        styles={"program.py": style, "library.py": style},
    )
    (mend,) = [one for one in found.mends if "after fn" in one.title]
    assert {edit.path for edit in mend.edits} == {"program.py"}
    after = apply_edits(program, mend.edits)
    assert f"\n@{'_' * inline}runs_deferred\n@known\n@paired\ndef fn" in after
    assert ("assert hasattr(function" in after) is inline
    noisy = library.replace("        return", "        print('called')\n        return")
    found = propose(
        site, {"program.py": program, "library.py": noisy}, ["defer"], styles={"program.py": style, "library.py": style}
    )
    assert not any("after fn" in one.title for one in found.mends), "the wrapper's own message would come first"


@pytest.mark.parametrize(
    "words",
    [
        '"""many words that\n                   go over lines"""',
        '"many words that go over the end" " of a line" f" {1}"',
    ],
)
def test_a_text_over_several_lines_stays_as_it_is(words: str) -> None:
    before = f"""\
import logging

import torch

logger = logging.getLogger(__name__)


def inner(x):
    if x.shape[0] > 1:
        logger.warning(
            {words}
        )
    return x * 2


def fn(x):
    ⟦logger.warning("outer, and more of it")⟧
    return inner(x) + 1
"""
    found = candidates("defer", before, gb_id="GB0291")
    assert any("defer(lambda: logger.warning(" in apply_edits(unmark(before)[0], one.edits) for one in found)
