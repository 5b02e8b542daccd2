# Sourced by the scripts beside it that plant faults into a copy of the tree. The copy needs a target folder of its own:
# Cargo would take its crates for those of the tree.

# copy_tree FOLDER: the tree as it is, with what is not committed and without what was removed. Files get the time of
# copying: with their old times they would look older than what an earlier run built from a faulty file, and Cargo would
# not build them again.
copy_tree() {
  rm -rf "$1"
  mkdir -p "$1"
  git ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d "" file; do if [[ -e "$file" ]]; then printf "%s\0" "$file"; fi; done |
    tar --null --files-from - --create | tar -x --touch -C "$1"
}
