#include "mine_search.hpp"

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "mine_python.hpp"
#include "utf8.hpp"

namespace trubleu::mining {

namespace {

constexpr size_t window = 1 << 13;       // rows whose bounds are added up at once: they fit into the fastest memory
constexpr size_t group = 64;             // rows of which one look says whether any is worth another
constexpr size_t ahead = 12;             // rows that are asked for before they are scored
constexpr float least_share = 1e-12f;    // stands for what is above zero and yet too small for floats to tell apart
constexpr double least_needed = 1e-20;   // below that, bounds in floats would be lost
constexpr double least_unit = 1e-200;    // below that, products of doubles would be lost
constexpr double caution = 0.9;          // how close rows may come to what is needed without being looked at
constexpr size_t most_sorted = 64;       // words of a query up to which bounds are as sharp as they can be
constexpr double row_cost = 120;         // scoring a row costs as much as reading so many postings
constexpr size_t few_rows = 512;         // rows scored at once because a query has kept too few to prune by

// Which of a few numbers come in a row, told with one look for each word of the row and without a branch: the table has
// room enough that, for one of some multipliers, every number has a slot of its own. Of very many numbers chains are made.
class Lookup {
  public:
    void build(std::span<const uint32_t> numbers) {
        chained_ = false;
        for (unsigned bits = std::bit_width(numbers.size() | 8) + 3; bits <= most_bits; ++bits)
            for (uint32_t attempt = 0; attempt < 8; ++attempt) {
                multiplier_ = 0x9E3779B9u + 0x3C6EF372u * attempt;
                if (fill(numbers, bits)) return;
            }
        chained_ = true;
        multiplier_ = 0x9E3779B9u;
        fill(numbers, std::bit_width(numbers.size()) + 2);
    }

    // Writes the places of those words of a row that are there, again where they come again; returns how many.
    size_t collect(std::span<const uint32_t> row, uint32_t *places) const {
        size_t count = 0;
        if (chained_) {
            for (uint32_t number : row)
                for (size_t slot = first(number); slots_[slot].number != no_word; slot = (slot + 1) & (slots_.size() - 1))
                    if (slots_[slot].number == number) {
                        places[count++] = slots_[slot].place;
                        break;
                    }
            return count;
        }
        const Slot *slots = slots_.data();
        for (uint32_t number : row) {
            const Slot &slot = slots[first(number)];
            places[count] = slot.place;
            count += slot.number == number;
        }
        // A damaged file may have words without a number, which are those of the empty slots.
        return static_cast<size_t>(std::remove(places, places + count, no_word) - places);
    }

  private:
    struct Slot {
        uint32_t number, place;
    };
    static constexpr unsigned most_bits = 13;

    size_t first(uint32_t number) const { return number * multiplier_ >> shift_; }

    bool fill(std::span<const uint32_t> numbers, unsigned bits) {
        shift_ = 32 - bits;
        slots_.assign(size_t{1} << bits, {no_word, no_word});
        for (size_t i = 0; i < numbers.size(); ++i) {
            size_t slot = first(numbers[i]);
            while (slots_[slot].number != no_word) {
                if (!chained_) return false;
                slot = (slot + 1) & (slots_.size() - 1);
            }
            slots_[slot] = {numbers[i], static_cast<uint32_t>(i)};
        }
        return true;
    }

    uint32_t multiplier_ = 0, shift_ = 0;
    bool chained_ = false;
    std::vector<Slot> slots_;
};

// The words of one field of a query that a shard knows and that are worth something.
struct Side {
    struct Word {
        uint32_t number;
        double weight, highest;  // highest: what it can add at most
        std::span<const uint32_t> list;
        const uint32_t *next;  // the first posting that was not passed yet
        float unit;            // what a class's share is multiplied by
    };
    std::vector<Word> words;        // in the order of the query
    std::vector<uint32_t> by_size;  // places of words, those with the longest lists first
    Lookup lookup;
    std::vector<uint32_t> touched;
    double total = 0;             // what all words can add at most
    std::vector<double> rests;    // what the first 0, 1, 2 … of by_size can add at most, as shares of total
    std::vector<size_t> skipped;  // how long their lists are together
    size_t left_out = 0;          // so many of by_size are not read
    bool read = true;

