#include "mine_search.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "mine_lookup.hpp"
#include "mine_python.hpp"
#include "mine_terrain.hpp"
#include "utf8.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace trubleu::mining {

namespace {

constexpr size_t group = 64;             // rows of which one look says whether any is worth another
constexpr size_t ahead = 12;             // rows that are asked for before they are scored
constexpr size_t together = 64;          // rows that are scored at once, so that there are some to ask for
constexpr double least_unit = 1e-150;    // below that, products of doubles would be lost
constexpr double margin = 1e-9;          // more than sums and products of doubles can be off
constexpr double caution = 0.55;         // how close rows may come to what is needed without being looked at
constexpr size_t most_sorted = 64;       // words of a query up to which bounds are as sharp as they can be
constexpr size_t most_words = 4096;      // words of a field up to which bounds are made: each may be rounded up by a step
constexpr double most_steps = 60000;     // what all of them together can come to, but for that
constexpr double row_cost = 120;         // scoring a row costs as much as reading so many postings
constexpr size_t dense_bits = 2;         // reading so many words of bits costs as much as reading one posting
constexpr size_t few_rows = 96;          // rows scored at once because a query has kept too few to prune by

// The words of one field of a query that a shard knows and that are worth something.
struct Side {
    struct Word {
        uint32_t number;
        double weight, highest;  // highest: what it can add at most
        std::span<const uint32_t> list;
        const Dense *dense;                // its bits, if there are any
        std::span<const uint32_t> walked;  // the list, or what bits do not say
        const uint32_t *next;              // the first of these that was not passed yet
        Sum once, again;                   // how many steps it adds where it comes once, and how many more if again
        size_t cost;                       // of reading it
    };
    std::vector<Word> words;        // in the order of the query
    std::vector<uint32_t> by_size;  // places of words, those with the longest lists first
    Lookup lookup;
    std::vector<uint32_t> touched;
    double total = 0;             // what all words can add at most
    std::vector<double> rests;    // what the first 0, 1, 2 … of by_size can add at most, as shares of total
    std::vector<size_t> skipped;  // what reading them would cost
    std::vector<Sum> steps;       // what each word adds, by class
    size_t left_out = 0;          // so many of by_size are not read
    bool read = true;
    double step = 0;  // what one step of a sum stands for at most

    double rest() const { return total * (read ? rests[left_out] : 1.0); }
    size_t cost(size_t without) const { return skipped.back() - skipped[without]; }

    // How many lists can be left out if what they could add must stay below a share.
    size_t spare(double most) const {
        size_t count = 0;
        // A short list costs nothing, and reading it makes bounds sharper.
        while (count < by_size.size() && rests[count + 1] < most && words[by_size[count]].cost * 64 > skipped.back())
            ++count;
        return count;
    }
};

// What words of these weights are worth together at most, in a row of any length: the more different words a row has, the
// longer it is. With x as a word's share of the row, it is worth w * x / (x + k) or less, where k = k1 * b / mean, and the
// sum is highest where x + k is proportional to the root of w, or x is 0.
double highest_together(std::vector<double> &weights, double k) {
    std::sort(weights.begin(), weights.end(), std::greater<>());
    double sum = 0, roots = 0, best = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
        double root = std::sqrt(weights[i]), all = roots + root;
        if (root * (1 + static_cast<double>(i + 1) * k) <= k * all) break;
        sum += weights[i];
        roots = all;
        best = sum - k * roots * roots / (1 + static_cast<double>(i + 1) * k);
    }
    return best;
}

// Which of a group's values are not below another one.
uint64_t at_least(Sum least, const Sum *values) {
    uint64_t found = 0;
#if defined(__AVX2__)
    const __m256i wanted = _mm256_set1_epi16(static_cast<short>(least));
    auto reach = [&](size_t i) {
        __m256i sixteen = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(values + i));
        return _mm256_cmpeq_epi16(_mm256_subs_epu16(wanted, sixteen), _mm256_setzero_si256());
    };
    for (size_t i = 0; i < group; i += 32) {
        __m256i bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(reach(i), reach(i + 16)), 0xD8);
        found |= uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(bytes))} << i;
    }
