// SPDX-License-Identifier: Apache-2.0
// A way by which a program comes to the functions of the CUDA driver, and calls of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "linked.h"

using Word = unsigned long long;

class Route {
 public:
  explicit Route(std::string name);

  /// Null: this way leads to no function of that name.
  Any find(const std::string& name);
  /// The same of a function that another name means since some CUDA version.
  Any find_as(const std::string& symbol, const std::string& name, int since);
  /// Closes the driver's library and opens it again, as what loads plug-ins does. Not 0: it could
  /// not be closed.
  int reopen();

 private:
  struct Query {
    std::string name;
    int version = 0;
    std::uint64_t flags = 0;
  };
  void open();
  static Query query_of(const std::string& symbol);
  bool is_linked() const;
  bool is_by_query() const;
  Any look_up(const std::string& symbol);
  Any ask(const Query& query);

  std::string name_;
  void* library_ = nullptr;
};

/// Whose function it is: "guard", "driver", "other" or "none".
std::string owner_of(Any function);

template <class... Arguments>
int call(Any function, Arguments... arguments) {
  if (function == nullptr) return -1;
  return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
}

/// As cuda.h has it: a node of a graph that allocates.
struct AllocationNode {
  int type = 1;
  int handle_types = 0;
  int location_type = 1;
  int location = 0;
  std::uint64_t more[9] = {};  // Of the properties of pools.
  const void* access = nullptr;
  std::size_t access_count = 0;
  std::size_t bytes = 0;
  Word pointer = 0;
};
