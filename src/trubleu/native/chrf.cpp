#include "chrf.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace trubleu::chrf {

namespace {

constexpr uint32_t nothing = 0xFFFFFFFF;
constexpr size_t most_symbols = size_t{1} << 31;

bool is_space(uint32_t c) { return c < 0x80 ? is_ascii_space(c) : is_wide_space(c); }

// What string.punctuation holds.
bool is_punctuation(uint32_t c) {
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
}

// By byte: the code point, lower-cased or not, and whether it stays if white space goes.
struct Bytes {
    explicit Bytes(bool lowercase) {
        for (uint32_t c = 0; c < 256; ++c) {
            point[c] = static_cast<uint8_t>(lowercase && c >= 'A' && c <= 'Z' ? c + 32 : c);
            stays[c] = !is_space(c);
        }
    }
    uint8_t point[256], stays[256];
};

const Bytes plain_bytes(false), folded_bytes(true);

uint64_t hash_word(const uint32_t *points, size_t length) {
    uint64_t hash = length;
    for (size_t i = 0; i < length; ++i) {
        hash = (hash ^ points[i]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    return hash * 0xD6E8FEB86659FD93u;
}

uint64_t hash_pair(uint32_t first, uint32_t second) {
    return (uint64_t{first} * 0x9E3779B1u + second) * 0x9E3779B97F4A7C15u;
}

// How many of eight symbols agree before the first that differs.
inline unsigned agreement(const uint32_t *a, const uint32_t *b) {
#if defined(__AVX2__)
    __m256i equal = _mm256_cmpeq_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(a)),
                                       _mm256_loadu_si256(reinterpret_cast<const __m256i *>(b)));
    return static_cast<unsigned>(std::countr_one(static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(equal)))));
#elif defined(__SSE2__)
    auto load = [](const uint32_t *from) { return _mm_loadu_si128(reinterpret_cast<const __m128i *>(from)); };
    __m128i equal = _mm_packs_epi32(_mm_cmpeq_epi32(load(a), load(b)), _mm_cmpeq_epi32(load(a + 4), load(b + 4)));
    unsigned mask = static_cast<unsigned>(_mm_movemask_epi8(equal));
    return static_cast<unsigned>(std::countr_one(mask)) / 2;
#else
    unsigned n = 0;
    while (n < 8 && a[n] == b[n]) ++n;
    return n;
#endif
}

}  // namespace

double f_score(std::span<const Counts> orders, const Weighing &weighing, double perfect) {
    constexpr double eps = 1e-16;
    double score = 0.0, precisions = 0.0, recalls = 0.0;
    size_t effective = 0;
    for (const Counts &order : orders) {
        double matches = order.matches;
        double precision = order.hypothesis > 0 ? matches / order.hypothesis : eps;
        double recall = order.reference > 0 ? matches / order.reference : eps;
        if (weighing.eps_smoothing) {
            double weighted = weighing.factor * precision + recall;
            score += weighted > 0 ? weighing.factor_plus_one * precision * recall / weighted : eps;
        }
        if (order.hypothesis > 0 && order.reference > 0) {
            precisions += precision;
            recalls += recall;
            ++effective;
        }
    }
    if (weighing.eps_smoothing) return orders.empty() ? 0.0 : perfect * score / static_cast<double>(orders.size());
    if (effective == 0) return 0.0;
    precisions /= static_cast<double>(effective);
    recalls /= static_cast<double>(effective);
    if (precisions + recalls == 0) return 0.0;
    return perfect * (weighing.factor_plus_one * precisions * recalls / (weighing.factor * precisions + recalls));
}

void Symbols::add_word(uint32_t begin, uint32_t end) {
    if (end - begin > 1) {
        if (is_punctuation(points[end - 1])) {
            words.push_back({begin, end - 1});
            begin = end - 1;
        } else if (is_punctuation(points[begin])) {
            words.push_back({begin, begin + 1});
            ++begin;
        }
    }
    words.push_back({begin, end});
}