#elif defined(__SSE2__)
    const __m128i wanted = _mm_set1_epi16(static_cast<short>(least));
    auto reach = [&](size_t i) {
        __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i *>(values + i));
        return _mm_cmpeq_epi16(_mm_subs_epu16(wanted, eight), _mm_setzero_si128());
    };
    for (size_t i = 0; i < group; i += 16)
        found |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(reach(i), reach(i + 8))))} << i;
#else
    for (size_t i = 0; i < group; ++i) found |= uint64_t{values[i] >= least} << i;
#endif
    return found;
}

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string folded(std::string_view text) {
    Line line;
    std::string joined;
    if (is_ascii(text)) return std::string(fold(line, Text{text.data(), text.size(), 1, true}, joined));
    nb::gil_scoped_acquire acquire;
    nb::object decoded =
        nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogatepass"));
    if (!decoded.is_valid()) {
        PyErr_Clear();
        throw std::invalid_argument("a response is no text");
    }
    Texts texts(nb::make_tuple(decoded.attr("casefold")()));
    return std::string(fold(line, texts[0], joined));
}

}  // namespace

bool same_folded(std::string_view a, std::string_view b) { return a == b || folded(a) == folded(b); }

struct Searcher::Work {
    explicit Work(const Scoring &scoring) : scoring(scoring) {
        for (int field : {0, 1}) {
            worth[field].assign(classes, 0.0);
            repeated[field].assign(classes, 0.0);
            sums[field].assign(window, 0);
            // Without a word in any row there is nothing to find, and no mean to divide by.
            if (!(scoring.mean[field] > 0)) continue;
            for (uint32_t count = 1; count <= most_count; ++count)
                for (uint32_t length = 1; length <= most_length; ++length) {
                    // A word that comes 8 times or more often may come infinitely often.
                    double value = count == most_count ? scoring.scale : scoring.worth(field, count, length);
                    worth[field][class_of(count, length)] = value;
                    repeated[field][class_of(count, length)] = value / scoring.worth(field, 1, length);
                }
        }
    }

    const Scoring &scoring;
    std::vector<double> worth[2];     // of each class
    std::vector<double> repeated[2];  // the same, as a multiple of what a word is worth that comes once in such a row
    std::vector<Sum> sums[2];         // of the rows of a window
    Side sides[2];
    struct Survivor {
        uint32_t row;
        double bound = HUGE_VAL, factor = HUGE_VAL;  // what it scores at most, and alpha * r + c
    };
    std::vector<Survivor> survivors;
    std::vector<uint32_t> numbers;
    std::vector<double> weights;

    Query *query = nullptr;
    const Shard *shard = nullptr;
    const Terrain *terrain = nullptr;
    uint64_t first_row = 0;

    double unit = 0, highest_factor = 0;  // the highest score that the bounds allow at all, and the factor in it
    double needed = 0;                    // which share of the unit a row's bound must reach
    uint32_t threshold = 0;  // the same in units of the two steps; at 0 all rows are scored that have a word of the message
    bool bounded = true;     // else there are too many words, and all rows are scored
    int first = 0;           // the field that is read first
    double settled = -1;     // the worst kept score that the choice of lists was made for

    // What a row must score to be kept; no kept one scores less than the floor.
    double worst() const { return query->kept.size() == scoring.top ? query->kept.back().score : query->floor; }

    void settle_rests(int field);
    void settle_steps(int field, double factor, double base);
    bool prepare(std::span<const uint32_t> all_numbers);
    void settle_threshold();
    void aim();
    double share_needed(int field, double other) const;
    double highest_bound(int field, uint32_t base) const;
    void scan(uint32_t base);
    void accumulate(int field, uint32_t base);
    void sweep(uint32_t base, uint32_t rows);
    double unread(int field, uint32_t row) const;
    void survive(const Survivor &survivor);
    void score_survivors();
    void score(const Survivor &survivor);
    double exact(int field, uint32_t row);
    void offer(uint32_t row, double score, double message, double response);
    void score_lists(int field, size_t most);
    void run();
};

