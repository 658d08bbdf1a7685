// SPDX-License-Identifier: Apache-2.0
// Points of a program's progress in the course of its run, in bounded memory: where it is full,
// every second goes, and those to come are as far apart. The last one is always there. Pure.
#pragma once

#include <vector>

#include "base/units.h"
#include "model/lease.h"

namespace berth::core {

class CourseOfProgress {
 public:
  void add(const Progress& told);
  const std::vector<ProgressPoint>& points() const { return points_; }

 private:
  std::vector<ProgressPoint> points_;
  Duration apart_ = seconds(1);
};

}  // namespace berth::core
