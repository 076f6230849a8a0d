#include "prepared.hpp"

#include <bit>
#include <stdexcept>

namespace trubleu {

namespace {

// Places that one instruction compares.
#if defined(__AVX2__)
using Lanes = WindowBits __attribute__((vector_size(32)));
#else
using Lanes = WindowBits __attribute__((vector_size(16)));
#endif
constexpr size_t lanes = sizeof(Lanes) / sizeof(WindowBits);
static_assert(block % (2 * lanes) == 0);

template <typename Vector> Vector load(const auto *from) {
    Vector values;
    std::memcpy(&values, from, sizeof values);
    return values;
}

// The lower or the higher halves of ids.
Lanes halves(const uint32_t *ids, unsigned shift) {
    Lanes values;
    for (size_t i = 0; i < lanes; ++i) values[i] = static_cast<WindowBits>(ids[i] >> shift);
    return values;
}

// Which words of a window stand at each of `count` places. The lower halves of ids are compared, and the higher ones if the
// vocabulary is so large that they differ (`wide`).
template <bool wide>
void compare_words(const uint32_t *ids, size_t count, const uint32_t *window, size_t size, WindowBits *row) {
    Lanes low[window_size], high[window_size];
    for (size_t i = 0; i < size; ++i) {
        low[i] = Lanes{} + static_cast<WindowBits>(window[i]);
        if constexpr (wide) high[i] = Lanes{} + static_cast<WindowBits>(window[i] >> 16);
    }
    for (size_t at = 0; at < count; at += 2 * lanes) {
        Lanes here = halves(ids + at, 0), next = halves(ids + at + lanes, 0), bits{}, next_bits{};
        for (size_t i = size; i-- > 0;) {
            auto same = here == low[i], next_same = next == low[i];
            if constexpr (wide) {
                same &= halves(ids + at, 16) == high[i];
                next_same &= halves(ids + at + lanes, 16) == high[i];
            }
            bits = bits + bits - reinterpret_cast<Lanes>(same);  // equal is −1
            next_bits = next_bits + next_bits - reinterpret_cast<Lanes>(next_same);
        }
        std::memcpy(row + at, &bits, sizeof bits);
        std::memcpy(row + at + lanes, &next_bits, sizeof next_bits);
    }
}

// Four places, the first one lowest.
uint64_t four_places(const WindowBits *row) {
    if constexpr (std::endian::native == std::endian::little) return load<uint64_t>(row);
    return row[0] | uint64_t{row[1]} << 16 | uint64_t{row[2]} << 32 | uint64_t{row[3]} << 48;
}

// Which n-grams end at any of some places.
WindowBits any_of(const WindowBits *row, size_t count) {
    Lanes any{};
    for (size_t at = 0; at < count; at += lanes) any |= load<Lanes>(row + at);
    uint64_t parts[sizeof any / sizeof(uint64_t)], all = 0;
    std::memcpy(parts, &any, sizeof any);
    for (uint64_t part : parts) all |= part;
    all |= all >> 32;
    return static_cast<WindowBits>(all | all >> 16);
}

}  // namespace

PreparedBuilder::PreparedBuilder(const Options &options) : options_(options) {
    data_.token_table.assign(size_t{2} << bits_, unknown_id);
    data_.token_begins.push_back(0);
    data_.id_begins.push_back(0);
    data_.reference_begins.push_back(0);
}

uint32_t PreparedBuilder::intern(const Token &token) {
    size_t mask = (size_t{1} << bits_) - 1;
    for (size_t at = slot_of(token.hash, bits_);; at = (at + 1) & mask) {
        uint64_t *slot = &data_.token_table[2 * at];
        uint32_t id = static_cast<uint32_t>(slot[1]);
        if (id == unknown_id) {
            size_t known = data_.token_begins.size() - 1;
            if (known >= separator) throw std::length_error("references have more than 2^32 distinct tokens");
            slot[0] = token.word;
            slot[1] = uint64_t{token.size} << 32 | known;
            data_.token_bytes.insert(data_.token_bytes.end(), token.bytes, token.bytes + token.size);
            data_.token_begins.push_back(data_.token_bytes.size());
            if (2 * (known + 1) > size_t{1} << bits_) grow();
            return static_cast<uint32_t>(known);
        }
        if (slot[0] == token.word && slot[1] >> 32 == token.size &&
            token.rest_equals(data_.token_bytes.data() + data_.token_begins[id]))
            return id;
    }
}

void PreparedBuilder::grow() {
    ++bits_;
    std::vector<uint64_t> table(size_t{2} << bits_, unknown_id);
    size_t mask = (size_t{1} << bits_) - 1, known = data_.token_begins.size() - 1;
    // Words are read eight bytes at a time, so the heap needs room behind its last token while it is hashed.
    data_.token_bytes.resize(data_.token_bytes.size() + 8);
    for (size_t id = 0; id < known; ++id) {
        uint64_t begin = data_.token_begins[id];
        Token token(data_.token_bytes.data() + begin, static_cast<uint32_t>(data_.token_begins[id + 1] - begin));
        size_t at = slot_of(token.hash, bits_);
        while (static_cast<uint32_t>(table[2 * at + 1]) != unknown_id) at = (at + 1) & mask;
        table[2 * at] = token.word;
        table[2 * at + 1] = uint64_t{token.size} << 32 | id;
    }
    data_.token_bytes.resize(data_.token_bytes.size() - 8);
    data_.token_table = std::move(table);
}

void PreparedBuilder::add_segment(const Text *references, size_t count) {
    size_t begin = data_.ids.size();
    for (size_t j = 0; j < count; ++j) {
        line_.load(references[j], options_.tokenizer, options_.lowercase);
        data_.ids.push_back(separator);
        for (const Span &span : line_) data_.ids.push_back(intern(Token(line_.bytes() + span.begin, span.size())));
        data_.id_begins.push_back(data_.ids.size());
    }
    if (data_.ids.size() - begin > 0x7FFFFFFF) throw std::length_error("one segment has more than 2^31 tokens");
    data_.reference_begins.push_back(data_.id_begins.size() - 1);
}

// Afterwards the builder is a new one.
PreparedData PreparedBuilder::finish() {
    data_.ids.insert(data_.ids.end(), id_padding, separator);
    PreparedData data = std::move(data_);
    *this = PreparedBuilder(options_);
    return data;
}

PreparedScorer::PreparedScorer(const Options &options, const Prepared &prepared, std::span<const double> weights)
    : options_(options), prepared_(prepared), all_weights_(weights),
      wide_(prepared.token_begins.size() - 1 > static_cast<WindowBits>(separator)),
      bits_(static_cast<unsigned>(std::countr_zero(prepared.token_table.size() / 2))), trie_(options) {}

inline uint32_t PreparedScorer::find(const Token &token) const {
    size_t mask = (size_t{1} << bits_) - 1;
    for (size_t at = slot_of(token.hash, bits_);; at = (at + 1) & mask) {
        const uint64_t *slot = &prepared_.token_table[2 * at];
        uint32_t id = static_cast<uint32_t>(slot[1]);
        if (id == unknown_id) return unknown_id;
        if (slot[0] == token.word && slot[1] >> 32 == token.size &&
            token.rest_equals(prepared_.token_bytes.data() + prepared_.token_begins[id]))
            return id;
    }
}

void PreparedScorer::announce(size_t segment, const Text &hypothesis) {
    Announced &next = announced_[announced_count_++ % most_announced];
    next.segment = segment;
    next.line.load(hypothesis, options_.tokenizer, options_.lowercase);
    next.tokens.clear();
    next.longer.resize(next.line.size());
    size_t longer = 0;
    for (const Span &span : next.line) {
        next.longer[longer] = static_cast<uint32_t>(next.tokens.size());
        longer += span.size() > 8;
        next.tokens.emplace_back(next.line.bytes() + span.begin, span.size());
        __builtin_prefetch(&prepared_.token_table[2 * slot_of(next.tokens.back().hash, bits_)]);
    }
    next.longer.resize(longer);
    const uint32_t *ids = prepared_.ids.data() + prepared_.id_begins[prepared_.reference_begins[segment]];
    const uint32_t *end = prepared_.ids.data() + prepared_.id_begins[prepared_.reference_begins[segment + 1]];
    for (size_t i = 0; i < most_prefetched && ids < end; ++i, ids += 16) __builtin_prefetch(ids);
}

// Tokens of more than eight bytes are also compared with the heap, which takes two further looks into memory; this asks
// for what they will find, supposing that the first slot is the right one, as it nearly always is.
// Inlined always: GCC takes a function that does nothing but prefetch for one without effect, and drops calls of it.
[[gnu::always_inline]] inline void PreparedScorer::ask_for_longer(size_t number) const {
    auto each = [&](size_t which, auto ask) __attribute__((always_inline)) {
        if (which >= announced_count_) return;
        const Announced &announced = announced_[which % most_announced];
        for (uint32_t i : announced.longer) {
            size_t slot = slot_of(announced.tokens[i].hash, bits_);
            uint32_t id = static_cast<uint32_t>(prepared_.token_table[2 * slot + 1]);
            if (id != unknown_id) ask(&prepared_.token_begins[id]);
        }
    };
    each(number + 2, [](const uint64_t *begin) __attribute__((always_inline)) { __builtin_prefetch(begin); });
    each(number + 1, [&](const uint64_t *begin) __attribute__((always_inline)) {
        __builtin_prefetch(prepared_.token_bytes.data() + *begin);
    });
}

// The hypothesis' words as ids.
void PreparedScorer::number(const Announced &announced) {
    length_ = announced.tokens.size();
    hypothesis_.resize(length_ + block);
    for (size_t i = 0; i < length_; ++i) hypothesis_[i] = find(announced.tokens[i]);
    std::fill_n(hypothesis_.data() + length_, block, unknown_id);
}

// Fills a row of a window: which of its n-grams of an order end at each place. The row of the order before it must be there.
void PreparedScorer::fill_row(size_t order, const uint32_t *window, size_t size) {
    WindowBits *to = row(order);
    to[-1] = 0;
    if (order == 1) {
        auto compare = wide_ ? compare_words<true> : compare_words<false>;
        compare(ids_, id_count_, window, size, to);
        // The last places were those of the next segment, or of the padding.
        std::fill_n(to + id_count_, block, WindowBits{0});
        for (auto [begin, end] : left_out_) std::fill(to + begin, to + end, WindowBits{0});
        compare(hypothesis_.data(), places_ - own_, window, size, to + own_);
        return;
    }
    const WindowBits *words = row(1), *shorter = row(order - 1) - 1;
    for (size_t i = 0; i < places_; ++i) to[i] = static_cast<WindowBits>(words[i] & shorter[i] << 1);
}

// Which n-grams of the window that begins with the word `first` occurred before, and which do again.
PreparedScorer::Repeats PreparedScorer::repeats_of(size_t order, size_t first) const {
    Repeats repeats;
    const WindowBits *own = row(order) + own_;
    for (size_t i = 0; i < first; ++i) repeats.later |= own[i];
    for (size_t i = first; i < length_; ++i) {
        uint64_t here = uint64_t{1} << std::min(i - first, window_size);
        repeats.later |= static_cast<WindowBits>(own[i] & ~(2 * here - 1));
        repeats.again |= static_cast<WindowBits>(own[i] & (here - 1));
    }
    return repeats;
}

// The credit of one n-gram of the window.
double PreparedScorer::credit_of(size_t order, unsigned bit) const {
    // Four places are looked at a time.
    auto four_at = [&](size_t place) { return four_places(row(order) + place) & uint64_t{0x0001000100010001} << bit; };
    uint32_t own_count = 0, count = 0;
    for (size_t place = own_; place < places_; place += 4) own_count += static_cast<uint32_t>(std::popcount(four_at(place)));
    Best best;
    size_t reference = 0;
    auto settle = [&] {
        if (count) best.add(options_.credit, std::min(count, own_count), weights_ ? weights_[reference] : 1.0);
        count = 0;
    };
    for (size_t place = 0; place < own_; place += 4) {
        for (uint64_t four = four_at(place); four; four &= four - 1) {
            size_t end = place + static_cast<size_t>(std::countr_zero(four)) / 16;
            for (; end >= begins_[reference + 1] - begins_[0]; ++reference) settle();
            if (++count == own_count && !options_.weighted()) return count;  // there cannot be more
        }
    }
    settle();
    return best.credited(options_.credit);
}

void PreparedScorer::compare(double *matches) {
    size_t order = static_cast<size_t>(options_.order), new_words = window_size - (order - 1);
    own_ = (id_count_ / block + 1) * block;
    places_ = own_ + (length_ + block - 1) / block * block;
    row_size_ = places_ + 2 * block;
    if (rows_.size() < order * row_size_) rows_.resize(2 * order * row_size_);
    for (size_t first = 0; first == 0 || first + order - 1 < length_; first += new_words) {
        // n-grams that end in the words that two windows share were counted in the one before.
        unsigned seen = first == 0 ? 0 : static_cast<unsigned>(order - 1);
        bool repeated = true;
        for (size_t n = 1; n <= order; ++n) {
            fill_row(n, hypothesis_.data() + first, std::min(window_size, length_ - first));
            WindowBits found = static_cast<WindowBits>(any_of(row(n), own_) >> seen << seen);
            if (!found) break;
            Repeats repeats;
            if (repeated) repeats = repeats_of(n, first);
            repeated = repeats.later | repeats.again;
            found &= ~repeats.later;
            // Of the others it is enough to know that some reference has them.
            WindowBits special = options_.weighted() ? found : found & repeats.again;
            matches[n - 1] += std::popcount(static_cast<WindowBits>(found & ~special));
            for (; special; special &= special - 1) matches[n - 1] += credit_of(n, static_cast<unsigned>(std::countr_zero(special)));
        }
    }
}

void PreparedScorer::walk_trie(double *matches) {
    trie_.build({hypothesis_.data(), length_});
    for (size_t j = 0; j < reference_count_; ++j) {
        double weight = weights_ ? weights_[j] : 1.0;
        if (std::isnan(weight)) continue;
        trie_.walk({ids_ + (begins_[j] - begins_[0]), ids_ + (begins_[j + 1] - begins_[0])});
        trie_.settle(weight);
    }
    trie_.collect(matches);
}

void PreparedScorer::score(double *row) {
    ask_for_longer(scored_count_);
    const Announced &announced = announced_[scored_count_++ % most_announced];
    number(announced);
    uint64_t first = prepared_.reference_begins[announced.segment];
    reference_count_ = static_cast<size_t>(prepared_.reference_begins[announced.segment + 1] - first);
    begins_ = &prepared_.id_begins[first];
    weights_ = all_weights_.empty() ? nullptr : all_weights_.data() + first;
    ids_ = prepared_.ids.data() + begins_[0];
    id_count_ = static_cast<size_t>(begins_[reference_count_] - begins_[0]);
    LengthChoice length(options_.reference_length, length_);
    double best_weight = weights_ ? -std::numeric_limits<double>::infinity() : 1.0;
    left_out_.clear();
    auto length_of = [&](size_t j) { return begins_[j + 1] - begins_[j] - 1; };
    for (size_t j = 0; j < reference_count_ && !weights_; ++j) length.add(length_of(j));
    for (size_t j = 0; j < reference_count_ && weights_; ++j) {
        double weight = weights_[j];
        if (std::isnan(weight)) {
            left_out_.emplace_back(begins_[j] - begins_[0], begins_[j + 1] - begins_[0]);
            continue;
        }
        best_weight = std::max(best_weight, weight);
        if (!options_.positive_lengths || weight > 0) length.add(length_of(j));
    }
    double matches[max_order] = {};
    if (length_ * (id_count_ + length_) <= most_comparisons) compare(matches);
    else walk_trie(matches);
    write_row(options_, row, length_, length.value(), matches, best_weight);
}

}  // namespace trubleu