void Searcher::Work::settle_rests(int field) {
    Side &side = sides[field];
    double k = scoring.mean[field] > 0 ? scoring.k1 * scoring.b / scoring.mean[field] : 0.0, sum = 0;
    side.rests.assign(1, 0.0);
    side.skipped.assign(1, 0);
    bool few = side.words.size() <= most_sorted;
    for (size_t i = 0; i < side.by_size.size(); ++i) {
        const Side::Word &word = side.words[side.by_size[i]];
        sum += word.highest;
        double highest = sum;
        if (few || i + 1 == side.by_size.size()) {
            weights.clear();
            for (size_t j = 0; j <= i; ++j) weights.push_back(side.words[side.by_size[j]].weight);
            highest = std::min(sum, scoring.scale * highest_together(weights, k) * (1 + 1e-9));
        }
        side.rests.push_back(highest);
        side.skipped.push_back(side.skipped.back() + word.cost);
    }
    side.total = side.rests.back();
    if (side.total > 0)
        for (double &rest : side.rests) rest /= side.total;
}

// Chooses how much a step is worth, so that no sum can overflow, and how many steps words add. A row's sum is that of its
// words as if the row were as short as can be; what its length makes of it is a matter of the row.
void Searcher::Work::settle_steps(int field, double factor, double base) {
    Side &side = sides[field];
    uint32_t longest = terrain->longest[field], mask = most_count - 1;
    double once = scoring.mean[field] > 0 ? scoring.worth(field, 1, 1) : 0.0, highest = base;
    auto most = [&](const Side::Word &word) { return shard->fields[field].limits[word.number] >> 3 * length_bits & mask; };
    for (const Side::Word &word : side.words)
        highest += factor * word.weight * once * repeated[field][class_of(most(word) + 1, longest)];
    double step = highest / most_steps;
    side.step = step * (256.0 / 255.0);
    side.steps.resize(std::max(side.steps.size(), classes * side.words.size()));
    for (size_t i = 0; i < side.words.size(); ++i) {
        Side::Word &word = side.words[i];
        double scaled = step > least_unit ? factor * word.weight * once / step : 0.0;
        for (uint32_t count = 1; count <= most(word) + 1; ++count)
            for (uint32_t kind = class_of(count, 1); kind <= class_of(count, longest); ++kind)
                side.steps[classes * i + kind] =
                    static_cast<Sum>(static_cast<int32_t>(scaled * repeated[field][kind]) + 1);
        word.once = side.steps[classes * i + class_of(1, 1)];
        if (!word.dense) continue;
        // Bits say nothing of lengths: a word that comes again adds as much as it does in the longest row.
        bool twice = word.dense->twice && most(word) > 0;
        word.again = twice ? static_cast<Sum>(side.steps[classes * i + class_of(2, longest)] - word.once) : Sum{0};
        for (uint32_t count = 2; count <= most(word) + 1; ++count)
            for (uint32_t kind = class_of(count, 1); kind <= class_of(count, longest); ++kind) {
                Sum &steps = side.steps[classes * i + kind];
                steps = static_cast<Sum>(std::max(0, int{steps} - word.once - word.again));
            }
    }
}

bool Searcher::Work::prepare(std::span<const uint32_t> all_numbers) {
    for (int field : {0, 1}) {
        Side &side = sides[field];
        side.words.clear();
        side.by_size.clear();
        side.read = true;
        numbers.clear();
        for (const Query::Word &word : query->words[field]) {
            uint32_t number = all_numbers[word.word];
            if (number == no_word || !(word.weight > 0)) continue;
            auto list = shard->list(field, number);
            if (list.empty()) continue;
            double highest = word.weight * Limits::highest(shard->fields[field].limits[number], worth[field]);
            const Dense *dense = terrain->dense(field, number);
            std::span<const uint32_t> walked = dense ? std::span<const uint32_t>(dense->repeats) : list;
            size_t cost = walked.size() + (dense ? dense->bits.size() / dense_bits : 0);
            side.words.push_back({number, word.weight, highest, list, dense, walked, walked.data(), 0, 0, cost});
            side.by_size.push_back(static_cast<uint32_t>(side.by_size.size()));
            numbers.push_back(number);
        }
        side.lookup.build(numbers);
        std::stable_sort(side.by_size.begin(), side.by_size.end(),
                         [&](uint32_t a, uint32_t b) { return side.words[a].list.size() > side.words[b].list.size(); });
        settle_rests(field);
        side.left_out = 0;
    }
    if (!(sides[0].total > 0)) return false;
    highest_factor = scoring.alpha * sides[1].total + scoring.rest;
    if (!(highest_factor > 0)) return false;
    unit = sides[0].total * highest_factor;
    if (unit > least_unit && unit * (1 + margin) < worst()) return false;
    bounded = std::max(sides[0].words.size(), sides[1].words.size()) <= most_words;
    if (bounded) {
        settle_steps(0, 1.0, 0.0);
        settle_steps(1, scoring.alpha, scoring.rest);
    }
    settled = -1;
    settle_threshold();
    return true;
}

