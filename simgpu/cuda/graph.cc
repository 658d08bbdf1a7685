// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/graph.h"

#include <algorithm>
#include <utility>

namespace berth::simgpu {
namespace {

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

Graphs::Handle Graphs::create() {
  last_ += 16;
  graphs_.try_emplace(last_);
  return last_;
}

bool Graphs::destroy(Handle graph) {
  if (!graphs_.contains(graph) || children_.contains(graph)) return false;
  drop_graph(graph);
  return true;
}

void Graphs::drop_graph(Handle graph) {
  const std::vector<Handle> nodes = std::move(graphs_.at(graph));
  graphs_.erase(graph);
  children_.erase(graph);
  for (const Handle node : nodes) {
    if (const Handle child = nodes_.at(node).child; child != 0) drop_graph(child);
    nodes_.erase(node);
  }
}

Graphs::Handle Graphs::add_allocation(Handle graph, Allocation what, DevicePointer& pointer) {
  const auto found = graphs_.find(graph);
  const std::uint64_t bytes = rounded(what.bytes, kGranuleBytes);
  if (found == graphs_.end() || bytes < what.bytes) return 0;
  what.addresses = map_host_memory(bytes, Access::kNone);
  what.memory = map_host_memory(bytes, Access::kReadWrite);
  if (!what.addresses || !what.memory) return 0;
  pointer = reinterpret_cast<DevicePointer>(what.addresses.get());
  allocations_.emplace(pointer, std::move(what));
  nodes_.emplace(last_ += 16, Node{.frees = false, .pointer = pointer});
  found->second.push_back(last_);
  return last_;
}

Graphs::Handle Graphs::add_free(Handle graph, DevicePointer pointer) {
  const auto found = graphs_.find(graph);
  if (found == graphs_.end() || !allocations_.contains(pointer)) return 0;
  nodes_.emplace(last_ += 16, Node{.frees = true, .pointer = pointer});
  found->second.push_back(last_);
  return last_;
}

Graphs::Handle Graphs::add_graph(Handle graph, Handle child) {
  const auto found = graphs_.find(graph);
  if (found == graphs_.end() || graph == child || !graphs_.contains(child) ||
      !children_.insert(child).second) {
    return 0;
  }
  nodes_.emplace(last_ += 16, Node{.frees = false, .pointer = 0, .child = child});
  found->second.push_back(last_);
  return last_;
}

const std::vector<Graphs::Handle>* Graphs::nodes(Handle graph) const {
  const auto found = graphs_.find(graph);
  return found == graphs_.end() ? nullptr : &found->second;
}

const Graphs::Node* Graphs::node(Handle node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : &found->second;
}

const Graphs::Allocation* Graphs::allocation(DevicePointer pointer) const {
  const auto found = allocations_.find(pointer);
  return found == allocations_.end() ? nullptr : &found->second;
}

Graphs::Handle Graphs::instantiate(Handle graph, bool frees_itself) {
  if (!graphs_.contains(graph) || children_.contains(graph)) return 0;
  const bool again = std::ranges::any_of(executables_, [&](const auto& exec) {
    return exec.second.graph == graph && !exec.second.destroyed && !exec.second.nodes.empty();
  });
  if (again) return 0;
  Executable made{.graph = graph,
                  .nodes = all_nodes(graph),
                  .frees_itself = frees_itself,
                  .destroyed = false,
                  .mapped = {}};
  executables_.emplace(last_ += 16, std::move(made));
  return last_;
}

// Those of the graphs in it too.
std::vector<Graphs::Node> Graphs::all_nodes(Handle graph) const {
  std::vector<Node> all;
  for (const Handle handle : graphs_.at(graph)) {
    const Node& node = nodes_.at(handle);
    if (node.child == 0) {
      all.push_back(node);
    } else {
      const std::vector<Node> inner = all_nodes(node.child);
      all.insert(all.end(), inner.begin(), inner.end());
    }
  }
  return all;
}

bool Graphs::destroy_executable(Handle exec) {
  const auto found = executables_.find(exec);
  if (found == executables_.end() || found->second.destroyed) return false;
  found->second.destroyed = true;
  forget_unused();
  return true;
}

std::uint64_t Graphs::needs(const Executable& exec, std::uint32_t device) const {
  std::uint64_t bytes = 0;
  for (const Node& node : exec.nodes) {
    const Allocation& allocation = allocations_.at(node.pointer);
    if (!node.frees && allocation.device == device)
      bytes += rounded(allocation.bytes, kGranuleBytes);
  }
  return bytes;
}

bool Graphs::is_live(const Executable& exec, std::uint32_t device) const {
  return std::ranges::any_of(exec.nodes, [&](const Node& node) {
    const Allocation& allocation = allocations_.at(node.pointer);
    return !node.frees && allocation.device == device && allocation.live;
  });
}

void Graphs::count_used(std::uint32_t device) {
  Figures& figures = figures_[device];
  figures.used = 0;
  for (const auto& [handle, exec] : executables_) {
    if (exec.mapped.contains(device)) figures.used += needs(exec, device);
  }
  figures.used_max = std::max(figures.used_max, figures.used);
  figures.reserved_max = std::max(figures.reserved_max, figures.reserved);
}

// Destroyed ones all of whose allocations were freed since. What they had is reserved still.
void Graphs::forget_unused() {
  std::erase_if(executables_, [this](const auto& exec) {
    return exec.second.destroyed && std::ranges::none_of(exec.second.nodes, [&](const Node& node) {
             return !node.frees && allocations_.at(node.pointer).live;
           });
  });
  for (std::uint32_t device = 0; device < kDevicesMax; ++device) count_used(device);
}

CUresult Graphs::upload(Handle handle, const Charge& charge) {
  const auto found = executables_.find(handle);
  if (found == executables_.end() || found->second.destroyed) return CUDA_ERROR_INVALID_VALUE;
  Executable& exec = found->second;
  for (std::uint32_t device = 0; device < kDevicesMax; ++device) {
    const std::uint64_t bytes = needs(exec, device);
    if (bytes == 0 || exec.mapped.contains(device)) continue;
    Figures& figures = figures_[device];
    const std::uint64_t wanted = rounded(figures.used + bytes, kChunkBytes);
    if (wanted > figures.reserved) {
      if (!charge(device, (wanted - figures.reserved) / kBlockBytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
      figures.reserved = wanted;
    }
    exec.mapped.insert(device);
    count_used(device);
  }
  return CUDA_SUCCESS;
}

CUresult Graphs::launch(Handle handle, const Charge& charge) {
  const auto found = executables_.find(handle);
  if (found == executables_.end() || found->second.destroyed) return CUDA_ERROR_INVALID_VALUE;
  const Executable& exec = found->second;
  for (const Node& node : exec.nodes) {
    Allocation& allocation = allocations_.at(node.pointer);
    if (exec.frees_itself && !node.frees) allocation.live = false;
    if (allocation.live && !node.frees) return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult result = upload(handle, charge); result != CUDA_SUCCESS) return result;
  for (const Node& node : exec.nodes) allocations_.at(node.pointer).live = !node.frees;
  forget_unused();  // It may have freed what others allocated.
  return CUDA_SUCCESS;
}

bool Graphs::free(DevicePointer pointer) {
  const auto found = allocations_.find(pointer);
  if (found == allocations_.end() || !found->second.live) return false;
  found->second.live = false;
  forget_unused();
  return true;
}

std::byte* Graphs::find(DevicePointer pointer, std::uint64_t bytes) {
  auto found = allocations_.upper_bound(pointer);
  if (found == allocations_.begin()) return nullptr;
  --found;
  const Allocation& allocation = found->second;
  const std::uint64_t into = pointer - found->first;
  const bool within = into < allocation.bytes && bytes <= allocation.bytes - into;
  return within && allocation.live ? allocation.memory.get() + into : nullptr;
}

std::uint64_t Graphs::trim(std::uint32_t device) {
  for (auto& [handle, exec] : executables_) {
    if (!is_live(exec, device)) exec.mapped.erase(device);
  }
  count_used(device);
  Figures& figures = figures_[device];
  const std::uint64_t kept = rounded(figures.used, kChunkBytes);
  return (std::exchange(figures.reserved, kept) - kept) / kBlockBytes;
}

std::uint64_t Graphs::drop(std::uint32_t device) {
  for (auto& [pointer, allocation] : allocations_) {
    if (allocation.device == device) allocation.live = false;
  }
  forget_unused();
  return trim(device);
}

}  // namespace berth::simgpu
