// One hypothesis against its references, straight from text and with nothing kept.
#pragma once

#include <vector>

#include "trie.hpp"

namespace trubleu {

// Matches hypotheses of up to `longest_hypothesis` tokens with references of up to `longest_reference`.
//
// A word is known by the position where the hypothesis first has it. How many words before a reference token agree with
// those before a position of the hypothesis says which n-grams end there in both: four 16-bit positions fit a register,
// so that is one exclusive or. Only the longest agreement is counted, by (its length, position); the counts of shorter
// n-grams are sums over the longer ones, and n-grams that occur again are added to their first place. Nearly everything
// runs without branches or in vectors, which is what makes it fast.
class WindowMatcher {
  public:
    static constexpr size_t longest_hypothesis = 255;
    static constexpr size_t longest_reference = 32767;  // counts have 16 bits

    explicit WindowMatcher(const Options &options);
    void build(const Line &line);
    void walk(const Line &line);
    void settle(double weight);
    void collect(double *matches) const;
    // Forgets what references held, and keeps the hypothesis.
    void forget() { std::fill_n(best_counts_.begin(), (order_ + 1) * width_, int16_t{0}); }

  private:
    struct Slot {
        uint64_t word;
        uint32_t tag;       // stamp << 16 | size, sizes above 65,535 cut down
        uint16_t position;  // the first of this word
        uint16_t last;      // the latest of this word
    };
    struct Repeat {
        uint32_t from, to;  // counters of an n-gram's later and of its first place
    };

    static constexpr size_t margin = max_order;  // before the first token nothing agrees
    static constexpr uint16_t unknown = 0xFFFF, outside = 0xFFFE;

    uint32_t find(const Token &token) const;
    uint32_t search(const Token &token) const;
    bool holds(const Slot &slot, const Token &token) const;
    uint32_t tag_of(const Token &token) const { return stamp_ << 16 | std::min(token.size, 0xFFFFu); }
    void note_repeats(size_t position, const Slot &slot);
    template <bool deep> void walk_with(const Line &line);
    int16_t *row(std::vector<int16_t> &counters, size_t agreed) const { return counters.data() + agreed * width_; }

    Credit credit_;
    size_t order_;
    const Line *hypothesis_ = nullptr;
    size_t length_ = 0, width_ = 0;  // width: positions a row of counters has, for whole vectors
    std::vector<Slot> table_;
    unsigned bits_ = 0;
    uint32_t stamp_ = 0;
    std::vector<uint16_t> ids_;   // margin, the hypothesis, and one place for all unknown words
    std::vector<uint16_t> next_;  // the next position of the same word; 0: none
    std::vector<Repeat> repeats_;
    // By n-gram length and position; row 0 of the reference's counts takes what agrees with nothing.
    std::vector<int16_t> hypothesis_counts_, reference_counts_, best_counts_;
    std::vector<double> best_values_;
    std::vector<uint16_t> reference_ids_;
};

// Numbers the words of one hypothesis, and finds them in references; for hypotheses too long for WindowMatcher.
class LocalVocabulary {
  public:
    const std::vector<uint32_t> &number(const Line &hypothesis);
    const std::vector<uint32_t> &look_up(const Line &reference);

  private:
    uint32_t find(const Line &line, const Span &span, bool add);

    struct Slot {
        Span span{0, 0};
        uint32_t id = unknown_id;
    };
    const Line *hypothesis_ = nullptr;
    std::vector<Slot> slots_;
    unsigned bits_ = 0;
    uint32_t known_ = 0;
    std::vector<uint32_t> hypothesis_ids_, reference_ids_;
};

// The same steps as WindowMatcher for texts of any length.
class LongMatcher {
  public:
    explicit LongMatcher(const Options &options) : trie_(options) {}
    void build(const Line &line) { trie_.build(vocabulary_.number(line)); }
    void walk(const Line &line) { trie_.walk(vocabulary_.look_up(line)); }
    void settle(double weight) { trie_.settle(weight); }
    void collect(double *matches) const { trie_.collect(matches); }
    void forget() { trie_.forget(); }

  private:
    LocalVocabulary vocabulary_;
    TrieMatcher trie_;
};

class DirectScorer {
  public:
    explicit DirectScorer(const Options &options) : options_(options), window_(options), long_(options) {}

    // `weights` may be null; a NaN weight says that the reference does not take part.
    void score(const Text &hypothesis, const Text *references, const double *weights, size_t count, double *row);

  private:
    template <typename Matcher>
    void match(Matcher &matcher, const Text *references, const double *weights, size_t count, double *row);

    Options options_;
    Line hypothesis_, reference_;
    WindowMatcher window_;
    LongMatcher long_;
};

}  // namespace trubleu
