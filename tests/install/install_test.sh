#!/usr/bin/env bash
# usage: install_test.sh BUILD_FOLDER SOURCE_FOLDER
# Installs Espalier, moves the installation elsewhere (it must not depend on where it was made), builds a project that
# finds it by find_package, and runs it.
set -euo pipefail

build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cached() { sed -n "s/^$1:[^=]*=//p" "$build/CMakeCache.txt"; }

cmake --install "$build" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mv "$work/first" "$work/prefix"

# project FOLDER BUILD_FOLDER
project() {
    cmake -S "$1" -B "$2" -G "$(cached CMAKE_GENERATOR)" \
        -DCMAKE_CXX_COMPILER="$(cached CMAKE_CXX_COMPILER)" -DCMAKE_BUILD_TYPE="$(cached CMAKE_BUILD_TYPE)" \
        -DCMAKE_PREFIX_PATH="$work/prefix"
    cmake --build "$2" --parallel 2
}

project "$source/tests/install" "$work/build"
"$work/build/consumer"

# A kind of problem that is not in our tree goes through every command.
project "$source/tests/install/kind" "$work/kind"
/usr/bin/python3 -B "$source/tests/install/kind/kind_test.py" "$work/kind/subset_sum" "$work"

if grep -rnF -e "$build" -e "$source" -e "$work/first" "$work/prefix/lib" --include='*.cmake'; then
    echo "install_test: the package names folders of the build" >&2
    exit 1
fi
share=$work/prefix/share
for made in "completion bash:bash-completion/completions/espalier" "completion zsh:zsh/site-functions/_espalier" \
    "completion fish:fish/vendor_completions.d/espalier.fish" "man:man/man1/espalier.1"; do
    # shellcheck disable=SC2086
    "$work/prefix/bin/espalier" ${made%%:*} | cmp - "$share/${made#*:}"
done
"$work/prefix/bin/espalier" --version