template <typename CodePoint> void Symbols::read(const CodePoint *from, size_t size, const Options &options) {
    const Bytes &bytes = options.lowercase ? folded_bytes : plain_bytes;
    uint32_t *to = points.data();
    if (options.word_order == 0) {
        for (size_t i = 0; i < size; ++i) {
            uint32_t c = from[i];
            bool stays;
            if (sizeof(CodePoint) == 1 || c < 256) {
                *to = bytes.point[c];
                stays = bytes.stays[c];
            } else {
                *to = c;
                stays = !is_wide_space(c);
            }
            to += stays || options.whitespace;
        }
        length = static_cast<size_t>(to - points.data());
        return;
    }
    for (size_t i = 0; i < size;) {
        for (; i < size && is_space(from[i]); ++i)
            if (options.whitespace) *to++ = from[i];
        uint32_t begin = static_cast<uint32_t>(to - points.data());
        for (; i < size && !is_space(from[i]); ++i) *to++ = from[i] < 256 ? bytes.point[from[i]] : from[i];
        uint32_t end = static_cast<uint32_t>(to - points.data());
        if (end > begin) add_word(begin, end);
    }
    length = static_cast<size_t>(to - points.data());
}

void Symbols::load(const Text &text, const Options &options) {
    if (text.length >= most_symbols) throw std::length_error("a text has 2^31 characters or more");
    words.clear();
    if (points.size() < text.length + padding) points.resize(2 * text.length + padding);
    switch (text.width) {
        case 1: read(static_cast<const uint8_t *>(text.data), text.length, options); break;
        case 2: read(static_cast<const uint16_t *>(text.data), text.length, options); break;
        default: read(static_cast<const uint32_t *>(text.data), text.length, options);
    }
    std::fill_n(points.begin() + static_cast<ptrdiff_t>(length), padding, behind_hypothesis);
}

void Sequences::add(const uint32_t *symbols, size_t length) {
    symbols_.insert(symbols_.end(), symbols, symbols + length);
    if (symbols_.size() >= most_symbols) throw std::length_error("the references of a segment have 2^31 characters or more");
    ends_.push_back(static_cast<uint32_t>(symbols_.size()));
    symbols_.push_back(behind_reference);
}

void Sequences::finish() {
    symbols_.insert(symbols_.end(), padding, behind_reference);
    symbols_.shrink_to_fit();
    ends_.shrink_to_fit();
    if (symbols_.size() > most_indexed || ends_.empty()) return;
    // Slots, and the row of each symbol; at most half of them are taken, for one more symbol than there is.
    std::vector<uint16_t> rows;
    auto place = [&](std::vector<uint32_t> &slots, uint32_t symbol) {
        size_t mask = slots.size() - 1, at = symbol & mask;
        while (slots[at] != empty_slot && slots[at] != symbol) at = (at + 1) & mask;
        return at;
    };
    slots_.assign(64, empty_slot);
    rows.assign(64, 0);
    std::vector<uint32_t> distinct;
    for (uint32_t symbol : symbols_) {
        if (symbol == behind_reference) continue;
        size_t at = place(slots_, symbol);
        if (slots_[at] == symbol) continue;
        slots_[at] = symbol;
        rows[at] = static_cast<uint16_t>(distinct.size());
        distinct.push_back(symbol);
        if (2 * distinct.size() <= slots_.size()) continue;
        slots_.assign(2 * slots_.size(), empty_slot);
        rows.assign(slots_.size(), 0);
        for (size_t row = 0; row < distinct.size(); ++row) {
            size_t to = place(slots_, distinct[row]);
            slots_[to] = distinct[row];
            rows[to] = static_cast<uint16_t>(row);
        }
    }
    if (distinct.size() * size() > most_counts * symbols_.size()) {
        slots_ = {};
        return;
    }
    slot_mask_ = slots_.size() - 1;
    rows_ = static_cast<uint32_t>(distinct.size());
    for (size_t at = 0; at < slots_.size(); ++at)
        if (slots_[at] == empty_slot) rows[at] = static_cast<uint16_t>(rows_);

    size_t pairs = 0;
    for (size_t i = 0; i < size(); ++i) pairs += length(i) > 0 ? length(i) - 1 : 0;
    bits_ = table_bits(pairs);
    size_t buckets = size_t{1} << bits_;
    counts_ = static_cast<uint32_t>(rows.size());
    heads_ = counts_ + static_cast<uint32_t>(distinct.size() * size());
    places_ = heads_ + static_cast<uint32_t>(buckets + 1);
    narrow_.assign(places_ + 2 * pairs, 0);
    std::copy(rows.begin(), rows.end(), narrow_.begin());
    uint16_t *heads = narrow_.data() + heads_, *places = narrow_.data() + places_, *counts = narrow_.data() + counts_;
    auto each_pair = [&](auto &&work) {
        for (size_t i = 0; i < size(); ++i)
            for (size_t at = begin(i); at + 1 < ends_[i]; ++at)
                work(i, at, slot_of(hash_pair(symbols_[at], symbols_[at + 1]), bits_));
    };
    each_pair([&](size_t, size_t, size_t bucket) { ++heads[bucket + 1]; });
    for (size_t i = 0; i < buckets; ++i) heads[i + 1] = static_cast<uint16_t>(heads[i + 1] + heads[i]);
    // Filling moves the head of each bucket to its end, which is the head of the next one: afterwards all move up by one.
    each_pair([&](size_t sequence, size_t at, size_t bucket) {
        uint16_t *to = places + 2 * size_t{heads[bucket]++};
        to[0] = static_cast<uint16_t>(at);
        to[1] = static_cast<uint16_t>(sequence);
    });
    std::copy_backward(heads, heads + buckets, heads + buckets + 1);
    heads[0] = 0;
    for (size_t i = 0; i < size(); ++i)
        for (size_t at = begin(i); at < ends_[i]; ++at) ++counts[row(symbols_[at]) * size() + i];
}

