# Functions that tests/run and bench/run source.

has_postgresql() {
  command -v initdb >/dev/null || [[ -x "$(pg_config --bindir 2>/dev/null || true)/initdb" ]] ||
    compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

has_c_compiler() { command -v "${CC:-cc}" >/dev/null; }

# install_missing SCRIPT PACKAGE...: installs Debian packages as root. Other users get the command, and the script
# exits. It writes to stderr, in the name of SCRIPT.
install_missing() {
  local script=$1
  shift
  (($#)) || return 0
  local install="apt-get update && apt-get install -y --no-install-recommends $*"
  if ! command -v apt-get >/dev/null; then
    echo "$script: please install with your package manager: $*" >&2
    exit 1
  elif ((EUID != 0)); then
    echo "$script: packages are missing; run this, then try again:" >&2
    echo "  sudo sh -c '$install'" >&2
    exit 1
  fi
  echo "$script: installing $*" >&2
  # Tests use throw-away clusters, so the cluster that the package creates would only take a port and memory.
  if [[ " $* " == *" postgresql "* ]]; then
    mkdir -p /etc/postgresql-common
    [[ -e /etc/postgresql-common/createcluster.conf ]] ||
      echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  fi
  DEBIAN_FRONTEND=noninteractive sh -c "$install" >&2
}
