"""The graph map as one HTML file that loads nothing: its data, the script that draws it, and the style. Pure but for the
script and the style, which lie beside this module (``vscode-extension/build.mjs --map`` makes them)."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


def page(graph_map: Mapping[str, Any], title: str = "Graph map") -> str:
    """The page; ASCII only, so that it reads alike in every encoding. Its policy lets nothing but its own script run."""
    script, style = _asset("map.js"), _asset("map.css")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"
    )
    data = json.dumps(graph_map, separators=(",", ":")).replace("<", "\\u003c")
    shown = html.escape(title).encode("ascii", "xmlcharrefreplace").decode("ascii")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{shown}</title>
<style>{style}</style>
</head>
<body>
<div id="graph-map"><noscript>Turn JavaScript on to see the graph map. It loads nothing from elsewhere.</noscript></div>
<script type="application/json" id="graph-map-data">{data}</script>
<script>{script}</script>
</body>
</html>"""


@cache
def _asset(name: str) -> str:
    return (files("graphmend_lsp.report") / "assets" / name).read_text("ascii")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
