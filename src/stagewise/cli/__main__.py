"""Lets ``python -m stagewise.cli`` do what the ``stagewise`` command does."""

import sys

from stagewise.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
