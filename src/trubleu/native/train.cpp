#include "train.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "python.hpp"

#include <nanobind/stl/tuple.h>

namespace trubleu::training {

namespace {

// Eight lanes in one register or in two; sums run lane by lane, so the width of registers changes no bit.
#if defined(__AVX__)
constexpr std::size_t parts = 1;
#else
constexpr std::size_t parts = 2;
#endif
constexpr std::size_t width = lanes / parts;
using Floats = float __attribute__((vector_size(width * sizeof(float)), may_alias));
using Four = float __attribute__((vector_size(16)));

constexpr double least_likelihood = 1e-200;  // below it a further pair's probabilities might underflow
constexpr float least_probability = 3e-4F;   // what the sigmoid makes 0 is about as likely

// Lanes 0 and 4, 1 and 5, 2 and 6, 3 and 7 first, then those sums 0 and 2, 1 and 3, then these two.
template <std::size_t count> [[gnu::always_inline]] inline float sum_lanes(const Floats (&sums)[count]) {
    Four four;
    if constexpr (count == 1) {
        four = __builtin_shufflevector(sums[0], sums[0], 0, 1, 2, 3) + __builtin_shufflevector(sums[0], sums[0], 4, 5, 6, 7);
    } else {
        four = sums[0] + sums[count - 1];
    }
    four += __builtin_shufflevector(four, four, 2, 3, 0, 1);
    return four[0] + four[1];
}

}  // namespace

AliasTable::AliasTable(std::span<const double> weights) : cells_(weights.size()) {
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    const auto count = static_cast<double>(weights.size());
    std::vector<double> scaled(weights.size());
    std::vector<std::uint32_t> small, large;
    for (std::uint32_t i = 0; i < weights.size(); ++i) {
        scaled[i] = weights[i] / total * count;
        (scaled[i] < 1 ? small : large).push_back(i);
    }
    while (!small.empty() && !large.empty()) {
        const std::uint32_t poor = small.back(), rich = large.back();
        small.pop_back();
        cells_[poor] = {static_cast<std::uint32_t>(scaled[poor] * 0x1p32), rich};
        scaled[rich] -= 1 - scaled[poor];
        if (scaled[rich] < 1) {
            large.pop_back();
            small.push_back(rich);
        }
    }
    // What is left is 1 but for rounding.
    for (const std::vector<std::uint32_t> *rest : {&small, &large}) {
        for (const std::uint32_t entry : *rest) cells_[entry] = {0, entry};
    }
}

Sigmoid::Sigmoid() {
    const auto exact = [](std::size_t at) { return 1 / (1 + std::exp(double{limit} - static_cast<double>(at) / per_unit)); };
    for (std::size_t at = 0; at < std::size(values_); ++at) {
        values_[at] = {static_cast<float>(exact(at)), static_cast<float>(exact(at + 1) - exact(at))};
    }
}

std::size_t block_begin(std::span<const std::uint32_t> numbers, std::size_t block) {
    const std::size_t first = block * block_positions, last = first + block_positions;
    if (first == 0 || first >= numbers.size()) return std::min(first, numbers.size());
    for (std::size_t at = first - 1; at < std::min(last - 1, numbers.size()); ++at) {
        if (numbers[at] == sentence_end) return at + 1;
    }
    return first;
}

const std::vector<Unit> &Segmenter::cut(std::size_t begin, std::size_t end, Generator &generator) {
    const auto length = static_cast<std::uint32_t>(end - begin);
    const Level &words = levels_[0];
    units_.clear();
    if (levels_.size() == 1) {
        for (std::uint32_t at = 0; at < length; ++at) {
            const std::uint32_t number = words.numbers[begin + at];
            if (number < words.listed) units_.push_back({words.offset + number, at, at + words.length});
        }
        return units_;
    }
    candidates_.clear();
    for (std::uint32_t at = 0; at < length; ++at) {
        for (const Level &level : levels_.subspan(1)) {
            const std::uint32_t number = level.numbers[begin + at];
            if (number >= level.listed || at + level.length > length) continue;
            const std::uint32_t entry = level.offset + number;
            if (generator.half() < model_.join()[entry]) candidates_.push_back({entry, at, level.length});
        }
    }
    order_.resize(candidates_.size());
    std::iota(order_.begin(), order_.end(), 0U);
    generator.shuffle(order_);
    constexpr std::uint32_t nothing = 0, inside = 1;  // and from 2 on: a candidate begins here
    taken_.assign(length, nothing);
    for (const std::uint32_t number : order_) {
        const Candidate &candidate = candidates_[number];
        const auto first = taken_.begin() + candidate.begin, last = first + candidate.length;
        if (std::any_of(first, last, [](std::uint32_t mark) { return mark != nothing; })) continue;
        std::fill(first, last, inside);
        *first = number + 2;
    }
    for (std::uint32_t at = 0; at < length; ++at) {
        if (taken_[at] >= 2) {
            const Candidate &candidate = candidates_[taken_[at] - 2];
            units_.push_back({candidate.entry, at, at + candidate.length});
        } else if (taken_[at] == nothing && words.numbers[begin + at] < words.listed) {
            units_.push_back({words.offset + words.numbers[begin + at], at, at + 1});
        }
    }
    return units_;
}

Progress Worker::train(std::size_t begin, std::size_t end, std::uint64_t number, float alpha) {
    segments_ = model_.generator(number, 0);
    choices_ = model_.generator(number, 1);
    negatives_ = model_.generator(number, 2);
    alpha_ = alpha;
    progress_ = {};
    const std::span<const std::uint32_t> numbers = levels_[0].numbers;
    while (begin < end) {
        std::size_t stop = begin;
        while (stop < end && numbers[stop] != sentence_end) ++stop;
        sentence(begin, stop);
        begin = stop + 1;
    }
    while (done_ < asked_) update(waiting_[done_++ % depth]);
    progress_.loss -= std::log(likelihood_);
    likelihood_ = 1;
    return progress_;
}

void Worker::sentence(std::size_t begin, std::size_t end) {
    const std::vector<Unit> &units = segmenter_.cut(begin, end, segments_);
    progress_.units += units.size();
    if (model_.settings().words_out) {
        predict_words(units, begin, end);
    } else {
        predict_units(units);
    }
}

bool Worker::kept(std::uint32_t entry) {
    const std::uint32_t threshold = model_.keep()[entry];
    return threshold == ~std::uint32_t{0} || choices_.half() < threshold;
}

std::size_t Worker::draw_window() { return 1 + choices_.below(static_cast<std::uint32_t>(model_.settings().window)); }

void Worker::predict_units(const std::vector<Unit> &units) {
    words_.clear();
    for (const Unit &unit : units) {
        if (kept(unit.entry)) words_.push_back(unit.entry);
    }
    const std::size_t far = model_.settings().window + 1;
    for (std::size_t at = 0; at < std::min(far, words_.size()); ++at) prefetch(words_[at]);
    for (std::size_t at = 0; at < words_.size(); ++at) {
        if (at + far < words_.size()) prefetch(words_[at + far]);
        const std::size_t window = draw_window(), last = std::min(at + window + 1, words_.size());
        for (std::size_t other = at - std::min(at, window); other < last; ++other) {
            if (other != at) pair(words_[other], words_[at]);
        }
    }
}

void Worker::predict_words(const std::vector<Unit> &units, std::size_t begin, std::size_t end) {
    const Level &level = levels_[0];
    words_.clear();
    places_.clear();
    for (std::size_t at = begin; at < end; ++at) {
        const std::uint32_t number = level.numbers[at];
        if (number >= level.listed || !kept(level.offset + number)) continue;
        words_.push_back(level.offset + number);
        places_.push_back(static_cast<std::uint32_t>(at - begin));
    }
    std::size_t before = 0;  // how many words stand before the unit
    for (const Unit &unit : units) {
        while (before < places_.size() && places_[before] < unit.begin) ++before;
        std::size_t behind = before;
        while (behind < places_.size() && places_[behind] < unit.end) ++behind;
        // Whether a single word takes part has been drawn already.
        const bool single = unit.end - unit.begin == 1;
        if (single ? behind == before : !kept(unit.entry)) continue;
        const std::size_t window = draw_window(), last = std::min(behind + window, words_.size());
        for (std::size_t other = before - std::min(before, window); other < before; ++other) pair(unit.entry, words_[other]);
        for (std::size_t other = behind; other < last; ++other) pair(unit.entry, words_[other]);
    }
}

void Worker::prefetch(const float *row) const {
    const char *bytes = reinterpret_cast<const char *>(row);
    for (std::size_t at = 0; at < model_.settings().stride * sizeof(float); at += 64) __builtin_prefetch(bytes + at, 1);
}

void Worker::prefetch(std::uint32_t entry) const {
    prefetch(model_.input(entry));
    prefetch(model_.output(entry));
}

void Worker::pair(std::uint32_t input, std::uint32_t target) {
    if (asked_ - done_ == depth) update(waiting_[done_++ % depth]);
    Pair &next = waiting_[asked_++ % depth];
    next.input = input;
    next.targets[0] = target;
    next.count = 1;
    for (std::size_t i = 0; i < model_.settings().negative; ++i) {
        const std::uint32_t negative = model_.noise().draw(negatives_.next());
        if (negative == target) continue;
        next.targets[next.count++] = negative;
        prefetch(model_.output(negative));
    }
}

void Worker::update(const Pair &pair) {
    switch (pair.count) {
    case 2: return update<2>(pair);
    case 3: return update<3>(pair);
    case 4: return update<4>(pair);
    case 5: return update<5>(pair);
    case 6: return update<6>(pair);
    case 7: return update<7>(pair);
    case 8: return update<8>(pair);
    default: return update<0>(pair);
    }
}

// All dot products of a pair come before its updates. `count` 0: as many as the pair says.
template <std::size_t count> void Worker::update(const Pair &pair) {
    constexpr std::size_t room = count ? count : most_negatives + 1;
    const std::size_t targets = count ? count : pair.count, steps = model_.settings().stride / width;
    auto *input = reinterpret_cast<Floats *>(model_.input(pair.input));
    Floats *outputs[room];
    Floats sums[room][parts];
    for (std::size_t target = 0; target < targets; ++target) {
        outputs[target] = reinterpret_cast<Floats *>(model_.output(pair.targets[target]));
        for (std::size_t part = 0; part < parts; ++part) sums[target][part] = Floats{};
    }
    for (std::size_t step = 0; step < steps; step += parts) {
        for (std::size_t part = 0; part < parts; ++part) {
            const Floats values = input[step + part];
            for (std::size_t target = 0; target < targets; ++target) sums[target][part] += values * outputs[target][step + part];
        }
    }
    float gains[room];
    for (std::size_t target = 0; target < targets; ++target) {
        const float probability = sigmoid_(sum_lanes(sums[target]));
        const float likely = target ? 1.0F - probability : probability;
        gains[target] = (target ? -probability : 1.0F - probability) * alpha_;
        likelihood_ *= double{std::max(likely, least_probability)};
        if (likelihood_ < least_likelihood) {
            progress_.loss -= std::log(likelihood_);
            likelihood_ = 1;
        }
    }
    for (std::size_t step = 0; step < steps; ++step) {
        const Floats values = input[step];
        Floats change{};
        for (std::size_t target = 0; target < targets; ++target) {
            const Floats old = outputs[target][step];
            change += gains[target] * old;
            outputs[target][step] = old + gains[target] * values;
        }
        input[step] = values + change;
    }
    ++progress_.pairs;
}

namespace {

using Numbers = InArray<std::uint32_t>;
using Weights = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Keeps the arrays that a model works on.
class ModelHandle {
  public:
    ModelHandle(Weights input, Weights output, InArray<double> noise, Numbers keep, Numbers join, std::size_t dimensions,
                std::size_t window, std::size_t negative, bool words_out, std::uint64_t seed, std::uint64_t stream)
        : input_(input), output_(output), keep_(keep), join_(join),
          model_(input.data(), output.data(), input.shape(0),
                 Settings{dimensions, input.shape(1), window, negative, words_out, seed, stream},
                 checked(input, output, noise, keep, join, dimensions, window, negative), {keep.data(), keep.shape(0)},
                 {join.data(), join.shape(0)}) {}

