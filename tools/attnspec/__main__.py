"""``python -m attnspec`` is the command line."""

import sys

from attnspec.command_line import main

sys.exit(main())
