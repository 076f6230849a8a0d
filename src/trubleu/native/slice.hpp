// Texts as numbers, and which n-grams of two texts are equal.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "words.hpp"

namespace trubleu::soft {

// The texts of some segments as numbers: a word has one, an n-gram of any length another.
//
// n-grams are the nodes of a trie, found by (the node of all but the last word, the last word).
class Slice {
  public:
    explicit Slice(const Options &options) : options_(options) {}

    // Texts come segment by segment, the hypothesis first.
    void begin_segment() { segment_begins_.push_back(text_count()); }
    void add(const Text &text);

    const Options &options() const { return options_; }
    size_t order() const { return static_cast<size_t>(options_.order); }
    size_t segments() const { return segment_begins_.size(); }
    size_t text_count() const { return begins_.size() - 1; }
    size_t hypothesis(size_t segment) const { return segment_begins_[segment]; }
    // The references are the texts behind the hypothesis, up to this one.
    size_t end(size_t segment) const { return segment + 1 < segments() ? segment_begins_[segment + 1] : text_count(); }
    size_t length(size_t text) const { return begins_[text + 1] - begins_[text]; }
    std::span<const uint32_t> words(size_t text) const { return {ids_[0].data() + begins_[text], length(text)}; }
    // The n-grams of a text by where they begin.
    std::span<const uint32_t> ngrams(size_t text, size_t n) const {
        return {ids_[n].data() + begins_[text], length(text) < n ? 0 : length(text) - n + 1};
    }

    size_t word_count() const { return words_.size(); }
    size_t node_count() const { return nodes_.size(); }
    bool is_word(size_t node) const { return nodes_[node].parent == nothing; }
    // n-grams that are left over somewhere when equal ones are matched: only these need vectors.
    std::vector<uint32_t> unmatched(bool first_only) const;
    std::string_view word(size_t number) const { return words_[number]; }
    void append_ngram(size_t node, std::string &to) const;

  private:
    struct Node {
        uint32_t parent, word;
    };

    uint32_t node_number(uint32_t parent, uint32_t word);

    Options options_;
    Line line_;
    std::vector<size_t> segment_begins_;
    std::vector<size_t> begins_{0};
    std::vector<uint32_t> ids_[max_order + 1];  // 0: words
    Vocabulary words_;
    std::vector<Node> nodes_;
    std::vector<uint32_t> node_table_ = std::vector<uint32_t>(16, nothing);
    unsigned node_bits_ = 4;
};

// Which n-grams of a hypothesis are in a reference too, and which are left over on both sides.
//
// Equal n-grams are paired from left to right. The types of a hypothesis, its different n-grams of one length, are
// numbered in the order in which they first occur.
class Matcher {
  public:
    Matcher(const Slice &slice, bool release);

    void take_hypothesis(size_t text);
    void compare(size_t text, size_t n);

    size_t types(size_t n) const { return counts_[n].size(); }
    uint32_t type(size_t n, size_t position) const { return types_[n][position]; }

    // Of the last comparison.
    std::vector<uint32_t> used;           // by type: how often it was matched
    std::vector<uint32_t> rows, columns;  // positions that are left over, of the hypothesis and of the reference
    std::vector<uint32_t> matched;        // positions of the reference that were matched

  private:
    struct Mark {
        uint32_t stamp = 0, value = 0;
    };

    const Slice &slice_;
    bool release_;
    size_t hypothesis_ = 0;
    std::vector<Mark> type_of_node_, place_of_node_;
    uint32_t stamp_ = 0, place_stamp_ = 0;
    std::vector<uint32_t> types_[max_order + 1], counts_[max_order + 1], seen_;
};

}  // namespace trubleu::soft
