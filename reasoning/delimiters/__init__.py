"""What marks the parts of a model's text: tags, headings, the block of spec 000."""
