"""Compare the kernels' tokens with sacreBLEU's on as many random strings as you like.

    python tests/native/fuzz_13a.py --count 1000000 --seed 1

Leaves with exit code 1 at the first string that differs, and prints it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from tests.oracles.strings13a import expected, strings
from trubleu.native import kernels


def main() -> int:
    parser = argparse.ArgumentParser(description="compare the kernels' tokens with sacreBLEU's on random strings")
    parser.add_argument("--count", type=int, default=100_000, help="how many strings")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same strings")
    arguments = parser.parse_args()
    for number, text in enumerate(strings(arguments.seed, arguments.count), 1):
        for tokenizer in ("13a", "none"):
            for lowercase in (False, True):
                found = kernels.tokens(text, tokenizer, lowercase)
                wanted = expected(text, tokenizer, lowercase=lowercase)
                if found != wanted:
                    print(f"string {number}, {tokenizer}, lowercase={lowercase}: {text!r}")
                    print(f"  kernel:    {found!r}\n  sacreBLEU: {wanted!r}")
                    return 1
        if number % 100_000 == 0:
            print(f"{number:,} strings are equal", flush=True)
    print(f"all {arguments.count:,} strings of seed {arguments.seed} are equal, by {kernels.__name__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
