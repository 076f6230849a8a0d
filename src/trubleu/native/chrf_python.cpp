// The Python face of chrF: references are prepared once, rows of statistics are made for any number of systems.
#include "chrf.hpp"
#include "python.hpp"

namespace trubleu::chrf {

namespace {

constexpr size_t segments_a_block = 64;

struct Choice {
    Options options;
    Weighing weighing;
};

// Some segments' references, prepared.
class References {
  public:
    References(nb::tuple references, InArray<int64_t> offsets, const Choice &choice, size_t first, size_t last, int threads)
        : options_(choice.options), first_(first) {
        size_t count = offsets.shape(0);
        if (count == 0 || first > last || last > count - 1)
            throw nb::index_error("the slice of segments lies outside the data");
        const int64_t *offset = offsets.data();
        for (size_t i = first; i <= last; ++i)
            if (offset[i] < (i == first ? 0 : offset[i - 1]) || offset[i] > static_cast<int64_t>(references.size()))
                throw nb::value_error("offsets do not fit the references");
        size_t base = static_cast<size_t>(offset[first]);
        Texts texts(references, base, static_cast<size_t>(offset[last]), options_.lowercase);
        segments_.resize(last - first);
        nb::gil_scoped_release release;
        parallel_blocks(
            segments_.size(), segments_a_block, threads, [] { return std::vector<Text>(); },
            [&](std::vector<Text> &segment, size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) {
                    segment.clear();
                    for (int64_t j = offset[first + i]; j < offset[first + i + 1]; ++j)
                        segment.push_back(texts[static_cast<size_t>(j) - base]);
                    segments_[i] = Segment(options_, segment.data(), segment.size());
                }
            });
        for (const Segment &segment : segments_) memory_ += sizeof segment + segment.memory();
    }

    size_t memory() const { return memory_; }

    // By order: n-grams of the hypothesis, of the reference with the largest F, and matches.
    OutMatrix<double> statistics(nb::tuple outputs, const Choice &choice, int threads) const {
        const Options &options = choice.options;
        if (options.lowercase != options_.lowercase || options.whitespace != options_.whitespace ||
            (options.word_order > 0 && options_.word_order == 0))
            throw nb::value_error("the references were prepared with other options");
        size_t count = segments_.size();
        if (outputs.size() < first_ + count) throw nb::index_error("one output is needed for each segment");
        Texts texts(outputs, first_, first_ + count, options.lowercase);
        Matrix<double> rows(count, 3 * options.orders());
        {
            nb::gil_scoped_release release;
            parallel_blocks(
                count, segments_a_block, threads, [&] { return Matcher(options); },
                [&](Matcher &matcher, size_t begin, size_t end) {
                    for (size_t i = begin; i < end; ++i) {
                        texts.prefetch(i + 2);
                        matcher.compare(texts[i], segments_[i]);
                        write(matcher, segments_[i].size(), choice.weighing, rows.data.get() + i * rows.columns, rows.columns);
                    }
                });
        }
        return rows.release();
    }

  private:
    static void write(const Matcher &matcher, size_t references, const Weighing &weighing, double *row, size_t columns) {
        if (references == 0) {
            std::fill_n(row, columns, 0.0);
            return;
        }
        for (const Counts &order : matcher.counts(matcher.best(references, weighing))) {
            *row++ = order.hypothesis;
            *row++ = order.reference;
            *row++ = order.matches;
        }
    }

    Options options_;
    size_t first_, memory_ = 0;
    std::vector<Segment> segments_;
};

constexpr size_t most_orders = 1000;

}  // namespace

}  // namespace trubleu::chrf

void bind_chrf(nanobind::module_ &m) {
    namespace nb = nanobind;
    using namespace trubleu::chrf;
    nb::class_<Choice>(m, "ChrfOptions")
        .def("__init__",
             [](Choice *self, size_t char_order, size_t word_order, double factor, double factor_plus_one, bool lowercase,
                bool whitespace, bool eps_smoothing) {
                 if (char_order < 1 || char_order > most_orders || word_order > most_orders)
                     throw nb::value_error("orders lie between 1, or 0 for words, and 1000");
                 if (!(factor > 0.0 && factor < 1e300 && factor_plus_one >= factor && factor_plus_one < 1e300))
                     throw nb::value_error("the factor of recall must be positive");
                 new (self) Choice{{char_order, word_order, whitespace, lowercase}, {factor, factor_plus_one, eps_smoothing}};
             },
             nb::arg("char_order"), nb::arg("word_order"), nb::arg("factor"), nb::arg("factor_plus_one"),
             nb::arg("lowercase"), nb::arg("whitespace"), nb::arg("eps_smoothing"));
    nb::class_<References>(m, "ChrfReferences")
        .def(nb::init<nb::tuple, trubleu::InArray<int64_t>, const Choice &, size_t, size_t, int>(), nb::arg("references"),
             nb::arg("offsets"), nb::arg("options"), nb::arg("first"), nb::arg("last"), nb::arg("threads"))
        .def_prop_ro("memory", &References::memory)
        .def("statistics", &References::statistics, nb::arg("outputs"), nb::arg("options"), nb::arg("threads"));
}
