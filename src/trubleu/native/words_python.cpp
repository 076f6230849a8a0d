// The Python face of metrics that compare numbers of words: NIST and CIDEr, which weigh n-grams by their counts, METEOR, TER,
// and what outputs share with each other.
#include "diversity.hpp"
#include "meteor.hpp"
#include "python.hpp"
#include "ter.hpp"
#include "weighted.hpp"

#include <numeric>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

namespace trubleu {

namespace {

constexpr size_t segments_a_block = 64;

using Stems = std::optional<nb::tuple>;

// One word each, as the kernel's tokenizers leave it.
Vocabulary vocabulary_of(const nb::tuple &strings, std::vector<uint32_t> &numbers) {
    Texts texts(strings, 0, strings.size(), false);
    Vocabulary words;
    Line line;
    for (size_t i = 0; i < strings.size(); ++i) {
        line.load(texts[i], Tokenizer::whitespace, false);
        if (line.size() != 1) throw nb::value_error("a word must be one");
        numbers.push_back(words.number(Token(line.bytes() + line.begin()->begin, line.begin()->size())));
    }
    return words;
}

void check_offsets(const InArray<int64_t> &offsets, const WordTexts &texts) {
    size_t count = offsets.shape(0);
    if (count == 0 || !std::is_sorted(offsets.data(), offsets.data() + count) ||
        offsets(count - 1) - offsets(0) != static_cast<int64_t>(texts.size()))
        throw nb::value_error("offsets do not fit the texts");
}

// Texts' words and maybe their stems: which classes they make, and which words of a corpus these are.
class Classes {
  public:
    Classes(const WordTexts &texts, const Stems &stems) : texts_(texts) {
        if (!stems) return;
        stems_ = vocabulary_of(*stems, classes);
        if (classes.size() != texts.word_count()) throw nb::value_error("one stem is needed for each word");
    }

    // Calls with each class as a vocabulary and the word's number there.
    template <typename Take> void each(Take take) const {
        if (!classes.empty()) {
            for (size_t i = 0; i < stems_.size(); ++i) take(stems_, i);
            return;
        }
        for (const WordTexts *texts : {texts_.others(), &texts_})
            for (size_t i = 0; texts && i < texts->own_words().size(); ++i) take(texts->own_words(), i);
    }

    std::vector<uint32_t> classes;

