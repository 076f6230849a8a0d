// The Python face of the metric trubleu: texts become numbers of words, Python finds vectors for them, segments are scored.
#include <algorithm>
#include <limits>
#include <optional>

#include "chrf_python.hpp"
#include "dots.hpp"
#include "python.hpp"
#include "trubleu.hpp"

#include <nanobind/stl/optional.h>

namespace trubleu::soft {

namespace {

constexpr size_t segments_a_block = 16;

nb::list strings(const Vocabulary &words) {
    nb::list result;
    for (size_t i = 0; i < words.size(); ++i) result.append(text_of(words[i]));
    return result;
}

constexpr size_t texts_a_block = 4096, texts_ahead = 8;

void add_all(WordTexts &to, const nb::tuple &lines, size_t first, size_t last, const Options &options, int threads = 1) {
    if (first > last || last > lines.size()) throw nb::index_error("the slice of texts lies outside the data");
    size_t count = last - first;
    Texts texts(lines, first, last, options.lowercase);
    nb::gil_scoped_release release;
    auto add = [&](WordTexts &part, size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            texts.prefetch(i + texts_ahead);
            part.add(texts[i], options.tokenizer, options.lowercase);
        }
    };
    if (threads < 2 || count <= texts_a_block) {
        add(to, 0, count);
        return;
    }
    std::vector<WordTexts> parts((count + texts_a_block - 1) / texts_a_block, WordTexts(to.others()));
    parallel_blocks(
        count, texts_a_block, threads, [] { return 0; },
        [&](int, size_t begin, size_t end) { add(parts[begin / texts_a_block], begin, end); });
    for (WordTexts &part : parts) {
        to.append(part);
        part = WordTexts();
    }
}

// The squares of the lengths of vectors, as products of vectors are summed: a vector's cosine with its like is 1.
OutArray<float> row_squares(FloatMatrix vectors) {
    size_t count = vectors.shape(0), dimensions = vectors.shape(1);
    if (dimensions % Dots::lanes) throw nb::value_error("vectors need a multiple of 8 dimensions");
    std::vector<float> squares(count);
    std::vector<const float *> rows;
    for (size_t i = 0; i < count; ++i) rows.push_back(vectors.data() + i * dimensions);
    Dots::each(rows.data(), rows.data(), count, dimensions, squares.data());
    return to_numpy(std::move(squares));
}

// Outputs of some segments beside their references. Whoever makes one keeps the references.
class SegmentsHandle {
  public:
    SegmentsHandle(nb::tuple lines, const ReferenceWords &references, const Options &options, size_t first)
        : outputs_(&references.texts()), references_(references), first_(first) {
        add_all(outputs_, lines, first, first + references.size(), options);
    }

    // Those that the references do not have; they are numbered behind those of the references.
    nb::list new_words() const { return strings(outputs_.own_words()); }

    // The score of each segment.
    OutArray<double> scores(FloatMatrix vectors, InArray<float> squares, InArray<uint32_t> rows,
                            std::optional<InArray<double>> importance, nb::tuple texts, const chrf::References *characters,
                            std::optional<InArray<double>> weights, const TrubleuOptions &options, int threads) const {
        Words words(*this, vectors, squares, rows, importance);
        Characters compared(*this, texts, characters, options);
        Segments segments = joined(compared, weights);
        std::vector<double> scores(outputs_.size());
        {
            nb::gil_scoped_release release;
            std::vector<float> products = references_.common_products(words.table);
            words.table.common_products = products.data();
            parallel_blocks(
                scores.size(), segments_a_block, threads, [&] { return SegmentScorer(segments, words.table, options); },
                [&](SegmentScorer &scorer, size_t begin, size_t end) {
                    for (size_t i = begin; i < end; ++i) scores[i] = scorer.score(i, nullptr);
                });
        }
        return to_numpy(std::move(scores));
    }

    // How similar each output is to each reference of its segment, from 0 to 1.
    OutArray<double> similarities(FloatMatrix vectors, InArray<float> squares, InArray<uint32_t> rows,
                                  std::optional<InArray<double>> importance, nb::tuple texts, const chrf::References *characters,
                                  const TrubleuOptions &options, int threads) const {
        Words words(*this, vectors, squares, rows, importance);
        Characters compared(*this, texts, characters, options);
        Segments segments = joined(compared, std::nullopt);
        std::vector<double> found(references_.texts().size());
        {
            nb::gil_scoped_release release;
            std::vector<float> products = references_.common_products(words.table);
            words.table.common_products = products.data();
            parallel_blocks(
                outputs_.size(), segments_a_block, threads, [&] { return SegmentScorer(segments, words.table, options); },
                [&](SegmentScorer &scorer, size_t begin, size_t end) {
                    for (size_t i = begin; i < end; ++i) {
                        scorer.score(i, nullptr);
                        std::ranges::copy(scorer.similarities(), found.begin() + static_cast<ptrdiff_t>(references_.range(i).first));
                    }
                });
        }
        return to_numpy(std::move(found));
    }

