// The metric trubleu: how similar two texts are, word by word and by their characters, and what a segment's references
// make of it.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "chrf.hpp"
#include "greedy.hpp"
#include "words.hpp"

namespace trubleu::soft {

struct TrubleuOptions {
    size_t order = 3;
    double beta = 2.0;        // recall weighs beta times as much as precision
    double shift = 0.15;      // cosines up to here count nothing
    bool characters = true;   // whether chrF is one more factor
    bool lowercase = true;    // whether characters are compared without case
};

// What is known of words, by number.
struct WordTable {
    const float *data = nullptr;     // vectors as they are, not of length 1
    size_t dimensions = 0;           // a multiple of Dots::lanes
    const uint32_t *rows = nullptr;  // the row of each word, or `nothing`
    const double *lengths = nullptr; // of each word's vector; 0 without one
    const double *weights = nullptr; // of each word; NaN for the mean of the words of its text that have a weight
    // Products of the vectors of common words with each other, `common_count` a row; which one a word is, or `nothing`.
    const float *common_products = nullptr;
    size_t common_count = 0;
    const uint32_t *common = nullptr;

    const float *vector(uint32_t word) const { return data + size_t{rows[word]} * dimensions; }
};

// Two n-grams that were aligned, for those who want to see them.
struct AlignedPair {
    int32_t reference, order, hypothesis_position, reference_position;
    bool exact;
    double similarity;
};

// One hypothesis beside one reference.
struct PairScore {
    double score = 0.0;       // from 0 to 1
    double characters = 0.0;  // F of characters
    std::vector<double> f;    // by order; NaN for one that was left out
};

// What a segment's score is made of.
struct SegmentDetails {
    std::vector<PairScore> references;
    std::vector<AlignedPair> pairs;
    double earned = 0.0, cut = 0.0;
};

// Which n-grams of a hypothesis a reference has too. Equal ones are paired from left to right.
//
// The different n-grams of the hypothesis are numbered, order by order: one is found by the number of all but its last
// word and that word. A slice's own numbers of n-grams are not needed, and a table this small stays in the cache.
class NgramMatcher {
  public:
    NgramMatcher(size_t word_count, size_t order) : order_(order), number_of_word_(word_count, nothing) {}

    void take_hypothesis(std::span<const uint32_t> words);
    void take_reference(std::span<const uint32_t> words);
    // Pairs the n-grams of one order.
    void compare(size_t n);

    // The n-grams of the hypothesis and of the reference by where they begin; `nothing` for those of the reference alone.
    std::vector<uint32_t> left[max_order + 1], right[max_order + 1];
    // Of the last comparison: positions that are left over, of the hypothesis and of the reference, and positions of the
    // reference that were paired.
    std::vector<uint32_t> rows, columns, matched;

  private:
    struct Slot {
        uint64_t key;
        uint32_t number;
    };
    static constexpr uint64_t no_key = ~uint64_t{0};

    // Where an n-gram is, or would be, by the numbers of all but its last word and of that word.
    Slot &slot(size_t n, uint32_t head, uint32_t last);

    size_t order_;
    std::vector<uint32_t> number_of_word_;
    std::vector<uint32_t> words_;  // the different words of the hypothesis
    std::vector<uint32_t> counts_[max_order + 1], used_;
    std::vector<Slot> table_;
    unsigned bits_ = 0;
};

// Segments whose texts are compared.
struct Segments {
    const WordTexts *outputs, *references;
    const int64_t *offsets;  // which of the references are those of a segment, from the first one's on
    // The texts as they were before they were split into words, to compare their characters; null without.
    const Text *output_texts;
    const chrf::Segment *reference_characters;
    const double *weights;  // one for each reference, NaN for one that is left out; null for 1 each

    std::pair<size_t, size_t> reference_range(size_t segment) const {
        return {static_cast<size_t>(offsets[segment] - offsets[0]), static_cast<size_t>(offsets[segment + 1] - offsets[0])};
    }
};

// Products of the words that come up most often: a third of all that are needed, as some words are in most texts.
class CommonWords {
  public:
    CommonWords(const Segments &segments, WordTable &words);

  private:
    std::vector<uint32_t> place_of_word_;
    std::vector<float> products_;
};

// Scores segments; holds scratch memory, so each thread has its own.
class SegmentScorer {
  public:
    SegmentScorer(const Segments &segments, const WordTable &words, const TrubleuOptions &options);

    double score(size_t segment, SegmentDetails *details);

  private:
    struct Side {
        std::vector<uint32_t> places;                // by position: which of the segment's different words it is
        std::vector<double> weights[max_order + 1];  // by order and position, filled up to whole vectors with 0
        double totals[max_order + 1] = {};           // their sums
    };

    void take_words(size_t segment);
    void settle(size_t row, float *products) const;
    const float *cosines(size_t place, size_t scratch);
    void take_text(std::span<const uint32_t> words, Side &side);
    void multiply(size_t position, size_t scratch, float *to);
    void fill_keys(size_t n, size_t position, int32_t *keys);
    // `reference` is its place among the segment's.
    double f_of_order(size_t reference, size_t n, std::vector<AlignedPair> *pairs);
    void note_exact(size_t reference, size_t n, std::vector<AlignedPair> &pairs) const;
    PairScore compare(size_t reference, std::span<const uint32_t> words, std::vector<AlignedPair> *pairs);
    double f_score(double precision, double recall) const;

    Segments segments_;
    WordTable words_;
    TrubleuOptions options_;
    NgramMatcher matcher_;
    Aligner aligner_;
    chrf::Matcher characters_;
    int32_t least_;
    std::vector<float> zeros_;
    std::vector<uint32_t> place_of_word_;
    // The different words of the hypothesis, and of all references of the segment, and the cosines between them.
    // Common words come first.
    std::vector<uint32_t> hypothesis_words_, reference_words_;
    std::vector<const float *> hypothesis_vectors_, reference_vectors_;
    std::vector<double> reference_scales_;  // one over the length of each vector; 0 without one
    std::vector<float> cosines_, scratch_;
    bool held_ = false;
    // Of one pair of texts.
    Side left_, right_;
    std::vector<float> products_;
    size_t stride_ = 0;
    bool products_held_ = false;
    std::vector<int32_t> window_, keys_;
    std::vector<double> scores_;
};

}  // namespace trubleu::soft