  private:
    const WordTexts &texts_;
    Vocabulary stems_;
};

void add_texts(NgramCounts &counts, const WordTexts &texts, InArray<int64_t> offsets, const Stems &stems, bool drop_rare, int threads) {
    check_offsets(offsets, texts);
    Classes words(texts, stems);
    nb::gil_scoped_release release;
    std::vector<uint32_t> numbers;
    if (counts.words().size() == 0 && words.classes.empty() && !texts.others()) {
        counts.words() = texts.own_words();
        numbers.resize(texts.word_count());
        std::iota(numbers.begin(), numbers.end(), 0u);
    } else {
        words.each([&](const Vocabulary &vocabulary, size_t i) { numbers.push_back(counts.words().number(vocabulary, i)); });
    }
    if (!words.classes.empty()) {
        std::vector<uint32_t> ours = std::move(numbers);
        numbers.clear();
        for (uint32_t each : words.classes) numbers.push_back(ours[each]);
    }
    counts.add(texts, {offsets.data(), offsets.shape(0)}, numbers, drop_rare, threads);
}

template <typename T> std::vector<T> copied(const InArray<T> &array) { return {array.data(), array.data() + array.shape(0)}; }

// Heap and begins of words, their counts; the edges of each further order, their counts; tokens, segments.
void merge(NgramCounts &counts, InArray<uint8_t> heap, InArray<uint64_t> begins, InArray<uint32_t> word_counts,
           std::vector<InArray<uint64_t>> edges, std::vector<InArray<uint32_t>> edge_counts, uint64_t tokens, uint64_t segments,
           uint32_t least) {
    size_t size = word_counts.shape(0);
    bool fits = begins.shape(0) == size + 1 && begins(0) == 0 && begins(size) == heap.shape(0) &&
                edges.size() + 1 == counts.orders() && edge_counts.size() == edges.size();
    for (size_t i = 0; fits && i < size; ++i) fits = begins(i) < begins(i + 1) && begins(i + 1) - begins(i) < nothing;
    PlainCounts plain{copied(word_counts), {}};
    for (size_t i = 0; fits && i < edges.size(); ++i) {
        fits = edges[i].shape(0) == edge_counts[i].shape(0);
        plain.levels.push_back({copied(edges[i]), copied(edge_counts[i])});
    }
    if (!fits) throw nb::value_error("the arrays of the counts do not fit each other");
    nb::gil_scoped_release release;
    // A token is read in whole words, so there must be something behind the last one.
    std::vector<uint8_t> bytes(heap.shape(0) + Line::padding);
    std::copy_n(heap.data(), heap.shape(0), bytes.data());
    std::vector<uint32_t> numbers;
    for (size_t i = 0; i < size; ++i) {
        Token token(bytes.data() + begins(i), static_cast<uint32_t>(begins(i + 1) - begins(i)));
        numbers.push_back(plain.words[i] < least ? nothing : counts.words().number(token));
    }
    counts.merge(numbers, plain, tokens, segments, least);
}

nb::tuple arrays(const NgramCounts &counts) {
    PlainCounts plain = counts.plain();
    std::vector<uint8_t> heap;
    std::vector<uint64_t> begins{0};
    for (size_t i = 0; i < counts.words().size(); ++i) {
        std::string_view word = counts.words()[i];
        heap.insert(heap.end(), word.begin(), word.end());
        begins.push_back(heap.size());
    }
    nb::list edges, edge_counts;
    for (PlainCounts::Level &level : plain.levels) {
        edges.append(to_numpy(std::move(level.edges)));
        edge_counts.append(to_numpy(std::move(level.counts)));
    }
    return nb::make_tuple(to_numpy(std::move(heap)), to_numpy(std::move(begins)), to_numpy(std::move(plain.words)), edges, edge_counts);
}

// How often some words were counted.
OutArray<int64_t> counts_of(const NgramCounts &counts, nb::tuple words) {
    std::vector<uint32_t> numbers;
    Vocabulary found = vocabulary_of(words, numbers);
    std::vector<int64_t> often;
    for (uint32_t number : numbers) {
        uint32_t ours = counts.words().find(found, number);
        often.push_back(ours == nothing ? 0 : counts.word_count(ours));
    }
    return to_numpy(std::move(often));
}

// Outputs of some segments from the first one on, beside all references.
class Weighted {
  public:
    Weighted(const NgramCounts &counts, const WordTexts &texts, const WordTexts &references, InArray<int64_t> offsets, const Stems &stems,
             size_t order)
        : references_(references), offsets_(offsets), order_(order), words_{counts, {}, {}, {}} {
        if (order < 1 || order > counts.orders()) throw nb::value_error("n-grams of this length were not counted");
        check_offsets(offsets, references);
        Classes words(texts, stems);
        words.each([&](const Vocabulary &vocabulary, size_t i) {
            uint32_t number = counts.words().find(vocabulary, i), often = number == nothing ? 0 : counts.word_count(number);
            words_.known.push_back(often < 2 ? nothing : number);
            words_.often.push_back(std::max(often, 1u));
        });
        words_.classes = std::move(words.classes);
    }

    // Calls with a scorer, a segment's place among these, its references and the place of the first of them.
    template <typename Work> void each(size_t first, size_t count, int threads, Work work) const {
        struct Worker {
            WeightedScorer scorer;
            std::vector<std::span<const uint32_t>> references;
        };
        nb::gil_scoped_release release;
        parallel_blocks(
            count, segments_a_block, threads, [&] { return Worker{WeightedScorer(words_, order_), {}}; },
            [&](Worker &worker, size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) {
                    size_t from = place(first + i);
                    worker.references.clear();
                    for (size_t j = from; j < place(first + i + 1); ++j) worker.references.push_back(references_[j]);
                    work(worker.scorer, i, worker.references, from);
                }
            });
    }

  private:
    size_t place(size_t segment) const { return static_cast<size_t>(offsets_.data()[segment] - offsets_.data()[0]); }

