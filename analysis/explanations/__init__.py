"""What explanations and comments speak of: keywords, an embedding, how well criteria separate in it, a map."""
