#!/usr/bin/env bash
# Installs what tests/long/applications needs into target/long/applications, and some of it as packages of Debian.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/install.sh
folder=$PWD/target/long/applications

missing=()
command -v chromium >/dev/null || missing+=(chromium)
command -v chromedriver >/dev/null || missing+=(chromium-driver)
command -v git >/dev/null || missing+=(git)
command -v haproxy >/dev/null || missing+=(haproxy)
command -v nginx >/dev/null || missing+=(nginx)
command -v npm >/dev/null || missing+=(nodejs npm)
command -v openssl >/dev/null || missing+=(openssl)
command -v prometheus >/dev/null || missing+=(prometheus)
command -v skopeo >/dev/null || missing+=(skopeo)
[[ -e /usr/share/gitweb/gitweb.cgi ]] || missing+=(gitweb)
perl -MCGI -e 1 2>/dev/null || missing+=(libcgi-pm-perl)
[[ -e /usr/share/doc/libfcgi0ldbl ]] || missing+=(libfcgi0ldbl)
command -v erl >/dev/null || missing+=(
  erlang-base erlang-crypto erlang-eldap erlang-inets erlang-mnesia erlang-os-mon erlang-parsetools erlang-public-key
  erlang-runtime-tools erlang-ssl erlang-syntax-tools erlang-tools erlang-xmerl
)
install_missing tests/long/applications "${missing[@]}"

# Installing these packages would start their servers on this machine, so they are only unpacked.
mkdir -p "$folder/debian"
for package in docker-registry fcgiwrap rabbitmq-server; do
  [[ -e "$folder/debian/usr/share/doc/$package" ]] && continue
  (cd "$folder/debian" && apt-get download -qq "$package" 2>/dev/null && dpkg-deb -x "$package"_*.deb . && rm "$package"_*.deb)
done

[[ -x "$folder/venv/bin/python" ]] || python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --requirement tests/long/applications_requirements.txt
cp tests/long/applications_package.json "$folder/package.json"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder"