    // One segment's score in all its parts: for each reference its score, the F of characters and those of the orders;
    // pairs of n-grams as reference, order, both positions and whether they are equal, with their similarities; what was
    // earned and what was cut; and the weight of each word, NaN for the mean of a text.
    nb::tuple details(FloatMatrix vectors, InArray<float> squares, InArray<uint32_t> rows,
                      std::optional<InArray<double>> importance, nb::tuple texts, const chrf::References *characters,
                      std::optional<InArray<double>> weights, const TrubleuOptions &options, size_t segment) const {
        if (segment >= outputs_.size()) throw nb::index_error("there is no such segment");
        Words words(*this, vectors, squares, rows, importance);
        Characters compared(*this, texts, characters, options);
        Segments segments = joined(compared, weights);
        std::vector<float> products = references_.common_products(words.table);
        words.table.common_products = products.data();
        SegmentDetails details;
        SegmentScorer(segments, words.table, options).score(segment, &details);
        Matrix<double> scores(details.references.size(), 2 + options.order);
        double *to = scores.data.get();
        for (const PairScore &pair : details.references) {
            *to++ = pair.score;
            *to++ = pair.characters;
            for (size_t n = 0; n < options.order; ++n) *to++ = pair.f[n];
        }
        Matrix<int32_t> places(details.pairs.size(), 5);
        std::vector<double> similarities;
        int32_t *place = places.data.get();
        for (const AlignedPair &pair : details.pairs) {
            for (int32_t number : {pair.reference, pair.order, pair.hypothesis_position, pair.reference_position,
                                   static_cast<int32_t>(pair.exact)})
                *place++ = number;
            similarities.push_back(pair.similarity);
        }
        return nb::make_tuple(scores.release(), places.release(), to_numpy(std::move(similarities)), details.earned,
                              details.cut, to_numpy(std::move(words.weights)));
    }

  private:
    // What is known of all words.
    struct Words {
        Words(const SegmentsHandle &handle, const FloatMatrix &vectors, const InArray<float> &squares,
              const InArray<uint32_t> &rows, const std::optional<InArray<double>> &importance) {
            size_t count = handle.outputs_.word_count();
            if (vectors.shape(1) % Dots::lanes) throw nb::value_error("vectors need a multiple of 8 dimensions");
            if (rows.shape(0) != count) throw nb::value_error("one row is needed for each word");
            if (importance && importance->shape(0) != count) throw nb::value_error("one weight is needed for each word");
            size_t known = std::min(vectors.shape(0), squares.shape(0));
            lengths.reserve(count);
            weights.reserve(count);
            for (size_t i = 0; i < count; ++i) {
                uint32_t row = rows.data()[i];
                if (row != nothing && row >= known) throw nb::index_error("there is no such row");
                double length = row == nothing ? 0.0 : std::sqrt(static_cast<double>(squares.data()[row]));
                lengths.push_back(length);
                if (importance) weights.push_back(importance->data()[i]);
                else weights.push_back(length > 0.0 ? length : std::numeric_limits<double>::quiet_NaN());
            }
            table = {vectors.data(), vectors.shape(1), rows.data(), lengths.data(), weights.data()};
        }

        std::vector<double> lengths, weights;
        WordTable table;
    };

    // The texts before they were split into words.
    struct Characters {
        Characters(const SegmentsHandle &handle, nb::tuple texts, const chrf::References *prepared, const TrubleuOptions &options) {
            if (!options.characters) return;
            size_t first = handle.first_, count = handle.outputs_.size();
            if (!prepared || prepared->first() != first || prepared->size() != count || texts.size() < first + count)
                throw nb::value_error("characters of all outputs and references are needed");
            const chrf::Options &theirs = prepared->options();
            if (theirs.lowercase != options.lowercase || theirs.whitespace || theirs.char_order != chrf::Options{}.char_order)
                throw nb::value_error("the references were prepared with other options");
            held.emplace(texts, first, first + count, options.lowercase);
            for (size_t i = 0; i < count; ++i) {
                auto [begin, end] = handle.references_.range(i);
                if (end - begin != prepared->segments()[i].size())
                    throw nb::value_error("the references were prepared from other ones");
                outputs.push_back((*held)[i]);
            }
            references = prepared->segments();
        }

