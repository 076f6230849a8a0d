// What the references of a segment, rated or not, make of how similar an output is to each of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace trubleu {

struct RatedScore {
    double earned = 0.0, cut = 0.0;

    double score() const { return 100.0 * earned * (1.0 - cut); }
};

// Similarities lie from 0 to 1. A weight is NaN for a reference that is left out; null for 1 each.
inline RatedScore rated_score(const double *similarities, const double *weights, size_t count) {
    double best_product = 0.0, best_weight = 0.0, products = 0.0, total = 0.0, best_of_good = 0.0;
    for (size_t j = 0; j < count; ++j) {
        double weight = weights ? weights[j] : 1.0;
        if (!(weight > 0.0)) continue;
        best_product = std::max(best_product, weight * similarities[j]);
        best_weight = std::max(best_weight, weight);
        products += weight * similarities[j];
        total += weight;
        best_of_good = std::max(best_of_good, similarities[j]);
    }
    RatedScore result;
    if (total > 0.0) result.earned = 0.5 * (best_product / best_weight) + 0.5 * (products / total);
    if (weights && best_of_good < 1.0)
        for (size_t j = 0; j < count; ++j)
            if (weights[j] < 0.0)
                result.cut = std::max(result.cut, -weights[j] * std::max(0.0, similarities[j] - best_of_good) / (1.0 - best_of_good));
    return result;
}

}  // namespace trubleu
