#!/bin/sh
# other_root.sh ROOT PROJECT THERE FOLDERS -- COMMAND...: runs a command in a file-system root of its own at ROOT. It has the
# FOLDERS (separated by colons) of this one, an empty /tmp, and PROJECT under the name THERE (nothing when PROJECT is -).
# Nothing outlives the command: the mounts are in a namespace of their own.
set -eu

if [ "${GRAPHMEND_INSIDE:-}" = "" ]; then
    users=
    [ "$(id -u)" = 0 ] || users="--user --map-root-user"
    # shellcheck disable=SC2086  # two words or none
    GRAPHMEND_INSIDE=1 exec unshare $users --mount "$0" "$@"
fi
unset GRAPHMEND_INSIDE
root=$1 project=$2 there=$3 folders=$4
shift 5
mount --make-rprivate / 2>/dev/null || true
for folder in $(printf '%s' "$folders" | tr : ' '); do
    [ -d "$folder" ] || continue
    mkdir -p "$root$folder"
    mount --rbind "$folder" "$root$folder"
done
mkdir -p "$root/tmp" "$root/home"
if [ "$project" != - ]; then
    mkdir -p "$root$there"
    mount --bind "$project" "$root$there"
fi
cd /
HOME=/home TMPDIR=/tmp exec chroot "$root" "$@"
