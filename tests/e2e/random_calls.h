// SPDX-License-Identifier: Apache-2.0
// Random calls of the driver, for tests/programs/cuda_caller: of all families of functions that
// take memory.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "guard.h"

namespace berth::e2e {

/// Of one of four pools, beside the default one.
inline std::string random_pool_call(std::mt19937_64& random, const std::string& name) {
  const std::string pool = " pool" + std::to_string(random() % 4);
  const std::string bytes = " " + std::to_string(random() % (60 * kMiB));
  switch (random() % 8) {
    case 0:
      return "p_create" + pool;
    case 1:
      return "cuMemPoolDestroy" + pool;
    case 2:
      return "cuMemPoolTrimTo" + pool + bytes;
    case 3:
      return "cuDeviceSetMemPool 0" + pool;
    default:
      return "cuMemAllocFromPoolAsync &" + name.substr(1) + bytes + pool + " 0";
  }
}

/// One random call, mostly about things that exist.
inline std::string random_call(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t end) { return std::to_string(random() % end); };
  const std::string name = " n" + below(12);
  const std::uint64_t number = random() % 12;  // Of a handle; its memory is of that size.
  const std::string handle = " m" + std::to_string(number);
  const std::string pages = " " + std::to_string((number + 1) * 8 * kMiB);
  const std::string place = " space " + std::to_string(random() % 8 * 100 * kMiB);
  const std::string graph = std::to_string(number % 4);
  switch (random() % 36) {
    case 0:
      return "alloc" + name + " " + below(300 * kMiB);
    case 1:
      return "alloc" + name + " " + below(kMiB);
    case 2:
      return "alloc" + name + " " + below(4'096);
    case 3:
      return "managed" + name + " " + below(100 * kMiB);
    case 4:
      return "pitch" + name + " " + below(9'000) + " " + below(9'000);
    case 5:
      return "m_create" + handle + pages;
    case 6:
    case 7:
      return "m_release" + handle;
    case 8:
      return "m_map" + place + pages + handle;
    case 9:
      return "m_unmap" + place + pages;
    case 10:
      return "m_retain" + handle + " space " + below(800 * kMiB);
    case 11:
    case 12:
      return "async" + name + " " + below(60 * kMiB);
    case 13:
      return "free_async" + name;
    case 14:
      return random() % 2 == 0 ? "synchronise" : "threshold " + below(100 * kMiB);
    case 15:  // Above 1 MiB: smaller ones may share pages, and are charged whole ones.
      return "array" + name + " 4096 " + std::to_string(17 + random() % 1'000);
    case 16:
      return "unarray" + name;
    case 17:
      return random() % 2 == 0 ? "cuGraphCreate &g" + graph + " 0"
                               : "g_alloc g" + graph + " p" + graph + " " + below(80 * kMiB);
    case 18:
      return "cuGraphInstantiateWithFlags &e" + graph + " g" + graph + " " + below(2);
    case 19:
    case 20:
      return (random() % 4 == 0 ? "cuGraphUpload e" : "cuGraphLaunch e") + graph + " 0";
    case 21:
      return (random() % 2 == 0 ? "cuGraphExecDestroy e" : "free_async p") + graph;
    case 22:
      return "cuDeviceGraphMemTrim 0";
    case 23:
      return "m_share" + handle + pages;
    case 24:
      return "cuMemExportToShareableHandle &fd" + graph + handle + " 1 0";
    case 25:
      return random() % 4 == 0
                 ? "cuMemImportFromShareableHandle &" + handle.substr(1) + " fd" + graph + " 1"
                 : "close fd" + graph;
    case 26:
    case 27:
    case 28:
    case 29:
      return random_pool_call(random, name);
    default:
      return "free" + name;
  }
}

}  // namespace berth::e2e
