#!/bin/bash
# The worker's tests in each environment that setup.sh made below the folder $1 (default .tools/versions); more arguments go to
# pytest. Every worker file must parse and run there; tests/engine and tests/cli run here with a worker of that environment.
set -uo pipefail
folder=$(realpath "${1:-.tools/versions}") here=${PYTHON:-.venv/bin/python}
shift || true
export GRAPHMEND_CACHE_DIR=
failed=0
for place in "$folder"/py*/; do
  python=${place}bin/python
  "$python" -c "import pytest_asyncio, pytest_timeout, hypothesis" 2>/dev/null ||
    "$python" -m pip install --quiet --disable-pip-version-check pytest pytest-asyncio pytest-timeout hypothesis
  "$python" -c 'import sys, torch; print("== Python %d.%d.%d," % sys.version_info[:3], "torch", torch.__version__)'
  PYTHONPATH=server "$python" -m pytest tests/worker --timeout 600 "$@" || failed=1
  GRAPHMEND_TEST_PYTHON=$python "$here" -m pytest tests/engine/test_cache.py tests/lsp/test_real.py --timeout 600 "$@" || failed=1
done
exit $failed
