"""Movement transition graphs: learnt from takes, edited by rules, with smooth seams."""
