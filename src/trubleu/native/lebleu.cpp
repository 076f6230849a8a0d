#include "lebleu.hpp"

#include <bit>
#include <limits>

namespace trubleu::lebleu {

namespace {

// How many bits are set below a place.
size_t count_below(const uint64_t *bits, size_t place) {
    size_t count = 0, i = 0;
    for (; 64 * (i + 1) <= place; ++i) count += static_cast<size_t>(std::popcount(bits[i]));
    if (place % 64) count += static_cast<size_t>(std::popcount(bits[i] & ((uint64_t{1} << place % 64) - 1)));
    return count;
}

}  // namespace

Scorer::Scorer(const Options &options, double threshold)
    : options_(options), order_(static_cast<size_t>(options.order)), threshold_(threshold), no_counts_(1, Counted::occurrences),
      words_{no_counts_, {}, {}, {}}, ngrams_(words_, order_) {}

void Scorer::Letters::load(const Line &line) {
    letters.clear();
    words.clear();
    for (const Span &span : line) {
        if (!words.empty()) letters.push_back(' ');
        uint32_t begin = static_cast<uint32_t>(letters.size());
        for (const uint8_t *at = line.bytes() + span.begin, *end = line.bytes() + span.end; at < end;) {
            uint32_t code = *at++;
            size_t more = code < 0xC0 ? 0 : code < 0xE0 ? 1 : code < 0xF0 ? 2 : 3;
            if (more) code &= 0x3Fu >> more;
            for (; more; --more) code = code << 6 | (*at++ & 0x3Fu);
            letters.push_back(code);
        }
        words.push_back({begin, static_cast<uint32_t>(letters.size())});
    }
}

// Gives the letters of the output numbers from 1 on; all that only references have are 0.
void Scorer::number_letters(size_t count) {
    latin_numbers_.fill(0);
    numbers_.clear();
    alphabet_ = 1;
    output_.numbers.clear();
    for (uint32_t letter : output_.letters) {
        uint32_t &number = letter < latin_numbers_.size() ? latin_numbers_[letter] : numbers_[letter];
        if (number == 0) number = static_cast<uint32_t>(alphabet_++);
        output_.numbers.push_back(number);
    }
    for (size_t j = 0; j < count; ++j) {
        references_[j].numbers.clear();
        for (uint32_t letter : references_[j].letters) {
            uint32_t number = 0;
            if (letter < latin_numbers_.size()) number = latin_numbers_[letter];
            else if (auto found = numbers_.find(letter); found != numbers_.end()) number = found->second;
            references_[j].numbers.push_back(number);
        }
        references_[j].numbers.resize(2 * references_[j].letters.size());
    }
}

// The letters of the longest n-gram that begins at a word and wants something.
void Scorer::prepare(size_t place) {
    size_t size = wanting_.back().size, begin = output_.words[place].begin;
    blocks_ = (size + 63) / 64;
    const uint32_t *letters = output_.numbers.data() + begin;
    if (size <= 32) {
        short_places_.assign(alphabet_, 0);
        for (size_t i = 0; i < size; ++i) short_places_[letters[i]] |= uint32_t{1} << i;
        return;
    }
    places_.assign(alphabet_ * blocks_, 0);
    for (size_t i = 0; i < size; ++i) places_[letters[i] * blocks_ + i / 64] |= uint64_t{1} << i % 64;
}

void Scorer::Wanting::set_best(double value) {
    best = value;
    double letters = static_cast<double>(size);
    low = static_cast<size_t>(std::max(letters * value - 1, 0.0));
    high = letters < 1e9 * value ? static_cast<size_t>(letters / value) + 1 : std::numeric_limits<size_t>::max();
}

size_t Scorer::longest_useful() const {
    size_t longest = 0;
    for (const Wanting &ngram : wanting_) longest = std::max(longest, ngram.high);
    return longest;
}

template <typename Distance>
void Scorer::note(const Letters &reference, size_t number, size_t word, size_t longest, Distance distance_of) {
    constexpr double slack = 1e-6;  // what rounding can be, and more
    size_t begin = reference.words[word].begin, last = std::min(word + reach * order_, reference.words.size());
    for (Wanting &ngram : wanting_) {
        for (size_t end = word; end < last; ++end) {
            size_t length = reference.end(end) - begin;
            if (length < ngram.low) continue;
            if (length > ngram.high || length > longest) break;
            size_t longer = std::max(ngram.size, length), distance = distance_of(ngram.size, length, end - word);
            double alike = static_cast<double>(static_cast<int64_t>(longer - distance)), all = static_cast<double>(static_cast<int64_t>(longer));
            if (alike < ngram.best * all - slack || distance == 0 || distance == longer) continue;
            // One division of whole numbers, so that a similarity which equals the threshold is never rounded below it.
            double value = alike / all;
            if (value < ngram.best) continue;
            if (!ngram.several) ngram.set_best(value);
            similar_[ngram.order].push_back({value, number, {reference.letters.data() + begin, length}});
        }
    }
}

// By the algorithm of Myers and Hyyrö, as many words of the reference at once as there are lanes.
template <typename Bits, size_t lanes>
void Scorer::compare(const Letters &reference, size_t number, size_t word, std::vector<Bits> &places_of) {
    std::vector<Bits> &history = [this]() -> auto & {
        if constexpr (sizeof(Bits) == 4) return short_history_;
        else return history_;
    }();
    size_t words = reference.words.size(), useful = longest_useful(), steps = 0;
    const uint32_t *numbers[lanes];
    for (size_t lane = 0; lane < lanes; ++lane) {
        size_t first = word + lane;
        numbers[lane] = reference.numbers.data() + (first < words ? reference.words[first].begin : reference.letters.size());
        if (first >= words) continue;
        size_t last = std::min(first + reach * order_, words) - 1;
        steps = std::max(steps, std::min<size_t>(useful, reference.end(last) - reference.words[first].begin));
    }
    if (history.size() < 2 * lanes * steps) history.resize(4 * lanes * steps);
    typedef Bits Vector __attribute__((vector_size(lanes * sizeof(Bits))));
    Vector falls{}, rises = ~falls;
    const Bits *places = places_of.data();
    for (size_t step = 0; step < steps; ++step) {
        Bits *kept = history.data() + 2 * lanes * step;
        Bits found[lanes];
        for (size_t lane = 0; lane < lanes; ++lane) found[lane] = places[numbers[lane][step]];
        Vector equal;
        std::memcpy(&equal, found, sizeof equal);
        equal |= falls;
        Vector same = (((equal & rises) + rises) ^ rises) | equal;  // the distance is that of both texts without their last letters
        Vector fall = rises & same, rise_before = (falls | ~(rises | same)) << 1 | 1;
        falls = rise_before & same;
        rises = fall << 1 | ~(rise_before | same);
        std::memcpy(kept, &falls, sizeof falls);
        std::memcpy(kept + lanes, &rises, sizeof rises);
    }
    for (size_t lane = 0; lane < lanes && word + lane < words; ++lane)
        note(reference, number, word + lane, useful, [&](size_t size, size_t length, size_t) {
            const Bits *kept = history.data() + 2 * lanes * (length - 1) + lane;
            Bits mask = static_cast<Bits>(~Bits{0}) >> (8 * sizeof(Bits) - size);
            return length + static_cast<size_t>(std::popcount(kept[lanes] & mask)) - static_cast<size_t>(std::popcount(kept[0] & mask));
        });
}

// The same for n-grams of more letters than a machine word has bits, one word of the reference at a time.
void Scorer::compare_long(const Letters &reference, size_t number, size_t word) {
    size_t begin = reference.words[word].begin, last = std::min(word + reach * order_, reference.words.size()) - 1;
    size_t useful = longest_useful(), steps = std::min<size_t>(useful, reference.end(last) - begin);
    // Falls and rises now, and after each word.
    history_.resize(2 * blocks_ * (last - word + 2));
    uint64_t *now = history_.data();
    std::fill_n(now, blocks_, 0);
    std::fill_n(now + blocks_, blocks_, ~uint64_t{0});
    for (size_t step = 0, end = word; step < steps;) {
        const uint64_t *places = places_.data() + reference.numbers[begin + step] * blocks_;
        uint64_t carry = 0, rise_in = 1, fall_in = 0;
        for (size_t i = 0; i < blocks_; ++i) {
            uint64_t falls = now[i], rises = now[blocks_ + i], equal = places[i] | falls;
            uint64_t hits = equal & rises, sum = rises + hits, more = sum + carry;
            carry = (sum < hits) | (more < carry);
            uint64_t same = (more ^ rises) | equal;
            uint64_t fall = rises & same, rise = falls | ~(rises | same);
            uint64_t rise_before = rise << 1 | rise_in, fall_before = fall << 1 | fall_in;
            rise_in = rise >> 63;
            fall_in = fall >> 63;
            now[i] = rise_before & same;
            now[blocks_ + i] = fall_before | ~(rise_before | same);
        }
        if (++step == reference.end(end) - begin) {
            ++end;
            std::copy_n(now, 2 * blocks_, now + 2 * blocks_ * (end - word));
        }
    }
    note(reference, number, word, useful, [&](size_t size, size_t length, size_t more_words) {
        const uint64_t *kept = history_.data() + 2 * blocks_ * (more_words + 1);
        return length + count_below(kept + blocks_, size) - count_below(kept, size);
    });
}

// The largest similarities, each as often as the reference that has its n-gram most often has it.
double Scorer::earned(const Wanting &ngram) {
    std::vector<Similar> &similar = similar_[ngram.order];
    if (similar.empty()) return 0.0;
    if (!ngram.several) return similar.back().value;
    auto compared = [](const Similar &a, const Similar &b) {
        return std::lexicographical_compare_three_way(a.letters.begin(), a.letters.end(), b.letters.begin(), b.letters.end());
    };
    std::sort(similar.begin(), similar.end(), [&](const Similar &a, const Similar &b) {
        if (a.value != b.value) return a.value > b.value;
        if (auto order = compared(a, b); order != 0) return order < 0;
        return a.reference < b.reference;
    });
    double sum = 0.0;
    size_t missing = ngram.missing;
    for (size_t i = 0; i < similar.size() && missing > 0;) {
        size_t first = i, most = 0, held = 0;
        for (; i < similar.size() && similar[i].value == similar[first].value && compared(similar[i], similar[first]) == 0; ++i) {
            held = i > first && similar[i].reference == similar[i - 1].reference ? held + 1 : 1;
            most = std::max(most, held);
        }
        size_t taken = std::min(missing, most);
        sum += static_cast<double>(taken) * similar[first].value;
        missing -= taken;
    }
    return sum;
}

// Compares with all words of a reference, those first that stand where the output's word stands: the sooner something similar
// is found, the more need not be looked at.
void Scorer::compare_all(const Letters &reference, size_t number, size_t place) {
    size_t words = reference.words.size(), size = wanting_.back().size;
    size_t lanes = size <= 32 ? 8 : size <= 64 ? 4 : 1, groups = (words + lanes - 1) / lanes;
    for (size_t g = 0, group = groups ? std::min(place / lanes, groups - 1) : 0; g < groups; ++g, group = (group + 1) % groups) {
        if (lanes == 8) compare<uint32_t, 8>(reference, number, 8 * group, short_places_);
        else if (lanes == 4) compare<uint64_t, 4>(reference, number, 4 * group, places_);
        else compare_long(reference, number, group);
    }
}

void Scorer::score(const Text &output, const Text *references, size_t count, double *row) {
    output_line_.load(output, options_.tokenizer, options_.lowercase);
    output_.load(output_line_);
    if (references_.size() < count) references_.resize(count);
    size_t words = output_.words.size();
    ngrams_.load(vocabulary_.number(output_line_));
    LengthChoice length(ReferenceLength::closest, output_.letters.size());
    for (size_t j = 0; j < count; ++j) {
        reference_line_.load(references[j], options_.tokenizer, options_.lowercase);
        references_[j].load(reference_line_);
        length.add(references_[j].letters.size());
        ngrams_.hold(vocabulary_.look_up(reference_line_), static_cast<uint32_t>(j), [](size_t, uint32_t) {});
    }
    row[0] = static_cast<double>(output_.letters.size());
    row[1] = length.value();
    double *sums = row + 2;
    for (size_t n = 1; n <= order_; ++n) {
        sums[n - 1] = 0.0;
        sums[order_ + n - 1] = static_cast<double>(ngrams_.count(n));
        for (size_t i = 0; i < ngrams_.count(n); ++i)
            if (ngrams_.first(n, i) == i) sums[n - 1] += std::min(ngrams_.said(n, i), ngrams_.at(n, i).most);
    }
    number_letters(count);
    for (size_t i = 0; i < words; ++i) {
        wanting_.clear();
        for (size_t n = 1; n <= order_ && i + n <= words; ++n) {
            if (ngrams_.first(n, i) != i) continue;
            size_t said = ngrams_.said(n, i), most = ngrams_.at(n, i).most;
            if (said <= most) continue;
            size_t size = output_.end(i + n - 1) - output_.words[i].begin;
            wanting_.push_back({n, size, said - most, most > 0 || said > 1, 0.0, 0, 0});
            wanting_.back().set_best(threshold_);
            similar_[n].clear();
        }
        if (wanting_.empty()) continue;
        prepare(i);
        for (size_t j = 0; j < count; ++j) compare_all(references_[j], j, i);
        for (const Wanting &ngram : wanting_) sums[ngram.order - 1] += earned(ngram);
    }
}

}  // namespace trubleu::lebleu
