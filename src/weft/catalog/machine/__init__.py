"""Documents about machines: platforms, cabling, virtual machine sizes."""
