#!/bin/sh
# Installs what the tests of workers elsewhere need from Debian: an ssh client and server (never started as a service) and
# the programs that make another file-system root. Run it again at any time: what is there is left alone.
set -eu

missing=
for pair in ssh:openssh-client unshare:util-linux chroot:coreutils; do
    command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair#*:}"
done
[ -x /usr/sbin/sshd ] || command -v sshd >/dev/null 2>&1 || missing="$missing openssh-server"
[ -z "$missing" ] && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    printf 'setup: these packages are missing; install them (on Debian: apt-get install --no-install-recommends%s), then run this again\n' "$missing" >&2
    exit 1
fi
printf 'setup: installing%s\n' "$missing" >&2
# No service is started: the tests run a server of their own.
policy=/usr/sbin/policy-rc.d
made=
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    made=$policy
fi
trap '[ -z "$made" ] || rm -f "$made"' EXIT
apt-get update -qq
# shellcheck disable=SC2086  # a list of package names
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2
