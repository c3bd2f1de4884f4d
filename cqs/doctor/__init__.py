"""`cqs doctor`: a configuration held against the machine and the servers it names, without changing either."""
