// The Python face of near misses: texts become numbers, Python finds vectors for them, segments are aligned and scored.
#include <functional>
#include <optional>
#include <stdexcept>

#include "align.hpp"
#include "chrf_python.hpp"
#include "dots.hpp"
#include "python.hpp"
#include "trubleu.hpp"

#include <nanobind/stl/optional.h>

namespace trubleu::soft {

namespace {

constexpr size_t segments_a_block = 16;

using FloatMatrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Similarity similarity_named(const std::string &name) {
    if (name == "raw") return Similarity::raw;
    if (name == "clamp") return Similarity::clamp;
    if (name == "shift") return Similarity::shift;
    throw nb::value_error("similarity is raw, clamp or shift");
}

Rule rule_named(const std::string &name) {
    if (name == "plain") return Rule::plain;
    if (name == "earn") return Rule::earn;
    if (name == "nearest") return Rule::nearest;
    if (name == "max") return Rule::max;
    throw nb::value_error("the rule is plain, earn, nearest or max");
}

nb::object text_of(const std::string_view &bytes) {
    nb::object text = nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogatepass"));
    if (!text.is_valid()) throw nb::python_error();
    return text;
}

// The row of each n-gram that was ever looked up. Python only sees those that are new.
class Names {
  public:
    size_t size() const { return entries_.size(); }

    // The place of a name, which is added if it is new.
    uint32_t place_of(std::string_view name) {
        if (2 * (entries_.size() + 1) > table_.size()) grow();
        size_t hash = std::hash<std::string_view>{}(name), mask = table_.size() - 1, at = hash & mask;
        for (; table_[at] != nothing; at = (at + 1) & mask) {
            const Entry &entry = entries_[table_[at]];
            if (entry.hash == hash && std::string_view(bytes_.data() + entry.begin, entry.size) == name) return table_[at];
        }
        if (entries_.size() >= nothing) throw std::length_error("there are 2^32 names or more");
        table_[at] = static_cast<uint32_t>(entries_.size());
        entries_.push_back({hash, bytes_.size(), static_cast<uint32_t>(name.size()), nothing});
        bytes_ += name;
        return table_[at];
    }
    uint32_t row(uint32_t place) const { return entries_[place].row; }

    // Gives the last names their rows.
    void settle(InArray<uint32_t> rows) {
        if (rows.shape(0) > entries_.size()) throw nb::value_error("there are not that many names");
        size_t first = entries_.size() - rows.shape(0);
        for (size_t i = 0; i < rows.shape(0); ++i) entries_[first + i].row = rows.data()[i];
    }

  private:
    struct Entry {
        size_t hash, begin;
        uint32_t size, row;
    };

    void grow() {
        table_.assign(2 * table_.size(), nothing);
        size_t mask = table_.size() - 1;
        for (size_t i = 0; i < entries_.size(); ++i) {
            size_t at = entries_[i].hash & mask;
            while (table_[at] != nothing) at = (at + 1) & mask;
            table_[at] = static_cast<uint32_t>(i);
        }
    }

    std::string bytes_;
    std::vector<Entry> entries_;
    std::vector<uint32_t> table_ = std::vector<uint32_t>(1024, nothing);
};

// Some segments as Python holds them.
class Handle {
    struct Numbers {
        std::vector<uint32_t> rows;  // of words, or of all n-grams although only the unmatched ones are given
        std::vector<float> squares;
    };

  public:
    Handle(nb::tuple outputs, nb::tuple references, InArray<int64_t> offsets, const Options &options, size_t first, size_t last)
        : slice_(options) {
        size_t count = offsets.shape(0);
        if (count == 0 || first > last || last > std::min(outputs.size(), count - 1))
            throw nb::index_error("the slice of segments lies outside the data");
        const int64_t *offset = offsets.data();
        for (size_t i = first; i <= last; ++i)
            if (offset[i] < (i == first ? 0 : offset[i - 1]) || offset[i] > static_cast<int64_t>(references.size()))
                throw nb::value_error("offsets do not fit the references");
        size_t base = static_cast<size_t>(offset[first]);
        first_ = first;
        references_ = static_cast<size_t>(offset[last]) - base;
        Texts hypotheses(outputs, first, last, options.lowercase);
        Texts texts(references, base, base + references_, options.lowercase);
        nb::gil_scoped_release release;
        for (size_t i = first; i < last; ++i) {
            slice_.begin_segment();
            slice_.add(hypotheses[i - first]);
            for (size_t j = static_cast<size_t>(offset[i]); j < static_cast<size_t>(offset[i + 1]); ++j)
                slice_.add(texts[j - base]);
        }
    }