void Searcher::Work::settle_threshold() {
    // Where doubles cannot tell, nothing is left out.
    bool told = bounded && unit > least_unit && sides[0].step > least_unit && sides[1].step > least_unit &&
                sides[0].step * sides[1].step > least_unit;
    double steps = told ? worst() * (1 - margin) / sides[0].step / sides[1].step : 0.0;
    bool enough = steps >= 1 << 16;  // else bounds are too coarse
    needed = enough ? worst() / unit * (1 - margin) : 0.0;
    threshold = enough ? static_cast<uint32_t>(std::min(steps, 4294967295.0)) : 0;
}

// Chooses the lists to read, by the worst score that is kept.
void Searcher::Work::aim() {
    double lowest = worst();
    if (lowest == settled) return;
    settled = lowest;
    settle_threshold();
    size_t cost[2];
    for (int field : {0, 1}) {
        sides[field].left_out = sides[field].spare(caution * share_needed(field, 1.0));
        cost[field] = sides[field].cost(sides[field].left_out);
        sides[field].read = true;
    }
    // Rows without a word of the response may do well, too, if little is needed.
    bool either = needed > scoring.rest / highest_factor * (1 + margin) + margin;
    first = either && cost[1] < cost[0] ? 1 : 0;
    sides[1 - first].read = static_cast<double>(cost[first]) * row_cost > static_cast<double>(cost[1 - first]);
}

// Which share of a field's total a row needs where the other field has at most the given share of its own.
double Searcher::Work::share_needed(int field, double other) const {
    double slope = scoring.alpha * sides[1].total;
    if (field == 0) return needed * highest_factor / (slope * other + scoring.rest);
    return slope > 0 ? (needed * highest_factor / other - scoring.rest) / slope : 0.0;
}

void Searcher::Work::accumulate(int field, uint32_t base) {
    Side &side = sides[field];
    Sum *to = sums[field].data();
    uint64_t limit = uint64_t{base + window} << class_bits;
    for (size_t i = side.left_out; i < side.by_size.size(); ++i) {
        Side::Word &word = side.words[side.by_size[i]];
        if (word.dense) word.dense->add(base, word.once, word.again, to);
        const uint32_t *at = word.next, *end = word.walked.data() + word.walked.size();
        if (at == end || *at >= limit) continue;
        if (row_of(*at) < base) at = std::lower_bound(at, end, base << class_bits);
        const Sum *steps = side.steps.data() + classes * side.by_size[i];
        // Rows of a file that nobody checked may be in any order; the mask keeps them inside.
        auto add = [&](uint32_t posting) {
            Sum &sum = to[row_of(posting) & (window - 1)];
            sum = static_cast<Sum>(sum + steps[posting & (classes - 1)]);
        };
        for (; end - at >= 8 && at[7] < limit; at += 8)
            for (size_t j = 0; j < 8; ++j) add(at[j]);
        for (; at != end && *at < limit; ++at) add(*at);
        word.next = at;
    }
}

// A sum as what it comes to in a row of some length; one step more is never too few.
inline Sum shortened(Sum sum, uint8_t once) { return static_cast<Sum>(uint32_t{sum} * (uint32_t{once} << 8) >> 16); }

// Which share of a field's total the best row of a window has.
double Searcher::Work::highest_bound(int field, uint32_t base) const {
    const Sum *from = sums[field].data();
    const uint8_t *once = terrain->once(field) + base;
    Sum highest = 0;
    for (size_t i = 0; i < window; ++i) highest = std::max(highest, shortened(from[i], once[i]));
    return std::min(1.0, ((highest + 1.0) * sides[field].step + sides[field].rest()) / sides[field].total);
}

