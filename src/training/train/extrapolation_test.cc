// SPDX-License-Identifier: Apache-2.0
#include "train/extrapolation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace berth::train {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Vector = std::vector<double>;

Gram gram_of(const std::vector<Vector>& vectors) {
  Gram gram(vectors.size(), Vector(vectors.size()));
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    for (std::size_t j = 0; j < vectors.size(); ++j) {
      gram[i][j] =
          std::inner_product(vectors[i].begin(), vectors[i].end(), vectors[j].begin(), 0.0);
    }
  }
  return gram;
}

Vector sum_of(const std::vector<Vector>& vectors, const Vector& coefficients) {
  Vector sum(vectors.front().size(), 0.0);
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += coefficients[i] * vectors[i][k];
  }
  return sum;
}

TEST(Extrapolation, OfNothingThereIsNothingAndOfOneItGoesStraightOn) {
  EXPECT_THAT(continued({}, 3), IsEmpty());
  EXPECT_THAT(continued({{4}}, 2.5), ElementsAre(2.5));
  EXPECT_THAT(continued({{4, 0}, {0, 4}}, 0), ElementsAre(0, 0));
}

TEST(Extrapolation, WhatShrinksGoesOnShrinking) {
  // u, u/2, u/4: the next is u/8, but for the damping and the ridge.
  const std::vector<Vector> seen = {{8, 0, 4}, {4, 0, 2}, {2, 0, 1}};
  const Vector next = sum_of(seen, continued(gram_of(seen), 1));
  EXPECT_NEAR(next[0], 0.875, 0.02);
  EXPECT_NEAR(next[1], 0, 1e-9);
  EXPECT_NEAR(next[2], 0.4375, 0.01);
  // And all that is to come is bounded.
  const Vector all = sum_of(seen, continued(gram_of(seen), 1000));
  EXPECT_LT(all[0], 2);
  EXPECT_GT(all[0], 1);
}

TEST(Extrapolation, WhatTurnsGoesOnTurning) {
  // An eighth of a turn each: a rule of one displacement cannot tell it, one of two can.
  std::vector<Vector> seen;
  const double angle = std::acos(-1.0) / 4;
  for (int i = 0; i < 3; ++i) seen.push_back({std::cos(i * angle), std::sin(i * angle)});
  const Vector next = sum_of(seen, continued(gram_of(seen), 1));
  const double length = std::hypot(next[0], next[1]);
  EXPECT_NEAR(std::atan2(next[1], next[0]), 3 * angle, 0.1);
  EXPECT_NEAR(length, 0.875, 0.1);
}

TEST(Extrapolation, AFractionOfAStrideIsThatOfItsDisplacement) {
  const std::vector<Vector> seen = {{8, 1}, {4, 3}, {2, -1}};
  const Vector one = sum_of(seen, continued(gram_of(seen), 1));
  const Vector two = sum_of(seen, continued(gram_of(seen), 2));
  const Vector between = sum_of(seen, continued(gram_of(seen), 1.25));
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_NEAR(between[k], one[k] + 0.25 * (two[k] - one[k]), 1e-12);
  }
}

TEST(Extrapolation, WhatHasNothingInCommonForetellsNothing) {
  // Of noise in many dimensions the last displacement does not follow from the others.
  const std::vector<Vector> seen = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  for (const double coefficient : continued(gram_of(seen), 5)) EXPECT_NEAR(coefficient, 0, 1e-12);
}

TEST(Extrapolation, WhatAreNoNumbersMoveNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(continued({{1, nan}, {nan, 1}}, 2), ElementsAre(0, 0));
  EXPECT_THAT(continued({{0, 0}, {0, 0}}, 2), ElementsAre(0, 0)) << "nothing has moved";
}

}  // namespace
}  // namespace berth::train