    nb::list words() const {
        nb::list result;
        for (size_t i = 0; i < slice_.word_count(); ++i) result.append(text_of(slice_.word(i)));
        return result;
    }

    // The segments in which a marked word occurs.
    OutArray<int64_t> segments_with(InArray<uint8_t> marked) const {
        if (marked.shape(0) != slice_.word_count()) throw nb::value_error("one mark is needed for each word");
        std::vector<int64_t> found;
        for (size_t segment = 0; segment < slice_.segments(); ++segment) {
            bool here = false;
            for (size_t text = slice_.hypothesis(segment); text < slice_.end(segment); ++text)
                for (uint32_t word : slice_.words(text)) here |= marked.data()[word] != 0;
            if (here) found.push_back(static_cast<int64_t>(segment));
        }
        return to_numpy(std::move(found));
    }

    // n-grams that are left over somewhere and have no place among the names yet; now they have the last ones.
    nb::list new_ngrams(Names &names, bool first_only) {
        size_t before = names.size();
        std::vector<uint32_t> added;
        {
            nb::gil_scoped_release release;
            unmatched_ = slice_.unmatched(first_only);
            places_.clear();
            std::string text;
            for (uint32_t node : unmatched_) {
                text.clear();
                slice_.append_ngram(node, text);
                places_.push_back(names.place_of(text));
                if (names.size() > before + added.size()) added.push_back(node);
            }
        }
        nb::list result;
        std::string text;
        for (uint32_t node : added) {
            text.clear();
            slice_.append_ngram(node, text);
            result.append(text_of(text));
        }
        return result;
    }

    // The rows of all n-grams that are left over somewhere.
    OutArray<uint32_t> rows(const Names &names) const {
        std::vector<uint32_t> found;
        for (uint32_t place : places_) {
            if (place >= names.size()) throw nb::index_error("these names are others");
            found.push_back(names.row(place));
        }
        return to_numpy(std::move(found));
    }

    // How many words are among the n-grams that are left over somewhere, and how many of these have no row.
    nb::tuple unknown_words(InArray<uint32_t> rows) const {
        if (rows.shape(0) != unmatched_.size()) throw nb::value_error("one row is needed for each word or n-gram");
        size_t words = 0, unknown = 0;
        for (size_t i = 0; i < unmatched_.size(); ++i) {
            if (!slice_.is_word(unmatched_[i])) continue;
            ++words;
            unknown += rows.data()[i] == nothing;
        }
        return nb::make_tuple(words, unknown);
    }

    OutMatrix<double> statistics(FloatMatrix vectors, InArray<uint32_t> rows, bool composed,
                                 std::optional<InArray<double>> weights, const Scale &scale, int threads) const {
        Numbers numbers;
        Vectors all = checked(vectors, rows, composed, numbers);
        const double *weight = checked(weights);
        Matrix<double> result(slice_.segments(), slice_.options().columns());
        {
            nb::gil_scoped_release release;
            parallel_blocks(
                slice_.segments(), segments_a_block, threads, [&] { return Scorer(slice_, all, scale); },
                [&](Scorer &scorer, size_t begin, size_t end) {
                    for (size_t i = begin; i < end; ++i)
                        scorer.score(i, weights_of(weight, i), result.data.get() + i * result.columns, nullptr);
                });
        }
        return result.release();
    }

