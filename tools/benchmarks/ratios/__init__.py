"""What `make bench` runs beside attnspec: the yardstick, and the implementations that are tried."""
