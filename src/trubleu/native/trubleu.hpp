// The metric trubleu: how similar two texts are, word by word and by their characters, and what a segment's references
// make of it.
#pragma once

#include <cstdint>
#include <vector>

#include "chrf.hpp"
#include "greedy.hpp"
#include "slice.hpp"

namespace trubleu::soft {

struct TrubleuOptions {
    size_t order = 3;
    double beta = 2.0;        // recall weighs beta times as much as precision
    double shift = 0.15;      // cosines up to here count nothing
    bool characters = true;   // whether chrF is one more factor
    bool lowercase = true;    // whether characters are compared without case
};

// What is known of the words of a slice, by number.
struct WordTable {
    const float *data = nullptr;     // vectors as they are, not of length 1
    size_t dimensions = 0;           // a multiple of Dots::lanes
    const uint32_t *rows = nullptr;  // the row of each word, or `nothing`
    const double *lengths = nullptr; // of each word's vector; 0 without one
    const double *weights = nullptr; // of each word; NaN for the mean of the words of its text that have a weight
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
    NgramMatcher(const Slice &slice, size_t order) : slice_(slice), order_(order), number_of_word_(slice.word_count(), nothing) {}

    void take_hypothesis(size_t text);
    void take_reference(size_t text);
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

    const Slice &slice_;
    size_t order_;
    std::vector<uint32_t> number_of_word_;
    std::vector<uint32_t> words_;  // the different words of the hypothesis
    std::vector<uint32_t> counts_[max_order + 1], used_;
    std::vector<Slot> table_;
    unsigned bits_ = 0;
};

// Scores segments of a slice; holds scratch memory, so each thread has its own.
class SegmentScorer {
  public:
    // Characters are compared by segment: `outputs` are the hypotheses as they were before they were split into words,
    // `references` their references; both null without characters.
    SegmentScorer(const Slice &slice, const WordTable &words, const Text *outputs, const chrf::Segment *references,
                  const TrubleuOptions &options);

    // `weights` has one number for each reference of the segment, NaN for one that is left out; null for 1 each.
    double score(size_t segment, const double *weights, SegmentDetails *details);

  private:
    struct Side {
        std::vector<uint32_t> places;                // by position: which of the segment's different words it is
        std::vector<double> weights[max_order + 1];  // by order and position
    };

    void take_words(size_t segment);
    void settle(size_t row, float *products) const;
    const float *cosines(size_t place, size_t scratch);
    void take_text(size_t text, Side &side);
    void multiply(size_t position, size_t scratch, double *to);
    void fill_keys(size_t n, size_t position, int32_t *keys);
    double f_of_order(size_t text, size_t n, std::vector<AlignedPair> *pairs);
    void note_exact(size_t text, size_t n, std::vector<AlignedPair> &pairs) const;
    PairScore compare(size_t text, std::vector<AlignedPair> *pairs);
    double f_score(double precision, double recall) const;

    const Slice &slice_;
    WordTable words_;
    const Text *outputs_;
    const chrf::Segment *references_;
    TrubleuOptions options_;
    NgramMatcher matcher_;
    Aligner aligner_;
    chrf::Matcher characters_;
    int32_t least_;
    std::vector<float> zeros_;
    size_t hypothesis_ = 0;
    std::vector<uint32_t> place_of_word_;
    // The different words of the hypothesis, and of all references of the segment, and the cosines between them.
    std::vector<uint32_t> hypothesis_words_, reference_words_;
    std::vector<const float *> hypothesis_vectors_, reference_vectors_;
    std::vector<double> reference_scales_;  // one over the length of each vector; 0 without one
    std::vector<float> cosines_, scratch_;
    bool held_ = false;
    // Of one pair of texts.
    Side left_, right_;
    std::vector<double> products_, left_similarities_, right_similarities_;
    bool products_held_ = false;
    std::vector<int32_t> window_, keys_;
    std::vector<double> scores_;
};

}  // namespace trubleu::soft
