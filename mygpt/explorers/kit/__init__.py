"""What the explorers share: base class, checks, texts, and a kit to draw with."""
