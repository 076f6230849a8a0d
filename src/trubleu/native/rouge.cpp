#include "rouge.hpp"

#include <bit>

namespace trubleu::rouge {

namespace {

constexpr size_t most_dense = size_t{1} << 17;  // machine words of a table that is held as a whole

Options options_of(Tokenizer tokenizer, size_t order) {
    Options options;
    options.tokenizer = tokenizer;
    options.lowercase = true;
    options.order = static_cast<int>(order);
    return options;
}

// Where sentences begin, and the end: lines are sentences.
void split_sentences(const Line &line, std::vector<size_t> &begins) {
    begins.assign(1, 0);
    for (size_t i = 1; i < line.size(); ++i) {
        const Span &before = line.begin()[i - 1], &span = line.begin()[i];
        if (std::memchr(line.bytes() + before.end, '\n', span.begin - before.end)) begins.push_back(i);
    }
    begins.push_back(line.size());
}

// How long the longest common subsequence is with the first words: bits that are lost.
size_t lost(const uint64_t *row, size_t words) {
    size_t count = 0, i = 0;
    for (; 64 * (i + 1) <= words; ++i) count += static_cast<size_t>(std::popcount(~row[i]));
    if (words % 64) count += static_cast<size_t>(std::popcount(~row[i] & ((uint64_t{1} << words % 64) - 1)));
    return count;
}

}  // namespace

Scorer::Scorer(Kind kind, size_t order, bool stem)
    : kind_(kind), tokenizer_(stem ? Tokenizer::stems : Tokenizer::alphanumeric), order_(order), window_(options_of(tokenizer_, order)),
      long_(options_of(tokenizer_, order)) {}

// Keeps the pair with the best F; the first one where several are equally good.
void Scorer::take(double hits, double said, double wanted, double *row) const {
    double precision = hits / std::max(said, 1.0), recall = hits / std::max(wanted, 1.0);
    double f = precision + recall > 0 ? 2 * precision * recall / (precision + recall) : 0.0;
    if (f > row[2]) {
        row[0] = precision;
        row[1] = recall;
        row[2] = f;
    }
}

template <typename Matcher> void Scorer::match(Matcher &matcher, const Text *references, size_t count, double *row) {
    matcher.build(output_);
    auto ngrams = [&](size_t words) { return words >= order_ ? static_cast<double>(words - order_ + 1) : 0.0; };
    for (size_t j = 0; j < count; ++j) {
        load_reference(references[j]);
        double matches[max_order] = {};
        matcher.walk(reference_);
        matcher.settle(1.0);
        matcher.collect(matches);
        matcher.forget();
        take(matches[order_ - 1], ngrams(output_.size()), ngrams(reference_.size()), row);
    }
}

void Scorer::mark(const Ids &words, size_t first, size_t last) {
    blocks_ = (last - first + 63) / 64;
    size_t known = 0;
    for (uint32_t word : words) known = std::max(known, size_t{word} + 1);
    dense_ = known * blocks_ <= most_dense;
    shown_ = unknown_id;
    if (dense_) {
        places_.assign(known * blocks_, 0);
        for (size_t i = first; i < last; ++i) places_[words[i] * blocks_ + (i - first) / 64] |= uint64_t{1} << (i - first) % 64;
        return;
    }
    places_.assign(blocks_, 0);
    first_place_.assign(known, unknown_id);
    next_place_.resize(last - first);
    for (size_t i = last - first; i-- > 0;) {
        next_place_[i] = first_place_[words[first + i]];
        first_place_[words[first + i]] = static_cast<uint32_t>(i);
    }
}

const uint64_t *Scorer::places_of(uint32_t word) {
    if (dense_) return places_.data() + word * blocks_;
    auto flip = [&](uint32_t shown) {
        for (uint32_t i = first_place_[shown]; i != unknown_id; i = next_place_[i]) places_[i / 64] ^= uint64_t{1} << i % 64;
    };
    if (shown_ != unknown_id) flip(shown_);
    flip(shown_ = word);
    return places_.data();
}

// Of the places where the sentence has the word, those that make subsequences longer lose their bit.
void Scorer::advance(const uint64_t *row, uint32_t word, uint64_t *next) {
    if (word == unknown_id) {
        if (next != row) std::copy_n(row, blocks_, next);
        return;
    }
    const uint64_t *places = places_of(word);
    uint64_t carry = 0;
    for (size_t i = 0; i < blocks_; ++i) {
        uint64_t hits = row[i] & places[i], sum = row[i] + hits, more = sum + carry;
        carry = (sum < hits) | (more < carry);
        next[i] = more | (row[i] & ~places[i]);
    }
}

size_t Scorer::common(const Ids &words, const Ids &reference) {
    rows_.assign(blocks_, ~uint64_t{0});
    for (uint32_t word : reference) advance(rows_.data(), word, rows_.data());
    return lost(rows_.data(), words.size());
}

// Reads a longest common subsequence backwards, as rouge-score does: of equally long ones it passes over the reference first. Of
// a long table some rows are kept, and those between two of them computed again.
void Scorer::find(const Ids &reference, size_t first, size_t last, size_t length, const Ids &words, size_t begin) {
    size_t size = last - first, step = size;
    if (size * blocks_ > most_dense)
        for (step = 1; step * step < size;) ++step;
    auto fill = [&](size_t from, size_t to) {  // rows after the first one, which is there
        for (size_t i = from; i < to; ++i)
            advance(rows_.data() + (i - from) * blocks_, reference[first + i], rows_.data() + (i - from + 1) * blocks_);
    };
    rows_.resize((step + 1) * blocks_);
    std::fill_n(rows_.begin(), blocks_, ~uint64_t{0});
    kept_.clear();
    size_t from = 0;
    for (; from + step < size; from += step) {
        kept_.insert(kept_.end(), rows_.begin(), rows_.begin() + static_cast<ptrdiff_t>(blocks_));
        fill(from, from + step);
        std::copy_n(rows_.begin() + static_cast<ptrdiff_t>(step * blocks_), blocks_, rows_.begin());
    }
    fill(from, size);
    for (size_t i = size, j = length; i > 0 && j > 0;) {
        if (i == from) {
            from -= step;
            std::copy_n(kept_.end() - static_cast<ptrdiff_t>(blocks_), blocks_, rows_.begin());
            kept_.resize(kept_.size() - blocks_);
            fill(from, i);
        }
        const uint64_t *row = rows_.data() + (i - from) * blocks_;
        if (reference[first + i - 1] == words[begin + j - 1]) {
            found_[first + i - 1] = 1;
            --i, --j;
        } else if ((row[(j - 1) / 64] >> (j - 1) % 64 & 1) && lost(row, j) > lost(row - blocks_, j)) {
            --j;  // without this word it is as long, but not without that of the reference
        } else {
            --i;
        }
    }
}

size_t Scorer::summary_hits(const Ids &words, const Ids &reference) {
    split_sentences(reference_, reference_sentences_);
    found_.assign(reference.size(), 0);
    for (size_t s = 0; s + 1 < sentences_.size(); ++s) {
        size_t begin = sentences_[s], length = sentences_[s + 1] - begin;
        if (length == 0) continue;
        mark(words, begin, begin + length);
        for (size_t r = 0; r + 1 < reference_sentences_.size(); ++r)
            find(reference, reference_sentences_[r], reference_sentences_[r + 1], length, words, begin);
    }
    size_t known = 0, hits = 0;
    for (uint32_t word : words) known = std::max(known, size_t{word} + 1);
    left_.assign(known, 0);
    wanted_.assign(known, 0);
    for (uint32_t word : words) ++left_[word];
    for (uint32_t word : reference)
        if (word != unknown_id) ++wanted_[word];
    for (size_t i = 0; i < reference.size(); ++i) {
        uint32_t word = reference[i];
        if (!found_[i] || left_[word] == 0 || wanted_[word] == 0) continue;
        ++hits;
        --left_[word];
        --wanted_[word];
    }
    return hits;
}

void Scorer::score(const Text &output, const Text *references, size_t count, double *row) {
    output_.load(output, tokenizer_, true);
    std::fill_n(row, 3, 0.0);
    row[3] = static_cast<double>(output_.size());
    if (output_.size() == 0) return;
    if (kind_ == Kind::ngrams) {
        bool fits = output_.size() <= WindowMatcher::longest_hypothesis;
        for (size_t j = 0; fits && j < count; ++j) fits = references[j].length <= WindowMatcher::longest_reference;
        if (fits) match(window_, references, count, row);
        else match(long_, references, count, row);
        return;
    }
    const Ids &words = vocabulary_.number(output_);
    if (kind_ == Kind::summary) split_sentences(output_, sentences_);
    else mark(words, 0, words.size());
    for (size_t j = 0; j < count; ++j) {
        load_reference(references[j]);
        if (reference_.size() == 0) continue;
        const Ids &reference = vocabulary_.look_up(reference_);
        size_t hits = kind_ == Kind::summary ? summary_hits(words, reference) : common(words, reference);
        take(static_cast<double>(hits), static_cast<double>(words.size()), static_cast<double>(reference.size()), row);
    }
}

}  // namespace trubleu::rouge