    // Segment, order, reference, position in the hypothesis, position in the reference and whether they are equal; and
    // the weight of each pair.
    nb::tuple pairs(FloatMatrix vectors, InArray<uint32_t> rows, bool composed, std::optional<InArray<double>> weights,
                    const Scale &scale) const {
        Numbers numbers;
        Vectors all = checked(vectors, rows, composed, numbers);
        const double *weight = checked(weights);
        std::vector<Pair> found;
        std::vector<double> row(slice_.options().columns());
        Scorer scorer(slice_, all, scale);
        for (size_t i = 0; i < slice_.segments(); ++i) scorer.score(i, weights_of(weight, i), row.data(), &found);
        Matrix<int32_t> places(found.size(), 6);
        std::vector<double> values;
        int32_t *to = places.data.get();
        for (const Pair &pair : found) {
            for (int32_t number : {pair.segment, pair.order, pair.reference, pair.hypothesis_position,
                                   pair.reference_position, static_cast<int32_t>(pair.exact)})
                *to++ = number;
            values.push_back(pair.weight);
        }
        return nb::make_tuple(places.release(), to_numpy(std::move(values)));
    }

    // The score of each segment by the metric trubleu.
    OutArray<double> trubleu(FloatMatrix vectors, InArray<uint32_t> rows, std::optional<InArray<double>> importance,
                             nb::tuple outputs, const chrf::References *references,
                             std::optional<InArray<double>> weights, const TrubleuOptions &options, int threads) const {
        Words words(*this, vectors, rows, importance);
        Characters characters(*this, outputs, references, options);
        const double *weight = of_references(weights);
        std::vector<double> scores(slice_.segments());
        {
            nb::gil_scoped_release release;
            parallel_blocks(
                slice_.segments(), segments_a_block, threads,
                [&] { return SegmentScorer(slice_, words.table, characters.outputs.data(), characters.references, options); },
                [&](SegmentScorer &scorer, size_t begin, size_t end) {
                    for (size_t i = begin; i < end; ++i) scores[i] = scorer.score(i, weights_of(weight, i), nullptr);
                });
        }
        return to_numpy(std::move(scores));
    }

    // One segment's score in all its parts: for each reference its score, the F of characters and those of the orders;
    // pairs of n-grams as reference, order, both positions and whether they are equal, with their similarities; what was
    // earned and what was cut; and the weight of each word of the slice, NaN for the mean of a text.
    nb::tuple trubleu_details(FloatMatrix vectors, InArray<uint32_t> rows, std::optional<InArray<double>> importance,
                              nb::tuple outputs, const chrf::References *references,
                              std::optional<InArray<double>> weights, const TrubleuOptions &options, size_t segment) const {
        if (segment >= slice_.segments()) throw nb::index_error("there is no such segment");
        Words words(*this, vectors, rows, importance);
        Characters characters(*this, outputs, references, options);
        SegmentDetails details;
        SegmentScorer scorer(slice_, words.table, characters.outputs.data(), characters.references, options);
        scorer.score(segment, weights_of(of_references(weights), segment), &details);
        Matrix<double> scores(details.references.size(), 2 + options.order);
        double *to = scores.data.get();
        for (const PairScore &pair : details.references) {
            *to++ = pair.score;
            *to++ = pair.characters;
            for (size_t n = 0; n < options.order; ++n)
                *to++ = pair.f.empty() ? std::numeric_limits<double>::quiet_NaN() : pair.f[n];
        }
        Matrix<int32_t> places(details.pairs.size(), 5);
        std::vector<double> similarities;
        int32_t *place = places.data.get();
        for (const trubleu::soft::AlignedPair &pair : details.pairs) {
            for (int32_t number : {pair.reference, pair.order, pair.hypothesis_position, pair.reference_position,
                                   static_cast<int32_t>(pair.exact)})
                *place++ = number;
            similarities.push_back(pair.similarity);
        }
        return nb::make_tuple(scores.release(), places.release(), to_numpy(std::move(similarities)), details.earned,
                              details.cut, to_numpy(std::move(words.weights)));
    }

