// Prepared references from a file that a stranger may have made.
#pragma once

#include "prepared.hpp"

namespace trubleu {

// What is wrong with the arrays, or nullptr if the kernels can use them: they then neither look outside nor search for
// ever, whatever the hypotheses are. Whether the arrays say what their author wrote is a checksum's business.
const char *problem_of(const Prepared &prepared);

}  // namespace trubleu
