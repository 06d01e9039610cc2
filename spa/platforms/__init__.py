"""What survey platforms have in common, and the adapter for any panel that sends people in by a link."""
