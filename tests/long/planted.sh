# Sourced by the scripts beside it that plant faults into a copy of the tree.

# copy_tree FOLDER: the tree as it is, with what is not committed and without what was removed.
copy_tree() {
  rm -rf "$1"
  mkdir -p "$1"
  git ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d "" file; do if [[ -e "$file" ]]; then printf "%s\0" "$file"; fi; done |
    tar --null --files-from - --create | tar -x -C "$1"
}

# build_tree_anew PATCH…: at the end of a script whose copy and tree share a target folder, because Cargo takes crates
# of the one for those of the other.
build_tree_anew() { awk '/^\+\+\+ b/ { print substr($2, 3) }' "$@" | xargs touch; }
