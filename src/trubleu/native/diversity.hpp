// What texts share with each other: n-grams that several of them have.
#pragma once

#include <vector>

#include "ngram_counts.hpp"

namespace trubleu {

// For each text: its n-grams of one length, each divided by how often all texts have it, and how many there are. The first
// sums up to the number of different n-grams.
void distinct_ngrams(const WordTexts &texts, size_t order, double *rows);

// For each text: its length, that of the other text that is closest in length, n-grams of each length up to `order` that any
// other text has as often, and n-grams: rows as those of BLEU with all other texts as references.
void self_matches(const WordTexts &texts, size_t order, double *rows);

}  // namespace trubleu
