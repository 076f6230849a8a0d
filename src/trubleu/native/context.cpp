// Similarities of texts from the vectors that an encoder gave their words and themselves, and the score that references
// make of similarities.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "dots.hpp"
#include "python.hpp"
#include "rated.hpp"

#include <nanobind/stl/optional.h>

namespace trubleu {

namespace {

constexpr size_t pairs_a_block = 64;

// The words of two texts: the largest cosine of each word of one side with a word of the other, at least 0, and where.
class WordMaxima {
  public:
    void compare(const float *left, size_t rows, const float *right, size_t columns, size_t dimensions) {
        pointers(left, rows, dimensions, left_);
        pointers(right, columns, dimensions, right_);
        cosines_.resize(rows * columns);
        Dots::all(left_.data(), rows, right_.data(), columns, dimensions, cosines_.data(), columns);
        for (auto &side : maxima) side.clear();
        for (auto &side : places) side.clear();
        maxima[0].resize(rows, 0.0f);
        maxima[1].resize(columns, 0.0f);
        places[0].resize(rows, -1);
        places[1].resize(columns, -1);
        for (size_t i = 0; i < rows; ++i)
            for (size_t j = 0; j < columns; ++j) {
                float cosine = std::min(cosines_[i * columns + j], 1.0f);
                take(0, i, j, cosine);
                take(1, j, i, cosine);
            }
    }

    double mean(size_t side) const {
        if (maxima[side].empty()) return 0.0;
        double sum = 0.0;
        for (float each : maxima[side]) sum += static_cast<double>(each);
        return sum / static_cast<double>(maxima[side].size());
    }

    std::vector<float> maxima[2];
    std::vector<int64_t> places[2];  // -1 where no cosine is above 0

  private:
    static void pointers(const float *vectors, size_t count, size_t dimensions, std::vector<const float *> &to) {
        to.clear();
        for (size_t i = 0; i < count; ++i) to.push_back(vectors + i * dimensions);
    }

    void take(size_t side, size_t own, size_t other, float cosine) {
        if (!(cosine > maxima[side][own])) return;
        maxima[side][own] = cosine;
        places[side][own] = static_cast<int64_t>(other);
    }

    std::vector<const float *> left_, right_;
    std::vector<float> cosines_;
};

void check_dimensions(size_t dimensions) {
    if (dimensions % Dots::lanes) throw nb::value_error("vectors need a multiple of 8 dimensions");
}

// For each pair of texts: the mean of the largest cosines of the left one's words, of the right one's, and the cosine of
// the two texts. Vectors have length 1; `begins` says which words are those of a text.
OutMatrix<double> context_similarities(FloatMatrix words, InArray<int64_t> begins, FloatMatrix texts, InArray<uint32_t> left,
                                       InArray<uint32_t> right, int threads) {
    size_t count = texts.shape(0), dimensions = words.shape(1), pairs = left.shape(0);
    const int64_t *begin = begins.data();
    check_dimensions(dimensions);
    check_dimensions(texts.shape(1));
    if (begins.shape(0) != count + 1 || begin[0] != 0 || !std::is_sorted(begin, begin + count + 1) ||
        begin[count] != static_cast<int64_t>(words.shape(0)))
        throw nb::value_error("begins do not fit the words");
    if (right.shape(0) != pairs) throw nb::value_error("one text on each side is needed");
    for (const InArray<uint32_t> *side : {&left, &right})
        if (std::any_of(side->data(), side->data() + pairs, [&](uint32_t text) { return text >= count; }))
            throw nb::index_error("there is no such text");
    Matrix<double> result(pairs, 3);
    {
        nb::gil_scoped_release release;
        parallel_blocks(
            pairs, pairs_a_block, threads, [] { return WordMaxima(); },
            [&](WordMaxima &maxima, size_t first, size_t last) {
                for (size_t i = first; i < last; ++i) {
                    size_t a = left.data()[i], b = right.data()[i];
                    maxima.compare(words.data() + static_cast<size_t>(begin[a]) * dimensions, static_cast<size_t>(begin[a + 1] - begin[a]),
                                   words.data() + static_cast<size_t>(begin[b]) * dimensions, static_cast<size_t>(begin[b + 1] - begin[b]),
                                   dimensions);
                    double *to = result.data.get() + 3 * i;
                    to[0] = maxima.mean(0);
                    to[1] = maxima.mean(1);
                    const float *one = texts.data() + a * texts.shape(1), *other = texts.data() + b * texts.shape(1);
                    float product;
                    Dots::each(&one, &other, 1, texts.shape(1), &product);
                    to[2] = std::clamp(static_cast<double>(product), -1.0, 1.0);
                }
            });
    }
    return result.release();
}

// The largest cosine of each word of one text with a word of the other, and which that is, from both sides.
nb::tuple word_maxima(FloatMatrix left, FloatMatrix right) {
    check_dimensions(left.shape(1));
    if (right.shape(1) != left.shape(1)) throw nb::value_error("both sides need as many dimensions");
    WordMaxima found;
    found.compare(left.data(), left.shape(0), right.data(), right.shape(0), left.shape(1));
    return nb::make_tuple(to_numpy(std::move(found.maxima[0])), to_numpy(std::move(found.places[0])),
                          to_numpy(std::move(found.maxima[1])), to_numpy(std::move(found.places[1])));
}

// The score of each segment: what is earned and what is cut.
OutMatrix<double> rated_scores(InArray<double> similarities, std::optional<InArray<double>> weights, InArray<int64_t> offsets) {
    size_t count = offsets.shape(0), references = similarities.shape(0);
    const int64_t *offset = offsets.data();
    if (count == 0 || offset[0] != 0 || !std::is_sorted(offset, offset + count) || offset[count - 1] != static_cast<int64_t>(references))
        throw nb::value_error("offsets do not fit the references");
    if (weights && weights->shape(0) != references) throw nb::value_error("one weight per reference is needed");
    Matrix<double> result(count - 1, 2);
    for (size_t i = 0; i + 1 < count; ++i) {
        size_t first = static_cast<size_t>(offset[i]);
        RatedScore found = rated_score(similarities.data() + first, weights ? weights->data() + first : nullptr,
                                       static_cast<size_t>(offset[i + 1]) - first);
        result.data.get()[2 * i] = found.earned;
        result.data.get()[2 * i + 1] = found.cut;
    }
    return result.release();
}

// Instructions that decide in which order matrix libraries add up.
const char *vector_instructions() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vnni")) return "avx512vnni";
    if (__builtin_cpu_supports("avx512f")) return "avx512";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "avx2";
    return "sse";
#elif defined(__aarch64__)
    return "neon";
#else
    return "other";
#endif
}

}  // namespace

}  // namespace trubleu

void bind_context(nanobind::module_ &m) {
    namespace nb = nanobind;
    using namespace trubleu;
    m.def("context_similarities", &context_similarities, nb::arg("words"), nb::arg("begins"), nb::arg("texts"),
          nb::arg("left"), nb::arg("right"), nb::arg("threads"));
    m.def("word_maxima", &word_maxima, nb::arg("left"), nb::arg("right"));
    m.def("rated_scores", &rated_scores, nb::arg("similarities"), nb::arg("weights").none(), nb::arg("offsets"));
    m.def("vector_instructions", &vector_instructions);
}
