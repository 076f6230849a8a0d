#!/usr/bin/env bash
# Build the documentation into site/; a warning is an error, and so is a page that would load something from elsewhere.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
installed

say "mkdocs build --strict"
# The variable silences an announcement of the theme; it is not a warning about our pages.
NO_MKDOCS_2_WARNING=1 mkdocs build --strict --clean --site-dir site

if grep -rnoE --include='*.html' '<(script|link|img|iframe)[^>]+(src|href)="?(https?:)?//[^">]*' site; then
  fail "these pages load something from another site; the documentation must work offline."
fi
echo "site/index.html is the documentation; its search needs a server: python3 -m http.server -d site" >&2
