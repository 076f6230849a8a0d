#!/usr/bin/env bash
# Everything that must hold before a change goes in. All checks run even when one fails; pytest comes last, and the
# last line says how many passed and failed.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
installed

failed=()
# Tests of pages drive a browser of the system; Playwright's own ones are never downloaded. CHROMIUM names another.
(command -v "${CHROMIUM:-chromium}" >/dev/null || need_package chromium "tests of pages need Chromium") || failed+=(chromium)
# Tests of rating start a server of their own from its programs; Debian's package is kept from starting one for all.
postgresql() { command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; }
install_postgresql() {
  need_package postgresql-common "tests of rating need PostgreSQL"
  sed -i -E 's/^#?create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf
  need_package postgresql "tests of rating need PostgreSQL"
}
postgresql || (install_postgresql) || failed+=(postgresql)
mkdir -p build/test

# Much of what these do keeps one core busy or none, so they run side by side, each in a process group of its own that
# ends with this script; what they print comes one after the other.
checks=(lint docs wheel-check sanitize)
groups=()
stop_checks() { for group in "${groups[@]}"; do kill -- "-$group" 2>/dev/null || true; done; }
trap stop_checks EXIT
set -m
for check in "${checks[@]}"; do
  "scripts/$check.sh" >"build/test/$check.log" 2>&1 &
  groups+=($!)
done
set +m
say "running ${checks[*]} side by side; build/test has what they print"
for i in "${!checks[@]}"; do
  passed=true
  wait "${groups[i]}" || passed=false
  say "=== ${checks[i]}"
  cat "build/test/${checks[i]}.log"
  $passed || failed+=("${checks[i]}")
done
groups=()

say "=== pytest, with the examples in docstrings"
log=build/test/pytest.log
# Three workers on two cores: tests of servers and databases wait as much as they compute.
python -m pytest -n "$((($(nproc) * 3 + 1) / 2))" --doctest-modules src tests "$@" 2>&1 | tee "$log" || failed+=(pytest)
[ ${#failed[@]} -gt 0 ] || exit 0

# Something failed: close with a line that counts pytest's failures and the other checks together.
count() { tail -n 1 "$log" | { grep -oE "[0-9]+ $1" || true; } | awk '{ n += $1 } END { print n + 0 }'; }
broken=$(($(count failed) + $(count error)))
for check in "${failed[@]}"; do
  if [ "$check" != pytest ] || [ "$broken" = 0 ]; then broken=$((broken + 1)); fi
done
echo "failed: ${failed[*]}"
echo "$(count passed) passed, $broken failed"
exit 1
