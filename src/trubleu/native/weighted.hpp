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
    std::vector<uint32_t> often;    // by class: how often it has it, at least 1

    uint32_t class_of(uint32_t word) const { return classes.empty() ? word : classes[word]; }
};

// The n-grams of a text, each at the place where it first begins.
//
// What follows an n-gram that occurs once is the word behind it: only words, and what follows n-grams that occur more than
// once, are looked up in a table.
class TextNgrams {
  public:
    struct Ngram {
        uint32_t held = 0;            // how often another text has it
        uint32_t most = 0;            // and the most that any of them has it
        uint32_t known = unresolved;  // its number in the corpus
        uint32_t often = 1;           // how often the corpus has it, at least 1
    };

    TextNgrams(const CorpusWords &words, size_t order) : words_(words), order_(order) {}

    void load(std::span<const uint32_t> text);
    size_t length() const { return text_.size(); }
    // How many n-grams of a length there are, and the one that begins at a place.
    size_t count(size_t order) const { return text_.size() < order ? 0 : text_.size() - order + 1; }
    // Where the n-gram first begins that begins at a place, and how often the text has it.
    uint32_t first(size_t order, size_t place) const { return order <= depth_ ? starts_[index(order, place)].first : static_cast<uint32_t>(place); }
    uint32_t said(size_t order, size_t first) const { return order <= depth_ ? starts_[index(order, first)].said : 1; }
    // What else is known of it, where it first begins only.
    Ngram &at(size_t order, size_t first) { return ngrams_[index(order, first)]; }

    // Calls with the order and the place of each n-gram of another text that this one has, too; one can only be here if the
    // shorter one with the same end is.
    template <typename Take> void find(std::span<const uint32_t> text, Take take) const {
        uint32_t ending[max_order + 1] = {};  // by order: the n-gram that ends at the word before
        size_t active = 0;
        for (uint32_t each : text) {
            uint32_t word = words_.class_of(each), prefix = nothing;
            size_t orders = std::min(active + 1, order_), found = 0;
            for (; found < orders; ++found) {
                uint32_t place = next(found, prefix, word);
                if (place == nothing) break;
                prefix = ending[found + 1];
                ending[found + 1] = place;
                take(found + 1, place);
            }
            active = found;
        }
    }

    // Finds an n-gram in the corpus.
    Ngram &resolved(size_t order, size_t place);
    // Finds all of them.
    void resolve();

  private:
    static constexpr uint32_t unresolved = nothing - 1;
    struct Start {
        uint32_t first, said;
    };
    template <typename Key> struct Slot {
        Key key;
        uint32_t place;
    };

    size_t index(size_t order, size_t place) const { return (order - 1) * text_.size() + place; }

    size_t word_slot(uint32_t word) const {
        size_t mask = word_slots_.size() - 1, at = word & mask;
        while (word_slots_[at].place != nothing && word_slots_[at].key != word) at = (at + 1) & mask;
        return at;
    }
    // 2^28 words of a text are more than memory holds n-grams of.
    static uint64_t key_of(size_t order, uint32_t prefix, uint32_t word) { return uint64_t{prefix} << 36 | uint64_t{word} << 4 | order; }
    size_t slot(uint64_t key) const {
        uint64_t hash = key * 0x9E3779B97F4A7C15u;
        size_t mask = slots_.size() - 1, at = slot_of((hash ^ (hash >> 32)) * 0xD6E8FEB86659FD93u, bits_);
        while (slots_[at].place != nothing && slots_[at].key != key) at = (at + 1) & mask;
        return at;
    }
    void make_room(size_t more);
    // Where the n-gram first begins that a word makes behind one of so many words.
    uint32_t next(size_t order, uint32_t prefix, uint32_t word) const {
        if (order == 0) return word_slots_[word_slot(word)].place;
        if (said(order, prefix) > 1) return slots_[slot(key_of(order, prefix, word))].place;
        return prefix + order < text_.size() && text_[prefix + order] == word ? prefix : nothing;
    }
    void set_known(Ngram &ngram, size_t order, uint32_t number) const {
        ngram.known = number;
        if (number != nothing) ngram.often = words_.counts.level(order)[number].count;
    }

    const CorpusWords &words_;
    size_t order_;
    std::vector<uint32_t> text_;  // classes of words
    size_t depth_ = 0;  // longer n-grams occur once each
    std::vector<Start> starts_;
    std::vector<Ngram> ngrams_;
    std::vector<Slot<uint32_t>> word_slots_;
    std::vector<Slot<uint64_t>> slots_;  // what follows n-grams that occur more than once
    size_t used_ = 0;
    unsigned bits_ = 0;
    std::vector<uint64_t> hashes_;
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
    struct Place {
        uint32_t order, place;
    };

    // Loads a text with the weight of each n-gram, and sums up the squares of its vector.
    void load_weighted(Text text, double *norms);
    // Counts what another text has of it; `touched_` are these n-grams, in their order.
    void hold(Text text);

    const CorpusWords &words_;
    size_t order_;
    TextNgrams ngrams_;
    std::vector<double> logarithms_;
    std::vector<Place> touched_;
    std::vector<double> weights_, alike_;
};

}  // namespace trubleu
