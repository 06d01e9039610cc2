"""What survey platforms have in common, and two of them: the plain link, and any panel that sends people in by a link.

A platform is a :class:`spa.records.platforms.Platform`, which its package registers; others are packages of their own.
"""
