"""Large simulations of how often intervals hold the truth; ``make calibrate``. Small ones are in the tests."""
