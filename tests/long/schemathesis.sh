# Functions that both runs of schemathesis source.

# log_in USERNAME PASSWORD: prints an access token.
log_in() {
  curl -fsS "$BEARER_URL/login" -H 'Content-Type: application/json' \
    -d "{\"username\": \"$1\", \"password\": \"$2\"}" | cut -d'"' -f4
}

# run_schemathesis URL VARIANT: runs all checks with the configuration of this variant.
run_schemathesis() {
  local here=$PWD/tests/long
  export SCHEMATHESIS_HOOKS="$here/schemathesis_hooks.py"
  # schemathesis writes caches to the current folder.
  cd target/long
  schemathesis --no-color --config-file "$here/schemathesis-$2.toml" run "$1/openapi.json" \
    --checks all --max-examples "${SCHEMATHESIS_EXAMPLES:-100}" --request-timeout 30
  cd ../..
}
