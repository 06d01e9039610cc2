"""What rooms of the analysis contribute, as records that know no room."""
