// SPDX-License-Identifier: Apache-2.0
// The hooks of graphs that allocate memory.
//
// Note [Graph memory]
//
// A node that allocates takes no memory when it is made, in a captured stream or otherwise. The
// driver reserves memory for an executable graph when it is launched or uploaded, keeps it for the
// next launch, and gives it back when it is told to. It tells what it has reserved on a device, and
// that is what stays charged, as for a pool. What a launch may take is known from the nodes of the
// graph, which are looked at when it is instantiated: they cannot change afterwards. It is charged
// before the first launch, and before the first one after memory was given back.
#include "guard/preload/hooks.h"

namespace berth::guard {
namespace {

constexpr std::uint64_t kGranule = 512;
constexpr int kDepthMax = 16;  // Of graphs in graphs.

void add_allocation(Process& process, CUgraphNode node, Graphs::Needs& needs) {
  CUDA_MEM_ALLOC_NODE_PARAMS what{};
  if (REAL(cuGraphMemAllocNodeGetParams, node, &what) != CUDA_SUCCESS) return;
  const CUmemLocation& place = what.poolProps.location;
  if (place.type != CU_MEM_LOCATION_TYPE_DEVICE || device_of(process, place.id) < 0) return;
  const bool round = what.bytesize <= UINT64_MAX - kGranule;
  needs.add(static_cast<std::uint32_t>(place.id),
            round ? (what.bytesize + kGranule - 1) / kGranule * kGranule : UINT64_MAX);
}

void add_graph(Process& process, CUgraph graph, Graphs::Needs& needs, int depth) {
  std::size_t count = 0;
  if (REAL(cuGraphGetNodes, graph, nullptr, &count) != CUDA_SUCCESS || count == 0) return;
  const std::size_t bytes = count * sizeof(CUgraphNode);
  void* memory = map_memory(bytes);
  if (memory == nullptr) return;
  auto* nodes = static_cast<CUgraphNode*>(memory);
  const bool known = REAL(cuGraphGetNodes, graph, nodes, &count) == CUDA_SUCCESS;
  for (std::size_t i = 0; known && i < count; ++i) {
    CUgraphNodeType type{};
    CUgraph child = nullptr;
    if (REAL(cuGraphNodeGetType, nodes[i], &type) != CUDA_SUCCESS) continue;
    if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) add_allocation(process, nodes[i], needs);
    if (type == CU_GRAPH_NODE_TYPE_GRAPH && depth < kDepthMax &&
        REAL(cuGraphChildGraphNodeGetGraph, nodes[i], &child) == CUDA_SUCCESS) {
      add_graph(process, child, needs, depth + 1);
    }
  }
  unmap(memory, bytes);
}

Graphs::Needs needs_of(Process& process, CUgraph graph) {
  Graphs::Needs needs{};
  const bool allocates = real_address(Function::k_cuGraphMemAllocNodeGetParams) != nullptr;
  if (allocates) add_graph(process, graph, needs, 0);
  return needs;
}

bool begin(Process& process, const Graphs::Need& need) {
  const auto ordinal = static_cast<CUdevice>(need.ordinal);
  const int device = device_of(process, ordinal);
  return device < 0 || (process.pools().know(graph_pool(ordinal), {.device = device}) &&
                        begin_in_pool(process, graph_pool(ordinal), chunks_of(need.bytes)));
}

// Makes a call that may reserve this, if the budget has room for it.
template <class Make>
CUresult make_reserving(Process& process, const Graphs::Needs& needs, Make make) {
  std::size_t begun = 0;
  hurry.parts += needs.count > 1 ? 1 : 0;
  while (begun < needs.count && begin(process, needs.of[begun])) ++begun;
  hurry.parts -= needs.count > 1 ? 1 : 0;
  const CUresult result = begun == needs.count ? make() : CUDA_ERROR_OUT_OF_MEMORY;
  for (std::size_t i = 0; i < begun; ++i) {
    const auto ordinal = static_cast<CUdevice>(needs.of[i].ordinal);
    end_in_pool(process, graph_pool(ordinal), chunks_of(needs.of[i].bytes));
  }
  return result;
}

// A launch into a stream that is captured launches nothing.
template <class Launch>
CUresult launch(CUgraphExec exec, CUstream stream, Default meant, Launch launch) {
  constexpr int kTriesMax = 8;
  Process* process = Process::current();
  if (process == nullptr || !process->graphs().any()) return launch();
  Graphs& graphs = process->graphs();
  for (int tries = 0; tries < kTriesMax; ++tries) {
    const Graphs::Needs needs = graphs.missing(handle_of(exec));
    if (needs.count > 0 && is_capturing(stream, meant)) return launch();
    bool trimmed = false;
    const CUresult result = make_reserving(*process, needs, [&] {
      Graphs::Launch under_way;
      trimmed = !graphs.begin_launch(handle_of(exec), needs, under_way);
      if (trimmed) return CUDA_ERROR_OUT_OF_MEMORY;
      const CUresult launched = launch();
      graphs.end_launch(under_way);
      return launched;
    });
    if (result == CUDA_SUCCESS) graphs.reserved(needs);
    if (!trimmed) return result;
  }
  return CUDA_ERROR_OUT_OF_MEMORY;
}

template <class Make>
CUresult instantiate(CUgraphExec* exec, CUgraph graph, cuuint64_t flags, Make make) {
  Process* process = Process::current();
  if (process == nullptr || exec == nullptr) return make();
  const Graphs::Needs needs = needs_of(*process, graph);
  const bool uploads = (flags & kInstantiateUpload) != 0;
  const CUresult result = uploads ? make_reserving(*process, needs, make) : make();
  if (result == CUDA_SUCCESS) process->graphs().made(handle_of(*exec), needs);
  return result;
}

}  // namespace

