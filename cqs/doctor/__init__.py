"""`cqs doctor`: checks a configuration against this machine and the servers that it names, and changes nothing."""
