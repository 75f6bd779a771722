#!/bin/sh
# Newer editors than this Debian has, out of the packages of a newer one: newer.sh SUITE FOLDER PACKAGE...
# Nothing is installed: the packages are unpacked into FOLDER with the libraries that they need, and each program gets a
# starter, FOLDER/PROGRAM. The mirror and the key are those that this machine has its own packages from.
set -eu

suite=$1 folder=$2
shift 2
[ -f "$folder/.done" ] && exit 0
echo "setup: unpacking $* of Debian's $suite" >&2
rm -rf "$folder"
mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial" "$folder/root"
folder=$(cd "$folder" && pwd)

codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror() { apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $codename" 'Component: main' | head -n 1; }
[ -n "$(mirror)" ] || apt-get update -qq
mirror=$(mirror)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keys] $mirror $suite main" >"$folder/apt/sources.list"
: >"$folder/apt/status"
private() {
    # A mirror may stand still for longer than a list of packages is valid; who signed it is checked.
    apt-get -qq -o "Dir::Etc::sourcelist=$folder/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o "Dir::State::lists=$folder/apt/lists" -o "Dir::State::status=$folder/apt/status" \
        -o "Dir::Cache=$folder/apt/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=root \
        -o Acquire::Check-Valid-Until=false "$@" >&2
}
private update
private install -y --no-install-recommends --download-only "$@"
for package in "$folder"/apt/cache/archives/*.deb; do dpkg -x "$package" "$folder/root"; done
rm -rf "$folder/apt"

loader=$(ls "$folder"/root/usr/lib/*/ld-linux*.so.* | head -n 1)
starter() {
    cat >"$folder/$1" <<END
#!/bin/sh
$3="$folder/root/$4" exec "$loader" --library-path "${loader%/*}" "$folder/root/$2" "\$@"
END
    chmod +x "$folder/$1"
}
for package in "$@"; do
    case $package in
    neovim) starter nvim usr/bin/nvim VIMRUNTIME usr/share/nvim/runtime ;;
    hx) starter hx usr/bin/hx HELIX_RUNTIME usr/lib/hx/runtime ;;
    esac
done
touch "$folder/.done"
