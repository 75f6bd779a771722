"""Why a break happens and what to do about it, in words for the author of a model, by PyTorch's registry id.

Data and its look-up; used for static findings and for those of Dynamo alike. The ids are those of torch 2.11 to 2.15.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Advice:
    """`reason` is a clause in which ``{it}`` stands for the code; `remedy` says what to do next."""

    reason: str
    remedy: str


def reason_for(gb_id: str | None, gb_type: str, source_segment: str = "", package: str = "") -> str:
    """One sentence for the user: why the graph breaks at this code, and what to do next.

    Args:
        gb_id: PyTorch's id (``GB0170``), or None.
        gb_type: the name of the kind of break, used where the id is not known here.
        source_segment: the code of the site; named in the sentence when it is short.
        package: the installed package that this code belongs to, so that it is not the reader's to edit; may be empty.
    """
    it = _named(source_segment)
    advice = _BOUNDARY if is_boundary(source_segment) else None
    advice = advice or _BY_SEGMENT.get((gb_id or "", _first_word(source_segment))) or ADVICE.get(gb_id or "")
    if advice is None:
        kind = gb_type.strip().rstrip(".") or "a construct it cannot trace"
        clause, remedy = f"TorchDynamo stops the graph at {it}: {_begun(kind)}", ""
    else:
        clause, remedy = advice.reason.format(it=it), advice.remedy
    remedy = (
        f"that code belongs to {package}, so mend a copy of it (quick fix, or `mend --overlay`)" if package else remedy
    )
    return f"{clause[:1].upper()}{clause[1:]}{f'; {remedy}' if remedy else ''}."


def is_boundary(source_segment: str) -> bool:
    """Whether this code calls a function that the rule `isolate` made: what is in it stays uncompiled."""
    return _BOUNDARY_CALL.match(source_segment.strip()) is not None


def refusal_of(source_segment: str, said: str) -> str:
    """Why torch.compile fails at this code although the program runs without it; `said` is the exception's type and text."""
    first = said.replace("\\n", "\n").partition("\n")[0].partition(". ")[0].rstrip(".")
    return f"torch.compile fails at {_named(source_segment)} ({first}); without torch.compile it runs."


def remedy_for(gb_id: str | None, source_segment: str = "") -> str:
    """What to do next about breaks of this id at this code, as a sentence; empty where nothing general can be said."""
    advice = _BY_SEGMENT.get((gb_id or "", _first_word(source_segment))) or ADVICE.get(gb_id or "")
    return f"{advice.remedy[:1].upper()}{advice.remedy[1:]}." if advice else ""


def consequence_of(inside: str) -> str:
    """What a break costs inside a ``loop``, a ``try`` or a ``context``, as a sentence; empty elsewhere."""
    where = {"loop": "a loop", "try": "a try block", "context": "a with block of your own context manager"}.get(inside)
    return f"Inside {where} it keeps the whole function uncompiled." if where else ""


def only_when(conditions: Sequence[tuple[str, int, bool]]) -> str:
    """On which side of conditions (code, 1-based line, truth) a break lies, as a sentence."""
    parts = [f"{_named(code)} (line {line}) is {str(value).lower()}" for code, line, value in conditions]
    return f"Only when {' and '.join([', '.join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)}."


def in_mode(mode: str) -> str:
    """That a break is in one of the modes only, as a sentence."""
    return f"({mode} only)"


def _begun(kind: str) -> str:
    """A registry's type inside of a sentence; a name (``TypeError``) keeps its capital."""
    word = kind.partition(" ")[0]
    return kind[:1].lower() + kind[1:] if word[1:] == word[1:].lower() else kind


def _named(segment: str) -> str:
    line = " ".join(segment.split())
    if not line:
        return "this code"
    return f"`{line}`" if len(line) <= _LONGEST else f"`{line[: _LONGEST - 1]}…`"


def _first_word(segment: str) -> str:
    return segment.strip().partition("(")[0].strip()


_BOUNDARY_CALL = re.compile(r"(?:\w+\.)*_\w*_uncompiled(?:_\d+)?\(")
_BOUNDARY = Advice(
    "{it} runs uncompiled: GraphMend grouped here what it could not mend",
    "rewrite what is inside, or accept the break with `# graphmend: ignore`",
)
_SCALAR = Advice(
    "{it} needs the tensor's value in Python",
    "keep it a tensor (`t.detach()` has the same value), or read it outside the compiled function",
)
_SHAPE = Advice(
    "the shape of {it} depends on the values of a tensor",
    "keep the full shape and mask with torch.where, or use a form with a fixed size such as torch.nonzero_static",
)
_PRINT = Advice(
    "{it} writes text, which a graph cannot do",
    "move it after the compiled call, or collect the text and print it there",
)
_LOG = Advice(
    "{it} writes a log record, which a graph cannot do (a disabled level breaks as well)",
    "move it after the compiled call or out of forward",
)
_SKIPPED = Advice(
    "{it} calls Python code that TorchDynamo does not trace",
    "call it outside the compiled function and pass in its result",
)
_PARAMETER = Advice("{it} makes a parameter or module while the model runs", "make it once in __init__ and use it here")

