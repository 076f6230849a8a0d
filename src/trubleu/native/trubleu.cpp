#include "trubleu.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "dots.hpp"
#include "rated.hpp"

namespace trubleu::soft {

namespace {

constexpr size_t most_cosines = size_t{1} << 24;  // of one segment that are held: 64 MB
constexpr size_t most_products = size_t{1} << 22;  // of one pair of texts that are held: 32 MB
constexpr float largest_of_unequal = 0.999f;      // only equal n-grams are 1
constexpr double smallest_factor = 0.001;         // one factor alone does not make a score 0
constexpr size_t most_common = 512;               // words whose products fit into a megabyte
constexpr size_t common_share = 32;               // of the products that a corpus needs


double scale_of(double length) { return length > 0.0 ? 1.0 / length : 0.0; }

// What tells n-grams of a hypothesis apart; all three numbers are small enough.
uint64_t edge_key(size_t n, uint32_t head, uint32_t last) { return (uint64_t{n} << 60) | (uint64_t{head} << 30) | last; }

}  // namespace

NgramMatcher::Slot &NgramMatcher::slot(size_t n, uint32_t head, uint32_t last) {
    uint64_t key = edge_key(n, head, last);
    size_t mask = table_.size() - 1, at = (key * 0x9E3779B97F4A7C15u) >> (64 - bits_);
    while (table_[at].key != key && table_[at].key != no_key) at = (at + 1) & mask;
    return table_[at];
}

void NgramMatcher::take_hypothesis(std::span<const uint32_t> words) {
    if (words.size() >= size_t{1} << 30) throw std::length_error("a text has 2^30 words or more");
    // At most half full, so that what is not there is soon known.
    bits_ = static_cast<unsigned>(std::bit_width(2 * (order_ * words.size() + 1)));
    table_.assign(size_t{1} << bits_, {no_key, nothing});
    for (uint32_t word : words_) number_of_word_[word] = nothing;
    words_.clear();
    for (size_t n = 1; n <= order_; ++n) {
        left[n].clear();
        counts_[n].clear();
        for (size_t i = 0; i + n <= words.size(); ++i) {
            uint32_t *number = &number_of_word_[words[i]];
            if (n > 1) {
                Slot &found = slot(n, left[n - 1][i], left[1][i + n - 1]);
                found.key = edge_key(n, left[n - 1][i], left[1][i + n - 1]);
                number = &found.number;
            } else if (*number == nothing) {
                words_.push_back(words[i]);
            }
            if (*number == nothing) {
                *number = static_cast<uint32_t>(counts_[n].size());
                counts_[n].push_back(0);
            }
            ++counts_[n][*number];
            left[n].push_back(*number);
        }
    }
}

void NgramMatcher::take_reference(std::span<const uint32_t> words) {
    shared_ = 0;
    for (size_t n = 1; n <= order_; ++n) {
        right[n].assign(words.size() < n ? 0 : words.size() - n + 1, nothing);
        // Without shared n-grams there are no longer ones either.
        if (shared_ < n - 1) continue;
        for (size_t j = 0; j < right[n].size(); ++j) {
            if (n == 1) {
                right[1][j] = number_of_word_[words[j]];
            } else {
                uint32_t head = right[n - 1][j], last = right[1][j + n - 1];
                if (head != nothing && last != nothing) right[n][j] = slot(n, head, last).number;
            }
            if (right[n][j] != nothing) shared_ = n;
        }
    }
}

void NgramMatcher::compare(size_t n) {
    rows.clear();
    columns.clear();
    matched.clear();
    if (n > shared_) {
        rows.resize(left[n].size());
        columns.resize(right[n].size());
        std::iota(rows.begin(), rows.end(), uint32_t{0});
        std::iota(columns.begin(), columns.end(), uint32_t{0});
        return;
    }
    used_.assign(counts_[n].size(), 0);
    for (size_t j = 0; j < right[n].size(); ++j) {
        uint32_t number = right[n][j];
        bool paired = number != nothing && used_[number] < counts_[n][number];
        if (paired) ++used_[number];
        (paired ? matched : columns).push_back(static_cast<uint32_t>(j));
    }
    for (size_t i = 0; i < left[n].size(); ++i) {
        uint32_t &left_to_pair = used_[left[n][i]];
        if (left_to_pair > 0) --left_to_pair;
        else rows.push_back(static_cast<uint32_t>(i));
    }
}

ReferenceWords::ReferenceWords(const WordTexts &texts, std::span<const int64_t> offsets) : texts_(texts), places_(texts.ids().size()) {
    for (int64_t offset : offsets) offsets_.push_back(static_cast<size_t>(offset - offsets[0]));
    find_common();
    std::vector<uint32_t> place_of_word(texts.word_count(), nothing);
    for (size_t segment = 0; segment < size(); ++segment) {
        auto [first, last] = range(segment);
        std::span<const uint32_t> all;
        if (first < last) all = {texts[first].data(), texts[last - 1].data() + texts[last - 1].size()};
        size_t begin = words_.size();
        for (bool common : {true, false}) {
            for (uint32_t word : all) {
                if (place_of_word[word] != nothing || (common_place(word) != nothing) != common) continue;
                place_of_word[word] = static_cast<uint32_t>(words_.size() - begin);
                words_.push_back(word);
            }
            if (common) common_counts_.push_back(static_cast<uint32_t>(words_.size() - begin));
        }
        for (const uint32_t &word : all) places_[static_cast<size_t>(&word - texts.ids().data())] = place_of_word[word];
        for (size_t i = begin; i < words_.size(); ++i) place_of_word[words_[i]] = nothing;
        begins_.push_back(words_.size());
    }
}

void ReferenceWords::find_common() {
    size_t pairs = 0;
    for (size_t segment = 0; segment < size(); ++segment) {
        auto [first, last] = range(segment);
        // An output is taken to be as long as a reference.
        size_t words = 0;
        for (size_t text = first; text < last; ++text) words += texts_[text].size();
        if (words > 0) pairs += words * words / (last - first);
    }
    std::vector<uint32_t> counts(texts_.word_count());
    for (uint32_t word : texts_.ids()) ++counts[word];
    common_.resize(counts.size());
    std::iota(common_.begin(), common_.end(), uint32_t{0});
    // Making their products must cost little beside what they save.
    size_t count = std::min({static_cast<size_t>(std::sqrt(static_cast<double>(pairs / common_share))), most_common, common_.size()});
    auto more_often = [&](uint32_t a, uint32_t b) { return counts[a] != counts[b] ? counts[a] > counts[b] : a < b; };
    std::partial_sort(common_.begin(), common_.begin() + static_cast<ptrdiff_t>(count), common_.end(), more_often);
    common_.resize(count);
    common_.shrink_to_fit();
    common_places_.assign(counts.size(), nothing);
    for (size_t i = 0; i < count; ++i) common_places_[common_[i]] = static_cast<uint32_t>(i);
}

std::vector<float> ReferenceWords::common_products(const WordTable &words) const {
    size_t count = common_.size();
    std::vector<float> products(count * count), zeros(words.dimensions);
    std::vector<const float *> vectors;
    for (uint32_t word : common_) vectors.push_back(words.vector(word, zeros.data()));
    constexpr size_t block = 32;
    for (size_t i = 0; i < count; i += block) {
        size_t rows = std::min(block, count - i);
        Dots::all(vectors.data() + i, rows, vectors.data() + i, count - i, words.dimensions, products.data() + i * count + i, count);
        for (size_t row = i; row < i + rows; ++row)
            for (size_t column = i + rows; column < count; ++column) products[column * count + row] = products[row * count + column];
    }
    return products;
}

size_t ReferenceWords::memory() const {
    size_t numbers = common_.size() + common_places_.size() + words_.capacity() + common_counts_.capacity() + places_.size();
    return sizeof(uint32_t) * numbers + sizeof(size_t) * (offsets_.capacity() + begins_.capacity());
}

SegmentScorer::SegmentScorer(const Segments &segments, const WordTable &words, const TrubleuOptions &options)
    : segments_(segments), words_(words), options_(options), matcher_(segments.outputs->word_count(), options.order),
      characters_({.lowercase = options.lowercase}), least_(key_of(static_cast<float>(options.shift))),
      zeros_(words.dimensions), place_of_word_(segments.outputs->word_count(), nothing) {}

double SegmentScorer::f_score(double precision, double recall) const {
    double square = options_.beta * options_.beta, below = square * precision + recall;
    return below > 0.0 ? (1.0 + square) * precision * recall / below : 0.0;
}

// Finds the different words of the hypothesis and of all references, and the cosines between them.
void SegmentScorer::take_words(size_t segment) {
    const ReferenceWords &references = *segments_.references;
    std::span<const uint32_t> hypothesis = (*segments_.outputs)[segment];
    hypothesis_words_.clear();
    hypothesis_vectors_.clear();
    size_t common_rows = 0;
    for (bool common : {true, false}) {
        for (uint32_t word : hypothesis) {
            if (place_of_word_[word] != nothing || (references.common_place(word) != nothing) != common) continue;
            place_of_word_[word] = static_cast<uint32_t>(hypothesis_words_.size());
            hypothesis_words_.push_back(word);
            hypothesis_vectors_.push_back(words_.vector(word, zeros_.data()));
        }
        if (common) common_rows = hypothesis_words_.size();
    }
    hypothesis_places_.clear();
    for (uint32_t word : hypothesis) hypothesis_places_.push_back(place_of_word_[word]);
    take_text(hypothesis, hypothesis_places_, left_);
    reference_words_ = references.words(segment);
    size_t rows = hypothesis_words_.size(), columns = reference_words_.size(), common_columns = references.common_count(segment);
    reference_vectors_.clear();
    reference_scales_.clear();
    equal_.assign(rows, nothing);
    for (size_t column = 0; column < columns; ++column) {
        uint32_t word = reference_words_[column];
        reference_vectors_.push_back(words_.vector(word, zeros_.data()));
        reference_scales_.push_back(scale_of(words_.lengths[word]));
        if (place_of_word_[word] != nothing) equal_[place_of_word_[word]] = static_cast<uint32_t>(column);
    }
    for (uint32_t word : hypothesis_words_) place_of_word_[word] = nothing;
    held_ = rows * columns <= most_cosines;
    if (!held_) {
        scratch_.resize(options_.order * columns);
        return;
    }
    cosines_.resize(rows * columns);
    Dots::all(hypothesis_vectors_.data(), rows, reference_vectors_.data() + common_columns, columns - common_columns,
              words_.dimensions, cosines_.data() + common_columns, columns);
    Dots::all(hypothesis_vectors_.data() + common_rows, rows - common_rows, reference_vectors_.data(), common_columns,
              words_.dimensions, cosines_.data() + common_rows * columns, columns);
    common_places_.clear();
    for (uint32_t word : reference_words_.first(common_columns)) common_places_.push_back(references.common_place(word));
    for (size_t row = 0; row < common_rows; ++row) {
        const float *products = words_.common_products + references.common_place(hypothesis_words_[row]) * references.common().size();
        float *to = cosines_.data() + row * columns;
        for (size_t column = 0; column < common_columns; ++column) to[column] = products[common_places_[column]];
    }
    for (size_t row = 0; row < rows; ++row) settle(row, cosines_.data() + row * columns);
}

// Turns products of a word's vector with those of all words of the references into cosines.
void SegmentScorer::settle(size_t row, float *products) const {
    double scale = scale_of(words_.lengths[hypothesis_words_[row]]);
    const double *scales = reference_scales_.data();
    for (size_t column = 0; column < reference_scales_.size(); ++column) {
        float cosine = static_cast<float>(static_cast<double>(products[column]) * (scale * scales[column]));
        products[column] = std::min(std::max(cosine, -1.0f), 1.0f);
    }
    // A word is as similar to itself as can be, with a vector or without.
    if (equal_[row] != nothing) products[equal_[row]] = 1.0f;
}

const float *SegmentScorer::cosines(size_t place, size_t scratch) {
    size_t columns = reference_words_.size();
    if (held_) return cosines_.data() + place * columns;
    float *to = scratch_.data() + scratch * columns;
    Dots::all(hypothesis_vectors_.data() + place, 1, reference_vectors_.data(), columns, words_.dimensions, to, columns);
    settle(place, to);
    return to;
}

// Notes where a text's words are, and what its n-grams weigh.
void SegmentScorer::take_text(std::span<const uint32_t> words, std::span<const uint32_t> places, Side &side) {
    double sum = 0.0;
    size_t known = 0;
    side.places = places;
    for (uint32_t word : words) {
        double weight = words_.weights[word];
        if (std::isnan(weight)) continue;
        sum += weight;
        ++known;
    }
    double mean = known > 0 ? sum / static_cast<double>(known) : 1.0;
    for (size_t n = 1; n <= options_.order; ++n) side.weights[n].assign(padded(words.size()), 0.0);
    double *single = side.weights[1].data();
    for (size_t i = 0; i < words.size(); ++i) single[i] = std::isnan(words_.weights[words[i]]) ? mean : words_.weights[words[i]];
    for (size_t n = 2; n <= options_.order; ++n)
        for (size_t i = 0; i + n <= words.size(); ++i) side.weights[n][i] = side.weights[n - 1][i] + single[i + n - 1];
    // All orders side by side, as each addition waits for the one before.
    std::fill_n(side.totals, max_order + 1, 0.0);
    for (size_t i = 0; i < words.size(); ++i)
        for (size_t n = 1; n <= options_.order; ++n) side.totals[n] += side.weights[n][i];
}

// What each word of the reference adds to the numerator of c beside one word of the hypothesis.
void SegmentScorer::multiply(size_t position, size_t scratch, float *to) {
    const float *cosine = cosines(left_.places[position], scratch);
    double weight = left_.weights[1][position];
    const double *weights = right_.weights[1].data();
    for (size_t j = 0; j < right_.places.size(); ++j)
        to[j] = static_cast<float>(weight + weights[j]) * cosine[right_.places[j]];
}

namespace {

// Keys of c for one n-gram beside `count` n-grams of a text, from the products of its words, `stride` apart.
//
// Sums are made in twice the precision, in which they do not depend on the order of the words: n-grams that are equally
// similar get equal keys, and which of them are aligned is no accident of rounding.
template <size_t n>
void keys_of_row(const float *rows, size_t stride, double weight, const double *weights, size_t count, int32_t *keys) {
    int32_t cap = key_of(largest_of_unequal);
    for (size_t j = 0; j < count; ++j) {
        double sum = static_cast<double>(rows[j]);
        for (size_t k = 1; k < n; ++k) sum += static_cast<double>(rows[k * stride + j + k]);
        keys[j] = std::min(key_of(static_cast<float>(sum) / static_cast<float>(weight + weights[j])), cap);
    }
}

void keys_of_row(size_t n, const float *rows, size_t stride, double weight, const double *weights, size_t count,
                 int32_t *keys) {
    switch (n) {
        case 2: return keys_of_row<2>(rows, stride, weight, weights, count, keys);
        case 3: return keys_of_row<3>(rows, stride, weight, weights, count, keys);
        case 4: return keys_of_row<4>(rows, stride, weight, weights, count, keys);
        case 5: return keys_of_row<5>(rows, stride, weight, weights, count, keys);
        case 6: return keys_of_row<6>(rows, stride, weight, weights, count, keys);
        case 7: return keys_of_row<7>(rows, stride, weight, weights, count, keys);
        case 8: return keys_of_row<8>(rows, stride, weight, weights, count, keys);
        default: return keys_of_row<9>(rows, stride, weight, weights, count, keys);
    }
}
static_assert(max_order == 9);

}  // namespace

// The keys of one n-gram of the hypothesis beside those of the reference that are left over.
void SegmentScorer::fill_keys(size_t n, size_t position, int32_t *keys) {
    size_t count = matcher_.right[n].size(), width = matcher_.columns.size();
    const float *rows = products_.data() + position * stride_;
    if (!products_held_) {
        for (size_t k = 0; k < n; ++k) multiply(position + k, k, products_.data() + k * stride_);
        rows = products_.data();
    }
    // Whole vectors at a time; what lies behind the last n-gram is overwritten.
    window_.resize(padded(count));
    int32_t *to = width == count ? keys : window_.data();
    if (n == 1) {
        // The cosine itself: multiplied by weights and divided again, equal ones could differ.
        const float *cosine = cosines(left_.places[position], 0);
        for (size_t j = 0; j < count; ++j) to[j] = std::min(key_of(cosine[right_.places[j]]), key_of(largest_of_unequal));
    } else keys_of_row(n, rows, stride_, left_.weights[n][position], right_.weights[n].data(), padded(count), to);
    if (width < count)
        for (size_t j = 0; j < width; ++j) keys[j] = window_[matcher_.columns[j]];
    std::fill(keys + width, keys + padded(width), taken);
}

double SegmentScorer::f_of_order(size_t reference, size_t n, std::vector<AlignedPair> *pairs) {
    size_t here = matcher_.left[n].size(), there = matcher_.right[n].size();
    if (here == 0 || there == 0) return undefined;
    matcher_.compare(n);
    const std::vector<uint32_t> &rows = matcher_.rows, &columns = matcher_.columns;
    if (pairs) note_exact(reference, n, *pairs);
    if (rows.empty() && columns.empty()) return 1.0;
    // What each side lacks: the weights of n-grams that are left over, less what the similar ones make up for.
    auto sum_at = [n](const Side &side, const std::vector<uint32_t> &places, size_t all) {
        if (places.size() == all) return side.totals[n];
        double sum = 0.0;
        for (uint32_t place : places) sum += side.weights[n][place];
        return sum;
    };
    double left_lack = sum_at(left_, rows, here), right_lack = sum_at(right_, columns, there);
    if (!rows.empty() && !columns.empty()) {
        size_t stride = padded(columns.size());
        bool held = rows.size() * stride <= most_products;
        keys_.resize((held ? rows.size() : 1) * stride);
        if (held)
            for (size_t row = 0; row < rows.size(); ++row) fill_keys(n, rows[row], keys_.data() + row * stride);
        auto keys_of = [&](size_t row) {
            fill_keys(n, rows[row], keys_.data());
            return keys_.data();
        };
        for (const Aligner::Match &match : held ? aligner_.align_held(rows.size(), columns.size(), least_, keys_.data())
                                                : aligner_.align(rows.size(), columns.size(), least_, keys_of)) {
            uint32_t i = rows[match.row], j = columns[match.column];
            double above = static_cast<double>(value_of(match.key)) - options_.shift;
            double similarity = std::max(0.0, above / (1.0 - options_.shift));
            left_lack -= similarity * left_.weights[n][i];
            right_lack -= similarity * right_.weights[n][j];
            if (pairs)
                pairs->push_back({static_cast<int32_t>(reference), static_cast<int32_t>(n),
                                  static_cast<int32_t>(i), static_cast<int32_t>(j), false, similarity});
        }
    }
    auto share = [](double lack, double total) { return total > 0.0 ? std::max(0.0, 1.0 - lack / total) : 0.0; };
    return f_score(share(left_lack, left_.totals[n]), share(right_lack, right_.totals[n]));
}

// Equal n-grams use up the leftmost occurrences on both sides.
void SegmentScorer::note_exact(size_t reference, size_t n, std::vector<AlignedPair> &pairs) const {
    const std::vector<uint32_t> &left = matcher_.left[n], &right = matcher_.right[n];
    std::vector<bool> gone(left.size());
    for (uint32_t j : matcher_.matched) {
        uint32_t i = 0;
        while (gone[i] || left[i] != right[j]) ++i;
        gone[i] = true;
        pairs.push_back({static_cast<int32_t>(reference), static_cast<int32_t>(n), static_cast<int32_t>(i),
                         static_cast<int32_t>(j), true, 1.0});
    }
}

PairScore SegmentScorer::compare(size_t reference, size_t text, std::vector<AlignedPair> *pairs) {
    std::span<const uint32_t> words = segments_.references->texts()[text];
    PairScore result;
    if (left_.places.empty() || words.empty()) return result;
    take_text(words, segments_.references->places(text), right_);
    matcher_.take_reference(words);
    size_t rows = left_.places.size(), length = right_.places.size();
    stride_ = padded(length);
    products_held_ = rows * stride_ <= most_products;
    products_.resize((products_held_ ? rows : options_.order) * stride_ + max_order);
    if (products_held_)
        for (size_t i = 0; i < rows; ++i) multiply(i, 0, products_.data() + i * stride_);
    double logarithms = 0.0;
    size_t orders = 0;
    for (size_t n = 1; n <= options_.order; ++n) {
        double f = result.f[n - 1] = f_of_order(reference, n, pairs);
        if (std::isnan(f)) continue;
        logarithms += std::log(std::max(f, smallest_factor));
        ++orders;
    }
    double mean = logarithms / static_cast<double>(orders);
    if (!options_.characters) {
        result.score = std::exp(mean);
        return result;
    }
    double square = options_.beta * options_.beta;
    result.characters = chrf::f_score(characters_.counts(reference), {.factor = square, .factor_plus_one = 1.0 + square});
    double share = 1.0 / static_cast<double>(options_.order + 1);
    result.score = std::exp(share * std::log(std::max(result.characters, smallest_factor)) + (1.0 - share) * mean);
    return result;
}

double SegmentScorer::score(size_t segment, SegmentDetails *details) {
    matcher_.take_hypothesis((*segments_.outputs)[segment]);
    take_words(segment);
    if (options_.characters) characters_.compare(segments_.output_texts[segment], segments_.reference_characters[segment]);
    auto [first, last] = segments_.references->range(segment);
    const double *weights = segments_.weights ? segments_.weights + first : nullptr;
    scores_.clear();
    for (size_t reference = 0; reference < last - first; ++reference) {
        PairScore pair;
        if (!weights || !std::isnan(weights[reference]))
            pair = compare(reference, first + reference, details ? &details->pairs : nullptr);
        scores_.push_back(pair.score);
        if (details) details->references.push_back(pair);
    }
    RatedScore rated = rated_score(scores_.data(), weights, scores_.size());
    if (details) {
        details->earned = rated.earned;
        details->cut = rated.cut;
    }
    return rated.score();
}

}  // namespace trubleu::soft
