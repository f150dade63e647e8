"""What the explorers share: their base class, and a kit to draw with in the page."""
