// ROUGE of one output and its references: n-grams, longest common subsequences, and these sentence by sentence.
#pragma once

#include <vector>

#include "direct.hpp"

namespace trubleu::rouge {

enum class Kind : uint8_t { ngrams, subsequence, summary };

// Scores segments; one for each thread.
class Scorer {
  public:
    // The order is that of n-grams.
    Scorer(Kind kind, size_t order, bool stem);

    // Precision, recall and F of the reference with the best F, and how many words the output has.
    void score(const Text &output, const Text *references, size_t count, double *row);

  private:
    using Ids = std::vector<uint32_t>;

    template <typename Matcher> void match(Matcher &matcher, const Text *references, size_t count, double *row);
    void take(double hits, double said, double wanted, double *row) const;
    void load_reference(const Text &text) { reference_.load(text, tokenizer_, true); }
    size_t common(const Ids &words, const Ids &reference);
    size_t summary_hits(const Ids &words, const Ids &reference);
    // Where the words of some sentence stand, a bit each, and the words of a reference that these have in the same order.
    void mark(const Ids &words, size_t first, size_t last);
    void find(const Ids &reference, size_t first, size_t last, size_t length, const Ids &words, size_t begin);

    Kind kind_;
    Tokenizer tokenizer_;
    size_t order_;
    Line output_, reference_;
    WindowMatcher window_;
    LongMatcher long_;
    LocalVocabulary vocabulary_;
    // A bit a word: where each word stands; rows of the table of subsequences.
    size_t blocks_ = 0;
    std::vector<uint64_t> places_, rows_;
    std::vector<size_t> sentences_, reference_sentences_;
    std::vector<uint8_t> found_;
    std::vector<uint32_t> left_, wanted_;
};

}  // namespace trubleu::rouge
