#!/bin/sh
# Sees to it that the browser tests have a Chromium ($CHROMIUM, the one on PATH, or .browser/chromium)
# and the one library that Playwright's driver needs and a bare Debian lacks.
# Debian's chromium-headless-shell opens a page for half the work of its chromium, which will do where it cannot be had.
set -eu
cd "$(dirname "$0")/../.."

if [ -n "${CHROMIUM-}" ] && ! command -v "$CHROMIUM" >/dev/null; then
    echo "CHROMIUM=$CHROMIUM is not a program." >&2
    exit 1
fi
tried=
find_missing() {
    missing=
    [ -n "${CHROMIUM-}" ] || command -v chromium-headless-shell >/dev/null || [ -x .browser/chromium ] ||
        { { [ -n "$tried" ] || [ "$(id -u)" != 0 ]; } && command -v chromium >/dev/null; } ||
        missing="chromium-headless-shell fonts-noto-cjk fonts-dejavu-core"
    for node in .venv/lib/python3*/site-packages/playwright/driver/node; do
        [ ! -x "$node" ] || LD_LIBRARY_PATH=.browser/lib "$node" --version >/dev/null 2>&1 ||
            missing="${missing:+$missing }libatomic1"
    done
}
done_if_complete() {
    find_missing
    [ -n "$missing" ] || exit 0
}
give_up() {
    echo "The browser tests need $missing, which could not be fetched. Ask for: apt-get install $missing" \
        "(another Chromium can be named with CHROMIUM=/path/to/chromium)." >&2
    exit 1
}

done_if_complete
if command -v flock >/dev/null; then
    exec 9<.
    flock 9
    done_if_complete
fi

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing $missing for the browser tests ..."
    # shellcheck disable=SC2086
    { apt-get -qq update; DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -y --no-install-recommends install $missing; } >/dev/null || true
    tried=yes
    done_if_complete
fi

part=.browser.part
rm -rf "$part" .browser
find_missing
echo "Fetching $missing into .browser/ for the browser tests ..."
# shellcheck disable=SC2086
sh .ci/fetch_debs.sh "$part/root" $missing || give_up
(cd "$part" && ln -s root/usr/lib/*-linux-gnu* lib)
if [ ! -e "$part/root/usr/lib/chromium/chromium-headless-shell" ]; then
    mv "$part" .browser
    done_if_complete
    give_up
fi

cat >"$part/fonts.conf" <<'XML'
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir>/usr/local/share/fonts</dir>
  <dir prefix="relative">root/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
  <alias><family>sans-serif</family><prefer>
    <family>DejaVu Sans</family><family>Noto Sans CJK SC</family>
  </prefer></alias>
  <alias><family>serif</family><prefer>
    <family>DejaVu Serif</family><family>Noto Serif CJK SC</family>
  </prefer></alias>
  <alias><family>monospace</family><prefer>
    <family>DejaVu Sans Mono</family><family>Noto Sans Mono CJK SC</family>
  </prefer></alias>
</fontconfig>
XML
cat >"$part/chromium" <<'SH'
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
for dir in "$here"/root/usr/lib/*-linux-gnu* "$here"/root/lib/*-linux-gnu*; do
    libs="${libs:+$libs:}$dir:$dir/nss:$dir/pulseaudio"
done
export LD_LIBRARY_PATH="$libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export FONTCONFIG_FILE="$here/fonts.conf" XDG_DATA_DIRS="$here/root/usr/share:${XDG_DATA_DIRS:-/usr/local/share:/usr/share}"
exec "$here/root/usr/lib/chromium/chromium-headless-shell" "$@"
SH
chmod +x "$part/chromium"
timeout 60 "$part/chromium" --headless --no-sandbox --disable-gpu --user-data-dir="$part/profile" \
    --dump-dom about:blank >"$part/log" 2>&1 || { cat "$part/log" >&2; give_up; }
rm -rf "$part/profile" "$part/log"
mv "$part" .browser
done_if_complete
give_up
