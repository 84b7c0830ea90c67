#!/bin/sh
# Move every *.log file in SRC to DEST and print how many were moved.
# A file that DEST already has stays where it is; the exit status is then 1.

fail() {
    printf '%s\n' "collect-logs: $1" >&2
    exit 2
}

# A name that starts with a dash would be taken for an option.
as_path() {
    case $1 in
        /*) printf '%s/' "$1" ;;
        *) printf './%s/' "$1" ;;
    esac
}

[ $# -eq 2 ] || fail "usage: collect-logs.sh SRC DEST"
[ -n "$1" ] && [ -n "$2" ] || fail "SRC and DEST must not be empty"
src=$(as_path "$1")
dest=$(as_path "$2")
[ -d "$src" ] || fail "not a directory: $1"
mkdir -p "$dest" || exit 2

count=0
status=0
for file in "$src"*.log; do
    [ -f "$file" ] && [ ! -L "$file" ] || continue
    target=$dest${file##*/}
    if [ -e "$target" ] || [ -L "$target" ] || ! mv "$file" "$target"; then
        printf '%s\n' "collect-logs: not moved: $file" >&2
        status=1
    else
        count=$((count + 1))
    fi
done
echo "moved $count"
exit "$status"
