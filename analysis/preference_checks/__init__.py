"""What preferences must hold to be believed: effect sizes, exposure, what filtering changes, coherence of triples."""