    std::tuple<std::uint64_t, std::uint64_t, double> train(const nb::sequence &given, const nb::sequence &lengths,
                                                           const nb::sequence &listed, std::uint64_t epoch,
                                                           std::size_t first, std::size_t last, double alpha,
                                                           double alpha_step, int threads) {
        const std::vector<Numbers> arrays = taken<Numbers>(given);
        const std::vector<Level> levels = levels_of(arrays, taken<std::uint32_t>(lengths), taken<std::uint32_t>(listed));
        const std::span<const std::uint32_t> numbers = levels[0].numbers;
        const std::size_t blocks = blocks_of(numbers.size());
        if (first > last || last > blocks) throw nb::index_error("the blocks lie outside the corpus");
        Progress all;
        {
            nb::gil_scoped_release release;
            std::mutex guard;
            parallel_blocks(
                last - first, 1, threads, [&] { return Worker(model_, levels); },
                [&](Worker &worker, std::size_t begin, std::size_t end) {
                    for (std::size_t block = first + begin; block < first + end; ++block) {
                        const std::uint64_t number = epoch * blocks + block;
                        const Progress done =
                            worker.train(block_begin(numbers, block), block_begin(numbers, block + 1), number,
                                         static_cast<float>(alpha - alpha_step * static_cast<double>(number)));
                        const std::lock_guard lock(guard);
                        all += done;
                    }
                });
        }
        return {all.units, all.pairs, all.loss};
    }

