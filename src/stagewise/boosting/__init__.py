"""The one loop, and the parts it is made of: recipe, step, sampling, stopping, monitor."""
