"""Ways to learn games of rising bids between two hidden hands."""
