"""Games of rising bids between two hidden hands: exact solving, networks, and beliefs."""
