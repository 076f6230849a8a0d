// References that were tokenised and counted once, to score any number of systems and weightings against them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ngrams.hpp"

namespace trubleu {

constexpr uint32_t absent = 0xFFFFFFFF;
constexpr uint64_t empty_key = ~uint64_t{0};

// The arrays that make up a prepared set; plain data, so that they can live in a file that is mapped into memory.
//
// Vocabulary: an open-addressing table of pairs (first eight bytes, size << 32 | id) over a heap of token bytes.
// Segments: one trie each in an open-addressing table. A slot's key is (slot of the parent, token id), so a node is known
// by its slot. Beside the key stand the largest count in any reference and the owner: the one reference that holds the
// n-gram, or, with the top bit set, where in `postings` its list (size, then pairs of reference and count) begins.
template <template <typename> class Array> struct PreparedArrays {
    Array<uint64_t> token_table;
    Array<uint64_t> token_begins;
    Array<uint8_t> token_bytes;
    Array<uint64_t> slot_begins;
    Array<uint64_t> keys;
    Array<uint32_t> counts;
    Array<uint32_t> owners;
    Array<uint64_t> posting_begins;
    Array<uint32_t> postings;
    Array<uint64_t> reference_begins;
    Array<uint32_t> lengths;
};

template <typename T> using Vector = std::vector<T>;
template <typename T> using View = std::span<const T>;

using PreparedData = PreparedArrays<Vector>;
using Prepared = PreparedArrays<View>;

constexpr uint32_t shared_owner = 0x80000000;

// Builds the arrays segment by segment.
class PreparedBuilder {
  public:
    explicit PreparedBuilder(const Options &options);
    void add_segment(const Text *references, size_t count);
    PreparedData finish();
    const Options &options() const { return options_; }

  private:
    struct Node {
        uint64_t key;
        uint32_t count, largest, holders, last_reference;
    };
    struct Occurrence {
        uint32_t node, reference, count;
    };

    uint32_t intern(const Token &token);
    void grow_vocabulary();
    uint32_t node_of(uint32_t parent, uint32_t token);
    void enter(const Line &line, uint32_t reference);
    void store();

    Options options_;
    Line line_;
    PreparedData data_;
    unsigned token_bits_ = 10;
    std::vector<Node> nodes_;
    std::vector<uint32_t> table_;  // local node number + 1; 0 is empty
    unsigned table_bits_ = 4;
    std::vector<uint32_t> touched_;
    std::vector<Occurrence> occurrences_;
    std::vector<uint32_t> slots_, list_begins_;
};

// What weights make of a prepared set: per slot the largest weight of a reference that takes part and holds the n-gram,
// and the largest count in any that takes part (0: in none of them).
struct Layer {
    std::span<const double> weights;  // one a reference; NaN: does not take part; empty: all are 1
    std::span<const double> values;   // one a slot; empty without weights
    std::span<const uint32_t> counts; // one a slot
};

void fill_layer(const Prepared &prepared, std::span<const double> weights, double *values, uint32_t *counts,
                size_t first_segment, size_t last_segment);

// Hypotheses against prepared references. Scratch memory is reused from segment to segment.
class PreparedScorer {
  public:
    PreparedScorer(const Options &options, const Prepared &prepared, const Layer &layer);
    void score(size_t segment, const Text &hypothesis, double *row);

  private:
    struct Match {
        uint32_t slot, order;
    };

    void look_up();
    uint32_t find_token(const Token &token) const;
    uint32_t find_edge(uint32_t parent, uint32_t token) const;
    size_t edge_slot(uint32_t parent, uint32_t token) const;
    double value_of(size_t slot, uint32_t hypothesis_count, size_t segment) const;

    Options options_;
    const Prepared &prepared_;
    Layer layer_;
    unsigned token_bits_;
    Line line_;
    const uint64_t *keys_ = nullptr;
    uint64_t capacity_ = 0;
    std::vector<Token> tokens_;
    std::vector<uint32_t> ids_, unigrams_;
    std::vector<uint32_t> hypothesis_counts_;
    std::vector<Match> matches_;
};

}  // namespace trubleu
