"""Example studies that ship with the package."""
