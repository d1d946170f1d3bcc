"""The boosting loop and its parts: recipe, response, step, sampling, dropout, stopping, monitor."""
