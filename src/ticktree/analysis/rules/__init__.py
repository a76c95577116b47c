"""One rule a file, each with the threshold it judges by and the reason for it; docs/rules has a page each."""
