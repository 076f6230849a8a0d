// The metric trubleu: how similar two texts are, word by word and by their characters, and what a segment's references
// make of it.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
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
    const float *common_products = nullptr;  // of the vectors of common words with each other

    // The vector of a word, `zeros` for one that has none.
    const float *vector(uint32_t word, const float *zeros) const {
        return rows[word] == nothing ? zeros : data + size_t{rows[word]} * dimensions;
    }
};

// Two n-grams that were aligned, for those who want to see them.
struct AlignedPair {
    int32_t reference, order, hypothesis_position, reference_position;
    bool exact;
    double similarity;
};

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

// One hypothesis beside one reference.
struct PairScore {
    PairScore() { f.fill(undefined); }

    double score = 0.0;       // from 0 to 1
    double characters = 0.0;  // F of characters
    std::array<double, max_order> f;  // by order; NaN for one that was left out
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

    size_t order_, shared_ = 0;  // the longest n-grams that both have
    std::vector<uint32_t> number_of_word_;
    std::vector<uint32_t> words_;  // the different words of the hypothesis
    std::vector<uint32_t> counts_[max_order + 1], used_;
    std::vector<Slot> table_;
    unsigned bits_ = 0;
};

// The references of segments, word by word: what is the same whatever they are compared with.
//
// The words that come up most often are common: products of their vectors with each other, a third of all that are
// needed, are made once.
class ReferenceWords {
  public:
    // `offsets` say which of the references are those of a segment, from the first one's on.
    ReferenceWords(const WordTexts &texts, std::span<const int64_t> offsets);

    const WordTexts &texts() const { return texts_; }
    size_t size() const { return offsets_.size() - 1; }
    std::pair<size_t, size_t> range(size_t segment) const { return {offsets_[segment], offsets_[segment + 1]}; }
    // The different words of a segment, common ones first, and how many of these there are.
    std::span<const uint32_t> words(size_t segment) const { return {words_.data() + begins_[segment], begins_[segment + 1] - begins_[segment]}; }
    size_t common_count(size_t segment) const { return common_counts_[segment]; }
    // Which of its segment's different words each word of a text is.
    std::span<const uint32_t> places(size_t text) const {
        std::span<const uint32_t> words = texts_[text];
        return {places_.data() + (words.data() - texts_.ids().data()), words.size()};
    }
    const std::vector<uint32_t> &common() const { return common_; }
    // Which of the common words a word is, or `nothing`.
    uint32_t common_place(uint32_t word) const { return word < common_places_.size() ? common_places_[word] : nothing; }
    std::vector<float> common_products(const WordTable &words) const;
    size_t memory() const;

  private:
    void find_common();

    const WordTexts &texts_;
    std::vector<size_t> offsets_, begins_{0};
    std::vector<uint32_t> common_, common_places_, words_, common_counts_, places_;
};

// Segments whose texts are compared.
struct Segments {
    const WordTexts *outputs;
    const ReferenceWords *references;
    // The texts as they were before they were split into words, to compare their characters; null without.
    const Text *output_texts;
    const chrf::Segment *reference_characters;
    const double *weights;  // one for each reference, NaN for one that is left out; null for 1 each
};

// Scores segments; holds scratch memory, so each thread has its own.
class SegmentScorer {
  public:
    SegmentScorer(const Segments &segments, const WordTable &words, const TrubleuOptions &options);

    double score(size_t segment, SegmentDetails *details);
    // How similar the output of the last segment is to each of its references.
    const std::vector<double> &similarities() const { return scores_; }

  private:
    struct Side {
        std::span<const uint32_t> places;            // by position: which of the different words it is
        std::vector<double> weights[max_order + 1];  // by order and position, filled up to whole vectors with 0
        double totals[max_order + 1] = {};           // their sums
    };

    void take_words(size_t segment);
    void settle(size_t row, float *products) const;
    const float *cosines(size_t place, size_t scratch);
    void take_text(std::span<const uint32_t> words, std::span<const uint32_t> places, Side &side);
    void multiply(size_t position, size_t scratch, float *to);
    void fill_keys(size_t n, size_t position, int32_t *keys);
    // `reference` is its place among the segment's.
    double f_of_order(size_t reference, size_t n, std::vector<AlignedPair> *pairs);
    void note_exact(size_t reference, size_t n, std::vector<AlignedPair> &pairs) const;
    PairScore compare(size_t reference, size_t text, std::vector<AlignedPair> *pairs);
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
    std::vector<uint32_t> hypothesis_words_, hypothesis_places_, common_places_;
    std::span<const uint32_t> reference_words_;
    std::vector<const float *> hypothesis_vectors_, reference_vectors_;
    std::vector<double> reference_scales_;  // one over the length of each vector; 0 without one
    std::vector<uint32_t> equal_;           // the word of the references that equals one of the hypothesis, or `nothing`
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
