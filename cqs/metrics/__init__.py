"""What the server counts and measures about itself, below the service: plain numbers in slotted objects on the hot
path, converted to Prometheus families only for a scrape."""
