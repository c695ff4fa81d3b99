#!/bin/sh
# Installs the program of a release, without compiling: docs/install.md.
#   install.sh [--version VERSION] [--to FOLDER] [--without-runtime]
# STABLE_HOOKS_RELEASES names another place with the folders of the releases, a mirror for example.
set -eu

# The braces: of a script that arrives in pieces, nothing runs before its end is there.
{
version=0.1.0
releases=${STABLE_HOOKS_RELEASES:-https://github.com/stable-hooks/stable-hooks/releases/download}
pages=https://github.com/stable-hooks/stable-hooks/blob/main/docs
folder=${HOME:-}/.local/bin
variant=''
is_plugin=''
temporary=''

fail() {
    printf 'install.sh: %s\n' "$*" >&2
    if [ -n "$is_plugin" ]; then
        echo "The plugin has no program. Mend that, then: helm plugin uninstall $HELM_PLUGIN_NAME, and install it again." >&2
    fi
    exit 1
}

value() { if [ $# -lt 2 ] || [ -z "$2" ]; then fail "$1 wants a value"; fi; }

while [ $# -gt 0 ]; do
    case $1 in
    --version) value "$@"; version=${2#v}; shift ;;
    --to) value "$@"; folder=$2; shift ;;
    --without-runtime) variant=-without-runtime ;;
    # The hook of our Helm plugins. Helm says where the plugin is.
    --helm-plugin) is_plugin=yes variant=-without-runtime folder=$HELM_PLUGIN_DIR/bin ;;
    *) fail "there is no option $1; there are --version VERSION, --to FOLDER and --without-runtime" ;;
    esac
    shift
done
case $version in
*[!0-9A-Za-z.+-]*) fail "$version is no version; one is 0.1.0" ;;
esac
[ "$folder" != /.local/bin ] || fail "HOME is not set; say where the program goes: --to FOLDER"

program=stable-hooks
case $(uname -s) in
Linux) platform=linux ;;
Darwin) platform=darwin ;;
MINGW* | MSYS* | CYGWIN*) platform=windows program=stable-hooks.exe ;;
*) platform='' ;;
esac
case $(uname -m) in
x86_64 | amd64) platform=${platform:+$platform-x86_64} ;;
aarch64 | arm64) platform=${platform:+$platform-aarch64} ;;
*) platform='' ;;
esac
[ -n "$platform" ] || fail "no release has a program for $(uname -s) on $(uname -m); build it as $pages/install.md says"
archive=stable-hooks$variant-$platform.tar.gz

# Beside its goal, so that one step moves it there; whatever stops us removes it.
trap 'rm -rf "$temporary"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$folder" || fail "cannot make $folder; choose another folder: --to FOLDER"
temporary=$(mktemp -d "$folder/.stable-hooks.XXXXXX") || fail "cannot write into $folder; choose another folder: --to FOLDER"
[ ! -d "$folder/$program" ] || fail "$folder/$program is a folder; choose another one: --to FOLDER"

# One name in one folder always names a whole program: the old one, or the new one.
put() {
    mv -f "$temporary/$program" "$folder/$program" || fail "cannot replace $folder/$program; is it running?"
}

if [ -n "$is_plugin" ] && found=$(command -v stable-hooks) && [ "$found" != "$folder/$program" ] &&
    [ "$("$found" --version 2>/dev/null)" = "stable-hooks $version" ]; then
    ln -s "$found" "$temporary/$program"
    put
    echo "stable-hooks $version: the one on the PATH, $found"
    exit
fi

if command -v curl >/dev/null; then
    get() { curl --fail --silent --show-error --location --connect-timeout 30 --output "$1" "$2"; }
elif command -v wget >/dev/null; then
    get() { wget -nv -t 3 -T 30 -O "$1" "$2"; }
else
    fail "needs curl or wget, and there is neither"
fi

download() {
    if get "$temporary/$1" "$releases/v$version/$1" 2>"$temporary/said"; then return; fi
    case $(cat "$temporary/said") in
    *' 404'*) fail "there is no $releases/v$version/$1; https://github.com/stable-hooks/stable-hooks/releases has the versions" ;;
    *) fail "cannot download $releases/v$version/$1: $(tail -n 3 "$temporary/said")" ;;
    esac
}

# The signed package of the plugin brings the checksums along.
if [ -n "$is_plugin" ] && [ -f "$HELM_PLUGIN_DIR/SHA256SUMS" ]; then
    cp "$HELM_PLUGIN_DIR/SHA256SUMS" "$temporary/"
else
    download SHA256SUMS
fi
expected=$(awk -v name="$archive" '$2 == name || $2 == "*" name { print $1 }' "$temporary/SHA256SUMS")
[ -n "$expected" ] || fail "SHA256SUMS of version $version has no $archive; this version is not made for $platform"
download "$archive"
if command -v sha256sum >/dev/null; then
    sum=$(sha256sum <"$temporary/$archive")
elif command -v shasum >/dev/null; then
    sum=$(shasum -a 256 <"$temporary/$archive")
else
    fail "needs sha256sum or shasum, and there is neither"
fi
[ "${sum%% *}" = "$expected" ] || fail "$archive has the checksum ${sum%% *}, and SHA256SUMS says $expected; \
the download is damaged, or somebody changed it. Nothing is installed"
tar -xzf "$temporary/$archive" -C "$temporary" "$program" || fail "cannot unpack $archive"
said=$("$temporary/$program" --version 2>&1) || fail "the program does not run here: $said"
put
echo "$said: $folder/$program"
echo "Its checksum is right. Who made it is in the signature: $pages/verify.md"
case :${PATH:-}: in
*:"$folder":*) ;;
*) [ -n "$is_plugin" ] || echo "note: $folder is not on the PATH; export PATH=\"$folder:\$PATH\"" >&2 ;;
esac
exit
}
