// References that were tokenised and numbered once, to score any number of systems and weightings against them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trie.hpp"

namespace trubleu {

// The arrays that make up a prepared set; plain data, so that they can live in a file that is mapped into memory.
//
// Vocabulary: an open-addressing table of pairs (first eight bytes, size << 32 | id) over a heap of token bytes; at least
// one slot is free. Segments: the token ids of their references one after the other, each reference behind a
// `separator`, in the order they were given, and `id_padding` unknown ones behind the last.
template <template <typename> class Array> struct PreparedArrays {
    Array<uint64_t> token_table;
    Array<uint64_t> token_begins;
    Array<uint8_t> token_bytes;
    Array<uint32_t> ids;
    Array<uint64_t> id_begins;         // one a reference, and the end
    Array<uint64_t> reference_begins;  // one a segment, and the end
};

template <typename T> using Vector = std::vector<T>;
template <typename T> using View = std::span<const T>;

using PreparedData = PreparedArrays<Vector>;
using Prepared = PreparedArrays<View>;

constexpr uint32_t separator = 0xFFFFFFFE;
constexpr size_t id_padding = 64;

// Builds the arrays segment by segment.
class PreparedBuilder {
  public:
    explicit PreparedBuilder(const Options &options);
    void add_segment(const Text *references, size_t count);
    PreparedData finish();
    const Options &options() const { return options_; }

  private:
    uint32_t intern(const Token &token);
    void grow();

    Options options_;
    Line line_;
    PreparedData data_;
    unsigned bits_ = 10;
};

// A window is up to 16 words of a hypothesis, one after the other; its n-grams have a bit each, at their last word.
using WindowBits = uint16_t;
constexpr size_t window_size = 16;
// Rows of bits have whole blocks of places.
constexpr size_t block = 32;

// Hypotheses against prepared references. Scratch memory is reused from segment to segment.
//
// A large vocabulary is not in the cache, and the references come from memory too. So hypotheses are announced three
// ahead: while one is scored, the slots of the words of the third one after it are on their way, the places of the
// second one's long words, and the bytes of the next one's.
//
// A place is a token of the segment's references, or of the hypothesis itself. Comparing all places with each word of a window
// gives a row of bits: which of its words stands there. The row of bigrams is the row of words, and the row of words at the
// place before it shifted by one bit; and so on for longer ones. Separators equal no word, so nothing reaches from one reference
// into the next. The hypothesis' own places tell which n-grams it repeats.
class PreparedScorer {
  public:
    // `weights`: one a reference, or none for 1 each; NaN says that the reference does not take part.
    PreparedScorer(const Options &options, const Prepared &prepared, std::span<const double> weights);
    // Tokenises the hypothesis that will be scored after those announced before, and asks for the memory it needs.
    void announce(size_t segment, const Text &hypothesis);
    // Scores the oldest that was announced and not yet scored; there may be up to four.
    void score(double *row);

  private:
    // Above this many comparisons a trie is faster, and it stays linear however long texts are.
    static constexpr size_t most_comparisons = size_t{1} << 24;

    // Cache lines of a segment's ids that are asked for ahead; of a longer one the processor itself fetches the rest.
    static constexpr size_t most_prefetched = 8;

    struct Announced {
        size_t segment = 0;
        Line line;
        std::vector<Token> tokens;     // they point into the line
        std::vector<uint32_t> longer;  // which of them have more than eight bytes
    };

    // Of n-grams in a window.
    struct Repeats {
        WindowBits later = 0, again = 0;  // those that occurred before, and those that will again
    };

    void ask_for_longer(size_t number) const;
    void number(const Announced &announced);
    void compare(double *matches);
    void fill_row(size_t order, const uint32_t *window, size_t size);
    Repeats repeats_of(size_t order, size_t first) const;
    double credit_of(size_t order, unsigned bit) const;
    void walk_trie(double *matches);
    WindowBits *row(size_t order) { return rows_.data() + (order - 1) * row_size_ + block; }
    const WindowBits *row(size_t order) const { return rows_.data() + (order - 1) * row_size_ + block; }
    uint32_t find(const Token &token) const;

    Options options_;
    const Prepared &prepared_;
    std::span<const double> all_weights_;
    bool wide_;  // whether ids need more than 16 bits
    unsigned bits_;
    TrieMatcher trie_;
    static constexpr size_t most_announced = 4;
    Announced announced_[most_announced];
    size_t announced_count_ = 0, scored_count_ = 0;
    std::vector<uint32_t> hypothesis_;  // its words, and a block of unknown ones
    size_t length_ = 0;
    const uint64_t *begins_ = nullptr;  // of the segment's references among all ids
    const double *weights_ = nullptr;   // null for 1 each
    size_t reference_count_ = 0;
    const uint32_t *ids_ = nullptr;
    size_t id_count_ = 0;
    std::vector<std::pair<size_t, size_t>> left_out_;  // places of references that do not take part
    size_t own_ = 0, places_ = 0;                      // where the hypothesis' own begin, and all end
    std::vector<WindowBits> rows_;                     // one an order, each behind a block of which the last place is read
    size_t row_size_ = 0;
};

}  // namespace trubleu