ADVICE: dict[str, Advice] = {
    "GB0170": Advice(
        "what runs next depends on the values of {it}",
        "choose with torch.where, or test something Python knows (a shape, a dtype, a flag)",
    ),
    "GB0059": Advice(
        "{it} calls a Python built-in that TorchDynamo cannot trace", "do it outside the compiled function"
    ),
    "GB0291": _LOG,
    "GB4841": _LOG,
    "GB0006": Advice(
        "{it} asks the parent class for something that is not a plain method", "call the parent's method by its name"
    ),
    "GB0007": _SKIPPED,
    "GB9193": _SKIPPED,
    "GB0008": _SKIPPED,
    "GB0124": _SCALAR,
    "GB0109": Advice(
        "{it} turns a tensor into a Python list", "work on the tensor, or make the list outside the compiled function"
    ),
    "GB0033": Advice(
        "{it} needs the values of a tensor while the graph is traced",
        "use an operator that gives a tensor (for torch.equal: `(a == b).all()` in torch.where)",
    ),
    "GB0036": _SHAPE,
    "GB0156": Advice(
        "{it} uses a method or attribute that TorchDynamo does not know", "do it outside the compiled function"
    ),
    "GB0142": Advice(
        "{it} enters a context manager that TorchDynamo does not know", "enter it outside the compiled function"
    ),
    "GB0066": Advice(
        "a graph break inside a `with` of your own context manager keeps the whole function uncompiled",
        "mend the break inside, or move it out of the `with`",
    ),
    "GB7000": Advice(
        "a graph break inside a loop keeps the whole function uncompiled",
        "mend the break inside the loop, or move it after the loop",
    ),
    "GB0025": Advice("{it} asks for a graph break", "remove the call when you want one graph"),
    "GB0098": Advice(
        "{it} calls a function under torch.compiler.disable",
        "remove the decorator, or call it outside the compiled function",
    ),
    "GB0123": Advice(
        "{it} runs a backward pass inside the compiled function", "call backward outside, on what the function returns"
    ),
    "GB9186": Advice(
        "{it} takes gradients inside the compiled function",
        "take them outside, or set torch._dynamo.config.trace_autograd_ops",
    ),
    "GB8985": Advice(
        "{it} marks a tensor as requiring gradients and lets it leave the graph", "mark it before the compiled call"
    ),
    "GB0125": Advice(
        "{it} marks a tensor as requiring gradients inside the compiled function", "mark it before the compiled call"
    ),
    "GB0264": _PARAMETER,
    "GB0013": Advice("{it} handles a hook inside the compiled function", "register hooks before compiling"),
    "GB0467": Advice(
        "{it} sets an attribute of an object that TorchDynamo cannot follow", "set it outside the compiled function"
    ),
    "GB0014": Advice(
        "{it} runs a recurrent layer that TorchDynamo leaves to the library's own kernels",
        "make it one operator of the graph, or leave it, because they are fused already",
    ),
    "GB0015": Advice("{it} uses a sparse tensor", "keep sparse tensors outside the compiled function"),
    "GB0277": Advice("{it} makes a sparse tensor", "keep sparse tensors outside the compiled function"),
    "GB0039": Advice(
        "TorchDynamo gave up after compiling this function too often",
        "mark what changes between calls as dynamic (mark_dynamic), or keep it constant",
    ),
    "GB0055": Advice(
        "{it} is called with an argument that cannot be part of a graph",
        "make the argument outside, or use bool(...) on an object in an assertion",
    ),
    "GB0069": Advice("{it} imports a module that is not there", "install it, or import it at the top of the file"),
    "GB0070": Advice("{it} indexes a Python list with a tensor", "stack the list into a tensor and use index_select"),
    "GB0088": Advice("an exception is raised while {it} is traced", "read its message and correct what raises it"),
    "GB0091": Advice(
        "{it} is read in an inner function before it has a value", "give it a value before the inner function is made"
    ),
    "GB0112": Advice(
        "{it} raises a TypeError when it is traced without data",
        "check that it runs uncompiled, or use bool(...) on a list or an object in an assertion",
    ),
    "GB0207": Advice("{it} sorts tensors in Python", "stack them and use torch.sort"),
    "GB0294": Advice(
        "{it} is a numpy function that PyTorch does not know",
        "use torch's own, or call it outside the compiled function",
    ),
    "GB0296": Advice("{it} has an argument that a reordered log call cannot keep", "pass tensors or constants only"),
    "GB0363": Advice("{it} makes an object that a graph cannot hold", "make it once, outside the compiled function"),
    "GB7650": Advice(
        "{it} uses a torch.Generator inside the compiled function", "use it outside, or pass in the numbers"
    ),
    "GB4198": Advice("{it} copies a tensor with deepcopy", "use `t.clone()`"),
    "GB0179": Advice("{it} copies a tensor with deepcopy", "use `t.clone()`"),
    "GB0569": Advice("{it} turns a tensor into text", "do it outside the compiled function"),
    "GB8335": Advice("{it} feeds a generator to code that stops the graph", "use a list or a tensor operator"),
    "GB0116": Advice(
        "{it} makes an object that TorchDynamo cannot follow", "make it once, outside the compiled function"
    ),
    "GB0208": Advice(
        "{it} gives no tensor, and a graph holds nothing else",
        "call it outside the compiled function and pass in its result",
    ),
    "GB0225": Advice("{it} makes a tensor that requires gradients", "make it before the compiled call"),
    "GB4347": Advice(
        "{it} reads an iterator from outside the graph",
        "mend the graph break that keeps the function around it uncompiled, or use a list",
    ),
    "GB4880": Advice("{it} subscripts an object that TorchDynamo does not know", "do it outside the compiled function"),
    "GB0046": Advice("{it} asks for a mode that TorchDynamo does not follow", "ask before the compiled call"),
    "GB0087": Advice(
        "{it} uses an operator that cannot run without data",
        "do it outside the compiled function, or write it with other operators",
    ),
    "GB0092": Advice("{it} makes an object that cannot leave the graph", "return the values that you read from it"),
    "GB0108": Advice("{it} keeps a gradient inside the graph", "call retain_grad on what the function returns"),
    "GB0126": Advice(
        "{it} changes a tensor's size in place", "make a new tensor (`t[:n].clone()`, torch.nn.functional.pad)"
    ),
    "GB0127": Advice(
        "{it} changes a tensor's size in place", "make a new tensor (`t[:n].clone()`, torch.nn.functional.pad)"
    ),
    "GB0134": Advice(
        "{it} groups values in a way that TorchDynamo does not trace", "compute it before the compiled call"
    ),
    "GB0147": Advice(
        "{it} makes an object that TorchDynamo does not know", "make it once, outside the compiled function"
    ),
    "GB0180": Advice("{it} reads the fields of a dataclass", "read them once, outside the compiled function"),
    "GB0246": Advice("how many classes {it} makes depends on the largest value", "pass `num_classes=n`"),
    "GB0299": Advice(
        "{it} formats text in a way that TorchDynamo does not trace",
        "use an f-string, or do it outside the compiled function",
    ),
    "GB4315": Advice(
        "{it} fails when it is traced without data",
        "check that it runs uncompiled, and write it with operators of torch (torch.stack for a list of tensors)",
    ),
    "GB8977": Advice("{it} defines a class while the model runs", "define it at the top of the file"),
}

