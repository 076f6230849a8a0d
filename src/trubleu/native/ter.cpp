#include "ter.hpp"

#include <algorithm>
#include <cmath>

namespace trubleu::ter {

namespace {

constexpr int32_t infinite = 1 << 29;
constexpr uint32_t no_word = 0xFFFFFFFF;

}  // namespace

// Where the cells of each row are: around the diagonal from the first to the last words, of whatever lengths the texts are.
void Editor::lay_out() {
    size_t length = words_.size(), columns = reference_.size() - 1;
    double ratio = length ? static_cast<double>(columns - 1) / static_cast<double>(length) : 1.0;
    size_t width = beam;
    if (static_cast<double>(beam) < ratio / 2) width = static_cast<size_t>(std::ceil(ratio / 2 + static_cast<double>(beam)));
    rows_.clear();
    size_t begin = 1;
    for (size_t i = 0; i <= length; ++i) {
        size_t low = 0, high = columns;
        if (i > 0) {
            size_t diagonal = static_cast<size_t>(std::floor(static_cast<double>(i) * ratio));
            low = diagonal > width ? diagonal - width : 0;
            if (i < length) high = std::min(columns, diagonal + width);
        }
        rows_.push_back({begin, low, high});
        begin += high - low + 2;
    }
    size_t widest = 0;
    for (const Row &row : rows_) widest = std::max(widest, row.high - row.low);
    if (forward_.size() < begin) forward_.resize(begin + begin / 4);
    if (backward_.size() < begin) backward_.resize(begin + begin / 4);
    if (scratch_.size() < 2 * (widest + 2)) scratch_.resize(2 * (widest + 2));
}

// A row of distances of beginnings from the row above it.
void Editor::fill_row(const int32_t *previous, const Row &from, uint32_t word, int32_t *cells, const Row &row) const {
    const uint32_t *reference = reference_.data() + row.low;
    const int32_t *above = previous + (row.low - from.low);
    // Behind the end of the row above there is an infinite cell, and nothing but insertions behind that.
    size_t width = row.high - row.low, both = std::min(row.high, std::max(from.high + 1, row.low)) - row.low;
    for (size_t j = 0; j < both; ++j)
        cells[j] = std::min(above[static_cast<ptrdiff_t>(j) - 1] - static_cast<int32_t>(reference[j] == word), above[j] + 1);
    int32_t least = infinite;
    for (size_t j = 0; j < both; ++j) cells[j] = least = std::min(least, cells[j]);
    std::fill(cells + both, cells + width, least);
    cells[-1] = cells[width] = infinite;
}

void Editor::fill_forward() {
    int32_t *first = forward_.data() + rows_[0].begin;
    std::fill_n(first, rows_[0].high, 0);
    first[-1] = first[rows_[0].high] = infinite;
    for (size_t i = 1; i < rows_.size(); ++i)
        fill_row(forward_.data() + rows_[i - 1].begin, rows_[i - 1], words_[i - 1], forward_.data() + rows_[i].begin, rows_[i]);
    const Row &last = rows_.back();
    distance_ = int64_t{forward_[last.begin + last.high - 1 - last.low]} + static_cast<int64_t>(last.high) - 1;
}

void Editor::fill_backward() {
    const Row &last = rows_.back();
    int32_t *cells = backward_.data() + last.begin;
    std::fill_n(cells, last.high - last.low, static_cast<int32_t>(last.high - 1));
    cells[-1] = cells[last.high - last.low] = infinite;
    for (size_t i = rows_.size() - 1; --i > 0;) {
        const Row &row = rows_[i], &below = rows_[i + 1];
        const uint32_t *reference = reference_.data() + row.low + 1;
        uint32_t word = words_[i];
        size_t width = row.high - row.low, skipped = below.low - row.low;
        const int32_t *under = backward_.data() + below.begin;
        cells = backward_.data() + row.begin;
        // Cells before the row below: of these only the last one leads into it.
        size_t from = skipped > 0 ? std::min(skipped - 1, width) : 0;
        for (size_t j = from; j < width; ++j) {
            ptrdiff_t at = static_cast<ptrdiff_t>(j) - static_cast<ptrdiff_t>(skipped);
            cells[j] = std::min(under[at + 1] - static_cast<int32_t>(reference[j] == word), under[at] + 1);
        }
        int32_t least = infinite;
        for (size_t j = width; j-- > from;) cells[j] = least = std::min(least, cells[j]);
        std::fill(cells, cells + from, least);
        cells[-1] = cells[width] = infinite;
    }
}

// Reads the edits backwards. Of equally good ones a pair of words comes first, then a word that only the text has.
void Editor::align() {
    size_t length = words_.size(), columns = reference_.size() - 2;
    aligned_.assign(columns, 0);
    word_errors_.assign(length + 1, 0);
    reference_errors_.assign(columns + 1, 0);
    for (size_t i = length, j = columns; i > 0 || j > 0;) {
        if (i == 0) {
            --j;
            reference_errors_[j + 1] = 1;
            aligned_[j] = -1;
            continue;
        }
        const Row &row = rows_[i], &above = rows_[i - 1];
        int32_t here = forward_[row.begin + j - row.low];
        const int32_t *cells = forward_.data() + above.begin;
        auto cell = [&](size_t column) { return column < above.low || column >= above.high ? infinite : cells[column - above.low]; };
        if (bool same = j > 0 && words_[i - 1] == reference_[j]; j > 0 && cell(j - 1) - static_cast<int32_t>(same) == here) {
            --i, --j;
            word_errors_[i + 1] = reference_errors_[j + 1] = !same;
            aligned_[j] = static_cast<int64_t>(i);
        } else if (cell(j) + 1 == here) {
            --i;
            word_errors_[i + 1] = 1;
        } else {
            --j;
            reference_errors_[j + 1] = 1;
            aligned_[j] = static_cast<int64_t>(i) - 1;
        }
    }
    for (size_t i = 0; i < length; ++i) word_errors_[i + 1] += word_errors_[i];
    for (size_t j = 0; j < columns; ++j) reference_errors_[j + 1] += reference_errors_[j];
}

size_t Editor::moved(size_t start, size_t length, size_t target, size_t &first) {
    const uint32_t *words = words_.data();
    moved_.clear();
    auto take = [&](size_t from, size_t to) { moved_.insert(moved_.end(), words + from, words + to); };
    first = std::min(start, target);
    if (target < start) {
        take(start, start + length);
        take(target, start);
    } else {
        // A target inside the shifted words lies as far behind them.
        size_t end = target > start + length ? target : std::min(target + length, words_.size());
        take(start + length, end);
        take(start, start + length);
    }
    return first + moved_.size();
}

int64_t Editor::distance_after(size_t start, size_t length, size_t target) {
    if (start == target) return distance_;
    size_t first, last = moved(start, length, target, first);
    const int32_t *previous = forward_.data() + rows_[first].begin;
    int32_t *one = scratch_.data() + 1, *other = scratch_.data() + scratch_.size() / 2 + 1;
    for (size_t i = first; i < last; ++i) {
        fill_row(previous, rows_[i], moved_[i - first], one, rows_[i + 1]);
        previous = one;
        std::swap(one, other);
    }
    const Row &row = rows_[last];
    const int32_t *rest = backward_.data() + row.begin;
    int32_t least = infinite;
    for (size_t j = 0; j < row.high - row.low; ++j) least = std::min(least, previous[j] + rest[j]);
    return least;
}

// Makes the best shift if it saves anything, and no more than so many were tried.
bool Editor::shift() {
    size_t length = words_.size(), columns = reference_.size() - 2;
    const uint32_t *reference = reference_.data() + 1;
    fill_backward();
    align();
    Shift best;
    bool found = false;
    auto wrong = [](const std::vector<uint32_t> &errors, size_t from, size_t size) { return errors[from + size] > errors[from]; };
    for (size_t start = 0; start < length; ++start) {
        size_t low = start > farthest_shift ? start - farthest_shift : 0, high = std::min(columns, start + farthest_shift + 1);
        for (size_t place = low; place < high; ++place) {
            size_t longest = std::min({longest_shift, length - start, columns - place});
            for (size_t size = 1; size <= longest && words_[start + size - 1] == reference[place + size - 1]; ++size) {
                if (!wrong(word_errors_, start, size) || !wrong(reference_errors_, place, size)) continue;
                int64_t now = aligned_[place];
                if (now >= static_cast<int64_t>(start) && now < static_cast<int64_t>(start + size)) continue;
                int64_t before = -1;
                for (size_t offset = 0; offset <= size; ++offset) {  // before the shifted text's place, and behind each word of it
                    int64_t target = place + offset == 0 ? 0 : aligned_[place + offset - 1] + 1;
                    if (target == before) continue;
                    before = target;
                    Shift candidate{0, size, start, static_cast<size_t>(target)};
                    candidate.saved = distance_ - distance_after(start, size, candidate.target);
                    ++tried_;
                    if (!found || candidate.better_than(best)) best = candidate;
                    found = true;
                }
                if (tried_ >= most_candidates) return false;
            }
        }
    }
    if (best.saved <= 0) return false;
    size_t first;
    moved(best.start, best.length, best.target, first);
    std::copy(moved_.begin(), moved_.end(), words_.begin() + static_cast<ptrdiff_t>(first));
    return true;
}

size_t Editor::edits(Words words, Words reference) {
    if (reference.empty()) return words.size();
    if (words.empty()) return reference.size();
    words_.assign(words.begin(), words.end());
    reference_.assign(1, no_word);
    reference_.insert(reference_.end(), reference.begin(), reference.end());
    reference_.push_back(no_word);
    tried_ = 0;
    lay_out();
    size_t shifts = 0;
    fill_forward();
    for (; distance_ > 0 && shift(); ++shifts) fill_forward();
    return shifts + static_cast<size_t>(distance_);
}

}  // namespace trubleu::ter
