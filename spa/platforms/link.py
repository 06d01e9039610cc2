"""The plain link: whoever has it may come, nobody verifies who they are, and nobody is paid through it.

Its door, ``/`` and ``/a/TOKEN``, is the survey server's own: the people of every platform answer there.
"""

from spa.records.platforms import LINK, Platform

PLATFORM = Platform(key=LINK, title="the link", recruited="Through a link to the survey that was handed on.")
