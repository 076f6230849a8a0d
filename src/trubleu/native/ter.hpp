// TER's edits of two texts: insertions, deletions, substitutions, and shifts of words found greedily, as sacreBLEU does it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace trubleu::ter {

constexpr size_t longest_shift = 10;    // words
constexpr size_t farthest_shift = 50;   // words between the places where a shifted text stands in both texts
constexpr size_t beam = 25;             // cells on each side of the diagonal
constexpr size_t most_candidates = 1000;  // shifts that are tried for a pair

// Counts the edits of pairs of texts; one for each thread. Scratch memory is reused.
//
// Edit distances look only at cells near the diagonal. Distances of all beginnings and of all ends of the text to those of the
// reference are kept, so trying a shift takes only the rows of the words that it moves.
class Editor {
  public:
    using Words = std::span<const uint32_t>;

    size_t edits(Words words, Words reference);

  private:
    // The cells of a row, from `low` to `high`; there is an infinite one on each side.
    struct Row {
        size_t begin, low, high;
    };
    // How good a shift is: by what it saves, then longer, from an earlier place, to an earlier place.
    struct Shift {
        int64_t saved = 0;
        size_t length = 0, start = 0, target = 0;

        bool better_than(const Shift &other) const {
            if (saved != other.saved) return saved > other.saved;
            if (length != other.length) return length > other.length;
            return start != other.start ? start < other.start : target < other.target;
        }
    };

    void lay_out();
    void fill_row(const int32_t *previous, const Row &from, uint32_t word, int32_t *cells, const Row &row) const;
    void fill_forward();
    void fill_backward();
    void align();
    bool shift();
    int64_t distance_after(size_t start, size_t length, size_t target);
    // The words from `first` on that a shift leaves in another order.
    size_t moved(size_t start, size_t length, size_t target, size_t &first);

    std::vector<uint32_t> words_, reference_;  // the reference with a word that nothing equals on each side
    std::vector<Row> rows_;
    // Distances of beginnings less the words of the reference that they take, and of ends, and those words: an insertion then
    // costs nothing, and the best of all insertions is a running minimum.
    std::vector<int32_t> forward_, backward_, scratch_;
    int64_t distance_ = 0;
    size_t tried_ = 0;
    std::vector<int64_t> aligned_;                    // by word of the reference: the last word before it or at it
    std::vector<uint32_t> word_errors_, reference_errors_;  // before each word
    std::vector<uint32_t> moved_;
};

}  // namespace trubleu::ter
