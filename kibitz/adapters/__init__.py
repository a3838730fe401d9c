"""Doors to other libraries, imported by name; they need the extras `adapters` and `onnx`."""
