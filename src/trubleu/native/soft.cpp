// The Python face of near misses: texts become numbers, Python finds vectors for them, segments are aligned and scored.
#include <functional>
#include <optional>
#include <stdexcept>

#include "align.hpp"
#include "dots.hpp"
#include "python.hpp"

#include <nanobind/stl/optional.h>

namespace trubleu::soft {

namespace {

constexpr size_t segments_a_block = 16;

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

  private:
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
    size_t references_ = 0;
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
        .def("pairs", &Handle::pairs, nb::arg("vectors"), nb::arg("rows"), nb::arg("composed"),
             nb::arg("weights").none(), nb::arg("scale"));
}