    // The units of some blocks as training cuts them: entries, and where each begins in the corpus.
    nb::tuple segment(const nb::sequence &given, const nb::sequence &lengths,
                      const nb::sequence &listed, std::uint64_t epoch, std::size_t first, std::size_t last) {
        const std::vector<Numbers> arrays = taken<Numbers>(given);
        const std::vector<Level> levels = levels_of(arrays, taken<std::uint32_t>(lengths), taken<std::uint32_t>(listed));
        const std::span<const std::uint32_t> numbers = levels[0].numbers;
        const std::size_t blocks = blocks_of(numbers.size());
        if (first > last || last > blocks) throw nb::index_error("the blocks lie outside the corpus");
        std::vector<std::uint32_t> entries;
        std::vector<std::uint64_t> places;
        {
            nb::gil_scoped_release release;
            Segmenter segmenter(model_, levels);
            for (std::size_t block = first; block < last; ++block) {
                Generator generator = model_.generator(epoch * blocks + block, 0);
                const std::size_t end = block_begin(numbers, block + 1);
                for (std::size_t begin = block_begin(numbers, block); begin < end;) {
                    std::size_t stop = begin;
                    while (stop < end && numbers[stop] != sentence_end) ++stop;
                    for (const Unit &unit : segmenter.cut(begin, stop, generator)) {
                        entries.push_back(unit.entry);
                        places.push_back(begin + unit.begin);
                    }
                    begin = stop + 1;
                }
            }
        }
        return nb::make_tuple(to_numpy(std::move(entries)), to_numpy(std::move(places)));
    }

