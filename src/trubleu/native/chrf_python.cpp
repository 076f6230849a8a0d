// The Python face of chrF: references are prepared once, rows of statistics are made for any number of systems.
#include "chrf_python.hpp"

namespace trubleu::chrf {

namespace {

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
