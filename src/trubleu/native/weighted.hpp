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
// What follows an n-gram that occurs once is the word behind it: only what follows n-grams that occur more than once is
// looked up in a table.
class TextNgrams {
  public:
    struct Ngram {
        uint32_t held = 0;    // how often another text has it
        uint32_t holder = 0;  // which one
        uint32_t most = 0;    // and the most that any of them has it
    };

    TextNgrams(const CorpusWords &words, size_t order) : words_(words), order_(order) {}

    void load(std::span<const uint32_t> text);
    // How many n-grams of a length there are.
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

    // Counts how often one of several texts has each of these n-grams, and calls as `find` does.
    template <typename Take> void hold(std::span<const uint32_t> text, uint32_t number, Take take) {
        find(text, [&](size_t order, uint32_t place) {
            Ngram &ngram = at(order, place);
            ngram.held = ngram.holder == number ? ngram.held + 1 : 1;
            ngram.holder = number;
            ngram.most = std::max(ngram.most, ngram.held);
            take(order, place);
        });
    }

  private:
    struct Start {
        uint32_t first, said;
    };
    struct Slot {
        uint64_t key;
        uint32_t place;
    };

    size_t index(size_t order, size_t place) const { return (order - 1) * text_.size() + place; }

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
        if (order == 0) return word < places_.size() ? places_[word] : nothing;
        if (said(order, prefix) > 1) return slots_[slot(key_of(order, prefix, word))].place;
        return prefix + order < text_.size() && text_[prefix + order] == word ? prefix : nothing;
    }

    const CorpusWords &words_;
    size_t order_;
    std::vector<uint32_t> text_;  // classes of words
    size_t depth_ = 0;  // longer n-grams occur once each
    std::vector<Start> starts_;
    std::vector<Ngram> ngrams_;
    std::vector<uint32_t> places_;  // by class: where it first is; higher ones are not in the text
    std::vector<Slot> slots_;  // what follows n-grams that occur more than once
    size_t used_ = 0;
    unsigned bits_ = 0;
    std::vector<uint32_t> repeated_;  // where n-grams begin that occur more than once
};

// How often the corpus has n-grams, order by order: all are asked for before the first one is looked up, so that their memory
// is there by then.
class CorpusLookup {
  public:
    CorpusLookup(const CorpusWords &words, size_t order) : words_(words), order_(order) {}

    // Begins with words, which have places from 0 on.
    void load(std::span<const std::span<const uint32_t>> texts);
    // Asks for the n-gram at a place, given the places of its parts: all but its last word, and all but its first.
    void ask(size_t order, size_t place, size_t prefix, size_t suffix) {
        const Found *shorter = found_.data() + (order - 2) * size_;
        found_[(order - 1) * size_ + place] = {nothing, 1};
        // An n-gram that the corpus has more than once has parts that it has more than once.
        if (shorter[prefix].number == nothing || shorter[suffix].number == nothing) return;
        Asked asked{place, shorter[prefix].number, found_[place + order - 1].number};
        words_.counts.level(order).prefetch(hash_edge(asked.prefix, asked.word));
        asked_[count_++] = asked;
    }
    // Looks up what was asked for.
    void look_up(size_t order);
    // How often the corpus has what is at a place, at least 1.
    uint32_t often(size_t order, size_t place) const { return found_[(order - 1) * size_ + place].often; }

  private:
    struct Found {
        uint32_t number, often;  // `nothing` if the corpus has it once at most
    };
    struct Asked {
        size_t place;
        uint32_t prefix, word;
    };

    const CorpusWords &words_;
    size_t order_, size_ = 0, count_ = 0;
    std::vector<Found> found_;
    std::vector<Asked> asked_;
};

// Scores segments; one for each thread.
class WeightedScorer {
  public:
    using Text = std::span<const uint32_t>;

    WeightedScorer(const CorpusWords &words, size_t order) : words_(words), order_(order), ngrams_(words, order), corpus_(words, order) {}

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

    // Loads texts one after the other, with the weight of each n-gram, and sums up the squares of their vectors.
    void load_weighted(std::span<const Text> texts, double *norms);

    const CorpusWords &words_;
    size_t order_;
    TextNgrams ngrams_;
    CorpusLookup corpus_;
    std::vector<double> logarithms_;
    std::vector<Place> touched_;  // n-grams that a reference has, too
    std::vector<uint64_t> matched_;  // by order: a bit for each place of the output where a match first begins
    std::vector<uint32_t> places_;
    std::vector<double> weights_, alike_;
};

}  // namespace trubleu
