# shellcheck shell=bash
# What the scripts of this folder share; sourced, never run.

note() { printf '%s\n' "$*"; }
fail() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# logged LOG COMMAND...: quiet, and the end of the log if the command fails.
logged() {
    local log=$1
    shift
    "$@" </dev/null >"$log" 2>&1 && return
    tail -n 40 "$log" >&2
    fail "failed: $* (full output: $log)"
}

# build_preset PRESET [TARGET...]: configures and builds; on a terminal ninja's own status line is the progress.
build_preset() {
    local preset=$1 targets=() folder=build/$1
    shift
    (($#)) && targets=(--target "$@")
    mkdir -p "$folder"
    logged "$folder/configure.log" cmake --preset "$preset"
    local build=(cmake --build --preset "$preset" --parallel "$(nproc)" "${targets[@]}")
    if [[ -t 1 ]]; then
        "${build[@]}" </dev/null || fail "the build failed"
    else
        logged "$folder/build.log" "${build[@]}"
    fi
}

# cached PRESET VARIABLE: what cmake found.
cached() { sed -n "s/^$2:[^=]*=//p" "build/$1/CMakeCache.txt"; }
