// n-grams of token ids in a trie: for texts of any length.
#pragma once

#include <span>
#include <vector>

#include "ngrams.hpp"

namespace trubleu {

constexpr uint32_t unknown_id = 0xFFFFFFFF;

// Counts a hypothesis' n-grams in one reference after the other.
//
// An n-gram is a node whose edge leads from its first n−1 words by its last word; edges are found through a hash table.
// Time is linear in the length of the texts, whatever they repeat.
class TrieMatcher {
  public:
    explicit TrieMatcher(const Options &options) : credit_(options.credit), order_(static_cast<size_t>(options.order)) {}

    // Enters the hypothesis; unknown ids in it are words that no reference has.
    void build(std::span<const uint32_t> ids);
    // Counts in a reference; unknown ids in it are words that the hypothesis does not have.
    void walk(std::span<const uint32_t> ids);
    // Credits what the reference held, and forgets its counts.
    void settle(double weight);
    void collect(double *matches) const;
    // Forgets what references held, and keeps the hypothesis.
    void forget() {
        for (Node &node : nodes_) node.best = {};
    }

  private:
    struct Node {
        uint32_t hypothesis_count, reference_count, order;
        Best best;
    };
    struct Edge {
        uint64_t key = 0;
        uint32_t node = none;
    };
    static constexpr uint32_t none = 0xFFFFFFFF, root = 0xFFFFFFFF;

    uint32_t edge(uint32_t parent, uint32_t token, uint32_t order, bool add);

    Credit credit_;
    size_t order_;
    std::vector<Edge> edges_;
    unsigned bits_ = 0;
    std::vector<Node> nodes_;
    std::vector<uint32_t> touched_;
};

}  // namespace trubleu
