// SPDX-License-Identifier: Apache-2.0
// A way by which a program comes to the functions of the CUDA driver, and calls of these.
#pragma once

#include <string>
#include <utility>

#include "linked.h"

using Word = unsigned long long;

class Route {
 public:
  explicit Route(std::string name);

  /// Null: this way leads to no function of that name.
  Any find(const std::string& name);

 private:
  bool is_linked() const;

  std::string name_;
  void* library_ = nullptr;
};

template <class... Arguments>
int call(Any function, Arguments... arguments) {
  if (function == nullptr) return -1;
  return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
}