    float rest() const { return read ? static_cast<float>(rests[left_out]) : 1.0f; }
    size_t postings(size_t without) const { return skipped.back() - skipped[without]; }

    // How many lists can be left out if what they could add must stay below a share.
    size_t spare(double most) const {
        size_t count = 0;
        // A short list costs nothing, and reading it makes bounds sharper.
        while (count < by_size.size() && rests[count + 1] < most && words[by_size[count]].list.size() * 64 > skipped.back())
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

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

Text text_of(PyObject *object) {
    return Text{PyUnicode_DATA(object), static_cast<size_t>(PyUnicode_GET_LENGTH(object)),
                static_cast<uint8_t>(PyUnicode_KIND(object)), PyUnicode_IS_ASCII(object) != 0};
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
    nb::object lowered = decoded.attr("casefold")();
    return std::string(fold(line, text_of(lowered.ptr()), joined));
}

}  // namespace

bool same_folded(std::string_view a, std::string_view b) { return a == b || folded(a) == folded(b); }

struct Searcher::Work {
    explicit Work(const Scoring &scoring) : scoring(scoring) {
        for (int field : {0, 1}) {
            worth[field].assign(classes, 0.0);
            // Without a word in any row there is nothing to find, and no mean to divide by.
            if (!(scoring.mean[field] > 0)) continue;
            double highest = 0;
            for (uint32_t count = 1; count <= most_count; ++count)
                for (uint32_t length = 1; length <= most_length; ++length) {
                    // A word that comes 8 times or more often may come infinitely often.
                    double value = count == most_count ? scoring.scale : scoring.worth(field, count, length);
                    worth[field][class_of(count, length)] = value;
                    highest = std::max(highest, value);
                }
            share[field].resize(classes);
            for (size_t i = 0; i < classes; ++i) share[field][i] = static_cast<float>(worth[field][i] / highest);
            most_worth[field] = highest;
        }
        for (auto &sums : bounds) sums.assign(window + group, 0.0f);
    }

    const Scoring &scoring;
    std::vector<double> worth[2];  // of each class
    std::vector<float> share[2];   // the same, as a share of the highest
    double most_worth[2] = {0, 0};
    std::vector<float> bounds[2];  // of the rows of a window
    Side sides[2];
    struct Survivor {
        uint32_t row;
        float bound, factor;  // the factor: alpha * r + c, as a share of its highest
    };
    std::vector<Survivor> survivors;
    std::vector<uint32_t> numbers;
    std::vector<double> weights;

    Query *query = nullptr;
    const Shard *shard = nullptr;
    uint64_t first_row = 0;

    // In units of the highest score that the bounds allow at all.
    double unit = 0, highest_factor = 0, margin = 0;
    float factor_slope = 0, factor_base = 0;
    float threshold = 0;
    int first = 0;        // the field that is read first
    double settled = -1;  // the worst kept score that the choice of lists was made for

    double worst() const { return query->kept.size() == scoring.top ? query->kept.back().score : 0.0; }

    // Which share of the unit a row's bound must reach, to be worth a look. Where floats or a unit that has lost digits
    // cannot tell, it is 0: then all rows are scored that have a word of the message.
    double needed_for(double lowest) const {
        double share = unit > least_unit ? lowest / unit * (1 - margin) : 0.0;
        return share < least_needed ? 0.0 : share;
    }

