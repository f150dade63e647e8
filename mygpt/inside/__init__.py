"""What goes on inside a trained GPT: read it, change it, and test what it shows."""
