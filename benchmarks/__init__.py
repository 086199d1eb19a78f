"""Speed targets, each measured side by side with its peer in one run."""
