#!/usr/bin/env bash
# Score the example that the project brings: three chat systems, some references good and some bad.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
installed

mkdir -p out
call=(trubleu score --refs examples/refs.jsonl examples/good.txt examples/dull.txt examples/parrot.txt
  -m bleu-2 -m sbleu-2 -m dbleu-2 -m chrf --ci --test --method randomisation --seed 7)
echo "\$ ${call[*]}"
echo
"${call[@]}" | tee out/demo.txt
"${call[@]}" --format json --out out/demo.json --quiet
page=(trubleu explain --refs examples/refs.jsonl examples/good.txt examples/parrot.txt -m dbleu-2 --differ 12
  --format html --out out/demo.html)
echo
echo "\$ ${page[*]}"
"${page[@]}"
judge=(trubleu judge pairs --refs examples/refs.jsonl --ratings examples/ratings.csv
  examples/good.txt examples/dull.txt examples/parrot.txt --unit 10 --report out/judge.html --out out/judge.txt --quiet)
echo "\$ ${judge[*]}"
"${judge[@]}"
echo
sed -n 1,12p out/judge.txt
cat <<'TEXT'

The references were rated: some are good answers, some are bad ones (the message said back, "i don't know").
BLEU rewards a match with either kind, so parrot, which repeats what it was told, comes out first.
ΔBLEU lets a match with a bad reference cost, and good comes out first.
So BLEU on all references disagrees with the ratings of the outputs (ρ below 0), and ΔBLEU agrees with them.
The example, its weights and its ratings were written to show this: it illustrates the metric and proves nothing.

out/judge.html  a page: how well each metric agrees with people, and where it does not
out/demo.html   a page: where good and parrot differ most, n-grams coloured by the weight of the reference they matched
out/demo.txt    this table
out/demo.json   the same numbers for programs, with signatures
examples/       the references with their weights, the three outputs and their ratings
TEXT