        std::optional<Texts> held;
        std::vector<Text> outputs;
        const chrf::Segment *references = nullptr;
    };

    Segments joined(const Characters &characters, const std::optional<InArray<double>> &weights) const {
        if (weights && weights->shape(0) != references_.texts().size()) throw nb::value_error("one weight per reference is needed");
        return {&outputs_, &references_, characters.outputs.data(), characters.references,
                weights ? weights->data() : nullptr};
    }

    WordTexts outputs_;
    const ReferenceWords &references_;
    size_t first_;
};

}  // namespace

}  // namespace trubleu::soft

void bind_trubleu(nanobind::module_ &m) {
    namespace nb = nanobind;
    using namespace trubleu;
    using namespace trubleu::soft;
    m.def("row_squares", &row_squares, nb::arg("vectors"));
    nb::class_<TrubleuOptions>(m, "TrubleuOptions")
        .def("__init__",
             [](TrubleuOptions *self, int order, double beta, double shift, bool characters, bool lowercase) {
                 if (order < 1 || order > max_order) throw nb::value_error("the order lies between 1 and 9");
                 if (!(beta > 0.0 && std::isfinite(beta))) throw nb::value_error("beta is a number above 0");
                 if (!(shift >= 0.0 && shift < 1.0)) throw nb::value_error("a shift lies between 0 and 1");
                 new (self) TrubleuOptions{static_cast<size_t>(order), beta, shift, characters, lowercase};
             },
             nb::arg("order"), nb::arg("beta"), nb::arg("shift"), nb::arg("characters"), nb::arg("lowercase"));
    nb::class_<WordTexts>(m, "WordTexts")
        .def("__init__",
             [](WordTexts *self, nb::tuple lines, const Options &options, size_t first, size_t last, const WordTexts *others, int threads) {
                 WordTexts texts(others);
                 add_all(texts, lines, first, last, options, threads);
                 new (self) WordTexts(std::move(texts));
             },
             nb::keep_alive<1, 6>(), nb::arg("lines"), nb::arg("options"), nb::arg("first"), nb::arg("last"),
             nb::arg("others").none() = nb::none(), nb::arg("threads") = 1)
        .def("words", [](const WordTexts &self) { return strings(self.own_words()); })
        .def("numbers", [](const WordTexts &self) { return to_numpy(std::vector<uint32_t>(self.ids().begin(), self.ids().end())); })
        .def("lengths",
             [](const WordTexts &self) {
                 std::vector<int64_t> lengths;
                 for (size_t i = 0; i < self.size(); ++i) lengths.push_back(static_cast<int64_t>(self[i].size()));
                 return to_numpy(std::move(lengths));
             })
        .def_prop_ro("memory", &WordTexts::memory);
    nb::class_<ReferenceWords>(m, "ReferenceWords")
        .def("__init__",
             [](ReferenceWords *self, const WordTexts &texts, InArray<int64_t> offsets) {
                 std::span<const int64_t> all(offsets.data(), offsets.shape(0));
                 if (all.empty() || !std::is_sorted(all.begin(), all.end()) || all.back() - all.front() != static_cast<int64_t>(texts.size()))
                     throw nb::value_error("offsets do not fit the references");
                 new (self) ReferenceWords(texts, all);
             },
             nb::keep_alive<1, 2>(), nb::arg("texts"), nb::arg("offsets"))
        .def_prop_ro("memory", &ReferenceWords::memory);
    nb::class_<SegmentsHandle>(m, "TrubleuSegments")
        .def(nb::init<nb::tuple, const ReferenceWords &, const Options &, size_t>(), nb::keep_alive<1, 3>(),
             nb::arg("lines"), nb::arg("references"), nb::arg("options"), nb::arg("first"))
        .def("new_words", &SegmentsHandle::new_words)
        .def("scores", &SegmentsHandle::scores, nb::arg("vectors"), nb::arg("squares"), nb::arg("rows"),
             nb::arg("importance").none(), nb::arg("texts"), nb::arg("characters").none(), nb::arg("weights").none(),
             nb::arg("options"), nb::arg("threads"))
        .def("similarities", &SegmentsHandle::similarities, nb::arg("vectors"), nb::arg("squares"), nb::arg("rows"),
             nb::arg("importance").none(), nb::arg("texts"), nb::arg("characters").none(), nb::arg("options"), nb::arg("threads"))
        .def("details", &SegmentsHandle::details, nb::arg("vectors"), nb::arg("squares"), nb::arg("rows"),
             nb::arg("importance").none(), nb::arg("texts"), nb::arg("characters").none(), nb::arg("weights").none(),
             nb::arg("options"), nb::arg("segment"));
}