    static std::size_t blocks_of(std::size_t positions) { return (positions + block_positions - 1) / block_positions; }

  private:
    static std::span<const double> checked(const Weights &input, const Weights &output, const InArray<double> &noise,
                                           const Numbers &keep, const Numbers &join, std::size_t dimensions,
                                           std::size_t window, std::size_t negative) {
        const std::size_t stride = input.shape(1);
        const auto aligned = [](const Weights &matrix) {
            return reinterpret_cast<std::uintptr_t>(matrix.data()) % (lanes * sizeof(float)) == 0;
        };
        if (output.shape(1) != stride || stride % lanes || stride < dimensions || !aligned(input) || !aligned(output)) {
            throw nb::value_error("rows must be aligned and filled up to a multiple of 8 numbers");
        }
        if (keep.shape(0) != input.shape(0) || join.shape(0) != input.shape(0) || noise.shape(0) != output.shape(0)) {
            throw nb::value_error("every entry needs its thresholds and its weight");
        }
        if (noise.shape(0) == 0 || window < 1 || window > 1 << 20 || negative < 1 || negative > most_negatives) {
            throw nb::value_error("entries, a window and 1 to 63 negatives are needed");
        }
        for (std::size_t i = 0; i < noise.shape(0); ++i) {
            if (!(noise.data()[i] > 0)) throw nb::value_error("weights of negatives must be above 0");
        }
        return {noise.data(), noise.shape(0)};
    }

