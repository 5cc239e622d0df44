# shellcheck shell=bash
# Build folders: how they are configured. Sourced by ./run and the tasks, in the project's folder. Meson uses ccache
# by itself where there is one.

# configure FOLDER OPTIONS…: once; a folder that exists keeps its options.
configure() {
    local folder=$1
    shift
    [[ -f $folder/build.ninja ]] || meson setup "$folder" "$@"
}

configure_release() {
    configure build --buildtype=release
}

# configure_sanitized FOLDER SANITIZERS: with frames and assertions, and fast enough for simulations. Warnings are no
# errors here: the instrumented code gives g++ false ones, and the release build has refused the true ones.
configure_sanitized() {
    configure "$1" --buildtype=debug -Doptimization=1 -Ddchecks=true -Dwerror=false "-Db_sanitize=$2" -Db_lundef=false
}

# build_release TARGET…: these, or everything.
build_release() {
    configure_release
    ninja -C build "$@"
}

# All C++ and C files of ours, separated by NUL.
cpp_files() {
    find bench control dataplane engine examples include protocol sim tests tools \
        \( -name '*.cpp' -o -name '*.hpp' -o -name '*.c' -o -name '*.h' \) -print0
}
