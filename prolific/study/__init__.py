"""The study as Prolific is to have it: the table [prolific], filters, codes, the body that is sent."""
