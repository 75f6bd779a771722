#!/bin/sh
# Writes the pictures of docs/img/, from runs of the workbench tests.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p docs/img
GRAPHMEND_SCREENSHOTS=$PWD/docs/img exec "${PYTHON:-.venv/bin/python}" -m pytest tests/e2e/test_vscode.py -k "a_break_is_seen_mended_and_gone or graph_map or notebook or first_start"