// Looks at a window: first at one field, and then at as much of the other as the best row so far makes necessary.
void Searcher::Work::scan(uint32_t base) {
    Side &other = sides[1 - first];
    for (int field : {first, 1 - first})
        for (size_t i = 0; i < window; i += 64) __builtin_prefetch(terrain->once(field) + base + i);
    if (bounded) accumulate(first, base);
    if (bounded && other.read) {
        if (needed > 0) other.left_out = other.spare(caution * share_needed(1 - first, highest_bound(first, base)));
        accumulate(1 - first, base);
    }
    sweep(base, static_cast<uint32_t>(std::min<size_t>(window, shard->rows - base)));
    if (survivors.size() >= together) score_survivors();
}

void Searcher::Work::sweep(uint32_t base, uint32_t rows) {
    Sum *messages = sums[0].data(), *responses = sums[1].data();
    const uint8_t *message_once = terrain->once(0) + base, *response_once = terrain->once(1) + base;
    auto steps = [](double value, double step) { return static_cast<Sum>(std::min(value / step + 2, 65535.0)); };
    if (threshold == 0) {
        for (uint32_t i = 0; i < rows; ++i)
            if (messages[i] || !bounded) survive({base + i});
    } else {
        Sum message_rest = steps(sides[0].rest(), sides[0].step);
        Sum response_rest = steps(scoring.alpha * sides[1].rest() + scoring.rest, sides[1].step);
        auto message = [&](size_t i) { return static_cast<Sum>(shortened(messages[i], message_once[i]) + message_rest); };
        auto factor = [&](size_t i) { return static_cast<Sum>(shortened(responses[i], response_once[i]) + response_rest); };
        auto least = static_cast<Sum>(threshold >> 16);
        for (size_t start = 0; start < rows; start += group) {
            Sum upper[group];  // halves of bounds
            for (size_t i = 0; i < group; ++i) upper[i] = static_cast<Sum>(uint32_t{message(start + i)} * factor(start + i) >> 16);
            uint64_t found = at_least(least, upper);
            if (rows - start < group) found &= (uint64_t{1} << (rows - start)) - 1;
            for (; found; found &= found - 1) {
                size_t i = start + static_cast<size_t>(std::countr_zero(found));
                if (uint32_t{message(i)} * factor(i) < threshold) continue;
                uint32_t row = base + static_cast<uint32_t>(i);
                // Looking up which unread words a row has takes time: the second field is only looked at if it can matter.
                double highest = unread(0, row) + (shortened(messages[i], message_once[i]) + 1) * sides[0].step;
                double read_factor = scoring.rest + (shortened(responses[i], response_once[i]) + 1) * sides[1].step;
                if (highest * (read_factor + scoring.alpha * sides[1].rest()) * (1 + margin) < worst()) continue;
                double highest_factor = read_factor + scoring.alpha * unread(1, row);
                double bound = highest * highest_factor * (1 + margin);
                if (bound >= worst()) survive({row, bound, highest_factor});
            }
        }
    }
    for (int field : {0, 1})
        if (sides[field].read) std::fill_n(sums[field].data(), window, Sum{0});
}

// What the words whose lists are not read can add to a row at most: bits say which of them it does not have.
double Searcher::Work::unread(int field, uint32_t row) const {
    const Side &side = sides[field];
    size_t count = side.read ? side.left_out : side.by_size.size();
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
        const Side::Word &word = side.words[side.by_size[i]];
        if (!word.dense || word.dense->has(row)) sum += word.highest;
    }
    return std::min(sum, side.rest());
}

// Scoring asks for a row's words; where they are is asked for here.
inline void Searcher::Work::survive(const Survivor &survivor) {
    __builtin_prefetch(shard->bag_begins.data() + 2 * survivor.row);
    survivors.push_back(survivor);
}

// Scores rows; their words are asked for some rows ahead.
void Searcher::Work::score_survivors() {
    size_t count = survivors.size();
    const uint32_t *begins = shard->bag_begins.data();
    for (size_t i = 0; i < count + ahead; ++i) {
        if (i < count) {
            size_t begin = begins[2 * survivors[i].row];
            if (begin < shard->bags.size()) {
                __builtin_prefetch(shard->bags.data() + begin);
                __builtin_prefetch(shard->bags.data() + std::min(begin + 16, shard->bags.size() - 1));
            }
        }
        if (i < ahead || survivors[i - ahead].bound < worst()) continue;
        score(survivors[i - ahead]);
    }
    survivors.clear();
}