    void settle_rests(int field);
    bool prepare(std::span<const uint32_t> all_numbers);
    void aim();
    double share_needed(int field, double other) const;
    float highest_bound(int field) const;
    void scan(uint32_t base);
    void accumulate(int field, uint32_t base);
    void sweep(uint32_t base, uint32_t rows);
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
        side.skipped.push_back(side.skipped.back() + word.list.size());
    }
    side.total = side.rests.back();
    if (side.total > 0)
        for (double &rest : side.rests) rest /= side.total;
}

bool Searcher::Work::prepare(std::span<const uint32_t> all_numbers) {
    for (int field : {0, 1}) {
        Side &side = sides[field];
        side.words.clear();
        side.by_size.clear();
        side.left_out = 0;
        side.read = true;
        numbers.clear();
        for (const Query::Word &word : query->words[field]) {
            uint32_t number = all_numbers[word.word];
            if (number == no_word || !(word.weight > 0)) continue;
            auto list = shard->list(field, number);
            if (list.empty()) continue;
            double highest = word.weight * Limits::highest(shard->fields[field].limits[number], worth[field]);
            side.words.push_back({number, word.weight, highest, list, list.data(), 0.0f});
            side.by_size.push_back(static_cast<uint32_t>(side.by_size.size()));
            numbers.push_back(number);
        }
        side.lookup.build(numbers);
        std::stable_sort(side.by_size.begin(), side.by_size.end(),
                         [&](uint32_t a, uint32_t b) { return side.words[a].list.size() > side.words[b].list.size(); });
        settle_rests(field);
        for (Side::Word &word : side.words)
            word.unit = std::max(static_cast<float>(word.weight * most_worth[field] / side.total), least_share);
    }
    if (!(sides[0].total > 0)) return false;
    double slope = scoring.alpha * sides[1].total;
    highest_factor = slope + scoring.rest;
    if (!(highest_factor > 0)) return false;
    unit = sides[0].total * highest_factor;
    // Sums of floats are a little off, the more so the more there are of them.
    margin = 4e-7 * static_cast<double>(sides[0].words.size() + sides[1].words.size() + 64);
    factor_slope = slope > 0 ? std::max(static_cast<float>(slope / highest_factor), least_share) : 0.0f;
    factor_base = scoring.rest > 0 ? std::max(static_cast<float>(scoring.rest / highest_factor), least_share) : 0.0f;
    settled = -1;
    threshold = 0;
    return unit <= least_unit || unit * (1 + margin) >= worst();
}

// Chooses the lists to read, by the worst score that is kept.
void Searcher::Work::aim() {
    double lowest = worst();
    if (lowest == settled) return;
    settled = lowest;
    double needed = needed_for(lowest);
    threshold = static_cast<float>(needed);
    size_t postings[2];
    for (int field : {0, 1}) {
        sides[field].left_out = sides[field].spare(caution * share_needed(field, 1.0));
        postings[field] = sides[field].postings(sides[field].left_out);
        sides[field].read = true;
    }
    // Rows without a word of the response may do well, too, if little is needed.
    bool either = needed > factor_base * (1 + margin) + margin;
    first = either && postings[1] < postings[0] ? 1 : 0;
    sides[1 - first].read = static_cast<double>(postings[first]) * row_cost > static_cast<double>(postings[1 - first]);
}

// Which share of a field's total a row needs where the other field has at most the given share of its own.
double Searcher::Work::share_needed(int field, double other) const {
    if (field == 0) return threshold / (factor_slope * other + factor_base);
    return factor_slope > 0 ? (threshold / other - factor_base) / factor_slope : 0.0;
}

void Searcher::Work::accumulate(int field, uint32_t base) {
    Side &side = sides[field];
    float *sums = bounds[field].data();
    const float *shares = share[field].data();
    uint64_t limit = uint64_t{base + window} << class_bits;
    for (size_t i = side.left_out; i < side.by_size.size(); ++i) {
        Side::Word &word = side.words[side.by_size[i]];
        const uint32_t *at = word.next, *end = word.list.data() + word.list.size();
        if (at == end || *at >= limit) continue;
        if (row_of(*at) < base) at = std::lower_bound(at, end, base << class_bits);
        float unit = word.unit;
        // Rows of a file that nobody checked may be in any order; the mask keeps them inside.
        for (; at != end && *at < limit; ++at) sums[row_of(*at) & (window - 1)] += unit * shares[*at & (classes - 1)];
        word.next = at;
    }
}

float Searcher::Work::highest_bound(int field) const {
    // Eight at a time, so that the compiler may take whole registers.
    float lanes[8] = {};
    const float *sums = bounds[field].data();
    for (size_t i = 0; i < window; i += 8)
        for (size_t j = 0; j < 8; ++j) lanes[j] = sums[i + j] > lanes[j] ? sums[i + j] : lanes[j];
    return *std::max_element(lanes, lanes + 8);
}

// Looks at a window: first at one field, and then at as much of the other as the best row so far makes necessary.
void Searcher::Work::scan(uint32_t base) {
    Side &other = sides[1 - first];
    accumulate(first, base);
    if (other.read) {
        double highest = (double{highest_bound(first)} + sides[first].rest()) * (1 + margin);
        other.left_out = other.spare(caution * share_needed(1 - first, highest));
        accumulate(1 - first, base);
    }
    sweep(base, static_cast<uint32_t>(std::min<size_t>(window, shard->rows - base)));
    score_survivors();
}

void Searcher::Work::sweep(uint32_t base, uint32_t rows) {
    float *messages = bounds[0].data(), *responses = bounds[1].data();
    float message_rest = sides[0].rest(), response_rest = sides[1].rest();
    float slope = factor_slope, base_factor = factor_base, least = threshold;
    if (!(least > 0)) slope = 0, base_factor = 1, least = FLT_TRUE_MIN;
    auto factor = [&](size_t i) { return slope * (responses[i] + response_rest) + base_factor; };
    auto bound = [&](size_t i) { return (messages[i] + message_rest) * factor(i); };
    survivors.clear();
    for (size_t first = 0; first < rows; first += group) {
        int any = 0;
        for (size_t i = first; i < first + group; ++i) any |= bound(i) >= least;
        if (!any) continue;
        for (size_t i = first; i < std::min<size_t>(first + group, rows); ++i)
            if (bound(i) >= least) survivors.push_back({base + static_cast<uint32_t>(i), bound(i), factor(i)});
    }
    if (sides[0].read) std::memset(messages, 0, window * sizeof(float));
    if (sides[1].read) std::memset(responses, 0, window * sizeof(float));
}

// Scores rows; their memory is asked for in two steps, first where their words are, then these.
void Searcher::Work::score_survivors() {
    size_t count = survivors.size();
    const uint32_t *begins = shard->bag_begins.data();
    for (size_t i = 0; i < count + ahead; ++i) {
        if (i + ahead < count) __builtin_prefetch(begins + 2 * survivors[i + ahead].row);
        if (i < count) {
            size_t begin = begins[2 * survivors[i].row];
            if (begin < shard->bags.size()) {
                __builtin_prefetch(shard->bags.data() + begin);
                __builtin_prefetch(shard->bags.data() + std::min(begin + 16, shard->bags.size() - 1));
            }
        }
        if (i < ahead || survivors[i - ahead].bound < threshold) continue;
        score(survivors[i - ahead]);
    }
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
    if (threshold > 0 && message * survivor.factor * highest_factor * (1 + margin) < lowest) return;
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
    threshold = static_cast<float>(needed_for(worst()));
}

// Scores the rows of a field's shortest lists, until there were so many.
void Searcher::Work::score_lists(int field, size_t most) {
    Side &side = sides[field];
    survivors.clear();
    for (size_t i = side.by_size.size(); i-- > side.left_out;) {
        auto list = side.words[side.by_size[i]].list;
        for (uint32_t posting : list.first(std::min(list.size(), most - survivors.size())))
            if (row_of(posting) < shard->rows) survivors.push_back({row_of(posting), 1.0f, 1.0f});
        if (survivors.size() >= most) break;
    }
    score_survivors();
}

void Searcher::Work::run() {
    if (query->kept.size() < scoring.top) {
        score_lists(0, few_rows);
        if (scoring.alpha > 0) score_lists(1, few_rows);
    }
    aim();
    size_t postings = sides[first].postings(sides[first].left_out);
    if (!sides[1 - first].read && static_cast<double>(postings) * row_cost < static_cast<double>(shard->rows)) {
        score_lists(first, postings);
        return;
    }
    for (uint32_t base = 0; base < shard->rows; base += window) {
        aim();
        scan(base);
    }
}

Searcher::Searcher(const Scoring &scoring) : work_(std::make_unique<Work>(scoring)) {}
Searcher::~Searcher() = default;

void Searcher::search(Query &query, const Shard &shard, std::span<const uint32_t> numbers, uint64_t first_row) {
    work_->query = &query;
    work_->shard = &shard;
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
