#include "trie.hpp"

namespace trubleu {

uint32_t TrieMatcher::edge(uint32_t parent, uint32_t token, uint32_t order, bool add) {
    uint64_t key = uint64_t{parent} << 32 | token;
    size_t mask = (size_t{1} << bits_) - 1;
    for (size_t at = slot_of(hash_edge(parent, token), bits_);; at = (at + 1) & mask) {
        Edge &slot = edges_[at];
        if (slot.node == none) {
            if (add) {
                slot = Edge{key, static_cast<uint32_t>(nodes_.size())};
                nodes_.push_back(Node{0, 0, order, {}});
            }
            return slot.node;
        }
        if (slot.key == key) return slot.node;
    }
}

void TrieMatcher::build(std::span<const uint32_t> ids) {
    bits_ = table_bits(ids.size() * order_);
    edges_.assign(size_t{1} << bits_, {});
    nodes_.clear();
    uint32_t ending[max_order] = {};  // ending[n]: the (n+1)-gram that ends at the previous token
    size_t active = 0;
    for (uint32_t id : ids) {
        if (id == unknown_id) {
            active = 0;
            continue;
        }
        size_t grams = std::min(active + 1, order_);
        uint32_t previous = root;
        for (size_t n = 0; n < grams; ++n) {
            uint32_t node = edge(previous, id, static_cast<uint32_t>(n), true);
            previous = ending[n];
            ending[n] = node;
            ++nodes_[node].hypothesis_count;
        }
        active = grams;
    }
}

// An n-gram can only be known if the shorter one with the same end is.
void TrieMatcher::walk(std::span<const uint32_t> ids) {
    touched_.clear();
    uint32_t ending[max_order] = {};
    size_t active = 0;
    for (uint32_t id : ids) {
        size_t grams = id == unknown_id ? 0 : std::min(active + 1, order_), found = 0;
        uint32_t previous = root;
        for (; found < grams; ++found) {
            uint32_t node = edge(previous, id, 0, false);
            if (node == none) break;
            previous = ending[found];
            ending[found] = node;
            if (nodes_[node].reference_count++ == 0) touched_.push_back(node);
        }
        active = found;
    }
}

void TrieMatcher::settle(double weight) {
    for (uint32_t index : touched_) {
        Node &node = nodes_[index];
        node.best.add(credit_, std::min(node.reference_count, node.hypothesis_count), weight);
        node.reference_count = 0;
    }
}

// Nodes are numbered by the position where the n-gram first ends: sums run in the same order in every kernel.
void TrieMatcher::collect(double *matches) const {
    for (const Node &node : nodes_) matches[node.order] += node.best.credited(credit_);
}

}  // namespace trubleu
