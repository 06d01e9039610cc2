"""Single answers behind means: as many as a figure can show."""
