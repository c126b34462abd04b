# Any other CI: BASELINE=baseline.json sh ci.sh on every change; a green run becomes the next baseline.
set -u
rules=$(for baseline in ${BASELINE:-} anchor.json; do test -f "$baseline" && echo --mapsat-compare=$baseline --mapsat-max-drop=ar:0.02; done)
pytest -q --mapsat-save=run.json $rules --junitxml=junit.xml
status=$?
test -f run.json && mapsat report run.json html:report.html markdown:report.md
test "$status" -eq 0 && cp run.json baseline.json
exit "$status"