CUresult trim_graphs(Process& process, CUdevice ordinal, Trim trim) {
  const auto device = static_cast<std::uint32_t>(ordinal);
  const bool safe = process.graphs().begin_trim(device);
  const CUresult result = safe || trim == Trim::kAnyway ? REAL(cuDeviceGraphMemTrim, ordinal)
                                                        : CUDA_ERROR_NOT_SUPPORTED;
  process.graphs().end_trim(device);
  settle_pool(process, graph_pool(ordinal));
  return result;
}

OURS cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* failed, char* log,
                        std::size_t log_bytes) {
  return instantiate(exec, graph, 0,
                     [&] { return REAL(cuGraphInstantiate, exec, graph, failed, log, log_bytes); });
}
OURS cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* failed, char* log,
                           std::size_t log_bytes) {
  return instantiate(exec, graph, 0, [&] {
    return REAL(cuGraphInstantiate_v2, exec, graph, failed, log, log_bytes);
  });
}
OURS cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return instantiate(exec, graph, 0,
                     [&] { return REAL(cuGraphInstantiateWithFlags, exec, graph, flags); });
}
OURS cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                  CUDA_GRAPH_INSTANTIATE_PARAMS* what) {
  return instantiate(exec, graph, what == nullptr ? 0 : what->flags,
                     [&] { return REAL(cuGraphInstantiateWithParams, exec, graph, what); });
}
OURS cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph,
                                       CUDA_GRAPH_INSTANTIATE_PARAMS* what) {
  return instantiate(exec, graph, what == nullptr ? 0 : what->flags,
                     [&] { return REAL(cuGraphInstantiateWithParams_ptsz, exec, graph, what); });
}

OURS cuGraphUpload(CUgraphExec exec, CUstream stream) {
  return launch(exec, stream, Default::kLegacy, [&] { return REAL(cuGraphUpload, exec, stream); });
}
OURS cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream) {
  return launch(exec, stream, Default::kOwn,
                [&] { return REAL(cuGraphUpload_ptsz, exec, stream); });
}
OURS cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return launch(exec, stream, Default::kLegacy, [&] { return REAL(cuGraphLaunch, exec, stream); });
}
OURS cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) {
  return launch(exec, stream, Default::kOwn,
                [&] { return REAL(cuGraphLaunch_ptsz, exec, stream); });
}

// What it had stays reserved until it is given back.
OURS cuGraphExecDestroy(CUgraphExec exec) {
  Process* process = Process::current();
  if (process != nullptr && process->graphs().any()) process->graphs().gone(handle_of(exec));
  return REAL(cuGraphExecDestroy, exec);
}

OURS cuDeviceGraphMemTrim(CUdevice device) {
  Process* process = Process::current();
  const bool ours = process != nullptr && device_of(*process, device) >= 0;
  return ours ? trim_graphs(*process, device, Trim::kAnyway) : REAL(cuDeviceGraphMemTrim, device);
}

}  // namespace berth::guard
