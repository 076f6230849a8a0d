#include "weighted.hpp"

#include <cmath>

namespace trubleu {

namespace {

constexpr size_t most_logarithms = 1 << 14;

}  // namespace

void NgramTrie::clear(size_t tokens) {
    bits_ = table_bits(tokens * order_ + 1);
    slots_.assign(size_t{1} << bits_, {0, nothing});
    nodes_.clear();
}

// An n-gram that the corpus has more than once has parts that it has more than once.
uint32_t NgramTrie::known(uint32_t number) {
    Node &node = nodes_[number];
    if (node.known != unresolved) return node.known;
    uint32_t prefix = known(node.parent);
    bool parts = prefix != nothing && known(node.suffix) != nothing;
    return node.known = parts ? words_.counts.level(node.order + 1).find(prefix, words_.known[node.word]) : nothing;
}

uint32_t NgramTrie::often(uint32_t node) {
    uint32_t number = known(node);
    if (number == nothing) return 1;
    uint32_t order = nodes_[node].order + 1;
    return std::max(order == 1 ? words_.counts.word_count(number) : words_.counts.level(order)[number].count, 1u);
}

WeightedScorer::WeightedScorer(const CorpusWords &words, size_t order) : words_(words), order_(order), trie_(words, order) {
    double segments = static_cast<double>(words.counts.segments());
    // The logarithm of a ratio, not a difference of two: only that of 1 is 0 whatever the number of segments.
    size_t count = static_cast<size_t>(std::min<uint64_t>(words.counts.segments() + 1, most_logarithms));
    for (size_t i = 0; i < count; ++i) logarithms_.push_back(std::log(segments / static_cast<double>(std::max(i, size_t{1}))));
}

double WeightedScorer::idf(uint32_t node) {
    uint32_t often = trie_.often(node);
    if (often < logarithms_.size()) return logarithms_[often];
    return std::log(static_cast<double>(words_.counts.segments()) / often);
}

void WeightedScorer::weigh(size_t first) {
    for (size_t i = first; i < trie_.nodes().size(); ++i) trie_.nodes()[i].weight = idf(static_cast<uint32_t>(i));
}

template <bool inserting> void WeightedScorer::hold(Text text) {
    touched_.clear();
    auto take = [&](uint32_t node) {
        if (trie_[node].held++ == 0) touched_.push_back(node);
    };
    if constexpr (inserting) trie_.add(text, take);
    else trie_.find(text, take);
}

void WeightedScorer::nist(Text output, std::span<const Text> references, double *row) {
    trie_.clear(output.size());
    trie_.add(output, [&](uint32_t node) { ++trie_[node].said; });
    size_t lengths = 0;
    for (Text reference : references) {
        lengths += reference.size();
        hold<false>(reference);
        for (uint32_t node : touched_) {
            trie_[node].most = std::max(trie_[node].most, trie_[node].held);
            trie_[node].held = 0;
        }
    }
    std::fill_n(row, 2 + 2 * order_, 0.0);
    row[0] = static_cast<double>(output.size());
    if (!references.empty()) row[1] = static_cast<double>(lengths) / static_cast<double>(references.size());
    for (uint32_t i = 0; i < trie_.nodes().size(); ++i) {
        const NgramTrie::Node node = trie_[i];
        if (node.most == 0) continue;
        double shorter = node.order == 0 ? static_cast<double>(std::max<uint64_t>(words_.counts.tokens(), 1)) : trie_.often(node.parent);
        row[2 + node.order] += std::min(node.said, node.most) * std::log2(shorter / trie_.often(i));
    }
    for (size_t n = 0; n < order_ && n < output.size(); ++n) row[2 + order_ + n] = static_cast<double>(output.size() - n);
}

void WeightedScorer::norms(std::span<const Text> references, double *norms) {
    size_t tokens = 0;
    for (Text reference : references) tokens += reference.size();
    trie_.clear(tokens);
    std::fill_n(norms, references.size() * order_, 0.0);
    for (Text reference : references) {
        size_t first = trie_.nodes().size();
        hold<true>(reference);
        weigh(first);
        for (uint32_t i : touched_) {
            NgramTrie::Node &node = trie_[i];
            double value = node.held * node.weight;
            norms[node.order] += value * value;
            node.held = 0;
        }
        norms += order_;
    }
}

double WeightedScorer::cider(Text output, std::span<const Text> references, const double *norms, double sigma) {
    if (references.empty()) return 0.0;
    trie_.clear(output.size());
    trie_.add(output, [&](uint32_t node) { ++trie_[node].said; });
    weigh(0);
    double said[max_order] = {};
    for (const NgramTrie::Node &node : trie_.nodes()) {
        double value = node.said * node.weight;
        said[node.order] += value * value;
    }
    size_t count = references.size();
    alike_.assign(order_ * count, 0.0);
    for (size_t i = 0; i < count; ++i) {
        hold<false>(references[i]);
        double products[max_order] = {}, penalty = 1.0;
        for (uint32_t at : touched_) {
            NgramTrie::Node &node = trie_[at];
            uint32_t often = sigma > 0.0 ? std::min(node.said, node.held) : node.said;
            products[node.order] += often * node.weight * (node.held * node.weight);
            node.held = 0;
        }
        if (sigma > 0.0) {
            double longer = (static_cast<double>(output.size()) - static_cast<double>(references[i].size())) / sigma;
            penalty = std::exp(-(longer * longer) / 2);
        }
        for (size_t n = 0; n < order_; ++n) {
            double both = std::sqrt(said[n] * norms[i * order_ + n]);
            if (both > 0.0) alike_[n * count + i] = penalty * (products[n] / both);
        }
    }
    double sum = 0.0;
    for (size_t n = 0; n < order_; ++n) {
        // In the order of their size, so that the sum does not depend on which reference comes first.
        auto begin = alike_.begin() + static_cast<ptrdiff_t>(n * count), end = begin + static_cast<ptrdiff_t>(count);
        std::sort(begin, end);
        double all = 0.0;
        for (auto at = begin; at != end; ++at) all += *at;
        sum += all / static_cast<double>(count);
    }
    return 10.0 * sum / static_cast<double>(order_);
}

}  // namespace trubleu
