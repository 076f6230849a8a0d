#include "slice.hpp"

#include <stdexcept>

namespace trubleu::soft {

namespace {

// Doubles a table that is half full; `hash_of` returns the hash of an entry.
template <typename HashOf> void grow(std::vector<uint32_t> &table, unsigned &bits, size_t entries, HashOf hash_of) {
    if (2 * (entries + 1) <= table.size()) return;
    table.assign(size_t{1} << ++bits, nothing);
    size_t mask = table.size() - 1;
    for (size_t entry = 0; entry < entries; ++entry) {
        size_t at = slot_of(hash_of(entry), bits);
        while (table[at] != nothing) at = (at + 1) & mask;
        table[at] = static_cast<uint32_t>(entry);
    }
}

}  // namespace

uint32_t Slice::word_number(const Token &token) {
    grow(word_table_, word_bits_, words_.size(), [&](size_t i) { return words_[i].hash; });
    size_t mask = word_table_.size() - 1, at = slot_of(token.hash, word_bits_);
    for (; word_table_[at] != nothing; at = (at + 1) & mask) {
        const Word &word = words_[word_table_[at]];
        if (word.hash == token.hash && word.size == token.size &&
            std::memcmp(bytes_.data() + word.begin, token.bytes, token.size) == 0)
            return word_table_[at];
    }
    word_table_[at] = static_cast<uint32_t>(words_.size());
    words_.push_back({token.hash, bytes_.size(), token.size});
    bytes_.insert(bytes_.end(), token.bytes, token.bytes + token.size);
    return word_table_[at];
}

uint32_t Slice::node_number(uint32_t parent, uint32_t word) {
    grow(node_table_, node_bits_, nodes_.size(), [&](size_t i) { return hash_edge(nodes_[i].parent, nodes_[i].word); });
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
        ids_[0][begin + i] = word_number(Token(line_.bytes() + span.begin, span.size()));
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

std::string_view Slice::word(size_t number) const {
    return {reinterpret_cast<const char *>(bytes_.data()) + words_[number].begin, words_[number].size};
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
