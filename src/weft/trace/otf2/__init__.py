"""OTF2 archives, as Score-P writes them, read as traces of weft."""
