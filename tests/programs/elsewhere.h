// SPDX-License-Identifier: Apache-2.0
// Allocations that are made elsewhere than where the caller reads its calls: by another thread, or
// by a function that the driver calls.
#pragma once

#include <thread>

#include "route.h"

struct Allocation {
  Any alloc = nullptr;  // The driver's function.
  std::size_t bytes = 0;
  Word pointer = 0;
  int result = -1;
};

/// Another thread, in the context that is current where it is started.
class Later {
 public:
  Later() = default;
  Later(const Later&) = delete;
  Later& operator=(const Later&) = delete;
  ~Later();

  bool is_running() const { return thread_.joinable(); }
  void start(Route& route, std::size_t bytes);
  const Allocation& join();

 private:
  std::thread thread_;
  Allocation allocation_;
};

/// Made in a function that is put into the default stream: by cuLaunchHostFunc, or the older way.
enum class Called : unsigned char { kHostFunction, kCallback };
Allocation allocate_when_called(Route& route, Called how, std::size_t bytes);
