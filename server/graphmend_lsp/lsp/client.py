"""What the client can do, read from `initialize` with tolerance: an unknown value or a wrong type means "cannot"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphmend_lsp.lsp.params import at, flag, strings
from graphmend_lsp.lsp.uris import Encoding, path_of

_SHOW_BOTH = ("visual studio code", "vscodium", "code - oss", "code-oss", "code-server", "cursor", "windsurf", "theia")
_ENCODINGS: dict[str, Encoding] = {"utf-8": "utf-8", "utf-16": "utf-16", "utf-32": "utf-32"}


@dataclass(frozen=True, slots=True)
class Client:
    """The client's capabilities, as far as they matter here; the defaults are a client that says nothing."""

    name: str = ""
    process_id: int | None = None
    roots: tuple[str, ...] = ()
    trusted: bool = True
    encoding: Encoding = "utf-16"
    pulls_diagnostics: bool = False
    diagnostic_versions: bool = False
    diagnostic_related: bool = False
    diagnostic_links: bool = False
    diagnostic_data: bool = False
    action_literals: bool = False
    action_preferred: bool = False
    action_disabled: bool = False
    action_resolve: bool = False
    document_changes: bool = False
    creates_files: bool = False
    confirms_changes: bool = False
    applies_edits: bool = False
    progress: bool = False
    configuration: bool = False
    registers_configuration: bool = False
    refreshes_lenses: bool = False
    refreshes_hints: bool = False
    shows_documents: bool = False
    announces_saves: bool = False
    shows_maps: bool = False
    helps_with_python: bool = False  # shows by itself that the model's Python has no usable torch, with what helps
    opens_notebooks: bool = False
    markdown: bool = False

    @property
    def shows_diagnostics_in_hover(self) -> bool:
        """Whether the editor puts a diagnostic's message into the same box as the hover."""
        return self.name.lower().startswith(_SHOW_BOTH)


def read_client(params: Any) -> Client:
    """The client that sent these `initialize` parameters."""
    caps = at(params, "capabilities")
    publish = at(caps, "textDocument", "publishDiagnostics")
    action = at(caps, "textDocument", "codeAction")
    process_id = at(params, "processId")
    name = at(params, "clientInfo", "name")
    trusted = at(params, "initializationOptions", "trusted")
    return Client(
        name=name if isinstance(name, str) else "",
        process_id=process_id if isinstance(process_id, int) and not isinstance(process_id, bool) else None,
        roots=read_roots(params),
        trusted=trusted is None or trusted is True,
        encoding="utf-32" if _counts_code_points(params) else choose_encoding(at(caps, "general", "positionEncodings")),
        # Without refresh the results of a run, which come after the text, could not be shown: then we push. To Neovim, too:
        # 0.12 asks only about the files that are not open when it is told to refresh.
        pulls_diagnostics=isinstance(at(caps, "textDocument", "diagnostic"), dict)
        and flag(caps, "workspace", "diagnostics", "refreshSupport")
        and name != "Neovim",
        diagnostic_versions=flag(publish, "versionSupport"),
        diagnostic_related=flag(publish, "relatedInformation")
        or flag(caps, "textDocument", "diagnostic", "relatedInformation"),
        diagnostic_links=flag(publish, "codeDescriptionSupport")
        or flag(caps, "textDocument", "diagnostic", "codeDescriptionSupport"),
        diagnostic_data=flag(publish, "dataSupport") or flag(caps, "textDocument", "diagnostic", "dataSupport"),
        action_literals=isinstance(at(action, "codeActionLiteralSupport"), dict),
        action_preferred=flag(action, "isPreferredSupport"),
        action_disabled=flag(action, "disabledSupport"),
        action_resolve="edit" in strings(at(action, "resolveSupport", "properties")) and flag(action, "dataSupport"),
        document_changes=flag(caps, "workspace", "workspaceEdit", "documentChanges"),
        creates_files="create" in strings(at(caps, "workspace", "workspaceEdit", "resourceOperations")),
        confirms_changes=isinstance(at(caps, "workspace", "workspaceEdit", "changeAnnotationSupport"), dict),
        applies_edits=flag(caps, "workspace", "applyEdit"),
        progress=flag(caps, "window", "workDoneProgress"),
        configuration=flag(caps, "workspace", "configuration"),
        registers_configuration=flag(caps, "workspace", "didChangeConfiguration", "dynamicRegistration"),
        refreshes_lenses=flag(caps, "workspace", "codeLens", "refreshSupport"),
        refreshes_hints=flag(caps, "workspace", "inlayHint", "refreshSupport"),
        shows_documents=flag(caps, "window", "showDocument", "support"),
        announces_saves=flag(caps, "textDocument", "synchronization", "willSave"),
        opens_notebooks=isinstance(at(caps, "notebookDocument", "synchronization"), dict),
        shows_maps=flag(params, "initializationOptions", "graphMap"),
        helps_with_python=flag(params, "initializationOptions", "pythonProblem"),
        markdown="markdown" in strings(at(caps, "textDocument", "hover", "contentFormat")),
    )


def choose_encoding(offered: Any) -> Encoding:
    """The first encoding of the client's list that we know; utf-16 without one, as the protocol says."""
    return next((_ENCODINGS[name] for name in strings(offered) if name in _ENCODINGS), "utf-16")


def _counts_code_points(params: Any) -> bool:
    """Whether this is lsp-mode of before 9.0: it knows no encodings, and takes a character for one unit."""
    name, version = at(params, "clientInfo", "name"), at(params, "clientInfo", "version")
    return (
        name == "emacs"
        and str(version).startswith("GNU Emacs")
        and at(params, "capabilities", "general", "positionEncodings") is None
    )


def read_roots(params: Any) -> tuple[str, ...]:
    """The folders of the workspace, absolute. They are only put on the program's import path, never walked."""
    folders = at(params, "workspaceFolders")
    uris = [at(folder, "uri") for folder in folders] if isinstance(folders, list) else []
    if not uris:
        uris = [at(params, "rootUri")]
    return tuple(path for uri in uris if isinstance(uri, str) and (path := path_of(uri)) is not None)
