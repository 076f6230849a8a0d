// Skip-gram with negative sampling over the entries of a vocabulary of words and n-grams.
//
// What is random in a block of the corpus comes from three generators of its own (segmentation, choices, negatives), which
// depend on the seed, the epoch and the block alone. One thread does blocks in order, so it gives the same bytes each
// time; several threads update the same matrices without locks (Recht et al. 2011), as word2vec does.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "count.hpp"
#include "units.hpp"

namespace trubleu::training {

using drawing::Generator;
using resampling::Purpose;

constexpr std::size_t lanes = 8;                   // numbers added side by side in every dot product, on every CPU
constexpr std::size_t block_positions = 1 << 14;   // of the corpus, done by one thread at one learning rate
constexpr std::size_t most_negatives = 63;

// A draw of entries in proportion to weights, in constant time (Walker 1977, as Vose 1991 fills the tables).
class AliasTable {
  public:
    explicit AliasTable(std::span<const double> weights);

    std::uint32_t draw(std::uint64_t word) const {
        const Cell &cell = cells_[((word >> 32) * cells_.size()) >> 32];
        return static_cast<std::uint32_t>(word) < cell.threshold ? static_cast<std::uint32_t>(&cell - cells_.data())
                                                                 : cell.other;
    }

  private:
    struct Cell {
        std::uint32_t threshold, other;
    };
    std::vector<Cell> cells_;
};

// The logistic function, straight lines between 1,024 places from -8 to 8 (wrong by less than 4e-6), 0 and 1 beyond.
class Sigmoid {
  public:
    Sigmoid();

    float operator()(float x) const {
        if (!(x < limit)) return 1.0F;
        if (!(x > -limit)) return 0.0F;
        const float place = (x + limit) * per_unit;
        const auto at = static_cast<std::size_t>(place);
        return values_[at].height + (place - static_cast<float>(at)) * values_[at].slope;
    }

  private:
    static constexpr float limit = 8.0F, per_unit = 64.0F;
    struct Line {
        float height, slope;
    };
    Line values_[1025];
};

// One order of n-grams: for each place of the corpus, the n-gram that begins there.
struct Level {
    std::span<const std::uint32_t> numbers;
    std::uint32_t length;  // words of an n-gram
    std::uint32_t listed;  // numbers below it are in the vocabulary
    std::uint32_t offset;  // the entry of number 0
};

// An entry that takes part, and which places of its sentence it covers.
struct Unit {
    std::uint32_t entry, begin, end;
};

struct Settings {
    std::size_t dimensions, stride, window, negative;
    bool words_out;  // n-grams predict the single words around them
    std::uint64_t seed, stream;
};

struct Progress {
    std::uint64_t units = 0, pairs = 0;
    double loss = 0;

    Progress &operator+=(const Progress &other) {
        units += other.units;
        pairs += other.pairs;
        loss += other.loss;
        return *this;
    }
};

class Model {
  public:
    // Thresholds are probabilities times 2^32, the largest standing for 1: `keep` of an entry against sub-sampling,
    // `join` of an n-gram to become a candidate.
    Model(float *input, float *output, std::size_t entries, const Settings &settings, std::span<const double> noise,
          std::span<const std::uint32_t> keep, std::span<const std::uint32_t> join)
        : input_(input), output_(output), entries_(entries), settings_(settings), noise_(noise), keep_(keep), join_(join) {}

    std::size_t entries() const { return entries_; }
    const Settings &settings() const { return settings_; }
    std::span<const std::uint32_t> keep() const { return keep_; }
    std::span<const std::uint32_t> join() const { return join_; }
    const AliasTable &noise() const { return noise_; }
    float *input(std::uint32_t entry) const { return input_ + entry * settings_.stride; }
    float *output(std::uint32_t entry) const { return output_ + entry * settings_.stride; }

    // One of the three generators of a block.
    Generator generator(std::uint64_t block, std::uint64_t which) const {
        return Generator(drawing::start_of(settings_.seed, Purpose::training, settings_.stream), 3 * block + which);
    }

  private:
    float *input_, *output_;
    std::size_t entries_;
    Settings settings_;
    AliasTable noise_;
    std::span<const std::uint32_t> keep_, join_;
};

// Where blocks begin: behind the first sentence end in them, or, if there is none, just where they begin.
std::size_t block_begin(std::span<const std::uint32_t> numbers, std::size_t block);

// Cuts sentences into entries. With one level, these are its n-grams, overlapping; with several, every listed n-gram
// occurrence is a candidate with its probability, candidates are taken in random order if nothing they cover has been
// taken, and single words fill the rest.
class Segmenter {
  public:
    Segmenter(const Model &model, std::span<const Level> levels) : model_(model), levels_(levels) {}

    // The units of the sentence at [begin, end).
    const std::vector<Unit> &cut(std::size_t begin, std::size_t end, Generator &generator);

  private:
    struct Candidate {
        std::uint32_t entry, begin, length;
    };

    const Model &model_;
    std::span<const Level> levels_;
    std::vector<Candidate> candidates_;
    std::vector<std::uint32_t> order_, taken_;
    std::vector<Unit> units_;
};

// Trains on one block after another.
class Worker {
  public:
    Worker(const Model &model, std::span<const Level> levels) : model_(model), levels_(levels), segmenter_(model, levels) {}

    // `number` tells the block's generators apart from those of all other blocks and epochs.
    Progress train(std::size_t begin, std::size_t end, std::uint64_t number, float alpha);

  private:
    static constexpr std::size_t depth = 4;  // pairs between asking for memory and using it

    struct Pair {
        std::uint32_t input, count;
        std::uint32_t targets[most_negatives + 1];
    };

    void sentence(std::size_t begin, std::size_t end);
    void predict_units(const std::vector<Unit> &units);
    void predict_words(const std::vector<Unit> &units, std::size_t begin, std::size_t end);
    bool kept(std::uint32_t entry);
    std::size_t draw_window();
    void prefetch(const float *row) const;
    void prefetch(std::uint32_t entry) const;
    void pair(std::uint32_t input, std::uint32_t target);
    void update(const Pair &pair);
    template <std::size_t count> void update(const Pair &pair);

    const Model &model_;
    std::span<const Level> levels_;
    Segmenter segmenter_;
    Sigmoid sigmoid_;
    Generator segments_{0, 0}, choices_{0, 0}, negatives_{0, 0};
    std::vector<Unit> chosen_;
    std::vector<std::uint32_t> words_, places_;
    Pair waiting_[depth];
    std::uint64_t asked_ = 0, done_ = 0;
    float alpha_ = 0;
    double likelihood_ = 1;  // product of probabilities; its logarithm is taken now and then
    Progress progress_;
};

}  // namespace trubleu::training