  private:
    // What the metric trubleu knows of the words of the slice.
    struct Words {
        Words(const Handle &handle, const FloatMatrix &vectors, const InArray<uint32_t> &rows,
              const std::optional<InArray<double>> &importance) {
            Vectors checked = handle.checked(vectors, rows, true, numbers);
            size_t count = numbers.rows.size();
            for (size_t i = 0; i < count; ++i) lengths.push_back(std::sqrt(static_cast<double>(numbers.squares[i])));
            if (importance) {
                if (importance->shape(0) != count) throw nb::value_error("one weight is needed for each word");
                weights.assign(importance->data(), importance->data() + count);
            } else {
                for (double length : lengths)
                    weights.push_back(length > 0.0 ? length : std::numeric_limits<double>::quiet_NaN());
            }
            table = {checked.data, checked.dimensions, checked.rows, lengths.data(), weights.data()};
        }

        Numbers numbers;
        std::vector<double> lengths, weights;
        WordTable table;
    };

    // The texts of the slice before they were split into words.
    struct Characters {
        Characters(const Handle &handle, nb::tuple texts, const chrf::References *prepared, const TrubleuOptions &options)
            : held(texts, 0, options.characters ? texts.size() : 0, options.lowercase) {
            if (!options.characters) return;
            size_t first = handle.first_, count = handle.slice_.segments();
            if (!prepared || prepared->first() != first || prepared->size() != count || texts.size() < first + count)
                throw nb::value_error("characters of all outputs and references of the slice are needed");
            const chrf::Options &theirs = prepared->options();
            if (theirs.lowercase != options.lowercase || theirs.whitespace || theirs.char_order != chrf::Options{}.char_order)
                throw nb::value_error("the references were prepared with other options");
            for (size_t i = 0; i < count; ++i) {
                if (handle.slice_.end(i) - handle.slice_.hypothesis(i) - 1 != prepared->segments()[i].size())
                    throw nb::value_error("the references were prepared from other ones");
                outputs.push_back(held[first + i]);
            }
            references = prepared->segments();
        }

        Texts held;
        std::vector<Text> outputs;
        const chrf::Segment *references = nullptr;
    };

    const double *of_references(const std::optional<InArray<double>> &weights) const {
        if (weights && weights->shape(0) != references_) throw nb::value_error("one weight a reference is needed");
        return weights ? weights->data() : nullptr;
    }

    Vectors checked(const FloatMatrix &vectors, const InArray<uint32_t> &rows, bool composed, Numbers &numbers) const {
        if (vectors.shape(1) % Vectors::lanes) throw nb::value_error("vectors need a multiple of 8 dimensions");
        if (rows.shape(0) != (composed ? slice_.word_count() : unmatched_.size()))
            throw nb::value_error("one row is needed for each word or n-gram");
        for (size_t i = 0; i < rows.shape(0); ++i)
            if (rows.data()[i] != nothing && rows.data()[i] >= vectors.shape(0)) throw nb::index_error("there is no such row");
        size_t dimensions = vectors.shape(1);
        if (!composed) {
            numbers.rows.assign(slice_.node_count(), nothing);
            for (size_t i = 0; i < unmatched_.size(); ++i) numbers.rows[unmatched_[i]] = rows.data()[i];
            return {vectors.data(), dimensions, numbers.rows.data(), false, nullptr};
        }
        numbers.rows.assign(rows.data(), rows.data() + rows.shape(0));
        numbers.squares.resize(numbers.rows.size());
        std::vector<float> zeros(dimensions);
        std::vector<const float *> words;
        for (uint32_t row : numbers.rows)
            words.push_back(row == nothing ? zeros.data() : vectors.data() + size_t{row} * dimensions);
        Dots::each(words.data(), words.data(), words.size(), dimensions, numbers.squares.data());
        return {vectors.data(), dimensions, numbers.rows.data(), true, numbers.squares.data()};
    }

    const double *checked(const std::optional<InArray<double>> &weights) const {
        if (slice_.options().weighted() != weights.has_value()) throw nb::value_error("weighted statistics need weights");
        if (weights && weights->shape(0) != references_) throw nb::value_error("one weight a reference is needed");
        return weights ? weights->data() : nullptr;
    }

