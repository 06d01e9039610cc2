"""The commands report, bundle, replay, plan, demo, freeze and heds."""
