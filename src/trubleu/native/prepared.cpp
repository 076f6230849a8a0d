#include "prepared.hpp"

#include <bit>
#include <stdexcept>

namespace trubleu {

namespace {

constexpr uint32_t root = absent;

uint64_t edge_key(uint32_t parent, uint32_t token) { return uint64_t{parent} << 32 | token; }

// Spreads a hash over a table whose size is no power of two.
size_t scaled_slot(uint64_t hash, uint64_t capacity) {
    return static_cast<size_t>((hash >> 32) * capacity >> 32);
}

// A third of the slots stay free: short probes, and every search ends.
uint64_t capacity_for(size_t nodes) { return nodes + nodes / 2 + 1; }

template <typename Visit>
void for_each_holder(const Prepared &prepared, size_t segment, size_t slot, Visit visit) {
    uint32_t owner = prepared.owners[slot];
    if (!(owner & shared_owner)) {
        visit(owner, prepared.counts[slot]);
        return;
    }
    const uint32_t *list = prepared.postings.data() + prepared.posting_begins[segment] + (owner & ~shared_owner);
    uint32_t size = *list++;
    for (uint32_t i = 0; i < size; ++i, list += 2) visit(list[0], list[1]);
}

}  // namespace

PreparedBuilder::PreparedBuilder(const Options &options) : options_(options) {
    data_.token_table.assign(size_t{2} << token_bits_, absent);
    data_.token_begins.push_back(0);
    data_.slot_begins.push_back(0);
    data_.posting_begins.push_back(0);
    data_.reference_begins.push_back(0);
    table_.assign(size_t{1} << table_bits_, 0);
}

uint32_t PreparedBuilder::intern(const Token &token) {
    size_t mask = (size_t{1} << token_bits_) - 1;
    for (size_t at = slot_of(token.hash, token_bits_);; at = (at + 1) & mask) {
        uint64_t *slot = &data_.token_table[2 * at];
        uint32_t id = static_cast<uint32_t>(slot[1]), size = static_cast<uint32_t>(slot[1] >> 32);
        if (id == absent) {
            size_t known = data_.token_begins.size() - 1;
            if (known >= absent) throw std::length_error("references have more than 2^32 distinct tokens");
            slot[0] = token.word;
            slot[1] = uint64_t{token.size} << 32 | known;
            data_.token_bytes.insert(data_.token_bytes.end(), token.bytes, token.bytes + token.size);
            data_.token_begins.push_back(data_.token_bytes.size());
            if (2 * (known + 1) > size_t{1} << token_bits_) grow_vocabulary();
            return static_cast<uint32_t>(known);
        }
        if (slot[0] == token.word && size == token.size &&
            token.rest_equals(data_.token_bytes.data() + data_.token_begins[id]))
            return id;
    }
}

void PreparedBuilder::grow_vocabulary() {
    ++token_bits_;
    std::vector<uint64_t> table(size_t{2} << token_bits_, absent);
    size_t mask = (size_t{1} << token_bits_) - 1, known = data_.token_begins.size() - 1;
    // Words are read eight bytes at a time, so the heap needs room behind its last token while it is hashed.
    data_.token_bytes.resize(data_.token_bytes.size() + 8);
    for (size_t id = 0; id < known; ++id) {
        uint64_t begin = data_.token_begins[id];
        Token token(data_.token_bytes.data() + begin, static_cast<uint32_t>(data_.token_begins[id + 1] - begin));
        size_t at = slot_of(token.hash, token_bits_);
        while (static_cast<uint32_t>(table[2 * at + 1]) != absent) at = (at + 1) & mask;
        table[2 * at] = token.word;
        table[2 * at + 1] = uint64_t{token.size} << 32 | id;
    }
    data_.token_bytes.resize(data_.token_bytes.size() - 8);
    data_.token_table = std::move(table);
}

uint32_t PreparedBuilder::node_of(uint32_t parent, uint32_t token) {
    uint64_t key = edge_key(parent, token);
    size_t mask = table_.size() - 1;
    for (size_t at = slot_of(hash_edge(parent, token), table_bits_);; at = (at + 1) & mask) {
        if (table_[at] == 0) {
            nodes_.push_back(Node{key, 0, 0, 0, 0});
            table_[at] = static_cast<uint32_t>(nodes_.size());
            return static_cast<uint32_t>(nodes_.size() - 1);
        }
        if (nodes_[table_[at] - 1].key == key) return table_[at] - 1;
    }
}

void PreparedBuilder::enter(const Line &line, uint32_t reference) {
    size_t order = static_cast<size_t>(options_.order);
    size_t most = nodes_.size() + line.size() * order;
    if (most >= shared_owner) throw std::length_error("one segment has more than 2^31 distinct n-grams");
    if (2 * most > table_.size()) {
        table_bits_ = table_bits(2 * most);
        table_.assign(size_t{1} << table_bits_, 0);
        size_t mask = table_.size() - 1;
        for (size_t i = 0; i < nodes_.size(); ++i) {
            uint32_t parent = static_cast<uint32_t>(nodes_[i].key >> 32), token = static_cast<uint32_t>(nodes_[i].key);
            size_t at = slot_of(hash_edge(parent, token), table_bits_);
            while (table_[at] != 0) at = (at + 1) & mask;
            table_[at] = static_cast<uint32_t>(i + 1);
        }
    }
    touched_.clear();
    auto count = [&](uint32_t node) {
        if (nodes_[node].count++ == 0) touched_.push_back(node);
    };
    uint32_t ending[max_order] = {};
    size_t active = 0;
    for (const Span &span : line) {
        uint32_t token = intern(Token(line.bytes() + span.begin, span.size()));
        size_t grams = std::min(active + 1, order);
        uint32_t previous = root;
        for (size_t n = 0; n < grams; ++n) {
            uint32_t node = node_of(previous, token);
            previous = ending[n];
            ending[n] = node;
            count(node);
        }
        active = grams;
    }
    for (uint32_t index : touched_) {
        Node &node = nodes_[index];
        occurrences_.push_back(Occurrence{index, reference, node.count});
        node.largest = std::max(node.largest, node.count);
        node.last_reference = reference;
        ++node.holders;
        node.count = 0;
    }
}

void PreparedBuilder::add_segment(const Text *references, size_t count) {
    if (count >= shared_owner) throw std::length_error("one segment has more than 2^31 references");
    nodes_.clear();
    occurrences_.clear();
    std::fill(table_.begin(), table_.end(), 0);
    for (size_t j = 0; j < count; ++j) {
        line_.load(references[j], options_.tokenizer, options_.lowercase);
        enter(line_, static_cast<uint32_t>(j));
        data_.lengths.push_back(static_cast<uint32_t>(line_.size()));
    }
    store();
    data_.reference_begins.push_back(data_.lengths.size());
    // A long segment must not make every later one clear a huge table.
    if (table_.size() > 65536 && nodes_.size() * 16 < table_.size()) {
        table_bits_ = 10;
        table_.assign(size_t{1} << table_bits_, 0);
        table_.shrink_to_fit();
    }
}

void PreparedBuilder::store() {
    uint64_t base = data_.slot_begins.back(), capacity = capacity_for(nodes_.size());
    data_.keys.resize(base + capacity, empty_key);
    data_.counts.resize(base + capacity, 0);
    data_.owners.resize(base + capacity, 0);
    slots_.resize(nodes_.size());
    list_begins_.assign(nodes_.size(), 0);
    uint64_t *keys = data_.keys.data() + base;
    uint32_t postings = 0;
    // Parents come before their children, so the parent's slot is known when the child needs it.
    for (size_t i = 0; i < nodes_.size(); ++i) {
        const Node &node = nodes_[i];
        uint32_t parent = static_cast<uint32_t>(node.key >> 32), token = static_cast<uint32_t>(node.key);
        if (parent != root) parent = slots_[parent];
        size_t at = scaled_slot(hash_edge(parent, token), capacity);
        while (keys[at] != empty_key) at = at + 1 == capacity ? 0 : at + 1;
        keys[at] = edge_key(parent, token);
        slots_[i] = static_cast<uint32_t>(at);
        data_.counts[base + at] = node.largest;
        data_.owners[base + at] = node.last_reference;
        if (node.holders > 1) {
            data_.owners[base + at] = shared_owner | postings;
            list_begins_[i] = postings;
            uint64_t needed = uint64_t{postings} + 1 + 2 * uint64_t{node.holders};
            if (needed >= shared_owner) throw std::length_error("one segment's references share too many n-grams");
            postings = static_cast<uint32_t>(needed);
        }
    }
    uint64_t posting_base = data_.posting_begins.back();
    data_.postings.resize(posting_base + postings, 0);
    uint32_t *lists = data_.postings.data() + posting_base;
    for (const Occurrence &occurrence : occurrences_) {
        if (nodes_[occurrence.node].holders < 2) continue;
        uint32_t *list = lists + list_begins_[occurrence.node];
        uint32_t *pair = list + 1 + 2 * list[0]++;
        pair[0] = occurrence.reference;
        pair[1] = occurrence.count;
    }
    data_.slot_begins.push_back(base + capacity);
    data_.posting_begins.push_back(posting_base + postings);
}

// Afterwards the builder is a new one.
PreparedData PreparedBuilder::finish() {
    PreparedData data = std::move(data_);
    *this = PreparedBuilder(options_);
    return data;
}

void fill_layer(const Prepared &prepared, std::span<const double> weights, double *values, uint32_t *counts,
                size_t first_segment, size_t last_segment) {
    for (size_t segment = first_segment; segment < last_segment; ++segment) {
        const double *segment_weights = weights.data() + prepared.reference_begins[segment];
        for (uint64_t slot = prepared.slot_begins[segment]; slot < prepared.slot_begins[segment + 1]; ++slot) {
            double best = 0;
            uint32_t largest = 0;
            if (prepared.keys[slot] != empty_key) {
                for_each_holder(prepared, segment, slot, [&](uint32_t reference, uint32_t count) {
                    double weight = segment_weights[reference];
                    if (std::isnan(weight)) return;
                    if (largest == 0 || weight > best) best = weight;
                    largest = std::max(largest, count);
                });
            }
            values[slot] = best;
            counts[slot] = largest;
        }
    }
}

PreparedScorer::PreparedScorer(const Options &options, const Prepared &prepared, const Layer &layer)
    : options_(options), prepared_(prepared), layer_(layer),
      token_bits_(static_cast<unsigned>(std::countr_zero(prepared.token_table.size() / 2))) {}

uint32_t PreparedScorer::find_token(const Token &token) const {
    size_t mask = (size_t{1} << token_bits_) - 1;
    for (size_t at = slot_of(token.hash, token_bits_);; at = (at + 1) & mask) {
        const uint64_t *slot = &prepared_.token_table[2 * at];
        uint32_t id = static_cast<uint32_t>(slot[1]);
        if (id == absent) return absent;
        if (slot[0] == token.word && slot[1] >> 32 == token.size &&
            token.rest_equals(prepared_.token_bytes.data() + prepared_.token_begins[id]))
            return id;
    }
}

inline size_t PreparedScorer::edge_slot(uint32_t parent, uint32_t token) const {
    return scaled_slot(hash_edge(parent, token), capacity_);
}

inline uint32_t PreparedScorer::find_edge(uint32_t parent, uint32_t token) const {
    uint64_t key = edge_key(parent, token);
    for (size_t at = edge_slot(parent, token);; at = at + 1 == capacity_ ? 0 : at + 1) {
        if (keys_[at] == key) return static_cast<uint32_t>(at);
        if (keys_[at] == empty_key) return absent;
    }
}

// The tables of a large set are not in the cache. Looking up stage by stage, and asking for the next stage's memory as
// soon as its address is known, lets the waits overlap.
void PreparedScorer::look_up() {
    tokens_.clear();
    for (const Span &span : line_) {
        tokens_.emplace_back(line_.bytes() + span.begin, span.size());
        __builtin_prefetch(&prepared_.token_table[2 * slot_of(tokens_.back().hash, token_bits_)]);
    }
    size_t length = tokens_.size();
    ids_.resize(length);
    unigrams_.resize(length);
    for (size_t i = 0; i < length; ++i) {
        ids_[i] = find_token(tokens_[i]);
        __builtin_prefetch(keys_ + edge_slot(root, ids_[i]));
    }
    for (size_t i = 0; i < length; ++i) {
        unigrams_[i] = ids_[i] == absent ? absent : find_edge(root, ids_[i]);
        if (i > 0) __builtin_prefetch(keys_ + edge_slot(unigrams_[i - 1], ids_[i]));
    }
}

double PreparedScorer::value_of(size_t slot, uint32_t hypothesis_count, size_t segment) const {
    uint32_t clipped = std::min(hypothesis_count, layer_.counts[slot]);
    switch (options_.credit) {
        case Credit::counts: return clipped;
        case Credit::fork2019: return clipped == 0 ? 0 : layer_.values[slot] * clipped;
        case Credit::products: break;
    }
    if (clipped < 2) return clipped == 0 ? 0 : layer_.values[slot];
    const double *weights = layer_.weights.data() + prepared_.reference_begins[segment];
    double best = -std::numeric_limits<double>::infinity();
    for_each_holder(prepared_, segment, slot, [&](uint32_t reference, uint32_t count) {
        double weight = weights[reference];
        if (std::isnan(weight)) return;
        double value = weight * std::min(count, hypothesis_count);
        if (value > best) best = value;
    });
    return best;
}

void PreparedScorer::score(size_t segment, const Text &hypothesis, double *row) {
    line_.load(hypothesis, options_.tokenizer, options_.lowercase);
    uint64_t base = prepared_.slot_begins[segment];
    keys_ = prepared_.keys.data() + base;
    capacity_ = prepared_.slot_begins[segment + 1] - base;
    if (hypothesis_counts_.size() < capacity_) hypothesis_counts_.resize(2 * capacity_, 0);
    look_up();
    matches_.clear();
    auto count = [&](uint32_t slot, size_t n) {
        if (hypothesis_counts_[slot]++ == 0) matches_.push_back(Match{slot, static_cast<uint32_t>(n)});
    };
    size_t order = static_cast<size_t>(options_.order);
    uint32_t ending[max_order] = {};
    size_t active = 0;
    for (size_t i = 0; i < line_.size(); ++i) {
        uint32_t previous = ending[0];
        if (unigrams_[i] == absent) {
            active = 0;
            continue;
        }
        size_t grams = std::min(active + 1, order), found = 1;
        ending[0] = unigrams_[i];
        count(unigrams_[i], 0);
        for (; found < grams; ++found) {
            uint32_t slot = find_edge(previous, ids_[i]);
            if (slot == absent) break;
            previous = ending[found];
            ending[found] = slot;
            count(slot, found);
        }
        active = found;
    }
    double matches[max_order] = {};
    for (const Match &match : matches_) {
        matches[match.order] += value_of(base + match.slot, hypothesis_counts_[match.slot], segment);
        hypothesis_counts_[match.slot] = 0;
    }
    LengthChoice length(options_.reference_length, line_.size());
    double best_weight = layer_.weights.empty() ? 1.0 : -std::numeric_limits<double>::infinity();
    for (uint64_t j = prepared_.reference_begins[segment]; j < prepared_.reference_begins[segment + 1]; ++j) {
        double weight = layer_.weights.empty() ? 1.0 : layer_.weights[j];
        if (std::isnan(weight)) continue;
        best_weight = std::max(best_weight, weight);
        if (!options_.positive_lengths || weight > 0) length.add(prepared_.lengths[j]);
    }
    write_row(options_, row, line_.size(), length.value(), matches, best_weight);
}

}  // namespace trubleu