size_t Sequences::memory() const {
    return sizeof *this + 4 * (symbols_.capacity() + ends_.capacity() + slots_.capacity()) + 2 * narrow_.capacity();
}

Segment::Segment(const Options &options, const Text *references, size_t count) {
    Symbols symbols;
    std::vector<std::vector<Span>> spans;
    for (size_t i = 0; i < count; ++i) {
        symbols.load(references[i], options);
        characters_.add(symbols.points.data(), symbols.length);
        if (options.word_order > 0) spans.push_back(symbols.words);
    }
    characters_.finish();
    if (options.word_order == 0) return;
    size_t total = 0;
    for (const auto &words : spans) total += words.size();
    word_slots_.assign(size_t{1} << table_bits(total + 1), nothing);
    std::vector<uint32_t> numbers;
    for (size_t i = 0; i < count; ++i) {
        numbers.clear();
        for (const Span &span : spans[i]) {
            const uint32_t *points = characters_.symbols(i) + span.begin;
            uint64_t hash = hash_word(points, span.size());
            uint32_t &slot = word_slots_[slot_of_word(points, span.size(), hash)];
            if (slot == nothing) {
                slot = static_cast<uint32_t>(known_.size());
                known_.push_back({hash, static_cast<uint32_t>(characters_.begin(i)) + span.begin, span.size()});
            }
            numbers.push_back(slot);
        }
        words_.add(numbers.data(), numbers.size());
    }
    words_.finish();
    known_.shrink_to_fit();
}

size_t Segment::slot_of_word(const uint32_t *points, size_t length, uint64_t hash) const {
    size_t mask = word_slots_.size() - 1, at = slot_of(hash, static_cast<unsigned>(std::countr_zero(word_slots_.size())));
    for (; word_slots_[at] != nothing; at = (at + 1) & mask) {
        const Word &word = known_[word_slots_[at]];
        if (word.hash == hash && word.length == length &&
            std::equal(points, points + length, characters_.all_symbols() + word.begin))
            break;
    }
    return at;
}

uint32_t Segment::word_number(const uint32_t *points, size_t length) const {
    uint32_t number = word_slots_[slot_of_word(points, length, hash_word(points, length))];
    return number == nothing ? unknown_word : number;
}

size_t Segment::memory() const {
    return characters_.memory() + words_.memory() + sizeof(Word) * known_.capacity() + 4 * word_slots_.capacity();
}

