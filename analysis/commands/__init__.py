"""The commands report, plan, demo, freeze and heds."""
