"""Listening tests: what hidden references and anchors were rated, and what their ratings say of listeners."""
