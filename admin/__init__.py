"""The console at /ADMIN: pages for people, over the same service as the API."""
