// The Python face of the n-gram kernels. No logic lives here: arguments in, arrays out, the GIL released in between.
#include "direct.hpp"
#include "prepared.hpp"
#include "python.hpp"
#include "sources_hash.hpp"
#include "tercom.hpp"
#include "validate.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <any>
#include <cstring>

void bind_chrf(nanobind::module_ &m);
void bind_context(nanobind::module_ &m);
void bind_correlate(nanobind::module_ &m);
void bind_count(nanobind::module_ &m);
void bind_mine_build(nanobind::module_ &m);
void bind_mine_search(nanobind::module_ &m);
void bind_mine_shard(nanobind::module_ &m);
void bind_pairs(nanobind::module_ &m);
void bind_resample(nanobind::module_ &m);
void bind_soft(nanobind::module_ &m);
void bind_stored(nanobind::module_ &m);
void bind_subwords(nanobind::module_ &m);
void bind_train(nanobind::module_ &m);
void bind_trubleu(nanobind::module_ &m);
void bind_units(nanobind::module_ &m);
void bind_words(nanobind::module_ &m);

namespace trubleu {

#ifdef TRUBLEU_COPY_TEXTS
Texts::Texts(nb::tuple texts, size_t first, size_t last, bool lowercase) : owner_(texts) {
    // A string that is not ASCII keeps the UTF-8 form that Python makes here; one with a lone surrogate has none.
    auto ascii = [](PyObject *object) {
        Py_ssize_t bytes = 0;
        const char *data = PyUnicode_AsUTF8AndSize(object, &bytes);
        if (!data) PyErr_Clear();
        bool is_ascii = data && bytes == PyUnicode_GetLength(object);
        return Text{is_ascii ? data : nullptr, is_ascii ? static_cast<size_t>(bytes) : 0, 1, is_ascii};
    };
    Items items(texts);
    views_.reserve(last - first);
    for (size_t i = first; i < last; ++i) {
        PyObject *object = items[i];
        if (!PyUnicode_Check(object)) throw nb::type_error("texts must be strings");
        Text view = ascii(object);
        if (!view.ascii && lowercase) {
            lowered_.push_back(nb::borrow(object).attr("lower")());
            object = lowered_.back().ptr();
            if (!PyUnicode_Check(object)) throw nb::type_error("texts must be strings");
            view = ascii(object);
        }
        if (!view.ascii) {
            size_t length = static_cast<size_t>(PyUnicode_GetLength(object));
            copies_.push_back(std::make_unique_for_overwrite<Py_UCS4[]>(length));
            if (!PyUnicode_AsUCS4(object, copies_.back().get(), static_cast<Py_ssize_t>(length), 0)) throw nb::python_error();
            view = Text{copies_.back().get(), length, 4, false};
        }
        views_.push_back(view);
    }
}
#else
Texts::Texts(nb::tuple texts, size_t first, size_t last, bool lowercase)
    : owner_(texts), items_(&PyTuple_GET_ITEM(texts.ptr(), 0) + first), size_(last - first) {
    if (!lowercase) return;
    replaced_.assign(items_, items_ + size_);
    for (PyObject *&object : replaced_) {
        if (!PyUnicode_Check(object)) throw nb::type_error("texts must be strings");
        if (PyUnicode_IS_ASCII(object)) continue;
        lowered_.push_back(nb::borrow(object).attr("lower")());
        object = lowered_.back().ptr();
    }
    items_ = replaced_.data();
}
#endif

namespace {

constexpr size_t segments_a_block = 256;
constexpr size_t prefetch_distance = 12;

Tokenizer tokenizer_named(const std::string &name) {
    if (name == "13a") return Tokenizer::mteval13a;
    if (name == "none") return Tokenizer::whitespace;
    if (name == "alphanumeric") return Tokenizer::alphanumeric;
    if (name == "stems") return Tokenizer::stems;
    if (name.starts_with("tercom")) {
        uint8_t kind = static_cast<uint8_t>(Tokenizer::tercom);
        if (name.find("+normalized") != std::string::npos) kind |= tercom::normalized;
        if (name.find("+no_punct") != std::string::npos) kind |= tercom::no_punct;
        if (name.find("+asian") != std::string::npos) kind |= tercom::asian;
        if (name.find("+twice") != std::string::npos) kind |= tercom::twice;
        return static_cast<Tokenizer>(kind);
    }
    throw nb::value_error("the kernel has the tokenizers 13a, none, alphanumeric and stems, and TER's");
}

ReferenceLength reference_length_named(const std::string &name) {
    if (name == "closest") return ReferenceLength::closest;
    if (name == "shortest") return ReferenceLength::shortest;
    if (name == "longest") return ReferenceLength::longest;
    if (name == "average") return ReferenceLength::average;
    throw nb::value_error("reference length is closest, shortest, longest or average");
}

Credit credit_named(const std::string &name) {
    if (name == "counts") return Credit::counts;
    if (name == "products") return Credit::products;
    if (name == "fork2019") return Credit::fork2019;
    throw nb::value_error("credit is counts, products or fork2019");
}

Options make_options(const std::string &tokenizer, bool lowercase, int order, const std::string &credit,
                     const std::string &reference_length, bool positive_lengths) {
    if (order < 1 || order > max_order) throw nb::value_error("the order must lie between 1 and 9");
    Options options;
    options.tokenizer = tokenizer_named(tokenizer);
    options.lowercase = lowercase;
    options.order = order;
    options.credit = credit_named(credit);
    options.reference_length = reference_length_named(reference_length);
    options.positive_lengths = positive_lengths;
    return options;
}

void check_slice(size_t first, size_t last, size_t size) {
    if (first > last || last > size) throw nb::index_error("the slice of segments lies outside the data");
}

void check_offsets(const InArray<int64_t> &offsets, size_t references) {
    size_t n = offsets.shape(0);
    if (n == 0 || offsets.data()[0] != 0 || offsets.data()[n - 1] != static_cast<int64_t>(references))
        throw nb::value_error("offsets do not fit the references");
    for (size_t i = 1; i < n; ++i)
        if (offsets.data()[i] < offsets.data()[i - 1]) throw nb::value_error("offsets must not fall");
}

OutMatrix<double> statistics(nb::tuple outputs, nb::tuple references, InArray<int64_t> offsets,
                             std::optional<InArray<double>> weights, const Options &options, size_t first, size_t last,
                             int threads) {
    check_offsets(offsets, references.size());
    check_slice(first, last, std::min(outputs.size(), offsets.shape(0) - 1));
    if (weights && weights->shape(0) != references.size()) throw nb::value_error("one weight a reference is needed");
    if (options.weighted() && !weights) throw nb::value_error("weighted statistics need weights");
    size_t base = static_cast<size_t>(offsets.data()[first]);
    Texts hypothesis_texts(outputs, first, last, options.lowercase);
    Texts reference_texts(references, base, static_cast<size_t>(offsets.data()[last]), options.lowercase);
    const double *weight = weights ? weights->data() + base : nullptr;
    const int64_t *offset = offsets.data() + first;
    Matrix<double> rows(last - first, options.columns());
    {
        nb::gil_scoped_release release;
        struct Worker {
            DirectScorer scorer;
            std::vector<Text> references;
        };
        parallel_blocks(
            last - first, segments_a_block, threads, [&] { return Worker{DirectScorer(options), {}}; },
            [&](Worker &worker, size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) {
                    size_t from = static_cast<size_t>(offset[i]) - base, to = static_cast<size_t>(offset[i + 1]) - base;
                    worker.references.clear();
                    for (size_t j = from; j < to; ++j) {
                        reference_texts.prefetch(j + prefetch_distance);
                        worker.references.push_back(reference_texts[j]);
                    }
                    hypothesis_texts.prefetch(i + 2);
                    worker.scorer.score(hypothesis_texts[i], worker.references.data(), weight ? weight + from : nullptr,
                                        to - from, rows.data.get() + i * rows.columns);
                }
            });
    }
    return rows.release();
}

// Whether all are plain strings, neither None nor of a subclass.
bool all_strings(nb::tuple texts) {
    Items items(texts);
    for (size_t i = 0, n = items.size(); i < n; ++i) {
        if (i + prefetch_distance < n) __builtin_prefetch(items[i + prefetch_distance]);
        if (!PyUnicode_CheckExact(items[i])) return false;
    }
    return true;
}

// How many texts have no token, by any tokenizer: nothing, or nothing but white space. None if one is no plain string.
std::optional<size_t> count_empty(nb::tuple tuple) {
    if (!all_strings(tuple)) return std::nullopt;
    auto is_space = [](const Text &text, size_t i) {
        uint32_t c = text.width == 1   ? static_cast<const uint8_t *>(text.data)[i]
                     : text.width == 2 ? static_cast<const uint16_t *>(text.data)[i]
                                       : static_cast<const uint32_t *>(text.data)[i];
        return c < 0x80 ? is_ascii_space(c) : is_wide_space(c);
    };
    Texts texts(tuple);
    size_t empty = 0;
    for (size_t i = 0, n = tuple.size(); i < n; ++i) {
        texts.prefetch(i + prefetch_distance);
        Text text = texts[i];
        size_t at = 0;
        while (at < text.length && is_space(text, at)) ++at;
        empty += at == text.length;
    }
    return empty;
}

// Lays lists of plain strings flat: the strings and where each list begins. None if anything else is among them, for
// Python to say what.
nb::object flatten(nb::object rows) {
    if (!PyList_CheckExact(rows.ptr()) && !PyTuple_CheckExact(rows.ptr())) return nb::none();
    Items row(rows);
    size_t count = row.size();
    std::vector<int64_t> offsets(count + 1, 0);
    for (size_t i = 0; i < count; ++i) {
        if (i + prefetch_distance < count) __builtin_prefetch(row[i + prefetch_distance]);
        if (!PyList_CheckExact(row[i]) && !PyTuple_CheckExact(row[i])) return nb::none();
        offsets[i + 1] = offsets[i] + static_cast<int64_t>(Items(row[i]).size());
    }
    nb::object flat = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(offsets[count])));
    if (!flat.is_valid()) throw nb::python_error();
    size_t next = 0;
    for (size_t i = 0; i < count; ++i) {
        Items items(row[i]);
        if (i + 4 < count) {
            Items ahead(row[i + 4]);
            for (size_t j = 0, n = std::min<size_t>(ahead.size(), 32); j < n; ++j) __builtin_prefetch(ahead[j]);
        }
        for (size_t j = 0; j < items.size(); ++j) {
            PyObject *item = items[j];
            if (!PyUnicode_CheckExact(item)) return nb::none();
            Py_INCREF(item);
            set_item(flat, next++, item);
        }
    }
    return nb::make_tuple(flat, to_numpy(std::move(offsets)));
}

