"""Pictures: figures that matplotlib draws, and the colours that every picture and page shares."""
