// NIST and CIDEr of one segment: n-grams that an output shares with its references, weighed by their counts in a corpus.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ngram_counts.hpp"

namespace trubleu {

// What n-grams weigh: their counts in a corpus, and which of its words the words of texts are.
struct CorpusWords {
    const NgramCounts &counts;
    std::vector<uint32_t> classes;  // by word: words of one class are equal; empty if all differ
    std::vector<uint32_t> known;    // by class: the word of the corpus; `nothing` if it has it once at most

    uint32_t class_of(uint32_t word) const { return classes.empty() ? word : classes[word]; }
};

// The n-grams of some texts as the nodes of a trie, each with its weight. Nodes of an order are in the order in which they
// first end, so sums run in the same order whatever else is in the corpus.
class NgramTrie {
  public:
    struct Node {
        uint32_t parent, suffix, word, order;
        uint32_t known;                         // its number in the corpus
        uint32_t said = 0, held = 0, most = 0;  // in the output, in one reference, the most in any of them
        double weight = 0.0;
    };
    static constexpr uint32_t unresolved = nothing - 1;

    NgramTrie(const CorpusWords &words, size_t order) : words_(words), order_(order) {}

    void clear(size_t tokens);
    // Calls with each n-gram of a text; those that are new become nodes.
    template <typename Take> void add(std::span<const uint32_t> text, Take take) {
        uint32_t ending[max_order] = {};  // by order: the n-gram that ends at the word before
        size_t active = 0;
        for (uint32_t word : text) {
            size_t grams = std::min(active + 1, order_);
            uint32_t prefix = nothing, suffix = nothing;
            for (size_t n = 0; n < grams; ++n) {
                uint32_t node = number(prefix, suffix, words_.class_of(word), n);
                prefix = ending[n];
                ending[n] = suffix = node;
                take(node);
            }
            active = grams;
        }
    }
    // The same with n-grams that are there; one can only be if the shorter one with the same end is.
    template <typename Take> void find(std::span<const uint32_t> text, Take take) const {
        uint32_t ending[max_order] = {};
        size_t active = 0;
        for (uint32_t word : text) {
            size_t grams = std::min(active + 1, order_), found = 0;
            uint32_t prefix = nothing;
            for (; found < grams; ++found) {
                uint32_t node = edge(prefix, words_.class_of(word));
                if (node == nothing) break;
                prefix = ending[found];
                ending[found] = node;
                take(node);
            }
            active = found;
        }
    }

    std::vector<Node> &nodes() { return nodes_; }
    Node &operator[](uint32_t node) { return nodes_[node]; }
    // How often the corpus has an n-gram, at least 1.
    uint32_t often(uint32_t node);

  private:
    struct Slot {
        uint64_t key;
        uint32_t node;
    };

    size_t place(uint32_t prefix, uint32_t word) const {
        size_t mask = slots_.size() - 1, at = slot_of(hash_edge(prefix, word), bits_);
        uint64_t key = uint64_t{prefix} << 32 | word;
        while (slots_[at].node != nothing && slots_[at].key != key) at = (at + 1) & mask;
        return at;
    }
    uint32_t edge(uint32_t prefix, uint32_t word) const { return slots_[place(prefix, word)].node; }
    uint32_t number(uint32_t prefix, uint32_t suffix, uint32_t word, size_t n) {
        Slot &slot = slots_[place(prefix, word)];
        if (slot.node == nothing) {
            slot = {uint64_t{prefix} << 32 | word, static_cast<uint32_t>(nodes_.size())};
            nodes_.push_back({prefix, suffix, word, static_cast<uint32_t>(n), n == 0 ? words_.known[word] : unresolved});
        }
        return slot.node;
    }
    uint32_t known(uint32_t node);

    const CorpusWords &words_;
    size_t order_;
    std::vector<Node> nodes_;
    std::vector<Slot> slots_;
    unsigned bits_ = 0;
};

// Scores segments; one for each thread.
class WeightedScorer {
  public:
    using Text = std::span<const uint32_t>;

    WeightedScorer(const CorpusWords &words, size_t order);

    // Lengths of the output and of its references (their mean), what matches tell by order, n-grams by order.
    void nist(Text output, std::span<const Text> references, double *row);
    // The squared lengths of the references' tf·idf vectors, by reference and order.
    void norms(std::span<const Text> references, double *norms);
    // CIDEr on 0 to 1 with these lengths; CIDEr-D with a sigma above 0.
    double cider(Text output, std::span<const Text> references, const double *norms, double sigma);

  private:
    double idf(uint32_t node);
    void weigh(size_t first);
    // Takes a text's n-grams that are in the trie; `touched_` are these, in their order.
    template <bool inserting> void hold(Text text);

    const CorpusWords &words_;
    size_t order_;
    NgramTrie trie_;
    std::vector<double> logarithms_;
    std::vector<uint32_t> touched_;
    std::vector<double> alike_;
};

}  // namespace trubleu
