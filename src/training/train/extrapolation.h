// SPDX-License-Identifier: Apache-2.0
// Extrapolation of a sequence of displacements, by the linear rule that its last one follows from
// those before it: reduced rank extrapolation in the form of dynamic mode decomposition (Sidi 2017,
// «Vector Extrapolation Methods»; Schmid 2010). Pure: only inner products are needed.
#pragma once

#include <vector>

namespace berth::train {

/// Square, of all displacements of equal windows with one another, the oldest first.
using Gram = std::vector<std::vector<double>>;

/// What the next `strides` displacements (0 or more, and a fraction of the last one) sum up to, as
/// coefficients of those that were seen. The rule is found by least squares with a ridge, and each
/// displacement that it foretells is damped: fitted to few and noisy ones it would else run away.
/// Of one displacement: so many of it. Zeros, where they are no numbers.
std::vector<double> continued(const Gram& gram, double strides);

}  // namespace berth::train
