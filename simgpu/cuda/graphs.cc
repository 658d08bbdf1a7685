// SPDX-License-Identifier: Apache-2.0
// The simulated driver's functions for graphs that allocate. A graph is launched when it is asked
// for, its nodes one after another in the order in which they were made. Any thread with a current
// context may call these.
#include <algorithm>
#include <bit>

#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/driver.h"

namespace berth::simgpu {
namespace {

template <class Handle>
Graphs::Handle id_of(Handle handle) {
  return std::bit_cast<Graphs::Handle>(handle);
}

CUresult done(bool fits) {
  return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult instantiate(CUgraphExec* exec, CUgraph graph, cuuint64_t flags) {
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context&) {
    const Graphs::Handle made =
        driver.graphs().instantiate(id_of(graph), (flags & kInstantiateAutoFree) != 0);
    if (made != 0) *exec = std::bit_cast<CUgraphExec>(made);
    return done(made != 0);
  });
}

CUresult upload(CUgraphExec exec, CUstream stream, Streams::Default meant) {
  return with_context([&](Driver& driver, Context&) {
    const CUresult result = driver.streams().wait_for(Streams::key_of(stream, meant));
    if (result != CUDA_SUCCESS) return result;
    return driver.graphs().upload(id_of(exec), driver.charger());
  });
}

CUresult launch(CUgraphExec exec, CUstream stream, Streams::Default meant) {
  return with_context([&](Driver& driver, Context&) {
    const CUresult result = driver.streams().wait_for(Streams::key_of(stream, meant));
    if (result != CUDA_SUCCESS) return result;
    return driver.graphs().launch(id_of(exec), driver.charger());
  });
}

CUresult instantiate(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* what,
                     Streams::Default meant) {
  if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphExec made = nullptr;
  CUresult result = instantiate(&made, graph, what->flags);
  if (result != CUDA_SUCCESS) return result;
  if ((what->flags & kInstantiateUpload) != 0) result = upload(made, what->hUploadStream, meant);
  if (result != CUDA_SUCCESS) {
    (void)cuGraphExecDestroy(made);
    return result;
  }
  *exec = made;
  return result;
}

// body(figure) of that name.
template <class Body>
CUresult with_figures(CUdevice ordinal, Body body) {
  return with_driver([&](Driver& driver) {
    const std::optional<std::uint32_t> device = driver.device(ordinal);
    if (!device) return CUDA_ERROR_INVALID_DEVICE;
    return body(driver, *device, driver.graphs().figures(*device));
  });
}

}  // namespace

