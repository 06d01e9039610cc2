"""What preferences must hold to be believed: exposure, what filtering changes, coherence of triples."""
