// LeBLEU of one output and its references: n-grams that are spelt alike.
#pragma once

#include <array>
#include <span>
#include <unordered_map>
#include <vector>

#include "direct.hpp"
#include "weighted.hpp"

namespace trubleu::lebleu {

// N-grams of references have up to so many times as many words as those of outputs, so that a compound meets its parts.
constexpr size_t reach = 2;

// Scores segments; one for each thread.
//
// All n-grams that begin at a word are beginnings of one string: one pass over the letters behind a word of the reference, with
// a bit for each letter of the output, tells the edit distances of all n-grams that begin at two words. Several words of the
// reference go in step, so that this runs in vectors.
class Scorer {
  public:
    Scorer(const Options &options, double threshold);
    Scorer(const Scorer &) = delete;

    // Letters of the output and of the reference that is closest to it, what n-grams earn by order, n-grams by order.
    void score(const Text &output, const Text *references, size_t count, double *row);

  private:
    // A text as letters, a space between two words, and where words begin and end.
    struct Letters {
        std::vector<uint32_t> letters;
        std::vector<uint32_t> numbers;  // of the letters, see `number_letters`, and as many zeros
        std::vector<Span> words;

        void load(const Line &line);
        size_t end(size_t word) const { return words[word].end; }
    };
    // An n-gram of the output that has more places than the references have equal ones.
    struct Wanting {
        size_t order, size, missing;
        bool several;  // more than the best one counts
        double best;   // similarity so far, or the least that counts
        // An n-gram of m letters is at most min(m, n) / max(m, n) similar to one of n: how many letters n can be.
        size_t low, high;

        void set_best(double value);
    };
    struct Similar {
        double value;
        size_t reference;
        std::span<const uint32_t> letters;
    };

    void number_letters(size_t count);
    void prepare(size_t place);
    // Compares with the n-grams that begin at some word, or at some words in step.
    void compare_long(const Letters &reference, size_t number, size_t word);
    template <typename Bits, size_t lanes> void compare(const Letters &reference, size_t number, size_t word, std::vector<Bits> &places);
    void compare_all(const Letters &reference, size_t number, size_t place);
    // Longer n-grams cannot be similar enough to any that wants something.
    size_t longest_useful() const;
    // Takes the distances of the n-grams that begin at a word of the reference, and have so many letters at most.
    template <typename Distance> void note(const Letters &reference, size_t number, size_t word, size_t longest, Distance distance_of);
    double earned(const Wanting &ngram);

    Options options_;
    size_t order_;
    double threshold_;
    Line output_line_, reference_line_;
    LocalVocabulary vocabulary_;
    NgramCounts no_counts_;
    CorpusWords words_;
    TextNgrams ngrams_;
    Letters output_;
    std::vector<Letters> references_;
    std::unordered_map<uint32_t, uint32_t> numbers_;  // of letters beyond Latin-1
    std::array<uint32_t, 256> latin_numbers_{};
    size_t alphabet_ = 0, blocks_ = 0;
    std::vector<uint64_t> places_;               // by letter: where it stands, a bit each
    std::vector<uint32_t> short_places_;
    // Where a distance is one less, and where it is one more, than with a letter of the output less: after each letter.
    std::vector<uint64_t> history_;
    std::vector<uint32_t> short_history_;
    std::vector<Wanting> wanting_;
    std::array<std::vector<Similar>, max_order + 1> similar_;
};

}  // namespace trubleu::lebleu
