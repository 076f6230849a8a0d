// Near misses: n-grams that two texts do not share are aligned by how similar their vectors are.
#pragma once

#include <cstdint>
#include <vector>

#include "greedy.hpp"
#include "slice.hpp"

namespace trubleu::soft {

// What becomes of a cosine before it counts.
enum class Similarity : uint8_t { raw, clamp, shift };

// What an n-gram earns that several references have something similar to.
enum class Rule : uint8_t {
    plain,    // without weights: the largest sum, below 0 if all are; references that hold the n-gram go first
    earn,     // the largest product, not below 0; references that hold the n-gram go first
    nearest,  // the reference with the largest sum decides; references that hold the n-gram go first
    max       // the largest product over all references with a sum above 0
};

struct Scale {
    Similarity similarity = Similarity::raw;
    double shift = 0.0;
    double unknown = 0.001;  // the weight of a pair of which one has no vector
    Rule rule = Rule::plain;
    bool release = false;  // as released in 2017: the first reference only, and an n-gram is aligned only once
};

// Vectors by number, all of one length that is a multiple of `lanes`.
struct Vectors {
    static constexpr size_t lanes = 8;

    const float *data = nullptr;
    size_t dimensions = 0;
    const uint32_t *rows = nullptr;  // by n-gram or word: its row, or `nothing`
    bool composed = false;           // rows are those of words; an n-gram's vector is the sum over its words
    const float *squares = nullptr;  // composed: by word, its product with itself
};

// One pair of aligned n-grams, for those who want to see them.
struct Pair {
    int32_t segment, order, reference, hypothesis_position, reference_position;
    bool exact;
    double weight;
};

// Aligns and scores segments of a slice; holds scratch memory, so each thread has its own.
class Scorer {
  public:
    Scorer(const Slice &slice, const Vectors &vectors, const Scale &scale);

    // `weights` has one number for each reference of the segment, or is null; pairs are noted if there is a place for them.
    void score(size_t segment, const double *weights, double *row, std::vector<Pair> *pairs);

  private:
    // What the references have made of an n-gram so far.
    struct Value {
        bool exact = false, any = false;
        double of_exact = 0.0;                     // the largest product over references that hold it
        double product = 0.0;                      // the largest product over all of them
        double largest_sum = 0.0, its_weight = 0.0;
    };
    // A text's vectors where those of n-grams are sums: of its words, and one over the length of each sum (0: no vector).
    struct Composed {
        std::vector<const float *> words;  // each once
        std::vector<uint32_t> places;      // by position: which of them it is
        std::vector<double> scales[max_order + 1];
    };

    const std::vector<Aligner::Match> &align(size_t reference, size_t n);
    void compose(size_t text, Composed &to);
    void multiply(size_t first, size_t count);
    const float *products(size_t first, size_t count);
    void sum_products(size_t position, size_t n);
    bool known(const Composed &side, size_t text, size_t n, size_t position) const;
    double weight_of(int32_t key) const;
    void add(Value &value, double sum, bool exact, double weight) const;
    double earned(const Value &value) const;
    const float *vector_of(uint32_t number) const;
    void note(std::vector<Pair> &pairs, size_t segment, size_t reference, size_t n,
              const std::vector<Aligner::Match> &matches) const;

    const Slice &slice_;
    Vectors vectors_;
    Scale scale_;
    Matcher matcher_;
    Aligner aligner_;
    int32_t least_, unknown_key_;
    std::vector<float> zeros_;
    size_t hypothesis_ = 0;
    std::vector<double> sums_;
    std::vector<Value> values_[max_order + 1];
    Composed composed_[2];  // of the hypothesis and of the reference
    std::vector<uint32_t> place_of_word_;
    std::vector<const float *> left_, right_;
    std::vector<float> neighbours_, distinct_products_, products_, cosines_;
    std::vector<double> window_;
    bool products_held_ = false;
    std::vector<const float *> row_vectors_, column_vectors_;
    std::vector<int32_t> keys_;
    std::vector<uint32_t> unknown_columns_;
};

}  // namespace trubleu::soft
