"""The worker's start: by path, in the user's interpreter (``python .../worker/__main__.py``), with pipes for streams.

Loads this folder as a package under a private name, so that no module of the user's program meets one of ours, and has
everything the worker needs imported before any folder of the user's comes first on sys.path.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import site
import sys
from types import ModuleType

PACKAGE = "graphmend_worker"


def load_package() -> ModuleType:
    """This folder as the package `PACKAGE`; the script's own folder leaves sys.path."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [item for item in sys.path if os.path.abspath(item or ".") != here]
    spec = importlib.util.spec_from_file_location(
        PACKAGE, os.path.join(here, "__init__.py"), submodule_search_locations=[here]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"the worker's files are missing in {here}")
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)
    return package


def own_path_first(path: list[str]) -> list[str]:
    """The same folders with Python's own and the installed packages' in front of those of PYTHONPATH."""
    own = {os.path.abspath(folder) for folder in (*site.getsitepackages(), site.getusersitepackages())}
    library = os.path.dirname(os.path.abspath(os.__file__))
    first = [item for item in path if os.path.abspath(item).startswith(library) or os.path.abspath(item) in own]
    first += [item for item in path if item.endswith(".zip") and item not in first]
    return [*first, *(item for item in path if item not in first)]


def main() -> int:
    """Serve until the pipes end, or, with ``--once``, do the one job that comes on stdin."""
    load_package()
    importlib.import_module(f"{PACKAGE}.cuda").count_by_driver()
    path = list(sys.path)
    sys.path[:] = own_path_first(path)
    if "--once" in sys.argv[1:]:
        processes = importlib.import_module(f"{PACKAGE}.processes")
        importlib.import_module(f"{PACKAGE}.tasks").load_torch()
        sys.path[:] = path
        return int(processes.live_once())
    serve = importlib.import_module(f"{PACKAGE}.serve")
    return int(serve.serve(path))


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # threads and exit handlers of libraries have nothing left to do
