"""The module loaded by Hugging Face ``evaluate``; `trubleu.integrations.hugging_face` returns its path."""
