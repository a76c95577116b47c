"""Rules by topic, each with the thresholds it judges by and their reasons; docs/rules has a page for each."""
