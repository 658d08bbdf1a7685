// SPDX-License-Identifier: Apache-2.0
#include "train/extrapolation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

namespace berth::train {
namespace {

using Row = std::vector<double>;

// As the one public trial on language models had it that gained anything.
constexpr double kDamping = 0.875;
constexpr double kStridesMax = 10'000;  // By then nothing is left of what is damped.
constexpr double kRidge = 0.01;         // Of the mean square of the displacements.

// By Gaussian elimination with pivots. Absent: there is no such solution in numbers.
std::optional<Row> solved(std::vector<Row> matrix, Row right) {
  const std::size_t size = right.size();
  for (std::size_t k = 0; k < size; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < size; ++i) {
      if (std::abs(matrix[i][k]) > std::abs(matrix[pivot][k])) pivot = i;
    }
    std::swap(matrix[k], matrix[pivot]);
    std::swap(right[k], right[pivot]);
    for (std::size_t i = k + 1; i < size; ++i) {
      const double factor = matrix[i][k] / matrix[k][k];
      for (std::size_t j = k; j < size; ++j) matrix[i][j] -= factor * matrix[k][j];
      right[i] -= factor * right[k];
    }
  }
  for (std::size_t k = size; k-- > 0;) {
    for (std::size_t j = k + 1; j < size; ++j) right[k] -= matrix[k][j] * right[j];
    right[k] /= matrix[k][k];
  }
  const bool are_numbers = std::ranges::all_of(right, [](double x) { return std::isfinite(x); });
  return are_numbers ? std::optional(right) : std::nullopt;
}

// So the last one follows from those before it.
std::optional<Row> rule_of(const Gram& gram) {
  const std::size_t before = gram.size() - 1;
  double trace = 0;
  for (std::size_t i = 0; i < before; ++i) trace += gram[i][i];
  std::vector<Row> matrix(before);
  Row right(before);
  for (std::size_t i = 0; i < before; ++i) {
    matrix[i].assign(gram[i].begin(), gram[i].begin() + static_cast<std::ptrdiff_t>(before));
    matrix[i][i] += kRidge * trace / static_cast<double>(before);
    right[i] = gram[i][before];
  }
  return solved(std::move(matrix), std::move(right));
}

}  // namespace

std::vector<double> continued(const Gram& gram, double strides) {
  const std::size_t size = gram.size();
  Row sum(size, 0.0);
  if (size == 0 || !(strides > 0)) return sum;
  if (size == 1) return {strides};
  const std::optional<Row> rule = rule_of(gram);
  if (!rule) return sum;
  // The last displacements, the predicted ones among them, as coefficients.
  std::deque<Row> last;
  for (std::size_t i = 1; i < size; ++i) {
    last.emplace_back(size, 0.0)[i] = 1;
  }
  const auto count = static_cast<std::size_t>(std::ceil(std::min(strides, kStridesMax)));
  for (std::size_t stride = 0; stride < count; ++stride) {
    const double share = std::min(strides - static_cast<double>(stride), 1.0);
    Row next(size, 0.0);
    for (std::size_t i = 0; i < rule->size(); ++i) {
      for (std::size_t j = 0; j < size; ++j) next[j] += kDamping * (*rule)[i] * last[i][j];
    }
    for (std::size_t j = 0; j < size; ++j) sum[j] += share * next[j];
    last.pop_front();
    last.push_back(std::move(next));
  }
  const bool are_numbers = std::ranges::all_of(sum, [](double x) { return std::isfinite(x); });
  return are_numbers ? sum : Row(size, 0.0);
}

}  // namespace berth::train