void Matcher::compare(const Text &text, const Segment &segment) {
    if (options_.word_order > 0 && segment.size() > 0 && !segment.has_words())
        throw std::logic_error("the segment was prepared without words");
    hypothesis_.load(text, options_);
    auto total = [](size_t length, size_t order) { return static_cast<uint32_t>(length < order ? 0 : length - order + 1); };
    counts_.resize(segment.size() * options_.orders());
    Counts *to = counts_.data();
    auto set_totals = [&](size_t own, size_t other, size_t orders) {
        for (size_t n = 1; n <= orders; ++n) {
            uint32_t reference = total(other, n);
            *to++ = {reference > 0 ? total(own, n) : 0, reference, 0};
        }
    };
    for (size_t i = 0; i < segment.size(); ++i) {
        set_totals(hypothesis_.length, segment.characters().length(i), options_.char_order);
        if (options_.word_order > 0)
            set_totals(hypothesis_.words.size(), segment.words().length(i), options_.word_order);
    }
    if (segment.size() == 0) return;
    count(hypothesis_.points.data(), hypothesis_.length, segment.characters(), options_.char_order, 0);
    if (options_.word_order == 0) return;
    word_numbers_.clear();
    for (const Span &word : hypothesis_.words)
        word_numbers_.push_back(segment.word_number(hypothesis_.points.data() + word.begin, word.size()));
    size_t words = word_numbers_.size();
    word_numbers_.insert(word_numbers_.end(), padding, behind_hypothesis);
    count(word_numbers_.data(), words, segment.words(), options_.word_order, options_.char_order);
}

size_t Matcher::best(size_t references, const Weighing &weighing) const {
    size_t best = 0;
    if (references < 2) return best;
    double highest = -1.0;
    for (size_t i = 0; i < references; ++i) {
        double score = f_score(counts(i), weighing, 100.0);
        if (score > highest) {
            highest = score;
            best = i;
        }
    }
    return best;
}

void Matcher::count(const uint32_t *symbols, size_t length, const Sequences &references, size_t order, size_t column) {
    if (length == 0 || order == 0) return;
    if (references.indexed() && length <= Sequences::most_indexed && order <= lanes &&
        count_short(symbols, length, references, order, column))
        return;
    count_long(symbols, length, references, order, column);
}

bool Matcher::count_short(const uint32_t *symbols, size_t length, const Sequences &references, size_t order, size_t column) {
    if (order > 1 && !count_pairs(symbols, length, references)) return false;
    count_single(symbols, length, references, column);
    if (order > 1)
        for (size_t i = 0; i < references.size(); ++i)
            for (size_t n = 1; n < order; ++n) matches(i, column + n) = static_cast<uint32_t>(found_[i][n]);
    return true;
}

void Matcher::count_single(const uint32_t *symbols, size_t length, const Sequences &references, size_t column) {
    size_t rows = references.rows(), size = references.size();
    histogram_.assign(rows + 1, 0);  // the last one is of symbols that no reference has
    for (size_t i = 0; i < length; ++i) ++histogram_[references.row(symbols[i])];
    const int16_t *counts = references.counts(0);
    if (size == 1) {
        int16_t sum = 0;
        for (size_t row = 0; row < rows; ++row) sum = static_cast<int16_t>(sum + std::min(histogram_[row], counts[row]));
        matches(0, column) = static_cast<uint32_t>(sum);
        return;
    }
    singles_.assign(size, 0);
    for (size_t row = 0; row < rows; ++row, counts += size) {
        int16_t own = histogram_[row];
        if (own == 0) continue;
        for (size_t i = 0; i < size; ++i) singles_[i] = static_cast<int16_t>(singles_[i] + std::min(own, counts[i]));
    }
    for (size_t i = 0; i < size; ++i) matches(i, column) = static_cast<uint32_t>(singles_[i]);
}

