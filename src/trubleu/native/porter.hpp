// The stemmer of Porter (1980) with the changes that NLTK makes to it, as ROUGE is usually computed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trubleu {

// Stems a word of lower-case letters and digits in place, and returns how long its stem is: never longer than the word.
size_t porter_stem(uint8_t *word, size_t size);

}  // namespace trubleu
