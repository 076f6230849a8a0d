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
// Filter: bits that tell most words that a segment's references do not have from those that they may have.
template <template <typename> class Array> struct PreparedArrays {
    Array<uint64_t> token_table;
    Array<uint64_t> token_begins;
    Array<uint8_t> token_bytes;
    Array<uint32_t> ids;
    Array<uint64_t> id_begins;         // one a reference, and the end
    Array<uint64_t> reference_begins;  // one a segment, and the end
    Array<uint64_t> filter;            // see SegmentFilter
};

template <typename T> using Vector = std::vector<T>;
template <typename T> using View = std::span<const T>;

using PreparedData = PreparedArrays<Vector>;
using Prepared = PreparedArrays<View>;

constexpr uint32_t separator = 0xFFFFFFFE;
constexpr size_t id_padding = 64;

// Where the bits of a segment are in the filter: eight for each of its ids. Those at the short hashes of its words are set.
struct SegmentFilter {
    static constexpr uint64_t bits_an_id = 8;
    uint64_t first, count;

    SegmentFilter(uint64_t first_id, uint64_t id_count) : first(bits_an_id * first_id), count(bits_an_id * id_count) {}
    uint64_t bit(uint64_t short_hash) const { return first + ((short_hash >> 34) * count >> 30); }
    // Words that the filter of so many ids takes; without ids, the bit of the next segment is read.
    static size_t size(size_t ids) { return bits_an_id * ids / 64 + 1; }
};

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
    std::vector<uint64_t> hashes_;  // short ones of a segment's words
    PreparedData data_;
    unsigned bits_ = 10;
};

// Places whose bits share a word.
constexpr size_t block = 64;
static_assert(id_padding >= block);

// Hypotheses against prepared references. Scratch memory is reused from segment to segment.
//
// A filter leaves out most words that no reference of the segment has. A large vocabulary is not in the cache, and the references
// come from memory too. So hypotheses are announced three ahead: while one is scored, the slots of the words of the third one
// after it are on their way, the places of the second one's long words, and the bytes of the next one's.
//
// A place is a token of the segment's references, or of the hypothesis itself. A word of the hypothesis is compared with all places,
// which gives a row of bits: where it stands. The places where a bigram ends are those of its last word, and of the word before
// it shifted by one place; and so on for longer ones. Separators equal no word, so nothing reaches from one reference into the
// next. The hypothesis' own places tell which n-grams it repeats.
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

    // Cache lines of a segment's ids that are asked for ahead, without a look at how many it has; of a longer one the processor
    // itself fetches the rest.
    static constexpr size_t prefetched_lines = 8;

    struct Announced {
        size_t segment = 0;
        Line line;
        size_t count = 0;               // of its words, those that references may have
        std::vector<uint32_t> indices;  // where these stand in the line
        std::vector<Token> tokens;      // these words, which point into the line
        size_t longer_count = 0;
        std::vector<uint32_t> longer;   // which of these words have more than eight bytes
    };

    void ask_for_longer(size_t number) const;
    void number(const Announced &announced);
    void choose_places();
    template <size_t few> void compare(double *matches);
    double weighted_credit(const uint64_t *ends, uint32_t own_count) const;
    uint32_t largest_count(const uint64_t *ends, uint32_t most);
    void walk_trie(double *matches);
    uint32_t find(const Token &token) const;

    Options options_;
    const Prepared &prepared_;
    std::span<const double> all_weights_;
    unsigned bits_;
    TrieMatcher trie_;
    static constexpr size_t most_announced = 4;
    Announced announced_[most_announced];
    size_t announced_count_ = 0, scored_count_ = 0;
    std::vector<uint32_t> hypothesis_;  // its words, unknown where no reference has them, and a block of unknown ones
    size_t length_ = 0;
    size_t known_count_ = 0;
    std::vector<uint32_t> known_;       // which of its words some reference has, of any segment
    const uint64_t *begins_ = nullptr;  // of the segment's references among all ids
    const double *weights_ = nullptr;   // null for 1 each
    size_t reference_count_ = 0;
    const uint32_t *ids_ = nullptr;
    size_t id_count_ = 0;
    size_t own_ = 0, row_size_ = 0;  // words of bits: where those of the hypothesis' own places begin, and all end
    std::vector<uint64_t> taking_part_;  // a row: the places of references that take part
    std::vector<uint64_t> later_;        // ends of an n-gram that are not the first ones of their reference
    std::vector<uint64_t> rows_;         // where n-grams end: one row an order, for this word and for the one before it
};

}  // namespace trubleu
