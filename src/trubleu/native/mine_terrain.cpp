#include "mine_terrain.hpp"

#include <cmath>

namespace trubleu::mining {

namespace {

constexpr size_t dense_share = 20;  // from one row in so many on, bits are faster than a list

}  // namespace

Dense::Dense(std::span<const uint32_t> list, size_t rows) {
    size_t size = (rows + window - 1) / window * window / lanes, kept = 0, repeated = 0;
    for (uint32_t posting : list) repeated += (posting >> length_bits & (most_count - 1)) >= 1;
    twice = repeated * dense_share >= rows;
    bits.assign(twice ? 2 * size : size, 0);
    repeats.resize(list.size());
    uint32_t told = twice ? 2 : 1;
    for (uint32_t posting : list) {
        uint32_t row = row_of(posting), count = posting >> length_bits & (most_count - 1);
        if (row >= rows) Shard::damaged("a word comes in a row that is not there");
        size_t at = row / block * lanes + row % lanes, shift = row / lanes % lanes;
        bits[at] = static_cast<uint16_t>(bits[at] | 1u << shift);
        if (twice) bits[size + at] = static_cast<uint16_t>(bits[size + at] | uint32_t{count >= 1} << shift);
        repeats[kept] = posting;
        kept += count >= told;
    }
    repeats.resize(kept);
    repeats.shrink_to_fit();
}

Ground::Ground(const Shard &shard) : shard_(shard) {
    for (int field : {0, 1}) {
        lengths_[field].resize(shard.rows);
        for (size_t row = 0; row < shard.rows; ++row) {
            lengths_[field][row] = static_cast<uint16_t>(std::min<size_t>(shard.bag(field, row).size(), most_length));
            longest[field] = std::max<uint32_t>(longest[field], lengths_[field][row]);
        }
    }
}

std::shared_ptr<const std::vector<uint8_t>> Ground::by_length(int field, const std::vector<uint8_t> &shares) {
    std::lock_guard lock(guard_);
    ByLength &kept = by_length_[field];
    if (kept.shares != shares) {
        auto rows = std::make_shared<std::vector<uint8_t>>((shard_.rows + window - 1) / window * window, uint8_t{0});
        for (size_t row = 0; row < shard_.rows; ++row) (*rows)[row] = shares[lengths_[field][row]];
        kept = {shares, std::move(rows)};
    }
    return kept.rows;
}

std::shared_ptr<const Dense> Ground::dense(int field, uint32_t number) {
    auto list = shard_.list(field, number);
    if (list.empty() || list.size() * dense_share < shard_.rows) return nullptr;
    std::lock_guard lock(guard_);
    auto &its = dense_[field][number];
    if (!its) its = std::make_shared<const Dense>(list, shard_.rows);
    return its;
}

Terrain::Terrain(Ground &ground, const Scoring &scoring, std::span<const uint32_t> numbers) {
    for (int field : {0, 1}) {
        std::vector<uint8_t> shares(most_length + 1, 0);
        for (uint32_t length = 1; length <= most_length && scoring.mean[field] > 0; ++length)
            shares[length] = static_cast<uint8_t>(
                std::ceil(255 * std::min(1.0, scoring.worth(field, 1, length) / scoring.worth(field, 1, 1))));
        once_[field] = ground.by_length(field, shares);
        longest[field] = ground.longest[field];
        for (uint32_t number : numbers) {
            if (number == no_word) continue;
            if (auto its = ground.dense(field, number)) dense_[field].try_emplace(number, std::move(its));
        }
    }
}

}  // namespace trubleu::mining
