"""Scripts that run in an environment of the peers, apart from that of the project; none imports the project."""
