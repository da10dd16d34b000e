"""``python -m attnspec`` is the command line."""

import os
import sys

# Python looks for modules in the working folder first, where a target may have some under the names of our own. Where a
# target is loaded from there, the folder is put back.
if sys.path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109 - the same text that Python put there
    del sys.path[0]

from attnspec.command_line import main

sys.exit(main())
