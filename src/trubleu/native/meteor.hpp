// METEOR's alignment of two texts: as many words as possible stage by stage, in as few chunks as possible.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace trubleu::meteor {

// Which words may be matched beyond equal ones, by their numbers.
struct Relations {
    const uint32_t *stems = nullptr;           // none: no such stage
    const uint64_t *meaning_begins = nullptr;  // none: no such stage
    const uint32_t *meanings = nullptr;        // words that share one are synonyms
};

// How much is searched. Results are the best ones unless more partial alignments come up than are kept, or more steps from one
// to another than are made; even then they are no worse than taking the longest runs of equal words first.
struct Limits {
    size_t narrow = 16;      // partial alignments that are kept at each word to begin with: most texts never have more
    size_t wide = 2000;      // and in texts that have more, where a better alignment is still possible
    size_t few = 12;         // places a word is tried at where there are too many partial alignments to try all
    int64_t steps = 300000;  // it bounds the time that a pair takes
};

struct Alignment {
    uint32_t exact = 0, stem = 0, synonym = 0;  // matches of equal words, of stems, of words that share a meaning
    uint32_t chunks = 0;                        // runs of matches that are neighbours in both texts, in the same order
    uint64_t tried = 0;                         // steps
};

// Pairs of words of two texts that can be aligned.
constexpr size_t most_pairs = size_t{1} << 27;

// Aligns pairs of texts; one for each thread. Scratch memory is reused.
//
// A word is matched at most once. Among all such alignments those with the most exact matches are kept, of these those with
// the most matches of stems, of these those with the most synonyms; of what is left, one with the fewest chunks.
class Aligner {
  public:
    Aligner(const Relations &relations, const Limits &limits) : relations_(relations), limits_(limits) {}

    Alignment align(std::span<const uint32_t> words, std::span<const uint32_t> reference);

  private:
    template <size_t W> class Search;

    using Types = std::span<const uint32_t>;

    // A different word of the two texts.
    struct Type {
        uint32_t word = 0, ours = 0, theirs = 0, left = 0;
        uint32_t stem = 0;          // a class of this pair, of words with a surplus
        Types same_stem, synonyms;  // types of the reference that it may be matched with beyond itself
    };
    // Words with a surplus, by stem.
    struct Stem {
        uint32_t stem = 0, our_count = 0, their_count = 0;
        Types ours, theirs;
    };

    void number(std::span<const uint32_t> words, std::span<const uint32_t> reference);
    void match_stems();
    void match_meanings();
    int64_t surplus(Types types, bool ours) const;

    Relations relations_;
    Limits limits_;
    std::vector<uint32_t> type_of_, stem_of_;  // by word and by stem: its number in this pair and one more; 0 for none
    std::vector<Type> types_;
    std::vector<Stem> stems_;
    std::vector<uint32_t> surplus_types_, synonyms_;  // in the order of stems; of types, one after the other
    std::vector<uint32_t> words_, reference_;  // as types
    uint32_t exact_ = 0, stemmed_ = 0;
    bool has_synonyms_ = false;
    std::shared_ptr<Search<1>> small_;  // refers to this: an aligner is neither copied nor moved once it aligns
};

}  // namespace trubleu::meteor