// The segments that hold a text more than once, and those with so many texts that a closer look must tell.
OutArray<int64_t> repeating_segments(nb::tuple tuple, InArray<int64_t> offsets) {
    check_offsets(offsets, tuple.size());
    if (!all_strings(tuple)) throw nb::type_error("texts must be strings");
    constexpr int64_t most_compared = 4096;
    Texts texts(tuple);
    // Lengths differ nearly always, so comparing all pairs of a segment costs little.
    auto equal = [](const Text &a, const Text &b) {
        return a.length == b.length && a.width == b.width && std::memcmp(a.data, b.data, a.length * a.width) == 0;
    };
    std::vector<int64_t> found;
    for (size_t i = 0; i + 1 < offsets.shape(0); ++i) {
        size_t first = static_cast<size_t>(offsets.data()[i]), last = static_cast<size_t>(offsets.data()[i + 1]);
        bool repeats = last - first > most_compared;
        for (size_t j = first + 1; j < last && !repeats; ++j)
            for (size_t k = first; k < j && !repeats; ++k) repeats = equal(texts[k], texts[j]);
        if (repeats) found.push_back(static_cast<int64_t>(i));
    }
    return to_numpy(std::move(found));
}

// The tokens of ASCII texts by the rule of the tokenizer words, separated by spaces: runs of letters, digits and _ with
// single hyphens and apostrophes inside, every other character but white space on its own. None for each other text.
nb::list ascii_words(nb::tuple tuple, bool lowercase) {
    if (!all_strings(tuple)) throw nb::type_error("texts must be strings");
    auto in_word = [](uint8_t c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    Texts texts(tuple);
    nb::list lines;
    std::string line;
    for (size_t each = 0; each < tuple.size(); ++each) {
        Text text = texts[each];
        if (!text.ascii) {
            lines.append(nb::none());
            continue;
        }
        const uint8_t *from = static_cast<const uint8_t *>(text.data);
        size_t length = text.length;
        line.resize(2 * length);
        char *to = line.data();
        for (size_t i = 0; i < length;) {
            if (is_ascii_space(from[i])) {
                ++i;
                continue;
            }
            size_t begin = i++;
            if (in_word(from[begin]))
                while (i < length && (in_word(from[i]) || ((from[i] == '-' || from[i] == '\'') && i + 1 < length && in_word(from[i + 1])))) ++i;
            if (to != line.data()) *to++ = ' ';
            for (size_t k = begin; k < i; ++k) *to++ = static_cast<char>(lowercase && from[k] >= 'A' && from[k] <= 'Z' ? from[k] | 0x20 : from[k]);
        }
        lines.append(nb::str(line.data(), static_cast<size_t>(to - line.data())));
    }
    return lines;
}

std::vector<std::string> tokens(nb::str text, const std::string &tokenizer, bool lowercase) {
    Texts texts(nb::make_tuple(text), 0, 1, lowercase);
    Line line;
    line.load(texts[0], tokenizer_named(tokenizer), lowercase);
    std::vector<std::string> result;
    for (const Span &span : line)
        result.emplace_back(reinterpret_cast<const char *>(line.bytes()) + span.begin, span.size());
    return result;
}

// Prepared references as Python holds them: the arrays (NumPy's, maybe mapped from a file) and the kernels' view of them.
class PreparedHandle {
  public:
    explicit PreparedHandle(nb::dict arrays) : arrays_(arrays) {
        view_.token_table = view<uint64_t>("token_table");
        view_.token_begins = view<uint64_t>("token_begins");
        view_.token_bytes = view<uint8_t>("token_bytes");
        view_.ids = view<uint32_t>("ids");
        view_.id_begins = view<uint64_t>("id_begins");
        view_.reference_begins = view<uint64_t>("reference_begins");
        view_.filter = view<uint64_t>("filter");
        check();
    }

    nb::dict arrays() const { return arrays_; }
    size_t segments() const { return view_.reference_begins.size() - 1; }

    // What is wrong with the contents, or None; arrays from a file must be looked at before anything else is done.
    const char *problem() const {
        nb::gil_scoped_release release;
        return problem_of(view_);
    }

    OutMatrix<double> statistics(nb::tuple outputs, std::optional<InArray<double>> weights, const Options &options,
                                 size_t first, size_t last, int threads) const {
        check_slice(first, last, std::min(segments(), outputs.size()));
        if (options.weighted() && !weights) throw nb::value_error("weighted statistics need weights");
        if (weights && weights->shape(0) != view_.reference_begins.back())
            throw nb::value_error("one weight a reference is needed");
        std::span<const double> weight;
        if (weights) weight = {weights->data(), weights->shape(0)};
        Texts texts(outputs, first, last, options.lowercase);
        Matrix<double> rows(last - first, options.columns());
        {
            nb::gil_scoped_release release;
            parallel_blocks(
                last - first, segments_a_block, threads, [&] { return PreparedScorer(options, view_, weight); },
                [&](PreparedScorer &scorer, size_t begin, size_t end) {
                    size_t announced = begin;
                    for (size_t i = begin; i < end; ++i) {
                        for (; announced < std::min(i + 4, end); ++announced) {
                            texts.prefetch(announced + 4);
                            scorer.announce(first + announced, texts[announced]);
                        }
                        scorer.score(rows.data.get() + i * rows.columns);
                    }
                });
        }
        return rows.release();
    }

  private:
    template <typename T> View<T> view(const char *name) {
        auto array = nb::cast<InArray<T>>(arrays_[name]);
        held_.emplace_back(array);
        return View<T>(array.data(), array.shape(0));
    }

    // What can be checked at once; `problem` looks at the contents of arrays from a file.
    void check() const {
        size_t table = view_.token_table.size() / 2;
        bool fits = table >= 2 && (table & (table - 1)) == 0 && view_.token_table.size() == 2 * table &&
                    !view_.token_begins.empty() && view_.token_begins.back() == view_.token_bytes.size() &&
                    !view_.id_begins.empty() && view_.ids.size() >= id_padding &&
                    view_.id_begins.back() == view_.ids.size() - id_padding &&
                    !view_.reference_begins.empty() &&
                    view_.reference_begins.back() == view_.id_begins.size() - 1 &&
                    view_.filter.size() == SegmentFilter::size(view_.ids.size() - id_padding);
        if (!fits) throw nb::value_error("the arrays of the prepared references do not fit each other");
    }

    nb::dict arrays_;
    std::vector<std::any> held_;  // what the view looks at: the dict may change, and an array of another type is converted
    Prepared view_;
};

void add_segments(PreparedBuilder &builder, nb::tuple references, InArray<int64_t> offsets, size_t first, size_t last) {
    check_offsets(offsets, references.size());
    check_slice(first, last, offsets.shape(0) - 1);
    size_t base = static_cast<size_t>(offsets.data()[first]);
    Texts texts(references, base, static_cast<size_t>(offsets.data()[last]), builder.options().lowercase);
    nb::gil_scoped_release release;
    std::vector<Text> segment;
    for (size_t i = first; i < last; ++i) {
        segment.clear();
        for (int64_t j = offsets.data()[i]; j < offsets.data()[i + 1]; ++j)
            segment.push_back(texts[static_cast<size_t>(j) - base]);
        builder.add_segment(segment.data(), segment.size());
    }
}

nb::dict finish(PreparedBuilder &builder) {
    PreparedData data = builder.finish();
    nb::dict arrays;
    arrays["token_table"] = to_numpy(std::move(data.token_table));
    arrays["token_begins"] = to_numpy(std::move(data.token_begins));
    arrays["token_bytes"] = to_numpy(std::move(data.token_bytes));
    arrays["ids"] = to_numpy(std::move(data.ids));
    arrays["id_begins"] = to_numpy(std::move(data.id_begins));
    arrays["reference_begins"] = to_numpy(std::move(data.reference_begins));
    arrays["filter"] = to_numpy(std::move(data.filter));
    return arrays;
}

}  // namespace

}  // namespace trubleu