    const WordTexts &references_;
    InArray<int64_t> offsets_;
    size_t order_;
    CorpusWords words_;
};

void check_outputs(const WordTexts &outputs, const WordTexts &references, const InArray<int64_t> &offsets, size_t first) {
    if (outputs.others() != &references) throw nb::value_error("the outputs were read beside other references");
    if (first > offsets.shape(0) || outputs.size() + first >= offsets.shape(0)) throw nb::index_error("there are more outputs than segments");
}

OutMatrix<double> nist(const NgramCounts &counts, const WordTexts &outputs, const WordTexts &references, InArray<int64_t> offsets,
                       const Stems &stems, size_t first, size_t order, int threads) {
    check_outputs(outputs, references, offsets, first);
    Weighted weighted(counts, outputs, references, offsets, stems, order);
    Matrix<double> rows(outputs.size(), 2 + 2 * order);
    weighted.each(first, outputs.size(), threads, [&](WeightedScorer &scorer, size_t i, const auto &texts, size_t) {
        scorer.nist(outputs[i], texts, rows.data.get() + i * rows.columns);
    });
    return rows.release();
}

OutMatrix<double> cider_norms(const NgramCounts &counts, const WordTexts &references, InArray<int64_t> offsets, const Stems &stems,
                              size_t order, int threads) {
    Weighted weighted(counts, references, references, offsets, stems, order);
    Matrix<double> norms(references.size(), order);
    weighted.each(0, offsets.shape(0) - 1, threads, [&](WeightedScorer &scorer, size_t, const auto &texts, size_t from) {
        scorer.norms(texts, norms.data.get() + from * order);
    });
    return norms.release();
}

OutArray<double> cider(const NgramCounts &counts, const WordTexts &outputs, const WordTexts &references, InArray<int64_t> offsets,
                       const Stems &stems, size_t first, nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> norms,
                       double sigma, int threads) {
    check_outputs(outputs, references, offsets, first);
    size_t order = norms.shape(1);
    if (norms.shape(0) != references.size()) throw nb::value_error("the lengths of all references are needed");
    Weighted weighted(counts, outputs, references, offsets, stems, order);
    std::vector<double> scores(outputs.size());
    weighted.each(first, outputs.size(), threads, [&](WeightedScorer &scorer, size_t i, const auto &texts, size_t from) {
        scores[i] = scorer.cider(outputs[i], texts, norms.data() + from * order, sigma);
    });
    return to_numpy(std::move(scores));
}

// Outputs beside their references, for METEOR. Meanings come as those of all words and where each word's begin. Whoever makes
// one keeps the texts.
class MeteorTexts {
  public:
    MeteorTexts(const WordTexts &outputs, const WordTexts &references, InArray<int64_t> offsets, const Stems &stems,
                std::optional<InArray<uint64_t>> meaning_begins, std::optional<InArray<uint32_t>> meanings)
        : outputs_(outputs), references_(references), offsets_(offsets), meaning_begins_(meaning_begins), meanings_(meanings),
          classes_(Classes(outputs, stems).classes) {
        check_offsets(offsets, references);
        check_outputs(outputs, references, offsets, 0);
        if (stems) relations_.stems = classes_.data();
        check_meanings(meaning_begins, meanings, outputs.word_count());
        if (meanings) {
            relations_.meaning_begins = meaning_begins_->data();
            relations_.meanings = meanings_->data();
        }
    }

    static void check_meanings(const std::optional<InArray<uint64_t>> &begins, const std::optional<InArray<uint32_t>> &meanings,
                               size_t words) {
        if (!begins && !meanings) return;
        if (!begins || !meanings || begins->shape(0) != words + 1 || !std::is_sorted(begins->data(), begins->data() + words + 1) ||
            begins->data()[words] != meanings->shape(0))
            throw nb::value_error("every word needs its meanings");
    }

