"""Tests of subgroups and camps of people."""