# Where one id covers several things, the code tells which.
_BY_SEGMENT: dict[tuple[str, str], Advice] = {
    ("GB0059", "print"): _PRINT,
    ("GB0059", "range"): Advice(
        "{it} counts up to a tensor's value", "loop to a fixed bound and mask with torch.where"
    ),
    ("GB0059", "str"): Advice("{it} turns a tensor into text", "do it outside the compiled function"),
    ("GB0059", "exec"): Advice(
        "{it} executes text as code", "write the statements out, or run it before the compiled call"
    ),
    ("GB0116", "rich.print"): _PRINT,
    ("GB0007", "torch.get_rng_state"): Advice(
        "{it} reads the generator's state", "save and restore the state around the compiled call"
    ),
    ("GB0007", "torch.nn.utils.rnn.pack_sequence"): Advice(
        "{it} packs sequences in Python",
        "pad them (torch.nn.utils.rnn.pad_sequence) and mask what follows their ends",
    ),
    ("GB0208", "torch.get_num_threads"): Advice("{it} asks for a setting", "ask once, when the file is loaded"),
    ("GB0059", "breakpoint"): Advice("{it} starts the debugger", "remove it, or debug without compiling"),
    ("GB0059", "open"): Advice("{it} opens a file", "read it before the compiled call"),
    ("GB0156", "sys.stdout.write"): _PRINT,
    ("GB0156", "sys.stderr.write"): _PRINT,
    ("GB0007", "warnings.warn"): Advice(
        "{it} issues a warning, which a graph cannot do", "move it after the compiled call or into __init__"
    ),
    ("GB0007", "random.random"): Advice("{it} draws from Python's generator", "use torch.rand"),
    ("GB0033", "np.random.rand"): Advice("{it} draws from NumPy's generator", "use torch.rand"),
    ("GB0007", "torch.manual_seed"): Advice("{it} sets the generator's state", "set it before the compiled call"),
    ("GB0036", "torch.unique"): Advice(
        "how many values {it} finds depends on the tensor",
        "sort it and compare neighbours if you need the values or their number only, or call it outside",
    ),
    ("GB0036", "torch.bincount"): Advice(
        "how long {it} is depends on the largest value", "pass `minlength=n` and keep the values below `n`"
    ),
    ("GB0036", "torch.repeat_interleave"): Advice(
        "how long {it} is depends on the counts", "pass the sum of the counts as `output_size=n`, if you know it"
    ),
    ("GB0007", "time.time"): Advice(
        "{it} reads a clock, which a graph cannot do", "time the compiled call from outside"
    ),
    ("GB0007", "time.perf_counter"): Advice(
        "{it} reads a clock, which a graph cannot do", "time the compiled call from outside"
    ),
}