namespace {

// Whether this machine runs what the x86-64-v3 build of the kernels is made of.
bool supports_v3() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("lzcnt");
#else
    return false;
#endif
}

}  // namespace

// The macro pastes its argument, so the build's module name needs one more round of expansion.
#define TRUBLEU_NB_MODULE(name, variable) NB_MODULE(name, variable)

TRUBLEU_NB_MODULE(TRUBLEU_MODULE, m) {
    using namespace trubleu;
    m.def("supports_v3", &supports_v3);
    m.attr("sources") = TRUBLEU_SOURCES;
    nb::set_leak_warnings(false);
    nb::class_<Options>(m, "Options")
        .def("__init__",
             [](Options *self, const std::string &tokenizer, bool lowercase, int order, const std::string &credit,
                const std::string &reference_length, bool positive_lengths) {
                 new (self) Options(make_options(tokenizer, lowercase, order, credit, reference_length, positive_lengths));
             },
             nb::arg("tokenizer"), nb::arg("lowercase"), nb::arg("order"), nb::arg("credit"),
             nb::arg("reference_length"), nb::arg("positive_lengths"))
        .def_prop_ro("columns", &Options::columns);
    m.def("statistics", &statistics, nb::arg("outputs"), nb::arg("references"), nb::arg("offsets"),
          nb::arg("weights").none(), nb::arg("options"), nb::arg("first"), nb::arg("last"), nb::arg("threads"));
    m.def("count_empty", &count_empty, nb::arg("texts"));
    m.def("all_strings", &all_strings, nb::arg("texts"));
    m.def("repeating_segments", &repeating_segments, nb::arg("texts"), nb::arg("offsets"));
    m.def("flatten", &flatten, nb::arg("rows"));
    m.def("ascii_words", &ascii_words, nb::arg("texts"), nb::arg("lowercase"));
    m.def(
        "tokens",
        [](nb::str text, const std::string &tokenizer, bool lowercase) {
            nb::list result;
            // Lone surrogates have no place in strict UTF-8; they came in as three bytes and leave the same way.
            for (const std::string &token : tokens(text, tokenizer, lowercase))
                result.append(nb::steal(PyUnicode_DecodeUTF8(token.data(), static_cast<Py_ssize_t>(token.size()), "surrogatepass")));
            return result;
        },
        nb::arg("text"), nb::arg("tokenizer"), nb::arg("lowercase"));
    nb::class_<PreparedBuilder>(m, "PreparedBuilder")
        .def(nb::init<const Options &>(), nb::arg("options"))
        .def("add", &add_segments, nb::arg("references"), nb::arg("offsets"), nb::arg("first"), nb::arg("last"))
        .def("finish", &finish);
    nb::class_<PreparedHandle>(m, "Prepared")
        .def(nb::init<nb::dict>(), nb::arg("arrays"))
        .def_prop_ro("arrays", &PreparedHandle::arrays)
        .def_prop_ro("segments", &PreparedHandle::segments)
        .def("problem", &PreparedHandle::problem)
        .def("statistics", &PreparedHandle::statistics, nb::arg("outputs"), nb::arg("weights").none(),
             nb::arg("options"), nb::arg("first"), nb::arg("last"), nb::arg("threads"));
    bind_chrf(m);
    bind_context(m);
    bind_correlate(m);
    bind_count(m);
    bind_mine_build(m);
    bind_mine_search(m);
    bind_mine_shard(m);
    bind_pairs(m);
    bind_resample(m);
    bind_soft(m);
    bind_stored(m);
    bind_subwords(m);
    bind_train(m);
    bind_trubleu(m);
    bind_units(m);
    bind_words(m);
}
