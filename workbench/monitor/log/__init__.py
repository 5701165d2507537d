"""The log of a production service: its fields, its writer, its reader and its summary."""
