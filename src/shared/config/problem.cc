// SPDX-License-Identifier: Apache-2.0
#include "config/problem.h"

namespace berth::config {

std::string to_text(const Problem& problem) {
  std::string text = problem.where;
  if (problem.line != 0) {
    text += ":" + std::to_string(problem.line) + ":" + std::to_string(problem.column);
  }
  return text + ": " + problem.message;
}

}  // namespace berth::config
