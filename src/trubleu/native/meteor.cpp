#include "meteor.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "text.hpp"

namespace trubleu::meteor {

namespace {

constexpr uint32_t none = 0xFFFFFFFF;
constexpr size_t longest = 16;  // runs are told apart up to this length; longer ones are as good as it

// Places of the reference.
template <size_t W> struct Bits {
    uint64_t words[W] = {};

    bool test(size_t i) const { return i < 64 * W && (words[i / 64] >> (i % 64) & 1); }
    void set(size_t i) { words[i / 64] |= uint64_t{1} << (i % 64); }
    void flip(size_t i) { words[i / 64] ^= uint64_t{1} << (i % 64); }
    bool any() const {
        uint64_t all = 0;
        for (uint64_t word : words) all |= word;
        return all != 0;
    }
    size_t count() const {
        size_t count = 0;
        for (uint64_t word : words) count += static_cast<size_t>(std::popcount(word));
        return count;
    }
    size_t lowest() const {
        size_t i = 0;
        while (words[i] == 0) ++i;
        return 64 * i + static_cast<size_t>(std::countr_zero(words[i]));
    }
    Bits down(size_t by = 1) const {  // by less than 64
        if (by == 0) return *this;
        Bits result;
        for (size_t i = 0; i < W; ++i) result.words[i] = words[i] >> by | (i + 1 < W ? words[i + 1] << (64 - by) : 0);
        return result;
    }
    Bits up() const {
        Bits result;
        for (size_t i = 0; i < W; ++i) result.words[i] = words[i] << 1 | (i > 0 ? words[i - 1] >> 63 : 0);
        return result;
    }
    Bits operator&(const Bits &other) const { return joined(other, [](uint64_t a, uint64_t b) { return a & b; }); }
    Bits operator|(const Bits &other) const { return joined(other, [](uint64_t a, uint64_t b) { return a | b; }); }
    Bits operator^(const Bits &other) const { return joined(other, [](uint64_t a, uint64_t b) { return a ^ b; }); }
    Bits without(const Bits &other) const { return joined(other, [](uint64_t a, uint64_t b) { return a & ~b; }); }
    bool operator==(const Bits &other) const { return std::equal(words, words + W, other.words); }
    bool operator<(const Bits &other) const {  // as numbers
        for (size_t i = W; i-- > 0;)
            if (words[i] != other.words[i]) return words[i] < other.words[i];
        return false;
    }

  private:
    template <typename Join> Bits joined(const Bits &other, Join join) const {
        Bits result;
        for (size_t i = 0; i < W; ++i) result.words[i] = join(words[i], other.words[i]);
        return result;
    }
};

int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

}  // namespace

// Which words may be matched with which, once it is settled how many matches the first two stages have.
//
// A word that the output has more often than the reference has a surplus there; its equals in the reference are then all
// matched. So only a surplus of the output can be matched with a surplus of the reference by stem, and what is left of both
// by meaning.
void Aligner::number(std::span<const uint32_t> words, std::span<const uint32_t> reference) {
    types_.clear();
    auto take = [&](std::span<const uint32_t> text, std::vector<uint32_t> &to, uint32_t Type::*count) {
        to.clear();
        for (uint32_t word : text) {
            if (word >= type_of_.size()) type_of_.resize(size_t{word} + 1, 0);
            if (type_of_[word] == 0) {
                types_.emplace_back().word = word;
                type_of_[word] = static_cast<uint32_t>(types_.size());
            }
            to.push_back(type_of_[word] - 1);
            ++(types_[to.back()].*count);
        }
    };
    take(words, words_, &Type::ours);
    take(reference, reference_, &Type::theirs);
    exact_ = stemmed_ = 0;
    has_synonyms_ = false;
    for (const Type &type : types_) {
        type_of_[type.word] = 0;
        exact_ += std::min(type.ours, type.theirs);
    }
    stems_.clear();
    if (!relations_.stems && !relations_.meaning_begins) return;
    size_t size = 0;
    for (Type &type : types_) {
        if (type.ours == type.theirs) continue;
        uint32_t stem = relations_.stems ? relations_.stems[type.word] : type.word;
        if (stem >= stem_of_.size()) stem_of_.resize(size_t{stem} + 1, 0);
        if (stem_of_[stem] == 0) {
            stems_.emplace_back().stem = stem;
            stem_of_[stem] = static_cast<uint32_t>(stems_.size());
        }
        type.stem = stem_of_[stem] - 1;
        ++(type.ours > type.theirs ? stems_[type.stem].our_count : stems_[type.stem].their_count);
        ++size;
    }
    surplus_types_.resize(size);
    uint32_t *begin = surplus_types_.data();
    for (Stem &stem : stems_) {
        stem_of_[stem.stem] = 0;
        stem.ours = {begin, stem.our_count};
        stem.theirs = {begin + stem.our_count, stem.their_count};
        begin += stem.our_count + stem.their_count;
        stem.our_count = stem.their_count = 0;
    }
    for (size_t i = 0; i < types_.size(); ++i) {
        const Type &type = types_[i];
        if (type.ours == type.theirs) continue;
        Stem &stem = stems_[type.stem];
        bool ours = type.ours > type.theirs;
        size_t place = static_cast<size_t>((ours ? stem.ours : stem.theirs).data() - surplus_types_.data());
        surplus_types_[place + (ours ? stem.our_count++ : stem.their_count++)] = static_cast<uint32_t>(i);
    }
    if (relations_.stems) match_stems();
    if (relations_.meaning_begins) match_meanings();
}

int64_t Aligner::surplus(Types types, bool ours) const {
    int64_t sum = 0;
    for (uint32_t type : types) sum += int64_t{types_[type].ours} - types_[type].theirs;
    return ours ? sum : -sum;
}

void Aligner::match_stems() {
    for (const Stem &stem : stems_) {
        if (stem.ours.empty() || stem.theirs.empty()) continue;
        stemmed_ += static_cast<uint32_t>(std::min(surplus(stem.ours, true), surplus(stem.theirs, false)));
        for (uint32_t type : stem.ours) types_[type].same_stem = stem.theirs;
    }
}

void Aligner::match_meanings() {
    auto each = [&](uint32_t type, auto &&work) {
        uint32_t word = types_[type].word;
        for (uint64_t i = relations_.meaning_begins[word]; i < relations_.meaning_begins[word + 1]; ++i) work(relations_.meanings[i]);
    };
    std::vector<std::pair<uint32_t, uint32_t>> theirs, found;  // meanings and types; types of the output and their synonyms
    for (const Stem &stem : stems_)
        if (surplus(stem.theirs, false) > surplus(stem.ours, true))
            for (uint32_t type : stem.theirs) each(type, [&](uint32_t meaning) { theirs.emplace_back(meaning, type); });
    std::sort(theirs.begin(), theirs.end());
    for (const Stem &stem : stems_) {
        if (surplus(stem.ours, true) <= surplus(stem.theirs, false)) continue;
        for (uint32_t type : stem.ours)
            each(type, [&](uint32_t meaning) {
                auto at = std::lower_bound(theirs.begin(), theirs.end(), std::pair{meaning, uint32_t{0}});
                for (; at != theirs.end() && at->first == meaning; ++at) found.emplace_back(type, at->second);
            });
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    has_synonyms_ = !found.empty();
    synonyms_.clear();
    for (const auto &pair : found) synonyms_.push_back(pair.second);
    Types all = synonyms_;
    for (size_t begin = 0, end; begin < found.size(); begin = end) {
        for (end = begin; end < found.size() && found[end].first == found[begin].first; ++end) {}
        types_[found[begin].first].synonyms = all.subspan(begin, end - begin);
    }
}

// Word by word of the output, the partial alignments that differ in what can still come of them.
//
// Such a state is the places of the reference that are taken, as far as a later word might want them, and the place of the last
// match, if the next word might go on from it. Its value is the number of synonyms, and after it that of links: pairs of
// matches that are neighbours in both texts. Each link saves a chunk.
template <size_t W> class Aligner::Search {
  public:
    explicit Search(Aligner &aligner)
        : types_(aligner.types_), stems_(aligner.stems_), words_(aligner.words_), reference_(aligner.reference_), limits_(aligner.limits_) {}

    Alignment run(uint32_t exact, uint32_t stemmed, bool synonyms) {
        Alignment result;
        if (!begin()) return result;
        int64_t best = all_of(limits_.narrow), matches = int64_t{exact} + stemmed;
        if (best < 0) {
            best = tiling();
            // Nothing can be better than all the potential, or without synonyms than one chunk.
            if (limits_.wide > 0 && potential_[0] > best && (synonyms || best != matches - 1)) best = beam(best);
        }
        result.exact = exact;
        result.stem = stemmed;
        result.synonym = static_cast<uint32_t>(best / unit_);
        result.chunks = static_cast<uint32_t>(matches + result.synonym - best % unit_);
        result.tried = tried_;
        return result;
    }

  private:
    struct State {
        Bits<W> taken;
        int64_t last;
        int64_t value;

        bool operator==(const State &other) const { return last == other.last && taken == other.taken; }
        uint64_t hash() const {
            uint64_t hash = static_cast<uint64_t>(last + 1) * 0xD6E8FEB86659FD93u;
            for (uint64_t word : taken.words) hash = (hash ^ (hash >> 29) ^ word) * 0x9E3779B97F4A7C15u;
            return hash;
        }
    };

    // Different states, each with its largest value.
    class States {
      public:
        void clear() {
            states.clear();
            bits_ = few_bits;
        }
        void add(const State &state) {
            if (states.size() < few) {  // faster than hashing
                for (State &other : states)
                    if (other == state) {
                        other.value = std::max(other.value, state.value);
                        return;
                    }
                states.push_back(state);
                if (states.size() == few) rebuild();
                return;
            }
            size_t mask = table_.size() - 1, at = slot_of(state.hash(), bits_);
            for (; table_[at] != none; at = (at + 1) & mask)
                if (states[table_[at]] == state) {
                    states[table_[at]].value = std::max(states[table_[at]].value, state.value);
                    return;
                }
            table_[at] = static_cast<uint32_t>(states.size());
            states.push_back(state);
            if (2 * states.size() > table_.size()) {
                ++bits_;
                rebuild();
            }
        }

        std::vector<State> states;

      private:
        static constexpr size_t few = 24;
        static constexpr unsigned few_bits = 6;

        void rebuild() {
            table_.assign(size_t{1} << bits_, none);
            size_t mask = table_.size() - 1;
            for (size_t i = 0; i < states.size(); ++i) {
                size_t at = slot_of(states[i].hash(), bits_);
                while (table_[at] != none) at = (at + 1) & mask;
                table_[at] = static_cast<uint32_t>(i);
            }
        }

        std::vector<uint32_t> table_;
        unsigned bits_ = few_bits;
    };

    // Sets by type: places in the reference; by word: places that it may be matched with, places that it or later ones might
    // want, places whose use by a later word might make a link, and the most that this and later words can add to the value.
    // Whether any word has a place.
    bool begin() {
        size_t count = words_.size();
        tried_ = 0;
        masks_.assign(types_.size(), {});
        for (size_t place = 0; place < reference_.size(); ++place) masks_[reference_[place]].set(place);
        candidates_.clear();
        for (uint32_t word : words_) {
            candidates_.push_back(masks_[word]);
            for (const auto *others : {&types_[word].same_stem, &types_[word].synonyms})
                for (uint32_t other : *others) candidates_.back() = candidates_.back() | masks_[other];
        }
        candidates_.emplace_back();
        if (std::none_of(candidates_.begin(), candidates_.end(), [](const Bits<W> &each) { return each.any(); })) return false;
        unit_ = static_cast<int64_t>(count) + 1;
        wanted_.assign(count + 1, {});
        alive_.assign(count + 1, {});
        potential_.assign(count + 1, 0);
        for (size_t i = count; i-- > 0;) {
            Bits<W> before = i > 0 ? candidates_[i - 1].up() : Bits<W>{}, after = candidates_[i + 1].down();
            wanted_[i] = wanted_[i + 1] | candidates_[i];
            alive_[i] = alive_[i + 1] | (candidates_[i] & (before | after));
            int64_t gain = (candidates_[i] & before).any() ? 1 : 0;
            potential_[i] = potential_[i + 1] + gain + (types_[words_[i]].synonyms.empty() ? 0 : unit_);
        }
        return true;
    }

    void start() {
        for (Type &type : types_) type.left = type.ours;
        hurried_ = false;
        now_.clear();
        now_.add({{}, -1, 0});
    }

    int64_t best() const {
        int64_t best = -1;
        for (const State &state : now_.states) best = std::max(best, state.value);
        return best;
    }

    // The best value if there are never more states than so many, −1 otherwise.
    int64_t all_of(size_t width) {
        start();
        for (size_t i = 0; i < words_.size(); ++i) {
            --types_[words_[i]].left;
            if (!candidates_[i].any()) continue;  // no state says that the last match goes on here, and none wants anything else
            next_.clear();
            for (const State &state : now_.states) {
                expand(i, state, -1);
                if (next_.states.size() > width) return -1;
            }
            std::swap(now_, next_);
        }
        return best();
    }

    // The best value that is found above the floor, or the floor.
    int64_t beam(int64_t floor) {
        start();
        int64_t steps = limits_.steps, count = static_cast<int64_t>(words_.size());
        for (size_t i = 0; i < words_.size(); ++i) {
            Type &type = types_[words_[i]];
            --type.left;
            if (!candidates_[i].any()) continue;
            // What earlier words left over is shared by all that come.
            int64_t share = floor_divide(steps, count - static_cast<int64_t>(i));
            // Stems and synonyms must be counted to see what may be taken.
            int64_t counting = 4 * static_cast<int64_t>(type.same_stem.size() + type.synonyms.size());
            auto held = static_cast<int64_t>(now_.states.size()), wide = static_cast<int64_t>(limits_.wide);
            hurried_ = held * (static_cast<int64_t>(candidates_[i].count()) + counting) > share;
            if (hurried_ || held > wide) {
                auto cost = static_cast<int64_t>(limits_.few) + counting;
                keep_best(i, static_cast<size_t>(std::min(wide, hurried_ ? std::max<int64_t>(floor_divide(share, cost), 1) : wide)));
            }
            next_.clear();
            for (const State &state : now_.states) steps -= counting + expand(i, state, floor - potential_[i + 1]);
            std::swap(now_, next_);
        }
        return now_.states.empty() ? floor : best();
    }

    // Keeps the states before a word that will have most if they go on.
    void keep_best(size_t i, size_t most) {
        std::vector<State> &states = now_.states;
        if (states.size() <= most) return;
        std::vector<std::pair<int64_t, size_t>> ranked;  // value with what is ahead, and the state
        for (size_t s = 0; s < states.size(); ++s) {
            int64_t ahead = 0;
            auto place = static_cast<size_t>(states[s].last + 1);
            if (place > 0)
                for (; ahead < static_cast<int64_t>(longest) && goes_on(i, place, static_cast<size_t>(ahead)); ++ahead) {}
            ranked.emplace_back(states[s].value + ahead, s);
        }
        auto before = [&](const auto &a, const auto &b) {
            const State &one = states[a.second], &other = states[b.second];
            if (a.first != b.first) return a.first > b.first;
            if (one.value != other.value) return one.value > other.value;
            if (!(one.taken == other.taken)) return one.taken < other.taken;
            return one.last < other.last;
        };
        std::nth_element(ranked.begin(), ranked.begin() + static_cast<ptrdiff_t>(most), ranked.end(), before);
        std::vector<State> kept;
        for (size_t s = 0; s < most; ++s) kept.push_back(states[ranked[s].second]);
        states = std::move(kept);
    }

    // Whether a run that begins at a word and a place has a match so many words later.
    bool goes_on(size_t i, size_t place, size_t later) const {
        return i + later < words_.size() && candidates_[i + later].test(place + later);
    }

    // Adds the states that a word leads to and that are worth more than the least; how many were tried.
    int64_t expand(size_t i, const State &state, int64_t least) {
        const Bits<W> &following = candidates_[i + 1], &wanted = wanted_[i + 1];
        int64_t tried = 0;
        auto take = [&](int64_t place, int64_t gain) {
            ++tried;
            int64_t worth = state.value + gain;
            if (worth <= least) return;
            if (place < 0) {
                next_.add({state.taken & wanted, -1, worth});
                return;
            }
            Bits<W> now = state.taken;
            auto at = static_cast<size_t>(place);
            now.set(at);
            bool on = following.test(at + 1) && !now.test(at + 1);
            next_.add({now & wanted, on ? place : -1, worth});
        };
        choose(i, state, following, take);
        tried_ += static_cast<uint64_t>(tried);
        return tried;
    }

    // Calls with places of the reference for a word, −1 for none, and what each adds to the value.
    template <typename Take> void choose(size_t i, const State &state, const Bits<W> &following, Take &take) {
        const Type &type = types_[words_[i]];
        const Bits<W> &taken = state.taken;
        Bits<W> own = masks_[words_[i]].without(taken);
        if (own.any()) places(i, own, state.last, following, 0, take);
        if (type.left < own.count()) return;  // its later equals cannot take all of them: it must be matched
        for (uint32_t other : type.same_stem) {
            Bits<W> free = spare(other, taken);
            if (free.any()) places(i, free, state.last, following, 0, take);
        }
        if (!type.same_stem.empty() && spares(type.stem, taken) > surplus(type.stem, taken)) return;
        take(-1, 0);
        for (uint32_t other : type.synonyms) {
            Bits<W> free = spare(other, taken);
            if (!free.any()) continue;
            int64_t wanting = surplus(types_[other].stem, taken);
            if (wanting == 0 || spares(types_[other].stem, taken) > wanting) places(i, free, state.last, following, unit_, take);
        }
    }

    // Calls with the places of one word in the reference that must be told apart.
    template <typename Take>
    void places(size_t i, Bits<W> free, int64_t last, const Bits<W> &following, int64_t gain, Take &take) {
        if (last >= 0 && free.test(static_cast<size_t>(last) + 1)) {
            take(last + 1, gain + 1);
            free.flip(static_cast<size_t>(last) + 1);
        }
        Bits<W> linking = free & following.down(), others = free ^ linking;
        // A place that makes no link here or later is as good as any other without a link here, or better.
        Bits<W> dead = others.without(alive_[i + 1]);
        if (dead.any()) {
            others = {};
            others.set(dead.lowest());
        }
        if (hurried_ && free.count() > limits_.few) choose_few(i, linking, others);
        for (Bits<W> *mask : {&linking, &others})
            while (mask->any()) {
                size_t place = mask->lowest();
                take(static_cast<int64_t>(place), gain);
                mask->flip(place);
            }
    }

    // Leaves a few of the places, those first where the longest runs begin.
    void choose_few(size_t i, Bits<W> &linking, Bits<W> &others) const {
        Bits<W> chosen, rest;
        size_t count = 0;
        for (size_t length = longest; length > 0 && count < limits_.few; --length) {
            Bits<W> more = (run_begins(candidates_, i, length) & linking).without(chosen);
            for (; count < limits_.few && more.any(); ++count) {
                size_t place = more.lowest();
                chosen.set(place);
                more.flip(place);
            }
        }
        for (Bits<W> more = others; count < limits_.few && more.any(); ++count) {
            size_t place = more.lowest();
            rest.set(place);
            more.flip(place);
        }
        linking = chosen;
        others = rest;
    }

    // Places where a run of so many matches begins at a word.
    static Bits<W> run_begins(const std::vector<Bits<W>> &places, size_t i, size_t length) {
        if (i + length >= places.size()) return {};  // one more stands behind the last word
        Bits<W> begins = places[i];
        for (size_t step = 1; step < length && begins.any(); ++step) begins = begins & places[i + step].down(step);
        return begins;
    }

    // The free places of a word in the reference if its later equals in the output leave one over.
    Bits<W> spare(uint32_t type, const Bits<W> &taken) const {
        Bits<W> free = masks_[type].without(taken);
        return free.count() > types_[type].left ? free : Bits<W>{};
    }
    int64_t free_count(uint32_t type, const Bits<W> &taken) const {
        return static_cast<int64_t>(masks_[type].without(taken).count());
    }
    // How many free places with a stem are left over by later equals.
    int64_t spares(uint32_t stem, const Bits<W> &taken) const {
        int64_t sum = 0;
        for (uint32_t type : stems_[stem].theirs) sum += free_count(type, taken) - types_[type].left;
        return sum;
    }
    // How many later words with a stem find no equal; the reference's other words are theirs to take.
    int64_t surplus(uint32_t stem, const Bits<W> &taken) const {
        int64_t sum = 0;
        for (uint32_t type : stems_[stem].ours)
            if (types_[type].left > 0) sum += types_[type].left - free_count(type, taken);
        return sum;
    }

    // What a greedy alignment is worth: the longest runs of equal words first, of equally long ones those that come first; then
    // what is left with words that it is related to. It has as many exact matches and matches of stems as there can be: what is
    // left of a word after all matches with its equals is its surplus, wherever it stands, and any two with one stem can be
    // matched.
    int64_t tiling() {
        size_t count = words_.size();
        std::vector<Bits<W>> own;
        for (uint32_t word : words_) own.push_back(masks_[word]);
        own.emplace_back();
        std::vector<int64_t> partner(count + 1, -2);
        Bits<W> free;
        for (const Bits<W> &mask : masks_) free = free | mask;
        auto match = [&](size_t i, size_t place) {
            partner[i] = static_cast<int64_t>(place);
            free.flip(place);
        };
        auto free_words = [&](size_t i, size_t length) {
            for (size_t step = 0; step < length; ++step)
                if (partner[i + step] >= 0) return false;
            return true;
        };
        for (size_t length = longest; length > 0; --length) {
            auto blocks = [&] {  // where so many free places in a row begin
                Bits<W> found = free;
                for (size_t step = 1; step < length; ++step) found = found & free.down(step);
                return found;
            };
            Bits<W> places = blocks();
            for (size_t i = 0; i + length <= count; ++i) {
                Bits<W> there = run_begins(own, i, length) & places;
                if (!there.any() || !free_words(i, length)) continue;
                size_t place = there.lowest();
                // The words after it are taken as far as they go on.
                for (size_t j = i; j < count && partner[j] < 0 && free.test(place) && own[j].test(place); ++j, ++place) match(j, place);
                places = blocks();
            }
        }
        int64_t synonyms = 0;
        for (auto related : {&Type::same_stem, &Type::synonyms})
            for (size_t i = 0; i < count; ++i) {
                Types others = types_[words_[i]].*related;
                if (others.empty() || partner[i] >= 0) continue;
                Bits<W> places;
                for (uint32_t other : others) places = places | masks_[other];
                places = places & free;
                if (!places.any()) continue;
                // Next to other matches if possible.
                int64_t after = i > 0 && partner[i - 1] >= 0 ? partner[i - 1] + 1 : -1;
                int64_t before = partner[i + 1] >= 0 ? partner[i + 1] - 1 : -1;
                auto fits = [&](int64_t place) { return place >= 0 && places.test(static_cast<size_t>(place)); };
                match(i, fits(after) ? static_cast<size_t>(after) : fits(before) ? static_cast<size_t>(before) : places.lowest());
                synonyms += related == &Type::synonyms;
            }
        int64_t links = 0;
        for (size_t i = 0; i + 1 < count; ++i) links += partner[i] >= 0 && partner[i + 1] == partner[i] + 1;
        return synonyms * unit_ + links;
    }

    std::vector<Type> &types_;
    const std::vector<Stem> &stems_;
    const std::vector<uint32_t> &words_, &reference_;
    const Limits &limits_;
    std::vector<Bits<W>> masks_, candidates_;  // of candidates one more, empty, behind the last
    std::vector<Bits<W>> wanted_, alive_;
    std::vector<int64_t> potential_;
    int64_t unit_ = 1;
    bool hurried_ = false;
    uint64_t tried_ = 0;
    States now_, next_;
};

Alignment Aligner::align(std::span<const uint32_t> words, std::span<const uint32_t> reference) {
    if (words.empty() || reference.empty()) return {};
    if (reference.size() > most_pairs / words.size()) throw std::length_error("the texts have too many words to align them");
    number(words, reference);
    auto found = [&]<size_t W>() { return Search<W>(*this).run(exact_, stemmed_, has_synonyms_); };
    size_t size = (reference.size() + 63) / 64;
    if (size <= 1) {  // most are: its memory is kept
        if (!small_) small_ = std::make_shared<Search<1>>(*this);
        return small_->run(exact_, stemmed_, has_synonyms_);
    }
    if (size <= 2) return found.template operator()<2>();
    if (size <= 8) return found.template operator()<8>();
    if (size <= 64) return found.template operator()<64>();
    if (size <= 512) return found.template operator()<512>();
    throw std::length_error("a reference has more than 32,768 words, too many to align them");
}

}  // namespace trubleu::meteor
