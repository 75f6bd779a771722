"""What in a file can be run: functions named `graphmend_entry`, and files in the form of KernelBench.

Reads text only; what an entry gives is the worker's business.
"""

from __future__ import annotations

from graphmend_lsp.analysis.outline import outline
from graphmend_lsp.analysis.reach import World
from graphmend_lsp.model import Entry

_NAME = "graphmend_entry"
_BOM = "\ufeff"


def find_entries(source: str, path: str) -> tuple[Entry, ...]:
    """The entries of the file `path`, in the order of the text; the KernelBench model last.

    A function counts when it is named ``graphmend_entry`` or ``graphmend_entry_*`` and stands at the top level. A
    file is of KernelBench's form when it has ``class Model(nn.Module)`` and a function ``get_inputs``.
    """
    if _NAME not in source and "get_inputs" not in source:
        return ()
    try:
        chunks = [chunk for _, chunk in outline(source.removeprefix(_BOM))]
        functions = [name for chunk in chunks for name in chunk.functions if "." not in name]
        named = dict.fromkeys(name for name in functions if name == _NAME or name.startswith(_NAME + "_"))
        entries = [Entry(path, name) for name in named]
        if "get_inputs" in functions and World(chunks).is_module("Model"):
            entries.append(Entry(path, "Model", "kernelbench"))
    except (RecursionError, MemoryError):
        return ()
    return tuple(entries)
