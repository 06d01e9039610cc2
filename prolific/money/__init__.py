"""What a study costs and pays, and bonuses."""
