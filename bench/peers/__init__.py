"""Side by side with peers: the same input, the same answers, in the same run. See README.md."""
