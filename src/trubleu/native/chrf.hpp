// chrF's counts: n-grams of characters and words that a hypothesis shares with each reference of its segment.
//
//     Segment segment(options, texts, count);   // once, whatever is compared with it
//     Matcher matcher(options);                 // one a thread
//     matcher.compare(hypothesis, segment);
//     for (size_t i = 0; i < segment.size(); ++i) f = f_score(matcher.counts(i), weighing);
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text.hpp"

namespace trubleu::chrf {

// What is counted. Orders are those of the comparison; segments are the same for all orders, except that they have
// words only if they are made with a word order above 0.
struct Options {
    size_t char_order = 6;
    size_t word_order = 0;
    bool whitespace = false;  // white space counts as characters, too
    bool lowercase = false;   // folds ASCII letters only: the caller lower-cases other texts, as Python does

    size_t orders() const { return char_order + word_order; }
};

// The n-grams of one order. A hypothesis has none where the reference has none, as in sacreBLEU.
struct Counts {
    uint32_t hypothesis, reference, matches;
};

// How counts become a score.
struct Weighing {
    double factor = 4.0;           // β²
    double factor_plus_one = 5.0;  // apart, as rounding may make a difference for a large β
    bool eps_smoothing = false;    // the mean of the orders' F, as the first implementations had it
};

// Fβ from 0 to `perfect`: precision and recall are averaged over the orders that both sides have. Operations and their order
// are sacreBLEU's, so that ties between references are the same ones.
double f_score(std::span<const Counts> orders, const Weighing &weighing, double perfect = 1.0);

// A text as symbols: code points, those of white space left out unless asked for, and where words lie among them. Words
// are split at white space; then a punctuation mark at the end, or else one at the beginning, is a word of its own.
// Reused from text to text.
class Symbols {
  public:
    void load(const Text &text, const Options &options);

    std::vector<uint32_t> points;  // `length` of them, and padding
    size_t length = 0;
    std::vector<Span> words;  // only with a word order above 0

  private:
    template <typename CodePoint> void read(const CodePoint *from, size_t size, const Options &options);
    void add_word(uint32_t begin, uint32_t end);
};

// Loads of eight symbols need no bounds check. The padding behind references and that behind hypotheses differ, and
// neither is a symbol, so that no n-gram reaches beyond its text.
constexpr size_t padding = 8;
constexpr uint32_t behind_reference = 0xFFFFFFFF, behind_hypothesis = 0xFFFFFFFE, unknown_word = 0xFFFFFFFD;

// Sequences of symbols, prepared to find in them what another sequence shares with each.
//
// Every symbol has a row with its count in each sequence, found through a table of slots. Places of bigrams lie in
// buckets by hash, in the order of the sequences; what only shares a bucket is told apart by its symbols.
class Sequences {
  public:
    // Adds sequences one by one; `finish` ends it.
    void add(const uint32_t *symbols, size_t length);
    void finish();

    size_t size() const { return ends_.size(); }
    size_t begin(size_t sequence) const { return sequence == 0 ? 0 : size_t{ends_[sequence - 1]} + 1; }
    size_t length(size_t sequence) const { return ends_[sequence] - begin(sequence); }
    const uint32_t *symbols(size_t sequence) const { return symbols_.data() + begin(sequence); }
    const uint32_t *all_symbols() const { return symbols_.data(); }
    size_t total() const { return symbols_.size(); }
    size_t memory() const;