    // A segment's first reference is as many texts in as there are references, and hypotheses, before it.
    const double *weights_of(const double *weights, size_t segment) const {
        return weights ? weights + (slice_.hypothesis(segment) - segment) : nullptr;
    }

    Slice slice_;
    size_t first_ = 0, references_ = 0;
    std::vector<uint32_t> unmatched_, places_;
};

}  // namespace

}  // namespace trubleu::soft

void bind_soft(nanobind::module_ &m) {
    namespace nb = nanobind;
    using namespace trubleu::soft;
    nb::class_<Scale>(m, "SoftScale")
        .def("__init__",
             [](Scale *self, const std::string &similarity, double shift, double unknown, const std::string &rule, bool release) {
                 if (!(shift >= 0.0 && shift < 1.0)) throw nb::value_error("a shift lies between 0 and 1");
                 if (!(unknown >= 0.0 && unknown <= 1.0)) throw nb::value_error("the weight of the unknown lies between 0 and 1");
                 new (self) Scale{similarity_named(similarity), shift, unknown, rule_named(rule), release};
             },
             nb::arg("similarity"), nb::arg("shift"), nb::arg("unknown"), nb::arg("rule"), nb::arg("release"));
    nb::class_<TrubleuOptions>(m, "TrubleuOptions")
        .def("__init__",
             [](TrubleuOptions *self, int order, double beta, double shift, bool characters, bool lowercase) {
                 if (order < 1 || order > trubleu::max_order) throw nb::value_error("the order lies between 1 and 9");
                 if (!(beta > 0.0 && std::isfinite(beta))) throw nb::value_error("beta is a number above 0");
                 if (!(shift >= 0.0 && shift < 1.0)) throw nb::value_error("a shift lies between 0 and 1");
                 new (self) TrubleuOptions{static_cast<size_t>(order), beta, shift, characters, lowercase};
             },
             nb::arg("order"), nb::arg("beta"), nb::arg("shift"), nb::arg("characters"),
             nb::arg("lowercase"));
    nb::class_<Names>(m, "SoftNames")
        .def(nb::init<>())
        .def("__len__", &Names::size)
        .def("settle", &Names::settle, nb::arg("rows"));
    nb::class_<Handle>(m, "SoftSlice")
        .def(nb::init<nb::tuple, nb::tuple, trubleu::InArray<int64_t>, const trubleu::Options &, size_t, size_t>(),
             nb::arg("outputs"), nb::arg("references"), nb::arg("offsets"), nb::arg("options"), nb::arg("first"),
             nb::arg("last"))
        .def("words", &Handle::words)
        .def("segments_with", &Handle::segments_with, nb::arg("marked"))
        .def("new_ngrams", &Handle::new_ngrams, nb::arg("names"), nb::arg("first_only"))
        .def("rows", &Handle::rows, nb::arg("names"))
        .def("unknown_words", &Handle::unknown_words, nb::arg("rows"))
        .def("statistics", &Handle::statistics, nb::arg("vectors"), nb::arg("rows"), nb::arg("composed"),
             nb::arg("weights").none(), nb::arg("scale"), nb::arg("threads"))
        .def("trubleu", &Handle::trubleu, nb::arg("vectors"), nb::arg("rows"), nb::arg("importance").none(),
             nb::arg("outputs"), nb::arg("references").none(), nb::arg("weights").none(), nb::arg("options"),
             nb::arg("threads"))
        .def("trubleu_details", &Handle::trubleu_details, nb::arg("vectors"), nb::arg("rows"),
             nb::arg("importance").none(), nb::arg("outputs"), nb::arg("references").none(),
             nb::arg("weights").none(), nb::arg("options"), nb::arg("segment"))
        .def("pairs", &Handle::pairs, nb::arg("vectors"), nb::arg("rows"), nb::arg("composed"),
             nb::arg("weights").none(), nb::arg("scale"));
}
