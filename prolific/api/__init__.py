"""A thin typed client of Prolific's API, version 1."""
