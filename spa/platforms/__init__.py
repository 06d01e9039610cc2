"""What survey platforms have in common: calls that take effect once, review and bonuses."""
