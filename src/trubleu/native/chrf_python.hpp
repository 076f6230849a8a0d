// The Python face of chrF, also for other metrics that compare characters.
#pragma once

#include "chrf.hpp"
#include "python.hpp"

namespace trubleu::chrf {

constexpr size_t prepared_a_block = 64;

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
            segments_.size(), prepared_a_block, threads, [] { return std::vector<Text>(); },
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
    const Options &options() const { return options_; }
    size_t first() const { return first_; }
    size_t size() const { return segments_.size(); }
    const Segment *segments() const { return segments_.data(); }

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
                count, prepared_a_block, threads, [&] { return Matcher(options); },
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

}  // namespace trubleu::chrf
