"""``python -m trubleu``."""

import sys

from trubleu.cli import main

sys.exit(main())
