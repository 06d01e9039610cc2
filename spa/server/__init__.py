"""The survey server: people answer the forms in a browser."""
