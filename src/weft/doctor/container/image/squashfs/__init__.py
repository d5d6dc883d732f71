"""Images in squashfs, as Enroot and Apptainer keep them: read in place."""
