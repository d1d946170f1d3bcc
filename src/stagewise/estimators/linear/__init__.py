"""The linear models: least squares, stepwise selection and forward stagewise regression."""