    // For each reference of some segments: exact, stem and synonym matches, lengths of the output and the reference, chunks.
    OutMatrix<double> rows(size_t first, size_t last, int threads) const {
        if (first > last || last > outputs_.size()) throw nb::index_error("the slice of segments lies outside the data");
        auto place = [&](size_t segment) { return static_cast<size_t>(offsets_.data()[segment] - offsets_.data()[0]); };
        Matrix<double> rows(place(last) - place(first), 6);
        {
            nb::gil_scoped_release release;
            parallel_blocks(
                last - first, pairs_a_block, threads, [&] { return meteor::Aligner(relations_, {}); },
                [&](meteor::Aligner &aligner, size_t begin, size_t end) {
                    for (size_t i = first + begin; i < first + end; ++i)
                        for (size_t j = place(i); j < place(i + 1); ++j) {
                            meteor::Alignment found = aligner.align(outputs_[i], references_[j]);
                            size_t values[] = {found.exact, found.stem, found.synonym, outputs_[i].size(), references_[j].size(), found.chunks};
                            std::copy_n(values, 6, rows.data.get() + 6 * (j - place(first)));
                        }
                });
        }
        return rows.release();
    }

  private:
    static constexpr size_t pairs_a_block = 16;

    const WordTexts &outputs_, &references_;
    InArray<int64_t> offsets_;
    std::optional<InArray<uint64_t>> meaning_begins_;
    std::optional<InArray<uint32_t>> meanings_;
    std::vector<uint32_t> classes_;
    meteor::Relations relations_;
};

// One alignment with other limits: exact, stem and synonym matches, chunks, and how many steps were tried.
nb::tuple meteor_align(InArray<uint32_t> words, InArray<uint32_t> reference, std::optional<InArray<uint32_t>> stems,
                       std::optional<InArray<uint64_t>> meaning_begins, std::optional<InArray<uint32_t>> meanings, size_t narrow,
                       size_t wide, size_t few, int64_t steps) {
    size_t known = 0;
    for (const InArray<uint32_t> &text : {words, reference})
        for (size_t i = 0; i < text.shape(0); ++i) known = std::max(known, size_t{text.data()[i]} + 1);
    if (known >= nothing / 2 || (stems && stems->shape(0) < known)) throw nb::index_error("a word has no such number");
    MeteorTexts::check_meanings(meaning_begins, meanings, meaning_begins ? std::max(known, meaning_begins->shape(0) - 1) : known);
    meteor::Relations relations{stems ? stems->data() : nullptr, meaning_begins ? meaning_begins->data() : nullptr,
                                meanings ? meanings->data() : nullptr};
    meteor::Alignment found = meteor::Aligner(relations, {narrow, wide, few, steps})
                                  .align({words.data(), words.shape(0)}, {reference.data(), reference.shape(0)});
    return nb::make_tuple(found.exact, found.stem, found.synonym, found.chunks, found.tried);
}

// The fewest edits that any reference asks for, and the mean length of the references.
OutMatrix<double> ter_edits(const WordTexts &outputs, const WordTexts &references, InArray<int64_t> offsets, size_t first, size_t last,
                            int threads) {
    check_offsets(offsets, references);
    check_outputs(outputs, references, offsets, 0);
    if (first > last || last > outputs.size()) throw nb::index_error("the slice of segments lies outside the data");
    auto place = [&](size_t segment) { return static_cast<size_t>(offsets.data()[segment] - offsets.data()[0]); };
    Matrix<double> rows(last - first, 2);
    {
        nb::gil_scoped_release release;
        parallel_blocks(
            last - first, 4, threads, [] { return ter::Editor(); },
            [&](ter::Editor &editor, size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) {
                    size_t from = place(first + i), to = place(first + i + 1), fewest = std::numeric_limits<size_t>::max(), words = 0;
                    for (size_t j = from; j < to; ++j) {
                        fewest = std::min(fewest, editor.edits(outputs[first + i], references[j]));
                        words += references[j].size();
                    }
                    double *row = rows.data.get() + 2 * i;
                    row[0] = static_cast<double>(fewest);
                    row[1] = static_cast<double>(words) / static_cast<double>(to - from);
                    if (to == from) row[0] = row[1] = 0.0;
                }
            });
    }
    return rows.release();
}

void check_order(size_t order) {
    if (order < 1 || order > max_order) throw nb::value_error("the order lies between 1 and 9");
}

