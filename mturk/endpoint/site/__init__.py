"""The worker site: annotators sign in by invitation, find HITs, work on them in a frame, and see what they earned."""
