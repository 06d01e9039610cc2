"""What every section of a report is made of: blocks, cells, words, names, and tests looked up."""
