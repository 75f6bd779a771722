"""The language server: the only room that speaks LSP. It turns requests into calls of the engine and answers from what
is known. No analysis, no rewriting and no process handling lives here.

Three layers: `rpc` moves bytes, `server` is the process and its life cycle (it answers `initialize` by itself, because
importing pygls alone takes as long as that answer may take), `language_server` is the pygls server with all the rest.
"""
