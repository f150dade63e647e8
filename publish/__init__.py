"""What is given away: notebooks, wheel, e-book and PDF, and the tries of each."""
