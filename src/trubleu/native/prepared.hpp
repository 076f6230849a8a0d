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
// `separator`, in the order they were given, and `id_padding` separators behind the last.
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

// Hypotheses against prepared references. Scratch memory is reused from segment to segment.
//
// A large vocabulary is not in the cache, and the references come from memory too. So hypotheses are announced three
// ahead: while one is scored, the slots of the words of the third one after it are on their way, the places of the
// second one's long words, and the bytes of the next one's.
//
// Comparing a word of the hypothesis with all tokens of the segment's references gives a row of bits, eight comparisons
// an instruction. The row of the bigrams that end there is the row of the word, and the row of the word before it shifted
// by one; and so on for longer ones. Separators equal no word, so nothing reaches from one reference into the next.
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

    struct Reference {
        uint32_t begin, end;  // its positions in the segment
        double weight;
    };

    void ask_for_longer(size_t number) const;
    void number(const Announced &announced);
    void find_repeats();
    void compare(double *matches);
    template <size_t order> void compare_short(double *matches);
    template <size_t order, size_t words> void compare_few(double *matches);
    void compare_many(double *matches);
    void walk_trie(double *matches);
    uint32_t find(const Token &token) const;
    double credit_of(const uint64_t *bits, uint32_t hypothesis_count) const;
    double best_weight_of(const uint64_t *bits) const;
    uint32_t count_in(const uint64_t *bits, const Reference &reference) const;

    Options options_;
    const Prepared &prepared_;
    std::span<const double> weights_;
    unsigned bits_;
    TrieMatcher trie_;
    static constexpr size_t most_announced = 4;
    Announced announced_[most_announced];
    size_t announced_count_ = 0, scored_count_ = 0;
    std::vector<uint32_t> hypothesis_;
    std::vector<Reference> references_;  // those that take part
    const uint32_t *ids_ = nullptr;
    size_t id_count_ = 0, words_ = 0;
    std::vector<uint8_t> counts_;  // by position and order: how often the n-gram occurs, 0 if it occurred before
    std::vector<uint64_t> rows_;
    std::vector<uint64_t> taking_part_;  // positions of references that take part
};

}  // namespace trubleu
