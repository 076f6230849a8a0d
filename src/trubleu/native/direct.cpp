#include "direct.hpp"

#include <bit>

namespace trubleu {

namespace {

constexpr size_t lanes = 8;

// The four ids that end at a place, the last one on top.
uint64_t pack(const uint16_t *last) {
    if constexpr (std::endian::native == std::endian::little) {
        uint64_t packed;
        std::memcpy(&packed, last - 3, sizeof packed);
        return packed;
    }
    return uint64_t{last[0]} << 48 | uint64_t{last[-1]} << 32 | uint64_t{last[-2]} << 16 | last[-3];
}

}  // namespace

WindowMatcher::WindowMatcher(const Options &options)
    : credit_(options.credit), order_(static_cast<size_t>(options.order)) {
    table_.resize(size_t{1} << table_bits(4 * longest_hypothesis), Slot{});
    ids_.resize(margin + longest_hypothesis + 1);
    next_.resize(longest_hypothesis + 1);
    size_t counters = (order_ + 1) * (longest_hypothesis + 1 + lanes);
    hypothesis_counts_.resize(counters);
    reference_counts_.resize(counters);
    best_counts_.resize(counters);
    best_values_.resize(counters);
}

bool WindowMatcher::holds(const Slot &slot, const Token &token) const {
    if (slot.word != token.word || slot.tag != tag_of(token)) return false;
    Span span = hypothesis_->begin()[slot.position];
    return span.size() == token.size && token.rest_equals(hypothesis_->bytes() + span.begin);
}

// The position of a word, or length_, the place of unknown words.
uint32_t WindowMatcher::search(const Token &token) const {
    size_t mask = (size_t{1} << bits_) - 1;
    for (size_t at = slot_of(token.hash, bits_);; at = (at + 1) & mask) {
        const Slot &slot = table_[at];
        if (slot.tag >> 16 != stamp_) return static_cast<uint32_t>(length_);
        if (holds(slot, token)) return slot.position;
    }
}

// Whether a word is known is a coin's toss, so the usual cases (a short word in its own slot, or an empty slot) are
// answered without a branch on it.
inline uint32_t WindowMatcher::find(const Token &token) const {
    const Slot &slot = table_[slot_of(token.hash, bits_)];
    bool same = (slot.word == token.word) & (slot.tag == tag_of(token));
    bool free = slot.tag >> 16 != stamp_;
    if ((!same & !free) | (same & (token.size > 8))) [[unlikely]] return search(token);
    return same ? slot.position : static_cast<uint32_t>(length_);
}

// n-grams that end in a word seen before: which of them are repeats, and of what.
void WindowMatcher::note_repeats(size_t position, const Slot &slot) {
    const uint16_t *ids = ids_.data() + margin;
    size_t possible = std::min(position + 1, order_), noted = 0;
    for (size_t earlier = slot.position; noted < possible; earlier = next_[earlier]) {
        size_t agreed = 0;
        while (agreed < possible && ids[static_cast<ptrdiff_t>(earlier - agreed)] == ids[position - agreed]) ++agreed;
        for (; noted < agreed; ++noted) {
            size_t row = (noted + 1) * width_;
            repeats_.push_back({static_cast<uint32_t>(row + position), static_cast<uint32_t>(row + earlier)});
        }
        if (earlier == slot.last) break;
    }
}

void WindowMatcher::build(const Line &line) {
    hypothesis_ = &line;
    length_ = line.size();
    width_ = (length_ + lanes) / lanes * lanes;  // at least one place behind the last token
    bits_ = table_bits(4 * length_);             // sparse: most look-ups end at the first slot
    if (++stamp_ == 1 << 16) {                   // an old stamp must not be taken for a new one
        std::fill(table_.begin(), table_.end(), Slot{});
        stamp_ = 1;
    }
    size_t counters = (order_ + 1) * width_;
    std::fill_n(reference_counts_.begin(), counters, int16_t{0});
    std::fill_n(best_counts_.begin(), counters, int16_t{0});
    if (credit_ != Credit::counts)
        std::fill_n(best_values_.begin(), counters, -std::numeric_limits<double>::infinity());
    std::fill_n(ids_.begin(), margin, outside);
    std::fill_n(next_.begin(), length_ + 1, uint16_t{0});
    repeats_.clear();
    uint16_t *ids = ids_.data() + margin;
    size_t mask = (size_t{1} << bits_) - 1;
    for (size_t i = 0; i < length_; ++i) {
        Span span = line.begin()[i];
        Token token(line.bytes() + span.begin, span.size());
        uint16_t position = static_cast<uint16_t>(i);
        for (size_t at = slot_of(token.hash, bits_);; at = (at + 1) & mask) {
            Slot &slot = table_[at];
            if (slot.tag >> 16 != stamp_) {
                slot = Slot{token.word, tag_of(token), position, position};
                ids[i] = position;
                break;
            }
            if (holds(slot, token)) {
                ids[i] = slot.position;
                note_repeats(i, slot);
                next_[slot.last] = position;
                slot.last = position;
                break;
            }
        }
    }
    ids[length_] = outside;
    for (size_t n = 1; n <= order_; ++n) {
        int16_t *counts = row(hypothesis_counts_, n);
        for (size_t i = 0; i < width_; ++i) counts[i] = i + 1 >= n && i < length_;
    }
    for (const Repeat &repeat : repeats_) {
        --hypothesis_counts_[repeat.from];
        ++hypothesis_counts_[repeat.to];
    }
}

// The last four ids of the reference ride along in a register: to write them one by one and read four at once would
// stall on memory. `deep` goes on comparing for orders above four.
template <bool deep> void WindowMatcher::walk_with(const Line &line) {
    const uint16_t *ids = ids_.data() + margin;
    int16_t *counts = reference_counts_.data();
    uint16_t *reference = nullptr;
    if constexpr (deep) {
        if (reference_ids_.size() < margin + line.size()) reference_ids_.resize(2 * (margin + line.size()));
        std::fill_n(reference_ids_.begin(), margin, unknown);
        reference = reference_ids_.data() + margin;
    }
    uint64_t window = ~uint64_t{0};  // four unknown words
    auto agreement = [&](size_t position) {
        size_t agreed = static_cast<size_t>(std::countl_zero(window ^ pack(ids + position))) / 16;
        if constexpr (deep) {
            if (agreed == 4)
                while (agreed < order_ && ids[static_cast<ptrdiff_t>(position - agreed)] == *(reference - agreed)) ++agreed;
        }
        return agreed;
    };
    for (const Span &span : line) {
        size_t position = find(Token(line.bytes() + span.begin, span.size()));
        uint16_t id = position == length_ ? unknown : static_cast<uint16_t>(position);
        window = window >> 16 | uint64_t{id} << 48;
        if constexpr (deep) *reference = id;
        size_t agreed = agreement(position);
        if (next_[position] != 0) {  // the word occurs again: the place with the longest agreement counts
            for (size_t other = next_[position]; other != 0 && agreed < order_; other = next_[other]) {
                size_t longer = agreement(other);
                if (longer > agreed) {
                    agreed = longer;
                    position = other;
                }
            }
        }
        ++counts[std::min(agreed, order_) * width_ + position];
        if constexpr (deep) ++reference;
    }
}

void WindowMatcher::walk(const Line &line) {
    if (order_ <= 4) walk_with<false>(line);
    else walk_with<true>(line);
}

void WindowMatcher::settle(double weight) {
    for (size_t n = order_ - 1; n >= 1; --n) {
        int16_t *counts = row(reference_counts_, n);
        const int16_t *longer = row(reference_counts_, n + 1);
        for (size_t i = 0; i < width_; ++i) counts[i] = static_cast<int16_t>(counts[i] + longer[i]);
    }
    for (const Repeat &repeat : repeats_) {
        reference_counts_[repeat.to] = static_cast<int16_t>(reference_counts_[repeat.to] + reference_counts_[repeat.from]);
        reference_counts_[repeat.from] = 0;
    }
    size_t counters = order_ * width_;
    const int16_t *hypothesis = row(hypothesis_counts_, 1);
    int16_t *reference = row(reference_counts_, 1), *best = row(best_counts_, 1);
    if (credit_ != Credit::counts) {
        double *values = best_values_.data() + width_;
        bool products = credit_ == Credit::products;
        for (size_t i = 0; i < counters; ++i) {
            int16_t clipped = std::min(reference[i], hypothesis[i]);
            double value = products ? weight * clipped : weight;
            values[i] = clipped > 0 && value > values[i] ? value : values[i];
        }
    }
    for (size_t i = 0; i < counters; ++i) {
        best[i] = std::max(best[i], std::min(reference[i], hypothesis[i]));
        reference[i] = 0;
    }
}

void WindowMatcher::collect(double *matches) const {
    for (size_t n = 0; n < order_; ++n) {
        const int16_t *counts = best_counts_.data() + (n + 1) * width_;
        if (credit_ == Credit::counts) {
            int32_t sum = 0;
            for (size_t i = 0; i < width_; ++i) sum += counts[i];
            matches[n] = sum;
        } else {
            const double *values = best_values_.data() + (n + 1) * width_;
            for (size_t i = 0; i < length_; ++i)
                matches[n] += Best{static_cast<uint32_t>(counts[i]), values[i]}.credited(credit_);
        }
    }
}

uint32_t LocalVocabulary::find(const Line &line, const Span &span, bool add) {
    Token token(line.bytes() + span.begin, span.size());
    size_t mask = (size_t{1} << bits_) - 1;
    for (size_t at = slot_of(token.hash, bits_);; at = (at + 1) & mask) {
        Slot &slot = slots_[at];
        if (slot.id == unknown_id) {
            if (add) slot = Slot{span, known_++};
            return slot.id;
        }
        const uint8_t *known = hypothesis_->bytes() + slot.span.begin;
        if (slot.span.size() == token.size && std::memcmp(known, token.bytes, token.size) == 0) return slot.id;
    }
}

const std::vector<uint32_t> &LocalVocabulary::number(const Line &hypothesis) {
    hypothesis_ = &hypothesis;
    bits_ = table_bits(hypothesis.size());
    slots_.assign(size_t{1} << bits_, {});
    known_ = 0;
    hypothesis_ids_.clear();
    for (const Span &span : hypothesis) hypothesis_ids_.push_back(find(hypothesis, span, true));
    return hypothesis_ids_;
}

const std::vector<uint32_t> &LocalVocabulary::look_up(const Line &reference) {
    reference_ids_.clear();
    for (const Span &span : reference) reference_ids_.push_back(find(reference, span, false));
    return reference_ids_;
}

template <typename Matcher>
void DirectScorer::match(Matcher &matcher, const Text *references, const double *weights, size_t count, double *row) {
    matcher.build(hypothesis_);
    LengthChoice length(options_.reference_length, hypothesis_.size());
    double best_weight = weights ? -std::numeric_limits<double>::infinity() : 1.0;
    for (size_t j = 0; j < count; ++j) {
        double weight = weights ? weights[j] : 1.0;
        if (std::isnan(weight)) continue;
        reference_.load(references[j], options_.tokenizer, options_.lowercase);
        matcher.walk(reference_);
        matcher.settle(weight);
        best_weight = std::max(best_weight, weight);
        if (!options_.positive_lengths || weight > 0) length.add(reference_.size());
    }
    double matches[max_order] = {};
    matcher.collect(matches);
    write_row(options_, row, hypothesis_.size(), length.value(), matches, best_weight);
}

void DirectScorer::score(const Text &hypothesis, const Text *references, const double *weights, size_t count, double *row) {
    hypothesis_.load(hypothesis, options_.tokenizer, options_.lowercase);
    bool fits = hypothesis_.size() <= WindowMatcher::longest_hypothesis;
    for (size_t j = 0; fits && j < count; ++j) fits = references[j].length <= WindowMatcher::longest_reference;
    if (fits) match(window_, references, weights, count, row);
    else match(long_, references, weights, count, row);
}

}  // namespace trubleu