extern "C" {

CUresult cuGraphCreate(CUgraph* graph, unsigned int flags) {
  if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context&) {
    *graph = std::bit_cast<CUgraph>(driver.graphs().create());
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph graph) {
  return with_driver([&](Driver& driver) { return done(driver.graphs().destroy(id_of(graph))); });
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    const std::vector<Graphs::Handle>* found = driver.graphs().nodes(id_of(graph));
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (nodes == nullptr) {
      *count = found->size();
      return CUDA_SUCCESS;
    }
    for (std::size_t i = 0; i < *count; ++i)
      nodes[i] = i < found->size() ? std::bit_cast<CUgraphNode>((*found)[i]) : nullptr;
    *count = std::min(*count, found->size());
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    const Graphs::Node* found = driver.graphs().node(id_of(node));
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *type = found->frees ? CU_GRAPH_NODE_TYPE_MEM_FREE : CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    if (found->child != 0) *type = CU_GRAPH_NODE_TYPE_GRAPH;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph,
                                const CUgraphNode* /*dependencies*/, std::size_t /*count*/,
                                CUDA_MEM_ALLOC_NODE_PARAMS* what) {
  if (node == nullptr || what == nullptr || what->bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  if (what->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  return with_context([&](Driver& driver, Context&) {
    Graphs::Handle made = 0;
    DevicePointer pointer = 0;
    const CUresult result = driver.add_to_graph(id_of(graph), what->poolProps.location.id,
                                                what->bytesize, made, pointer);
    if (result != CUDA_SUCCESS) return result;
    *node = std::bit_cast<CUgraphNode>(made);
    what->dptr = pointer;
    return result;
  });
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph,
                               const CUgraphNode* /*dependencies*/, std::size_t /*count*/,
                               CUdeviceptr pointer) {
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context&) {
    const Graphs::Handle made = driver.graphs().add_free(id_of(graph), pointer);
    if (made != 0) *node = std::bit_cast<CUgraphNode>(made);
    return done(made != 0);
  });
}

CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                        std::size_t count, CUgraphNodeParams* what) {
  if (node == nullptr || what == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (what->type) {
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return cuGraphAddMemAllocNode(node, graph, dependencies, count, &what->alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return cuGraphAddMemFreeNode(node, graph, dependencies, count, what->free.dptr);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      break;
  }
  if (what->type != CU_GRAPH_NODE_TYPE_GRAPH || what->graph.ownership != kMovedToParent)
    return CUDA_ERROR_NOT_SUPPORTED;
  return with_driver([&](Driver& driver) {
    const Graphs::Handle made = driver.graphs().add_graph(id_of(graph), id_of(what->graph.graph));
    if (made != 0) *node = std::bit_cast<CUgraphNode>(made);
    return done(made != 0);
  });
}
CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData* /*edges*/, std::size_t count,
                           CUgraphNodeParams* what) {
  return cuGraphAddNode(node, graph, dependencies, count, what);
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    const Graphs::Node* found = driver.graphs().node(id_of(node));
    if (found == nullptr || found->child == 0) return CUDA_ERROR_INVALID_VALUE;
    *graph = std::bit_cast<CUgraph>(found->child);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* what) {
  if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    const Graphs::Node* found = driver.graphs().node(id_of(node));
    if (found == nullptr || found->frees || found->child != 0) return CUDA_ERROR_INVALID_VALUE;
    const Graphs::Allocation* allocation = driver.graphs().allocation(found->pointer);
    *what = {};
    what->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    what->poolProps.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = allocation->ordinal};
    what->bytesize = allocation->bytes;
    what->dptr = found->pointer;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* /*failed*/,
                            char* /*log*/, std::size_t /*log_bytes*/) {
  return instantiate(exec, graph, 0);
}
CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* /*failed*/,
                               char* /*log*/, std::size_t /*log_bytes*/) {
  return instantiate(exec, graph, 0);
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return instantiate(exec, graph, flags);
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* what) {
  return instantiate(exec, graph, what, Streams::Default::kLegacy);
}
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS* what) {
  return instantiate(exec, graph, what, Streams::Default::kOwn);
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  return upload(exec, stream, Streams::Default::kLegacy);
}
CUresult cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream) {
  return upload(exec, stream, Streams::Default::kOwn);
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return launch(exec, stream, Streams::Default::kLegacy);
}
CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) {
  return launch(exec, stream, Streams::Default::kOwn);
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return with_driver(
      [&](Driver& driver) { return done(driver.graphs().destroy_executable(id_of(exec))); });
}

CUresult cuDeviceGraphMemTrim(CUdevice ordinal) {
  return with_figures(ordinal, [](Driver& driver, std::uint32_t device, Graphs::Figures&) {
    const CUresult result = driver.streams().check_safe();
    if (result == CUDA_SUCCESS) driver.give_back(device, driver.graphs().trim(device));
    return result;
  });
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute,
                                      void* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_figures(ordinal, [&](Driver&, std::uint32_t, const Graphs::Figures& figures) {
    const std::uint64_t all[] = {figures.used, figures.used_max, figures.reserved,
                                 figures.reserved_max};
    if (attribute >= std::size(all)) return CUDA_ERROR_INVALID_VALUE;
    *static_cast<cuuint64_t*>(value) = all[attribute];
    return CUDA_SUCCESS;
  });
}

// The most that was used or reserved may be set to 0, which means: from now on.
CUresult cuDeviceSetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute,
                                      void* value) {
  if (value == nullptr || *static_cast<cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
  return with_figures(ordinal, [&](Driver&, std::uint32_t, Graphs::Figures& figures) {
    if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) {
      figures.used_max = figures.used;
    } else if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) {
      figures.reserved_max = figures.reserved;
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
}  // namespace berth::simgpu
