// SPDX-License-Identifier: Apache-2.0
// The simulated driver's graphs, as far as they allocate: nodes of memory, executable graphs, and
// the memory that is reserved for these on each device. Addresses are fixed when a node is made,
// memory is reserved when a graph is launched or uploaded, and kept until it is trimmed. Nothing
// else is in a graph. How much may be had is counted elsewhere. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/heap.h"
#include "simgpu/world/world_file.h"

namespace berth::simgpu {

class Graphs {
 public:
  static constexpr std::uint64_t kChunkBytes = 16 * kBlockBytes;

  using Handle = std::uint64_t;
  struct Node {
    bool frees;
    DevicePointer pointer;
    Handle child = 0;  // It is this graph, and nothing else.
  };
  struct Allocation {
    std::uint32_t device;
    CUdevice ordinal;
    std::uint64_t bytes;
    HostMemory addresses;
    HostMemory memory;
    bool live = false;  // Allocated by a launch, and not freed yet.
  };
  /// False: that device has not so many blocks left.
  using Charge = std::function<bool(std::uint32_t device, std::uint64_t blocks)>;

  Handle create();
  /// Executable ones that were made of it live on.
  bool destroy(Handle graph);
  /// 0: there is no such graph, or no address is left.
  Handle add_allocation(Handle graph, Allocation what, DevicePointer& pointer);
  /// 0: no such graph, or that is nothing which a graph allocates.
  Handle add_free(Handle graph, DevicePointer pointer);
  /// The other graph is this one's from now on. 0: no such graphs, or it is another's already.
  Handle add_graph(Handle graph, Handle child);
  const std::vector<Handle>* nodes(Handle graph) const;
  const Node* node(Handle node) const;
  const Allocation* allocation(DevicePointer pointer) const;

  /// 0: no such graph, or one that allocates and is executable already.
  Handle instantiate(Handle graph, bool frees_itself);
  bool destroy_executable(Handle exec);
  CUresult upload(Handle exec, const Charge& charge);
  CUresult launch(Handle exec, const Charge& charge);

  /// What a launch allocated and no launch freed; false if that is not there.
  bool free(DevicePointer pointer);
  std::byte* find(DevicePointer pointer, std::uint64_t bytes);

  struct Figures {
    std::uint64_t used = 0;
    std::uint64_t used_max = 0;
    std::uint64_t reserved = 0;
    std::uint64_t reserved_max = 0;
  };
  Figures& figures(std::uint32_t device) { return figures_[device]; }
  /// Gives back what no allocation that lives needs; the blocks of that.
  std::uint64_t trim(std::uint32_t device);
  /// The device's last context is gone; the blocks that its graphs had reserved.
  std::uint64_t drop(std::uint32_t device);

 private:
  struct Executable {
    Handle graph;
    std::vector<Node> nodes;
    bool frees_itself;
    bool destroyed;                  // Its memory is in use still.
    std::set<std::uint32_t> mapped;  // The devices on which it has its memory.
  };
  std::vector<Node> all_nodes(Handle graph) const;
  void drop_graph(Handle graph);
  std::uint64_t needs(const Executable& exec, std::uint32_t device) const;
  bool is_live(const Executable& exec, std::uint32_t device) const;
  void count_used(std::uint32_t device);
  void forget_unused();

  std::map<Handle, std::vector<Handle>> graphs_;  // Their nodes.
  std::set<Handle> children_;                     // Of graphs_: those in others.
  std::map<Handle, Node> nodes_;
  std::map<DevicePointer, Allocation> allocations_;
  std::map<Handle, Executable> executables_;
  std::array<Figures, kDevicesMax> figures_{};
  Handle last_ = 0x2000'0000;  // As far apart as what is allocated; no addresses of memory.
};

}  // namespace berth::simgpu
