"""What the server counts and measures about itself, below the service: plain numbers in slotted objects on the hot
path, made into Prometheus families only when somebody scrapes."""
