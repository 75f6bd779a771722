#!/bin/bash
# One environment for each pair of Python and torch that the worker is tested with, below the folder $1 (default .tools/versions).
# torch 2.13 comes as the small CPU wheel where the index has one; 2.11 and 2.15 come as CUDA wheels: some 7 GB of disk each.
set -euo pipefail
folder=${1:-.tools/versions}
pairs=${GRAPHMEND_VERSIONS:-"3.11:2.11.0 3.11:2.15.0 3.10:2.13.0 3.12:2.13.0 3.13:2.13.0"}
mkdir -p "$folder"

interpreter() { # prints the path of Python $1
  for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1."*/bin/python; do
    if "$candidate" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
      "$candidate" -c "import sys; print(sys.executable)"
      return
    fi
  done
  echo "There is no Python $1 here: install it (pyenv install $1) or leave it out of GRAPHMEND_VERSIONS." >&2
  return 1
}

for pair in $pairs; do
  python=${pair%%:*} torch=${pair##*:}
  place=$folder/py$python-torch$torch
  [ -e "$place/.ready" ] && continue
  found=$(interpreter "$python")
  [ -x "$place/bin/python" ] || "$found" -m venv "$place"
  "$place/bin/python" -m pip install --quiet --disable-pip-version-check "torch==$torch+cpu" 2>/dev/null ||
    "$place/bin/python" -m pip install --quiet --disable-pip-version-check "torch==$torch"
  "$place/bin/python" -m pip install --quiet --disable-pip-version-check numpy transformers==4.52.4
  "$place/bin/python" -c "import torch, sys; print(sys.version.split()[0], torch.__version__)"
  touch "$place/.ready"
done