    // Longer ones are not indexed, but compared otherwise: counts have 16 bits and a sign.
    static constexpr size_t most_indexed = 32767;
    // Counts by row and sequence that are worth their memory, for each symbol.
    static constexpr size_t most_counts = 64;
    bool indexed() const { return !narrow_.empty(); }
    size_t rows() const { return rows_; }
    // The row of a symbol, `rows()` for one that no sequence has.
    size_t row(uint32_t symbol) const {
        size_t at = symbol & slot_mask_;
        while (slots_[at] != symbol && slots_[at] != empty_slot) at = (at + 1) & slot_mask_;
        return narrow_[at];
    }
    const int16_t *counts(size_t row) const { return reinterpret_cast<const int16_t *>(narrow_.data()) + counts_ + row * size(); }
    // A bucket's places from first to last, and the sequence of each.
    std::span<const uint16_t> bucket(uint64_t hash) const {
        const uint16_t *head = narrow_.data() + heads_ + slot_of(hash, bits_);
        return {narrow_.data() + places_ + 2 * size_t{head[0]}, 2 * (size_t{head[1]} - head[0])};
    }

  private:
    static constexpr uint32_t empty_slot = 0xFFFFFFFF;

    std::vector<uint32_t> symbols_, ends_, slots_;
    std::vector<uint16_t> narrow_;  // rows of slots; counts by row and sequence; heads of buckets; places and sequences
    size_t slot_mask_ = 0;
    uint32_t rows_ = 0, counts_ = 0, heads_ = 0, places_ = 0;
    unsigned bits_ = 0;
};

// The references of a segment, prepared.
class Segment {
  public:
    Segment() = default;
    Segment(const Options &options, const Text *references, size_t count);

    size_t size() const { return characters_.size(); }
    const Sequences &characters() const { return characters_; }
    const Sequences &words() const { return words_; }
    bool has_words() const { return !word_slots_.empty(); }
    // The number of a word, `unknown_word` for one that no reference has.
    uint32_t word_number(const uint32_t *points, size_t length) const;
    size_t memory() const;

  private:
    struct Word {
        uint64_t hash;
        uint32_t begin, length;  // of its first occurrence among the characters
    };

    size_t slot_of_word(const uint32_t *points, size_t length, uint64_t hash) const;

    Sequences characters_, words_;
    std::vector<Word> known_;
    std::vector<uint32_t> word_slots_;
};

// Compares hypotheses with segments. Scratch memory is reused.
class Matcher {
  public:
    explicit Matcher(const Options &options) : options_(options) {}

    // The segment must have words if the options have a word order.
    void compare(const Text &hypothesis, const Segment &segment);
    // Of the last comparison: the orders of characters, then those of words, with one of the segment's references.
    std::span<const Counts> counts(size_t reference) const {
        return {counts_.data() + reference * options_.orders(), options_.orders()};
    }
    // The first reference with the largest F; nothing may be asked of a segment without references.
    size_t best(size_t references, const Weighing &weighing) const;

  private:
    void count(const uint32_t *symbols, size_t length, const Sequences &references, size_t order, size_t column);
    bool count_short(const uint32_t *symbols, size_t length, const Sequences &references, size_t order, size_t column);
    void count_single(const uint32_t *symbols, size_t length, const Sequences &references, size_t column);
    bool count_pairs(const uint32_t *symbols, size_t length, const Sequences &references);
    void count_long(const uint32_t *symbols, size_t length, const Sequences &references, size_t order, size_t column);
    uint32_t &matches(size_t reference, size_t column) { return counts_[reference * options_.orders() + column].matches; }

    // One lane an order, from 1 to 8.
    static constexpr size_t lanes = 8;
    typedef int16_t Lanes __attribute__((vector_size(16)));

    Options options_;
    Symbols hypothesis_;
    std::vector<uint32_t> word_numbers_;
    std::vector<Counts> counts_;
    // Short texts.
    std::vector<int16_t> histogram_, singles_;
    std::vector<uint16_t> last_, previous_;
    std::vector<Lanes> found_;
    // Long ones: n-grams of the hypothesis are numbered order by order, by the number of all but the last symbol and it.
    struct Slot {
        uint64_t key;
        uint32_t number;
    };
    std::vector<Slot> table_;
    std::vector<uint32_t> numbers_, reference_numbers_, occurrences_, seen_;
};

}  // namespace trubleu::chrf