    // Not left to the binding layer, which could not say that there is no memory for a list.
    template <typename T> static std::vector<T> taken(const nb::sequence &given) {
        std::vector<T> found;
        for (nb::handle each : given) {
            T one{};
            if (!nb::try_cast<T>(each, one)) throw nb::type_error("levels are lists of arrays and of whole numbers");
            found.push_back(std::move(one));
        }
        return found;
    }

    std::vector<Level> levels_of(const std::vector<Numbers> &arrays, const std::vector<std::uint32_t> &lengths,
                                 const std::vector<std::uint32_t> &listed) const {
        if (arrays.empty() || lengths.size() != arrays.size() || listed.size() != arrays.size()) {
            throw nb::value_error("every level needs its length and how many of its n-grams are listed");
        }
        std::vector<Level> levels;
        std::size_t offset = 0;
        for (std::size_t i = 0; i < arrays.size(); ++i) {
            if (arrays[i].shape(0) != arrays[0].shape(0)) throw nb::value_error("levels must be equally long");
            levels.push_back({{arrays[i].data(), arrays[i].shape(0)}, lengths[i], listed[i], static_cast<std::uint32_t>(offset)});
            offset += listed[i];
        }
        const std::size_t outputs = model_.settings().words_out ? listed[0] : offset;
        if (offset != model_.entries() || output_.shape(0) < outputs) {
            throw nb::value_error("the levels do not fit the vocabulary");
        }
        return levels;
    }

    Weights input_, output_;
    Numbers keep_, join_;
    Model model_;
};

// Evenly between -1/2 and 1/2, divided by the number of dimensions; what fills up the rows is 0.
void fill_first_vectors(Weights matrix, std::size_t dimensions, std::uint64_t seed, std::uint64_t stream) {
    const std::size_t stride = matrix.shape(1);
    if (dimensions > stride) throw nb::value_error("rows are shorter than the dimensions");
    nb::gil_scoped_release release;
    Generator generator(drawing::start_of(seed, Purpose::first_vectors, stream), 0);
    for (std::size_t row = 0; row < matrix.shape(0); ++row) {
        float *values = matrix.data() + row * stride;
        std::fill(values, values + stride, 0.0F);
        for (std::size_t at = 0; at < dimensions; ++at) {
            values[at] = static_cast<float>((generator.half() * 0x1p-32 - 0.5) / static_cast<double>(dimensions));
        }
    }
}

}  // namespace

}  // namespace trubleu::training

void bind_train(nanobind::module_ &m) {
    using namespace trubleu;
    using namespace trubleu::training;
    m.def("fill_first_vectors", &fill_first_vectors, nb::arg("matrix").noconvert(), nb::arg("dimensions"),
          nb::arg("seed"), nb::arg("stream"));
    m.def("training_blocks", &ModelHandle::blocks_of, nb::arg("positions"));
    nb::class_<ModelHandle>(m, "SkipGram")
        .def(nb::init<Weights, Weights, InArray<double>, Numbers, Numbers, std::size_t, std::size_t, std::size_t, bool,
                      std::uint64_t, std::uint64_t>(),
             nb::arg("inputs").noconvert(), nb::arg("outputs").noconvert(), nb::arg("noise"), nb::arg("keep"),
             nb::arg("join"), nb::arg("dimensions"), nb::arg("window"), nb::arg("negative"), nb::arg("words_out"),
             nb::arg("seed"), nb::arg("stream"))
        .def("train", &ModelHandle::train, nb::arg("levels"), nb::arg("lengths"), nb::arg("listed"), nb::arg("epoch"),
             nb::arg("first"), nb::arg("last"), nb::arg("alpha"), nb::arg("alpha_step"), nb::arg("threads"),
             "Units seen, pairs trained and the sum of their losses.")
        .def("segment", &ModelHandle::segment, nb::arg("levels"), nb::arg("lengths"), nb::arg("listed"),
             nb::arg("epoch"), nb::arg("first"), nb::arg("last"), "Entries and where they begin in the corpus.");
}
