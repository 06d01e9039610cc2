"""Studies looked at while they run: bets on means, decisions that hold at every moment, when to stop."""
