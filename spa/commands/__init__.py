"""The commands of ``spa``: read arguments, call the library, print."""
