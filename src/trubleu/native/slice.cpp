#include "slice.hpp"

#include <stdexcept>

namespace trubleu::soft {

uint32_t Slice::node_number(uint32_t parent, uint32_t word) {
    grow_table(node_table_, node_bits_, nodes_.size(), [&](size_t i) { return hash_edge(nodes_[i].parent, nodes_[i].word); });
    size_t mask = node_table_.size() - 1, at = slot_of(hash_edge(parent, word), node_bits_);
    for (; node_table_[at] != nothing; at = (at + 1) & mask) {
        const Node &node = nodes_[node_table_[at]];
        if (node.parent == parent && node.word == word) return node_table_[at];
    }
    node_table_[at] = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back({parent, word});
    return node_table_[at];
}

void Slice::add(const Text &text) {
    line_.load(text, options_.tokenizer, options_.lowercase);
    size_t begin = begins_.back(), length = line_.size();
    begins_.push_back(begin + length);
    for (size_t n = 0; n <= order(); ++n) ids_[n].resize(begin + length, nothing);
    for (size_t i = 0; i < length; ++i) {
        Span span = line_.begin()[i];
        ids_[0][begin + i] = words_.number(Token(line_.bytes() + span.begin, span.size()));
    }
    for (size_t n = 1; n <= order(); ++n)
        for (size_t i = 0; i + n <= length; ++i) {
            uint32_t parent = n == 1 ? nothing : ids_[n - 1][begin + i];
            ids_[n][begin + i] = node_number(parent, ids_[0][begin + i + n - 1]);
        }
    if (nodes_.size() >= nothing) throw std::length_error("a slice has 2^32 n-grams or more");
}

std::vector<uint32_t> Slice::unmatched(bool first_only) const {
    std::vector<bool> wanted(node_count());
    Matcher matcher(*this, first_only);
    for (size_t segment = 0; segment < segments(); ++segment) {
        size_t hypothesis = this->hypothesis(segment);
        matcher.take_hypothesis(hypothesis);
        for (size_t text = hypothesis + 1; text < end(segment); ++text) {
            for (size_t n = 1; n <= order(); ++n) {
                matcher.compare(text, n);
                if (matcher.rows.empty() || matcher.columns.empty()) continue;  // nothing to align with
                for (uint32_t position : matcher.rows) wanted[ngrams(hypothesis, n)[position]] = true;
                for (uint32_t position : matcher.columns) wanted[ngrams(text, n)[position]] = true;
            }
            if (first_only) break;
        }
    }
    std::vector<uint32_t> nodes;
    for (size_t node = 0; node < node_count(); ++node)
        if (wanted[node]) nodes.push_back(static_cast<uint32_t>(node));
    return nodes;
}

void Slice::append_ngram(size_t node, std::string &to) const {
    if (nodes_[node].parent != nothing) {
        append_ngram(nodes_[node].parent, to);
        to += ' ';
    }
    to += word(nodes_[node].word);
}

Matcher::Matcher(const Slice &slice, bool release)
    : slice_(slice), release_(release), type_of_node_(slice.node_count()) {
    if (release) place_of_node_.resize(slice.node_count());
}

void Matcher::take_hypothesis(size_t text) {
    hypothesis_ = text;
    ++stamp_;
    for (size_t n = 1; n <= slice_.order(); ++n) {
        types_[n].clear();
        counts_[n].clear();
        for (uint32_t node : slice_.ngrams(text, n)) {
            Mark &mark = type_of_node_[node];
            if (mark.stamp != stamp_) {
                mark = {stamp_, static_cast<uint32_t>(counts_[n].size())};
                counts_[n].push_back(0);
            }
            ++counts_[n][mark.value];
            types_[n].push_back(mark.value);
        }
    }
}

void Matcher::compare(size_t text, size_t n) {
    const std::vector<uint32_t> &types = types_[n], &counts = counts_[n];
    std::span<const uint32_t> reference = slice_.ngrams(text, n);
    used.assign(counts.size(), 0);
    rows.clear();
    columns.clear();
    matched.clear();
    for (size_t j = 0; j < reference.size(); ++j) {
        const Mark &mark = type_of_node_[reference[j]];
        if (mark.stamp == stamp_ && used[mark.value] < counts[mark.value]) {
            ++used[mark.value];
            matched.push_back(static_cast<uint32_t>(j));
        } else {
            columns.push_back(static_cast<uint32_t>(j));
        }
    }
    seen_.assign(counts.size(), 0);
    for (size_t i = 0; i < types.size(); ++i)
        if (seen_[types[i]]++ >= used[types[i]]) rows.push_back(static_cast<uint32_t>(i));
    if (!release_) return;
    // As released, what is left over has each n-gram once, in the order in which the whole texts first have them.
    std::fill(seen_.begin(), seen_.end(), 0);
    rows.clear();
    for (size_t i = 0; i < types.size(); ++i)
        if (seen_[types[i]]++ == 0 && used[types[i]] < counts[types[i]]) rows.push_back(static_cast<uint32_t>(i));
    ++place_stamp_;
    for (uint32_t j : columns) place_of_node_[reference[j]].stamp = place_stamp_;
    columns.clear();
    for (size_t j = 0; j < reference.size(); ++j) {
        Mark &mark = place_of_node_[reference[j]];
        if (mark.stamp != place_stamp_) continue;
        mark.stamp = 0;
        columns.push_back(static_cast<uint32_t>(j));
    }
}

}  // namespace trubleu::soft
