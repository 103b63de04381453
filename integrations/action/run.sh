#!/usr/bin/env bash
# The one step of the action: annotations into the log, the summary, and a file for each format that others read.
set -euo pipefail

case "$INPUT_VERB" in
  gate | check | rehearse) ;;
  *)
    echo "::error title=firstpass::the verb is gate, check or rehearse"
    exit 2
    ;;
esac

# The program: named, on the path, or built from the source that the action is.
program="$INPUT_BINARY"
if [ -z "$program" ]; then
  program="$(command -v firstpass || true)"
fi
if [ -z "$program" ]; then
  cargo install --quiet --locked --path "$ACTION_PATH/crates/cli" --root "$RUNNER_TEMP/firstpass" 1>&2
  program="$RUNNER_TEMP/firstpass/bin/firstpass"
fi

# Words, not shell: nothing in them is expanded. The `+` below is for bash 3, which takes an empty list for an unset one.
read -r -d '' -a clusters <<<"$INPUT_CLUSTERS" || true
read -r -d '' -a more <<<"$INPUT_ARGUMENTS" || true

run() {
  local format="$1"
  shift
  "$program" "$INPUT_VERB" --root "$INPUT_ROOT" --fail-on "$INPUT_FAIL_ON" --format "$format" \
    ${more[@]+"${more[@]}"} "$@" -- ${clusters[@]+"${clusters[@]}"}
}

directory="$(mktemp -d "$RUNNER_TEMP/firstpass-report.XXXXXX")"
status=0
run github || status=$?

# Without a result there is nothing to write down.
if [ "$status" -le 1 ]; then
  for format in sarif junit markdown; do
    run "$format" --output "$directory/$format" || [ $? -eq 1 ]
  done
  mv "$directory/sarif" "$directory/firstpass.sarif"
  mv "$directory/junit" "$directory/firstpass.xml"
  mv "$directory/markdown" "$directory/firstpass.md"
  cat "$directory/firstpass.md" >>"$GITHUB_STEP_SUMMARY"
  {
    echo "sarif=$directory/firstpass.sarif"
    echo "junit=$directory/firstpass.xml"
    echo "markdown=$directory/firstpass.md"
  } >>"$GITHUB_OUTPUT"
fi
echo "status=$status" >>"$GITHUB_OUTPUT"
exit "$status"
