"""The parts of ``stagewise predict``: output columns and output files."""
