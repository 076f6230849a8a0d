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
    // Notes where the words of some sentence stand.
    void mark(const Ids &words, size_t first, size_t last);
    // The places of a word there, a bit each.
    const uint64_t *places_of(uint32_t word);
    // One more word of a reference.
    void advance(const uint64_t *row, uint32_t word, uint64_t *next);
    // Finds the words of a reference that the sentence has in the same order.
    void find(const Ids &reference, size_t first, size_t last, size_t length, const Ids &words, size_t begin);

    Kind kind_;
    Tokenizer tokenizer_;
    size_t order_;
    Line output_, reference_;
    WindowMatcher window_;
    LongMatcher long_;
    LocalVocabulary vocabulary_;
    // A bit a word: where each word stands, or, of long sentences, where one does; rows of the table of subsequences.
    size_t blocks_ = 0;
    bool dense_ = true;
    std::vector<uint64_t> places_, rows_, kept_;
    std::vector<uint32_t> next_place_, first_place_;  // of the same word in a long sentence
    uint32_t shown_ = unknown_id;
    std::vector<size_t> sentences_, reference_sentences_;
    std::vector<uint8_t> found_;
    std::vector<uint32_t> left_, wanted_;
};

}  // namespace trubleu::rouge
