"""What the cases share: servers, measuring, results and how they are shown."""
