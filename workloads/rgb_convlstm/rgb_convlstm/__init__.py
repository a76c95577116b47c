"""A board of sliding robots, drawn as a picture, and a ConvLSTM that learns to play it by recurrent PPO."""
