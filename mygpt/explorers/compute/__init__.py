"""What more than one explorer that trains in the page computes with: scripts alone."""
