#!/usr/bin/env bash
# Run the kernels' tests under AddressSanitizer and UndefinedBehaviorSanitizer. Anything they report is a failure.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
installed

here=$ROOT/build/sanitize
python=$here/venv/bin/python
compiler=${SANITIZE_CXX:-g++}
command -v "$compiler" >/dev/null || need_package g++ "the sanitizers are taken from g++, which is missing"

# An environment of its own that borrows the packages of the development environment. Its .pth file names the folder only:
# the hook of the editable install in there is not run, so this interpreter cannot pick up the ordinary kernels.
rm -rf "$here/venv" "$here/reports"
mkdir -p "$here/reports"
"$VENV/bin/python" -m venv --without-pip "$here/venv"
site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$VENV/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/borrowed.pth"

CXX=$compiler quietly "compiling the kernels with sanitizers" \
  "$VENV/bin/python" -m pip --disable-pip-version-check install --no-deps --no-build-isolation --target "$site" \
  --config-settings build-dir="$here/cmake" --config-settings cmake.define.TRUBLEU_SANITIZE=ON .

# The interpreter is not instrumented, so the run-time libraries must be there before it starts. libstdc++ is among them because
# AddressSanitizer looks for the real __cxa_throw at start-up.
preload=
for library in libasan.so libubsan.so libstdc++.so; do
  path=$("$compiler" -print-file-name="$library")
  [ -f "$path" ] || fail "$compiler has no $library; install the sanitizers' libraries of your compiler (Debian: libgcc-dev)."
  preload=$preload${preload:+:}$(readlink -f "$path")
done
# Python frees little when it ends, so leaks are not looked for. Reports go to files: a crashed worker cannot swallow them.
sanitized() {
  env LD_PRELOAD="$preload" PYTHONMALLOC=malloc PYTHONPATH= \
    ASAN_OPTIONS="detect_leaks=0:halt_on_error=1:abort_on_error=0:exitcode=66:allocator_may_return_null=1:log_path=$here/reports/asan" \
    UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1:log_path=$here/reports/ubsan" \
    TRUBLEU_SANITIZED=1 "$python" "$@"
}

say "checking that the sanitised kernels are the ones that run"
sanitized - "$site" <<'PY'
import sys
from pathlib import Path

from trubleu.native import _kernels

where = Path(_kernels.__file__).resolve()
if not where.is_relative_to(Path(sys.argv[1]).resolve()):
    sys.exit(f"error: the kernels came from {where}, which is not the sanitised build.")
binary = where.read_bytes()
for symbol in (b"__asan_init", b"__asan_report_load", b"__ubsan_handle_"):
    if symbol not in binary:
        sys.exit(f"error: {where} was built without sanitizers: it does not mention {symbol.decode()}.")
maps = Path("/proc/self/maps").read_text()
for library in ("libasan", "libubsan"):
    if library not in maps:
        sys.exit(f"error: {library} is not loaded.")
PY

say "pytest tests/native under AddressSanitizer and UndefinedBehaviorSanitizer"
status=0
sanitized -m pytest tests/native -n auto -q -p no:cacheprovider "$@" || status=$?
if [ -n "$(ls -A "$here/reports")" ]; then
  cat "$here/reports"/* >&2
  fail "a sanitizer reported the above."
fi
exit "$status"
