"""Tables in parts, on one machine or several: read, checked, and brought together by annotator and item."""
