"""Whether a local model may have been trained on the study's texts."""