double Searcher::Work::exact(int field, uint32_t row) {
    Side &side = sides[field];
    auto bag = shard->bag(field, row);
    if (side.touched.size() <= bag.size()) side.touched.resize(2 * bag.size() + 64);
    uint32_t *places = side.touched.data();
    size_t count = side.lookup.collect(bag, places);
    if (count == 0) return 0.0;
    std::sort(places, places + count);
    double sum = 0, norm = scoring.norm(field, static_cast<double>(bag.size()));
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && places[next] == places[i];) ++next;
        double times = static_cast<double>(next - i);
        sum += side.words[places[i]].weight * (scoring.scale * times / (times + norm));
    }
    return sum;
}

void Searcher::Work::score(const Survivor &survivor) {
    double message = exact(0, survivor.row);
    if (!(message > 0)) return;
    double lowest = worst();
    if (message * survivor.factor * (1 + margin) < lowest) return;
    double response = exact(1, survivor.row);
    double score = message * (scoring.alpha * response + scoring.rest);
    if (score > 0 && score >= lowest) offer(survivor.row, score, message, response);
}

void Searcher::Work::offer(uint32_t row, double score, double message, double response) {
    std::vector<Hit> &kept = query->kept;
    uint64_t place = first_row + row, hash = shard->response_hashes[row];
    if (kept.size() == scoring.top && !(score > kept.back().score || place < kept.back().row)) return;
    if (query->excludes && hash == query->hash && same_folded(query->text, shard->response(row))) return;
    for (size_t i = 0; i < kept.size(); ++i) {
        if (kept[i].hash != hash) continue;
        std::string_view other = kept[i].held ? std::string_view(kept[i].text) : shard->response(kept[i].row - first_row);
        if (!same_folded(other, shard->response(row))) continue;
        if (kept[i].better_than(score, place) || kept[i].row == place) return;
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
        break;
    }
    auto at = std::partition_point(kept.begin(), kept.end(), [&](const Hit &hit) { return hit.better_than(score, place); });
    kept.insert(at, Hit{score, message, response, place, hash, {}, false});
    if (kept.size() > scoring.top) kept.pop_back();
    // Rows that were swept before are pruned by what is known now; choosing other lists waits for the next window.
    settle_threshold();
}

// Scores the rows of a field's shortest lists, until there were so many.
void Searcher::Work::score_lists(int field, size_t most) {
    Side &side = sides[field];
    survivors.clear();
    for (size_t i = side.by_size.size(); i-- > side.left_out;) {
        auto list = side.words[side.by_size[i]].list;
        for (uint32_t posting : list.first(std::min(list.size(), most - survivors.size())))
            if (row_of(posting) < shard->rows) survive({row_of(posting)});
        if (survivors.size() >= most) break;
    }
    score_survivors();
}

void Searcher::Work::run() {
    if (!(worst() > 0)) {
        score_lists(0, few_rows);
        if (scoring.alpha > 0) score_lists(1, few_rows);
    }
    aim();
    size_t cost = sides[first].cost(sides[first].left_out);
    if (!sides[1 - first].read && static_cast<double>(cost) * row_cost < static_cast<double>(shard->rows)) {
        score_lists(first, cost);
        return;
    }
    for (uint32_t base = 0; base < shard->rows; base += window) {
        aim();
        scan(base);
    }
    score_survivors();
}

Searcher::Searcher(const Scoring &scoring) : work_(std::make_unique<Work>(scoring)) {}
Searcher::~Searcher() = default;

void Searcher::search(Query &query, const Shard &shard, const Terrain &terrain, std::span<const uint32_t> numbers,
                      uint64_t first_row) {
    work_->query = &query;
    work_->shard = &shard;
    work_->terrain = &terrain;
    work_->first_row = first_row;
    if (shard.rows == 0 || query.words[0].empty() || !work_->prepare(numbers)) return;
    work_->run();
    for (Hit &hit : query.kept) {
        if (hit.held) continue;
        hit.text = shard.response(hit.row - first_row);
        hit.held = true;
    }
}

}  // namespace trubleu::mining
