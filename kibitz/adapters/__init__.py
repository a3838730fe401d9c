"""Adapters to other libraries, imported by name. They need the extras `adapters` and `onnx`."""
