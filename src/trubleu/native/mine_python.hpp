// What the bindings of mining share.
#pragma once

#include <any>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "mine.hpp"
#include "mine_terrain.hpp"
#include "python.hpp"

namespace trubleu::mining {

// A case-folded text as words with single spaces in between; ASCII letters need no folding before.
std::string_view fold(Line &line, const Text &casefolded, std::string &joined);

// A shard as Python holds it: the arrays, most likely mapped from a file, and the kernels' view of them.
class ShardHandle {
  public:
    ShardHandle(nb::dict arrays, size_t rows);
    const Shard &shard() const { return shard_; }
    uint64_t serial() const { return serial_; }  // of this object alone, from 1 on

    // What searches have found out about all rows, for the next one.
    std::shared_ptr<Ground> ground() const {
        std::lock_guard lock(guard_);
        if (!ground_) ground_ = std::make_shared<Ground>(shard_);
        return ground_;
    }
    void forget() const {
        std::lock_guard lock(guard_);
        ground_.reset();
    }

  private:
    template <typename T> std::span<const T> view(nb::dict arrays, const char *name) {
        auto array = nb::cast<InArray<T>>(arrays[name]);
        held_.emplace_back(array);
        return {array.data(), array.shape(0)};
    }

    static inline std::atomic<uint64_t> made_{0};
    uint64_t serial_ = ++made_;
    std::vector<std::any> held_;
    Shard shard_;
    mutable std::mutex guard_;
    mutable std::shared_ptr<Ground> ground_;
};

}  // namespace trubleu::mining
