"""What Hugging Face ``evaluate`` loads; `trubleu.integrations.hugging_face` says where it lies."""
