// The Python face of metrics that compare an output with one reference after the other, straight from text: ROUGE and LeBLEU.
#include "lebleu.hpp"
#include "python.hpp"
#include "rouge.hpp"

namespace trubleu {

namespace {

constexpr size_t segments_a_block = 64;

// Rows of some segments; `make` makes the scorer of a thread.
template <typename Make>
OutMatrix<double> rows_of(nb::tuple outputs, nb::tuple references, const InArray<int64_t> &offsets, bool lowercase, size_t columns, size_t first,
                          size_t last, int threads, Make make) {
    size_t count = offsets.shape(0);
    const int64_t *offset = offsets.data();
    if (count == 0 || offset[0] != 0 || !std::is_sorted(offset, offset + count) || offset[count - 1] != static_cast<int64_t>(references.size()))
        throw nb::value_error("offsets do not fit the references");
    if (first > last || last > std::min(outputs.size(), count - 1)) throw nb::index_error("the slice of segments lies outside the data");
    size_t base = static_cast<size_t>(offset[first]);
    Texts output_texts(outputs, first, last, lowercase), reference_texts(references, base, static_cast<size_t>(offset[last]), lowercase);
    Matrix<double> rows(last - first, columns);
    {
        nb::gil_scoped_release release;
        struct Worker {
            decltype(make()) scorer;
            std::vector<Text> references;
        };
        parallel_blocks(
            last - first, segments_a_block, threads, [&] { return Worker{make(), {}}; },
            [&](Worker &worker, size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) {
                    worker.references.clear();
                    for (int64_t j = offset[first + i]; j < offset[first + i + 1]; ++j)
                        worker.references.push_back(reference_texts[static_cast<size_t>(j) - base]);
                    output_texts.prefetch(i + 2);
                    worker.scorer.score(output_texts[i], worker.references.data(), worker.references.size(), rows.data.get() + i * columns);
                }
            });
    }
    return rows.release();
}

OutMatrix<double> rouge_scores(nb::tuple outputs, nb::tuple references, InArray<int64_t> offsets, const std::string &kind, size_t order, bool stem,
                               size_t first, size_t last, int threads) {
    if (order < 1 || order > max_order) throw nb::value_error("the order must lie between 1 and 9");
    rouge::Kind chosen = rouge::Kind::ngrams;
    if (kind == "subsequence") chosen = rouge::Kind::subsequence;
    else if (kind == "summary") chosen = rouge::Kind::summary;
    else if (kind != "ngrams") throw nb::value_error("ROUGE compares ngrams, a subsequence or a summary");
    return rows_of(outputs, references, offsets, true, 4, first, last, threads, [&] { return rouge::Scorer(chosen, order, stem); });
}

OutMatrix<double> lebleu_statistics(nb::tuple outputs, nb::tuple references, InArray<int64_t> offsets, const Options &options, double threshold,
                                    size_t first, size_t last, int threads) {
    if (!(threshold >= 0.0 && threshold <= 1.0)) throw nb::value_error("the threshold lies between 0 and 1");
    size_t columns = 2 + 2 * static_cast<size_t>(options.order);
    return rows_of(outputs, references, offsets, options.lowercase, columns, first, last, threads,
                   [&] { return lebleu::Scorer(options, threshold); });
}

}  // namespace

}  // namespace trubleu

void bind_pairs(nanobind::module_ &m) {
    namespace nb = nanobind;
    using namespace trubleu;
    m.def("rouge_scores", &rouge_scores, nb::arg("outputs"), nb::arg("references"), nb::arg("offsets"), nb::arg("kind"), nb::arg("order"),
          nb::arg("stem"), nb::arg("first"), nb::arg("last"), nb::arg("threads"));
    m.def("lebleu_statistics", &lebleu_statistics, nb::arg("outputs"), nb::arg("references"), nb::arg("offsets"), nb::arg("options"),
          nb::arg("threshold"), nb::arg("first"), nb::arg("last"), nb::arg("threads"));
}
