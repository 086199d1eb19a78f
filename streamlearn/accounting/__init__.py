"""What the private predictors' privacy costs, computed and certified."""
