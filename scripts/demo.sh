#!/usr/bin/env bash
# All steps with simulated data, up to out/demo/report.html. Arguments go to trubleu demo, such as --open.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
installed

trubleu demo out/demo "$@"
