"""Whether one order of the systems exists, or they beat each other in circles."""
