#include "ngram_counts.hpp"

#include <limits>
#include <numeric>
#include <stdexcept>

#include "python.hpp"

namespace trubleu {

namespace {

constexpr size_t positions_a_block = 1 << 12;

void count_once_more(uint32_t &count, uint32_t times = 1) {
    if (times > std::numeric_limits<uint32_t>::max() - count) throw std::length_error("an n-gram occurs 2^32 times or more");
    count += times;
}

// The places for which something is known, written to a buffer: which ones is hard to foresee, and no branch depends on it.
template <typename Known> std::span<const size_t> known_places(std::vector<size_t> &buffer, size_t begin, size_t end, Known known) {
    size_t count = 0;
    for (size_t i = begin; i < end; ++i) {
        buffer[count] = i;
        count += known(i);
    }
    return {buffer.data(), count};
}

// Edges that wait for their memory: each is asked for its slot of the table first, then for what that slot names.
class Pipeline {
  public:
    struct Item {
        uint64_t key, hash;
        size_t position;
        uint32_t segment;
    };

    explicit Pipeline(NgramLevel &level) : level_(level) {}

    template <typename Take> void push(const Item &item, Take take) {
        const NgramLevel::Shard &shard = level_.shard(item.hash & (NgramLevel::shards - 1));
        __builtin_prefetch(&shard.table[slot_of(item.hash, shard.bits)], 1);
        items_[pushed_ % depth] = item;
        if (pushed_ >= looked) {
            const Item &next = items_[(pushed_ - looked) % depth];
            const NgramLevel::Shard &its = level_.shard(next.hash & (NgramLevel::shards - 1));
            uint32_t edge = its.table[slot_of(next.hash, its.bits)];
            if (edge != nothing) __builtin_prefetch(&its.edges[edge], 1);
        }
        if (pushed_ >= taken) take(items_[(pushed_ - taken) % depth]);
        ++pushed_;
    }
    template <typename Take> void finish(Take take) {
        for (size_t i = pushed_ - std::min(pushed_, taken); i < pushed_; ++i) take(items_[i % depth]);
    }

  private:
    static constexpr size_t depth = 32, looked = 12, taken = 24;

