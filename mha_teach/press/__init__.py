"""From a chapter's markdown to its executed notebook: read, expand, run, check."""
