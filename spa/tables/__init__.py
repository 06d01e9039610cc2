"""Tables as people keep them: one reader of files for outputs, answers and everything beside them."""