OutMatrix<double> distinct_rows(const WordTexts &texts, size_t order) {
    check_order(order);
    Matrix<double> rows(texts.size(), 2);
    {
        nb::gil_scoped_release release;
        distinct_ngrams(texts, order, rows.data.get());
    }
    return rows.release();
}

OutMatrix<double> self_rows(const WordTexts &texts, size_t order) {
    check_order(order);
    Matrix<double> rows(texts.size(), 2 + 2 * order);
    {
        nb::gil_scoped_release release;
        self_matches(texts, order, rows.data.get());
    }
    return rows.release();
}

}  // namespace

}  // namespace trubleu

void bind_words(nanobind::module_ &m) {
    namespace nb = nanobind;
    using namespace trubleu;
    nb::class_<NgramCounts>(m, "NgramCounts")
        .def("__init__",
             [](NgramCounts *self, size_t orders, bool segments) {
                 if (orders < 1 || orders > max_order) throw nb::value_error("the order lies between 1 and 9");
                 new (self) NgramCounts(orders, segments ? Counted::segments : Counted::occurrences);
             },
             nb::arg("orders"), nb::arg("segments"))
        .def_prop_ro("orders", &NgramCounts::orders)
        .def_prop_ro("tokens", &NgramCounts::tokens)
        .def_prop_ro("segments", &NgramCounts::segments)
        .def_prop_ro("size", &NgramCounts::size)
        .def_prop_ro("memory", &NgramCounts::memory)
        .def("add", &add_texts, nb::arg("texts"), nb::arg("offsets"), nb::arg("stems").none(), nb::arg("drop_rare"), nb::arg("threads"))
        .def("merge", &merge, nb::arg("heap"), nb::arg("begins"), nb::arg("word_counts"), nb::arg("edges"), nb::arg("edge_counts"),
             nb::arg("tokens"), nb::arg("segments"), nb::arg("least"))
        .def("arrays", &arrays)
        .def("counts_of", &counts_of, nb::arg("words"));
    m.def("nist", &nist, nb::arg("counts"), nb::arg("outputs"), nb::arg("references"), nb::arg("offsets"), nb::arg("stems").none(),
          nb::arg("first"), nb::arg("order"), nb::arg("threads"));
    m.def("cider_norms", &cider_norms, nb::arg("counts"), nb::arg("references"), nb::arg("offsets"), nb::arg("stems").none(),
          nb::arg("order"), nb::arg("threads"));
    m.def("cider", &cider, nb::arg("counts"), nb::arg("outputs"), nb::arg("references"), nb::arg("offsets"), nb::arg("stems").none(),
          nb::arg("first"), nb::arg("norms"), nb::arg("sigma"), nb::arg("threads"));
    nb::class_<MeteorTexts>(m, "MeteorTexts")
        .def(nb::init<const WordTexts &, const WordTexts &, InArray<int64_t>, const Stems &, std::optional<InArray<uint64_t>>,
                      std::optional<InArray<uint32_t>>>(),
             nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::arg("outputs"), nb::arg("references"), nb::arg("offsets"),
             nb::arg("stems").none(), nb::arg("meaning_begins").none(), nb::arg("meanings").none())
        .def("rows", &MeteorTexts::rows, nb::arg("first"), nb::arg("last"), nb::arg("threads"));
    m.def("distinct_ngrams", &distinct_rows, nb::arg("texts"), nb::arg("order"));
    m.def("self_matches", &self_rows, nb::arg("texts"), nb::arg("order"));
    m.def("ter_edits", &ter_edits, nb::arg("outputs"), nb::arg("references"), nb::arg("offsets"), nb::arg("first"), nb::arg("last"),
          nb::arg("threads"));
    const meteor::Limits usual;
    m.def("meteor_align", &meteor_align, nb::arg("words"), nb::arg("reference"), nb::arg("stems").none() = nb::none(),
          nb::arg("meaning_begins").none() = nb::none(), nb::arg("meanings").none() = nb::none(), nb::arg("narrow") = usual.narrow,
          nb::arg("wide") = usual.wide, nb::arg("few") = usual.few, nb::arg("steps") = usual.steps);
}
