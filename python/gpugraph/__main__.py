"""``python -m gpugraph`` is the command ``gpugraph``."""

from ._cli import main

main()
