#include "align.hpp"

#include <bit>
#include <limits>

#include "dots.hpp"

namespace trubleu::soft {

namespace {

constexpr size_t most_held = size_t{1} << 22;  // numbers that are kept of one pair of texts: 16 MB
constexpr float opposite = -1.0f + 1e-5f;  // vectors point in opposite directions up to here, given rounding

// Rounding may carry a cosine a little too far.
float within_one(float cosine) { return std::min(std::max(cosine, -1.0f), 1.0f); }

}  // namespace

Scorer::Scorer(const Slice &slice, const Vectors &vectors, const Scale &scale)
    : slice_(slice), vectors_(vectors), scale_(scale), matcher_(slice, scale.release), zeros_(vectors.dimensions) {
    // Pairs are sorted by cosine; one without a vector goes where the cosine with its weight would be.
    double unknown = scale.similarity == Similarity::shift ? scale.shift + scale.unknown * (1.0 - scale.shift) : scale.unknown;
    unknown_key_ = key_of(static_cast<float>(unknown));
    if (vectors.composed) place_of_word_.assign(slice.word_count(), nothing);
    least_ = taken;
    if (scale.similarity == Similarity::clamp) least_ = key_of(0.0f);
    if (scale.similarity == Similarity::shift) least_ = key_of(static_cast<float>(scale.shift));
    if (scale.release) least_ = std::max(least_, key_of(opposite));  // it looks for something above -1
}

const float *Scorer::vector_of(uint32_t number) const {
    uint32_t row = vectors_.rows[number];
    return row == nothing ? zeros_.data() : vectors_.data + size_t{row} * vectors_.dimensions;
}

void Scorer::compose(size_t text, Composed &to) {
    std::span<const uint32_t> words = slice_.words(text);
    size_t order = slice_.order(), length = words.size();
    to.words.clear();
    to.places.clear();
    left_.clear();
    right_.clear();
    for (uint32_t word : words) {
        uint32_t &place = place_of_word_[word];
        if (place == nothing) {
            place = static_cast<uint32_t>(to.words.size());
            to.words.push_back(vector_of(word));
        }
        to.places.push_back(place);
    }
    for (uint32_t word : words) place_of_word_[word] = nothing;
    // Products of words up to order - 1 apart give the lengths of all sums.
    for (size_t apart = 1; apart < order; ++apart)
        for (size_t i = 0; i + apart < length; ++i) {
            left_.push_back(to.words[to.places[i]]);
            right_.push_back(to.words[to.places[i + apart]]);
        }
    neighbours_.resize(left_.size());
    Dots::each(left_.data(), right_.data(), left_.size(), vectors_.dimensions, neighbours_.data());
    const float *begins[max_order] = {};
    for (size_t apart = 1, begin = 0; apart < std::min(order, length); begin += length - apart, ++apart)
        begins[apart] = neighbours_.data() + begin;
    for (size_t n = 1; n <= order; ++n) {
        to.scales[n].clear();
        for (size_t i = 0; i + n <= length; ++i) {
            double square = 0.0, of_words = 0.0;
            for (size_t a = i; a < i + n; ++a) {
                of_words += vectors_.squares[words[a]];
                for (size_t b = a + 1; b < i + n; ++b) square += 2.0 * begins[b - a][a];
            }
            square += of_words;
            // Words that cancel each other out leave nothing but rounding errors.
            to.scales[n].push_back(square > 1e-10 * of_words ? 1.0 / std::sqrt(square) : 0.0);
        }
    }
}

// Multiplies some words of the hypothesis with all words of the reference, a row each in products_.
void Scorer::multiply(size_t first, size_t count) {
    const Composed &left = composed_[0], &right = composed_[1];
    size_t length = right.places.size();
    left_.clear();
    if (count == left.places.size()) left_ = left.words;
    else for (size_t i = first; i < first + count; ++i) left_.push_back(left.words[left.places[i]]);
    distinct_products_.resize(left_.size() * right.words.size());
    Dots::all(left_.data(), left_.size(), right.words.data(), right.words.size(), vectors_.dimensions,
              distinct_products_.data(), right.words.size());
    products_.resize(count * length);
    float *to = products_.data();
    for (size_t i = 0; i < count; ++i) {
        size_t place = count == left.places.size() ? left.places[i] : i;
        const float *from = distinct_products_.data() + place * right.words.size();
        for (uint32_t j : right.places) *to++ = from[j];
    }
}

// Products of words of the hypothesis with all words of the reference, a row each.
const float *Scorer::products(size_t first, size_t count) {
    size_t rows = composed_[0].places.size(), length = composed_[1].places.size();
    if (rows * length > most_held) {
        multiply(first, count);
        return products_.data();
    }
    if (!products_held_) multiply(0, rows);
    products_held_ = true;
    return products_.data() + first * length;
}

// Cosines of one n-gram of the hypothesis with all n-grams of the reference, in window_.
//
// A few 32-bit numbers add up exactly in 64 bits, as good as always: n-grams of the same words in another order are then
// equally similar to everything, and not by chance a little more or less.
void Scorer::sum_products(size_t position, size_t n) {
    size_t length = composed_[1].places.size();
    const float *from = products(position, n);
    window_.resize(length);
    double *window = window_.data();
    std::copy_n(from, length, window);
    for (size_t a = 1; a < n; ++a)
        for (size_t j = 0; j < length; ++j) window[j] += static_cast<double>(from[a * length + j]);
    const std::vector<double> &scales = composed_[1].scales[n];
    double scale = composed_[0].scales[n][position];
    for (size_t j = 0; j + n <= length; ++j) {
        double sum = window[j];
        for (size_t b = 1; b < n; ++b) sum += window[j + b];
        window[j] = sum * (scale * scales[j]);
    }
}

bool Scorer::known(const Composed &side, size_t text, size_t n, size_t position) const {
    if (vectors_.composed) return side.scales[n][position] != 0.0;
    return vectors_.rows[slice_.ngrams(text, n)[position]] != nothing;
}

const std::vector<Aligner::Match> &Scorer::align(size_t reference, size_t n) {
    const std::vector<uint32_t> &rows = matcher_.rows, &columns = matcher_.columns;
    size_t width = columns.size(), stride = padded(width);
    if (!vectors_.composed) {
        row_vectors_.clear();
        column_vectors_.clear();
        for (uint32_t position : rows) row_vectors_.push_back(vector_of(slice_.ngrams(hypothesis_, n)[position]));
        for (uint32_t position : columns) column_vectors_.push_back(vector_of(slice_.ngrams(reference, n)[position]));
    }
    unknown_columns_.clear();
    for (size_t j = 0; j < width; ++j)
        if (!known(composed_[1], reference, n, columns[j])) unknown_columns_.push_back(static_cast<uint32_t>(j));
    auto fill = [&](size_t first, size_t count) {
        keys_.resize(count * stride);
        if (!vectors_.composed) {
            cosines_.resize(count * width);
            Dots::all(row_vectors_.data() + first, count, column_vectors_.data(), width, vectors_.dimensions, cosines_.data(), width);
        }
        for (size_t i = 0; i < count; ++i) {
            int32_t *keys = keys_.data() + i * stride;
            std::fill(keys + width, keys + stride, taken);
            if (!known(composed_[0], hypothesis_, n, rows[first + i])) {
                std::fill_n(keys, width, unknown_key_);
                continue;
            }
            if (vectors_.composed) {
                sum_products(rows[first + i], n);
                for (size_t j = 0; j < width; ++j) keys[j] = key_of(within_one(static_cast<float>(window_[columns[j]])));
            } else {
                const float *cosines = cosines_.data() + i * width;
                for (size_t j = 0; j < width; ++j) keys[j] = key_of(within_one(cosines[j]));
            }
            for (uint32_t j : unknown_columns_) keys[j] = unknown_key_;
        }
    };
    if (rows.size() * width > most_held) {
        return aligner_.align(rows.size(), width, least_, [&](size_t row) {
            fill(row, 1);
            return keys_.data();
        });
    }
    fill(0, rows.size());
    return aligner_.align_held(rows.size(), width, least_, keys_.data());
}

double Scorer::weight_of(int32_t key) const {
    double cosine = value_of(key);
    switch (scale_.similarity) {
        case Similarity::raw: return cosine;
        case Similarity::clamp: return std::max(0.0, cosine);
        case Similarity::shift: return std::max(0.0, cosine - scale_.shift) / (1.0 - scale_.shift);
    }
    return cosine;
}

void Scorer::add(Value &value, double sum, bool exact, double weight) const {
    double product = weight * sum;
    if (exact) {
        value.of_exact = value.exact ? std::max(value.of_exact, product) : product;
        value.exact = true;
    }
    switch (scale_.rule) {
        case Rule::max:
            if (!(sum > 0.0)) return;
            [[fallthrough]];
        case Rule::plain:
        case Rule::earn: value.product = value.any ? std::max(value.product, product) : product; break;
        case Rule::nearest:
            if (!value.any || sum > value.largest_sum || (sum == value.largest_sum && weight > value.its_weight)) {
                value.largest_sum = sum;
                value.its_weight = weight;
            }
            break;
    }
    value.any = true;
}

double Scorer::earned(const Value &value) const {
    if (!value.any) return 0.0;
    if (scale_.rule == Rule::max) return value.product;
    if (value.exact) return value.of_exact;
    switch (scale_.rule) {
        case Rule::earn: return std::max(0.0, value.product);
        case Rule::nearest: return value.its_weight * value.largest_sum;
        default: return value.product;
    }
}

void Scorer::note(std::vector<Pair> &pairs, size_t segment, size_t reference, size_t n,
                  const std::vector<Aligner::Match> &matches) const {
    std::span<const uint32_t> left = slice_.ngrams(hypothesis_, n), right = slice_.ngrams(reference, n);
    auto pair = [&](uint32_t i, uint32_t j, bool exact, double weight) {
        pairs.push_back({static_cast<int32_t>(segment), static_cast<int32_t>(n),
                         static_cast<int32_t>(reference - hypothesis_ - 1), static_cast<int32_t>(i),
                         static_cast<int32_t>(j), exact, weight});
    };
    std::vector<bool> gone(left.size());
    for (uint32_t j : matcher_.matched) {
        uint32_t i = 0;
        while (gone[i] || left[i] != right[j]) ++i;
        gone[i] = true;
        pair(i, j, true, 1.0);
    }
    std::vector<Aligner::Match> sorted = matches;
    std::sort(sorted.begin(), sorted.end(), [](const Aligner::Match &a, const Aligner::Match &b) {
        return std::tie(b.key, a.row) < std::tie(a.key, b.row);
    });
    for (const Aligner::Match &match : sorted) {
        uint32_t i = matcher_.rows[match.row], j = matcher_.columns[match.column];
        bool both = known(composed_[0], hypothesis_, n, i) && known(composed_[1], reference, n, j);
        pair(i, j, false, both ? weight_of(match.key) : scale_.unknown);
    }
}

void Scorer::score(size_t segment, const double *weights, double *row, std::vector<Pair> *pairs) {
    const Options &options = slice_.options();
    hypothesis_ = slice_.hypothesis(segment);
    matcher_.take_hypothesis(hypothesis_);
    if (vectors_.composed) compose(hypothesis_, composed_[0]);
    for (size_t n = 1; n <= slice_.order(); ++n) values_[n].assign(matcher_.types(n), {});
    LengthChoice length(options.reference_length, slice_.length(hypothesis_));
    double best_weight = weights ? -std::numeric_limits<double>::infinity() : 1.0;
    bool first = true;
    for (size_t text = hypothesis_ + 1; text < slice_.end(segment); ++text) {
        double weight = weights ? weights[text - hypothesis_ - 1] : 1.0;
        if (std::isnan(weight)) continue;
        best_weight = std::max(best_weight, weight);
        if (!options.positive_lengths || weight > 0) length.add(slice_.length(text));
        if (scale_.release && !first) continue;
        first = false;
        if (vectors_.composed) compose(text, composed_[1]);
        products_held_ = false;
        for (size_t n = 1; n <= slice_.order(); ++n) {
            matcher_.compare(text, n);
            sums_.assign(matcher_.used.begin(), matcher_.used.end());
            bool both = !matcher_.rows.empty() && !matcher_.columns.empty();
            static const std::vector<Aligner::Match> none;
            const std::vector<Aligner::Match> &matches = both ? align(text, n) : none;
            for (const Aligner::Match &match : matches) {
                uint32_t i = matcher_.rows[match.row], j = matcher_.columns[match.column];
                bool known_both = known(composed_[0], hypothesis_, n, i) && known(composed_[1], text, n, j);
                sums_[matcher_.type(n, i)] += known_both ? weight_of(match.key) : scale_.unknown;
            }
            for (size_t type = 0; type < sums_.size(); ++type)
                add(values_[n][type], sums_[type], matcher_.used[type] > 0, weight);
            if (pairs) note(*pairs, segment, text, n, matches);
        }
    }
    double matches[max_order] = {};
    for (size_t n = 1; n <= slice_.order(); ++n)
        for (const Value &value : values_[n]) matches[n - 1] += earned(value);
    write_row(options, row, slice_.length(hypothesis_), length.value(), matches, best_weight);
}

}  // namespace trubleu::soft