// For each place of the hypothesis: how often its n-grams occurred before in the hypothesis, and how often they occur in
// each reference. One matches if the reference has it more often than the hypothesis had it before.
bool Matcher::count_pairs(const uint32_t *symbols, size_t length, const Sequences &references) {
    static constexpr Lanes agreeing[lanes + 1] = {
        {0, 0, 0, 0, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0, 0, 0}, {1, 1, 0, 0, 0, 0, 0, 0},
        {1, 1, 1, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 0, 0, 0, 0}, {1, 1, 1, 1, 1, 0, 0, 0},
        {1, 1, 1, 1, 1, 1, 0, 0}, {1, 1, 1, 1, 1, 1, 1, 0}, {1, 1, 1, 1, 1, 1, 1, 1}};
    found_.assign(references.size(), Lanes{});
    // Texts that repeat a few symbols share too many pairs to look at each.
    size_t left = 64 * (length + references.total()) + 4096;
    unsigned bits = table_bits(length);
    last_.assign(size_t{1} << bits, 0);
    if (previous_.size() < length) previous_.resize(2 * length);
    const uint32_t *all = references.all_symbols();
    for (size_t i = 0; i + 1 < length; ++i) {
        const uint32_t *here = symbols + i;
        uint64_t hash = hash_pair(here[0], here[1]);
        uint16_t &last = last_[slot_of(hash, bits)];
        uint16_t before = last;
        previous_[i] = last;
        last = static_cast<uint16_t>(i + 1);
        std::span<const uint16_t> places = references.bucket(hash);
        const uint16_t *place = places.data(), *end = place + places.size();
        if (place == end) continue;
        Lanes earlier{};
        size_t looks = places.size();
        for (; before != 0; before = previous_[before - 1u], ++looks) earlier += agreeing[agreement(here, symbols + before - 1)];
        if (looks > left) return false;
        left -= looks;
        do {
            uint16_t sequence = place[1];
            Lanes there{};
            do {
                there += agreeing[agreement(here, all + place[0])];
                place += 2;
            } while (place != end && place[1] == sequence);
            found_[sequence] -= there > earlier;
        } while (place != end);
    }
    return true;
}

void Matcher::count_long(const uint32_t *symbols, size_t length, const Sequences &references, size_t order, size_t column) {
    unsigned bits = table_bits(length);
    numbers_.assign(length, 0);
    reference_numbers_.assign(references.total(), 0);
    auto slot = [&](uint64_t key) -> Slot & {
        size_t mask = table_.size() - 1;
        uint64_t mixed = key * 0x9E3779B97F4A7C15u;
        mixed = (mixed ^ mixed >> 29) * 0xD6E8FEB86659FD93u;
        size_t at = slot_of(mixed, bits);
        while (table_[at].number != nothing && table_[at].key != key) at = (at + 1) & mask;
        return table_[at];
    };
    for (size_t n = 1; n <= std::min(order, length); ++n) {
        table_.assign(size_t{1} << bits, Slot{0, nothing});
        occurrences_.clear();
        for (size_t i = 0; i + n <= length; ++i) {
            uint64_t key = uint64_t{numbers_[i]} << 32 | symbols[i + n - 1];
            Slot &found = slot(key);
            if (found.number == nothing) {
                found = {key, static_cast<uint32_t>(occurrences_.size())};
                occurrences_.push_back(0);
            }
            numbers_[i] = found.number;
            ++occurrences_[found.number];
        }
        bool alive = false;
        seen_.assign(occurrences_.size(), 0);
        for (size_t r = 0; r < references.size(); ++r) {
            const uint32_t *others = references.symbols(r);
            uint32_t *known = reference_numbers_.data() + references.begin(r);
            uint32_t matched = 0;
            size_t end = references.length(r) < n ? 0 : references.length(r) - n + 1;
            for (size_t j = 0; j < end; ++j) {
                if (known[j] == nothing) continue;
                known[j] = slot(uint64_t{known[j]} << 32 | others[j + n - 1]).number;
                if (known[j] != nothing) matched += ++seen_[known[j]] <= occurrences_[known[j]];
            }
            for (size_t j = 0; j < end; ++j)
                if (known[j] != nothing) seen_[known[j]] = 0;
            matches(r, column + n - 1) = matched;
            alive |= matched > 0;
        }
        if (!alive) break;
    }
}

}  // namespace trubleu::chrf