    NgramLevel &level_;
    Item items_[depth];
    size_t pushed_ = 0;
};

}  // namespace

uint32_t NgramLevel::Shard::number(uint64_t key, uint64_t hash) {
    grow_table(table, bits, edges.size(), [&](size_t i) { return hash_of(edges[i].key); });
    uint32_t &number = table[place(key, hash)];
    if (number == nothing) {
        if (edges.size() >= (size_t{1} << (32 - shard_bits)) - 1) throw std::length_error("there are too many different n-grams");
        number = static_cast<uint32_t>(edges.size());
        edges.push_back({key, 0, 0});
    }
    return number;
}

void NgramLevel::Shard::rebuild_table(size_t room) {
    bits = table_bits(room + 1);
    table.assign(size_t{1} << bits, nothing);
    table.shrink_to_fit();
    for (size_t i = 0; i < edges.size(); ++i) table[place(edges[i].key, hash_of(edges[i].key))] = static_cast<uint32_t>(i);
}

size_t NgramLevel::size() const {
    size_t size = 0;
    for (const Shard &shard : shards_) size += shard.edges.size();
    return size;
}

std::vector<size_t> NgramLevel::begins() const {
    std::vector<size_t> begins{0};
    for (const Shard &shard : shards_) begins.push_back(begins.back() + shard.edges.size());
    return begins;
}

size_t NgramCounts::size() const {
    size_t size = words_.size();
    for (const NgramLevel &level : levels_) size += level.size();
    return size;
}

size_t NgramCounts::memory() const {
    size_t size = words_.memory() + sizeof(WordCount) * word_counts_.capacity();
    for (const NgramLevel &level : levels_)
        for (size_t i = 0; i < NgramLevel::shards; ++i)
            size += sizeof(NgramLevel::Edge) * level.shard(i).edges.capacity() + 4 * level.shard(i).table.capacity();
    return size;
}

void NgramCounts::add(const WordTexts &texts, std::span<const int64_t> offsets, std::span<const uint32_t> numbers, bool drop_rare,
                      int threads) {
    std::span<const uint32_t> words = texts.ids();
    size_t segments = offsets.size() - 1;
    if (segments_ + segments >= std::numeric_limits<uint32_t>::max()) throw std::length_error("there are 2^32 segments or more");
    std::vector<uint32_t> moved;
    bool same = true;
    for (size_t i = 0; i < numbers.size(); ++i) same = same && numbers[i] == i;
    if (!same) {
        moved.reserve(words.size());
        for (uint32_t word : words) moved.push_back(numbers[word]);
        words = moved;
    }
    // Calls with the first place and the end of each text, and its segment's number.
    auto each_text = [&](auto &&work) {
        for (size_t segment = 0; segment < segments; ++segment)
            for (int64_t i = offsets[segment]; i < offsets[segment + 1]; ++i) {
                std::span<const uint32_t> text = texts[static_cast<size_t>(i - offsets[0])];
                size_t begin = static_cast<size_t>(text.data() - texts.ids().data());
                work(begin, begin + text.size(), static_cast<uint32_t>(segments_ + segment + 1));
            }
    };
    auto count = [&](auto &counted, uint32_t segment) {
        if (counted_ == Counted::segments && counted.segment == segment) return;
        counted.segment = segment;
        count_once_more(counted.count);
    };
    word_counts_.resize(words_.size());
    each_text([&](size_t begin, size_t end, uint32_t segment) {
        for (size_t i = begin; i < end; ++i) count(word_counts_[words[i]], segment);
    });
    // By position: the number of the n-gram of the last order that begins there, `nothing` if it was dropped.
    std::vector<uint32_t> before(orders_ > 1 ? words.size() : 0, nothing), after(orders_ > 2 ? words.size() : 0, nothing);
    for (size_t i = 0; i < before.size(); ++i) before[i] = !drop_rare || word_counts_[words[i]].count > 1 ? words[i] : nothing;
    for (size_t order = 2; order <= orders_; ++order) {
        NgramLevel &level = levels_[order - 2];
        bool last = order == orders_;
        size_t parts = std::min(NgramLevel::shards, static_cast<size_t>(std::max(threads, 1)));
        auto nothing_made = [] { return 0; };
        // Making tables larger takes time, making them too large memory.
        size_t positions = 0;
        for (size_t i = 0; i + 1 < before.size(); ++i) positions += before[i] != nothing && before[i + 1] != nothing;
        for (size_t i = 0; i < NgramLevel::shards; ++i)
            level.shard(i).rebuild_table(level.shard(i).edges.size() + positions / NgramLevel::shards / 2);
        parallel_blocks(parts, 1, threads, nothing_made, [&](int, size_t part, size_t) {
            Pipeline pipeline(level);
            std::vector<size_t> places;
            bool ours[NgramLevel::shards];
            for (size_t i = 0; i < NgramLevel::shards; ++i) ours[i] = i % parts == part;
            auto take = [&](const Pipeline::Item &item) {
                size_t number = item.hash & (NgramLevel::shards - 1);
                NgramLevel::Shard &shard = level.shard(number);
                uint32_t place = shard.number(item.key, item.hash);
                count(shard.edges[place], item.segment);
                if (!last) after[item.position] = NgramLevel::number_in(place, number);
            };
            each_text([&](size_t begin, size_t end, uint32_t segment) {
                if (end - begin < order) return;
                places.resize(end - begin);
                auto parts_known = [&](size_t i) { return (before[i] != nothing) & (before[i + 1] != nothing); };
                for (size_t i : known_places(places, begin, end - order + 1, parts_known)) {
                    uint32_t word = words[i + order - 1];
                    uint64_t hash = hash_edge(before[i], word);
                    if (ours[hash & (NgramLevel::shards - 1)]) pipeline.push({NgramLevel::key_of(before[i], word), hash, i, segment}, take);
                }
            });
            pipeline.finish(take);
        });
        if (drop_rare) {
            std::vector<uint32_t> kept[NgramLevel::shards];  // the new place of each edge
            parallel_blocks(NgramLevel::shards, 1, threads, nothing_made, [&](int, size_t number, size_t) {
                NgramLevel::Shard &shard = level.shard(number);
                kept[number].resize(shard.edges.size());
                size_t count = 0;
                for (size_t i = 0; i < shard.edges.size(); ++i) {
                    bool often = shard.edges[i].count > 1;
                    kept[number][i] = often ? static_cast<uint32_t>(count) : nothing;
                    shard.edges[count] = shard.edges[i];
                    count += often;
                }
                shard.edges.resize(count);
                shard.edges.shrink_to_fit();
                shard.rebuild_table(2 * shard.edges.size());  // sparse, as most that is looked for is not there
            });
            if (!last)
                parallel_blocks(after.size(), positions_a_block, threads, nothing_made, [&](int, size_t begin, size_t end) {
                    std::vector<size_t> places(end - begin);
                    for (size_t i : known_places(places, begin, end, [&](size_t i) { return after[i] != nothing; })) {
                        size_t number = after[i] & (NgramLevel::shards - 1);
                        uint32_t place = kept[number][after[i] >> NgramLevel::shard_bits];
                        after[i] = place == nothing ? nothing : NgramLevel::number_in(place, number);
                    }
                });
        }
        if (!last) {
            std::swap(before, after);
            std::fill(after.begin(), after.end(), nothing);
        }
    }
    tokens_ += words.size();
    segments_ += segments;
}

void NgramCounts::merge(std::span<const uint32_t> numbers, const PlainCounts &counts, uint64_t tokens, uint64_t segments,
                        uint32_t least) {
    // Counts of segments carry the number of the last one, and those to come must have other numbers.
    if (segments_ + segments >= std::numeric_limits<uint32_t>::max()) throw std::length_error("there are 2^32 segments or more");
    word_counts_.resize(words_.size());
    for (size_t i = 0; i < numbers.size(); ++i)
        if (numbers[i] != nothing) count_once_more(word_counts_[numbers[i]].count, counts.words[i]);
    std::vector<uint32_t> last(numbers.begin(), numbers.end()), next;
    for (size_t level = 0; level < levels_.size(); ++level) {
        const PlainCounts::Level &theirs = counts.levels[level];
        next.assign(theirs.edges.size(), nothing);
        for (size_t i = 0; i < theirs.edges.size(); ++i) {
            size_t prefix = theirs.edges[i] >> 32, word = theirs.edges[i] & 0xFFFFFFFF;
            if (prefix >= last.size() || word >= numbers.size()) throw std::invalid_argument("an n-gram has parts that are not there");
            if (theirs.counts[i] < least || last[prefix] == nothing || numbers[word] == nothing) continue;
            uint64_t key = NgramLevel::key_of(last[prefix], numbers[word]), hash = NgramLevel::hash_of(key);
            size_t number = hash & (NgramLevel::shards - 1);
            NgramLevel::Shard &shard = levels_[level].shard(number);
            uint32_t place = shard.number(key, hash);
            count_once_more(shard.edges[place].count, theirs.counts[i]);
            next[i] = NgramLevel::number_in(place, number);
        }
        std::swap(last, next);
    }
    tokens_ += tokens;
    segments_ += segments;
}

PlainCounts NgramCounts::plain() const {
    PlainCounts plain;
    for (size_t i = 0; i < words_.size(); ++i) plain.words.push_back(word_count(static_cast<uint32_t>(i)));
    std::vector<size_t> begins;
    for (const NgramLevel &level : levels_) {
        PlainCounts::Level to;
        to.edges.reserve(level.size());
        to.counts.reserve(level.size());
        for (size_t i = 0; i < NgramLevel::shards; ++i)
            for (const NgramLevel::Edge &edge : level.shard(i).edges) {
                uint64_t prefix = edge.key >> 32, word = edge.key & 0xFFFFFFFF;
                if (!begins.empty()) prefix = begins[prefix & (NgramLevel::shards - 1)] + (prefix >> NgramLevel::shard_bits);
                to.edges.push_back(prefix << 32 | word);
                to.counts.push_back(edge.count);
            }
        begins = level.begins();
        if (begins.back() >= nothing) throw std::length_error("there are too many different n-grams");
        plain.levels.push_back(std::move(to));
    }
    return plain;
}

}  // namespace trubleu
