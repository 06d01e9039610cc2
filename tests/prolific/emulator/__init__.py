"""Tests of prolific/emulator."""
