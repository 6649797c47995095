#!/bin/sh
# fetch_debs.sh DEST PACKAGE...
# Unpacks Debian packages, with those of their dependencies that this machine lacks, into DEST.
# Needs no root: apt works on private state, and nothing is installed.
set -eu
dest=$1
shift
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || {
    echo "There is no apt-get here to fetch $* with." >&2
    exit 1
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$tmp/state/lists/partial" "$tmp/cache/archives/partial" "$dest"

apt() {
    apt-get -qq -o Dir::State="$tmp/state" -o Dir::State::status=/var/lib/dpkg/status \
        -o Dir::Cache="$tmp/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=root \
        -o APT::Keep-Downloaded-Packages=1 -o Acquire::Retries=3 "$@"
}
# One unreachable source need not matter: the download below decides.
apt update || true
apt --no-install-recommends --download-only -y install "$@" >/dev/null
for deb in "$tmp"/cache/archives/*.deb; do
    [ ! -e "$deb" ] || dpkg-deb -x "$deb" "$dest"
done
