"""The e-book and the PDF, made of the pages that `website.on_paper` writes."""
