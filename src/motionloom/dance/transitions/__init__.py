"""Movement transition graphs: learned from takes, edited by rules, with smooth seams."""
