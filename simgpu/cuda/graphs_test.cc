// SPDX-License-Identifier: Apache-2.0
// Graphs that allocate and captured streams, as a program sees them.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>

#include "simgpu/cuda/cuda_testing.h"

namespace berth::simgpu {
namespace {

CUdeviceptr add_allocation(CUgraph graph, std::size_t bytes) {
  CUgraphNode node = nullptr;
  CUDA_MEM_ALLOC_NODE_PARAMS what{};
  what.poolProps.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  what.bytesize = bytes;
  REQUIRE_OK(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &what));
  return what.dptr;
}

void add_free(CUgraph graph, CUdeviceptr pointer) {
  CUgraphNode node = nullptr;
  REQUIRE_OK(cuGraphAddMemFreeNode(&node, graph, nullptr, 0, pointer));
}

CUgraph make_graph() {
  CUgraph graph = nullptr;
  REQUIRE_OK(cuGraphCreate(&graph, 0));
  return graph;
}

CUgraphExec instantiate(CUgraph graph, unsigned long long flags = 0) {
  CUgraphExec exec = nullptr;
  REQUIRE_OK(cuGraphInstantiateWithFlags(&exec, graph, flags));
  return exec;
}

cuuint64_t attribute(CUgraphMem_attribute attribute) {
  cuuint64_t value = 0;
  REQUIRE_OK(cuDeviceGetGraphMemAttribute(0, attribute, &value));
  return value;
}

TEST(CudaGraphs, MemoryIsReservedByALaunchAndKeptUntilItIsTrimmed) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(
      0, in_child([] {
        use_device(0);
        const CUgraph graph = make_graph();
        const CUdeviceptr pointer = add_allocation(graph, 33 * kMiB);
        add_free(graph, pointer);
        const CUgraphExec exec = instantiate(graph);
        REQUIRE(free_bytes() == kGiB);
        REQUIRE_OK(cuGraphUpload(exec, nullptr));
        REQUIRE(free_bytes() == kGiB - 64 * kMiB);
        REQUIRE_OK(cuGraphLaunch(exec, nullptr));
        REQUIRE_OK(cuGraphLaunch(exec, nullptr));
        REQUIRE(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 64 * kMiB);
        REQUIRE(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == 33 * kMiB);
        REQUIRE_OK(cuGraphExecDestroy(exec));
        REQUIRE(cuGraphLaunch(exec, nullptr) == CUDA_ERROR_INVALID_VALUE);
        REQUIRE(free_bytes() == kGiB - 64 * kMiB);
        REQUIRE_OK(cuDeviceGraphMemTrim(0));
        REQUIRE(free_bytes() == kGiB);
        cuuint64_t none = 0;
        REQUIRE(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) == 64 * kMiB);
        REQUIRE_OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &none));
        REQUIRE(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) == 0);
        REQUIRE(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &none) ==
                CUDA_ERROR_INVALID_VALUE);
      }));
}

TEST(CudaGraphs, WhatALaunchDoesNotFreeLivesUntilItIsFreed) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              const CUgraph graph = make_graph();
              const CUdeviceptr pointer = add_allocation(graph, kMiB);
              REQUIRE(cuMemFree_v2(pointer) == CUDA_ERROR_INVALID_VALUE);  // Not there yet.
              const CUgraphExec exec = instantiate(graph);
              REQUIRE_OK(cuGraphLaunch(exec, nullptr));
              REQUIRE(cuGraphLaunch(exec, nullptr) == CUDA_ERROR_INVALID_VALUE);
              const std::string text = "in a graph";
              std::string back(text.size(), ' ');
              REQUIRE_OK(cuMemcpyHtoD_v2(pointer, text.data(), text.size()));
              REQUIRE_OK(cuMemcpyDtoH_v2(back.data(), pointer, text.size()));
              REQUIRE(back == text);
              REQUIRE_OK(cuGraphExecDestroy(exec));
              REQUIRE_OK(cuDeviceGraphMemTrim(0));
              REQUIRE(free_bytes() == kGiB - 32 * kMiB);
              REQUIRE_OK(cuMemFreeAsync(pointer, nullptr));
              REQUIRE(cuMemFreeAsync(pointer, nullptr) == CUDA_ERROR_INVALID_VALUE);
              REQUIRE_OK(cuDeviceGraphMemTrim(0));
              REQUIRE(free_bytes() == kGiB);
            }));
}

TEST(CudaGraphs, OneThatFreesByItselfCanBeLaunchedAgain) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              const CUgraph graph = make_graph();
              (void)add_allocation(graph, kMiB);
              const CUgraphExec exec = instantiate(graph, kInstantiateAutoFree);
              REQUIRE_OK(cuGraphLaunch(exec, nullptr));
              REQUIRE_OK(cuGraphLaunch(exec, nullptr));
              CUgraphExec again = nullptr;
              REQUIRE(cuGraphInstantiateWithFlags(&again, graph, 0) == CUDA_ERROR_INVALID_VALUE);
            }));
}

TEST(CudaGraphs, AGraphThatWasMovedIntoAnotherIsLaunchedWithIt) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              const CUgraph parent = make_graph();
              const CUgraph child = make_graph();
              CUgraphNode node = nullptr;
              CUgraphNodeParams what{};
              what.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
              what.alloc.poolProps.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
              what.alloc.bytesize = 40 * kMiB;
              REQUIRE_OK(cuGraphAddNode_v2(&node, child, nullptr, nullptr, 0, &what));
              const CUdeviceptr pointer = what.alloc.dptr;
              what = {};
              what.type = CU_GRAPH_NODE_TYPE_GRAPH;
              what.graph = {.graph = child, .ownership = 0};
              REQUIRE(cuGraphAddNode(&node, parent, nullptr, 0, &what) == CUDA_ERROR_NOT_SUPPORTED);
              what.graph.ownership = kMovedToParent;
              REQUIRE_OK(cuGraphAddNode(&node, parent, nullptr, 0, &what));
              REQUIRE(cuGraphAddNode(&node, parent, nullptr, 0, &what) == CUDA_ERROR_INVALID_VALUE);
              CUgraphNodeType type{};
              CUgraph found = nullptr;
              REQUIRE_OK(cuGraphNodeGetType(node, &type));
              REQUIRE(type == CU_GRAPH_NODE_TYPE_GRAPH);
              REQUIRE_OK(cuGraphChildGraphNodeGetGraph(node, &found));
              REQUIRE(found == child);
              REQUIRE(cuGraphDestroy(child) == CUDA_ERROR_INVALID_VALUE);
              CUgraphExec alone = nullptr;
              REQUIRE(cuGraphInstantiateWithFlags(&alone, child, 0) == CUDA_ERROR_INVALID_VALUE);
              add_free(parent, pointer);
              REQUIRE_OK(cuGraphLaunch(instantiate(parent), nullptr));
              REQUIRE(free_bytes() == kGiB - 64 * kMiB);
              REQUIRE_OK(cuGraphDestroy(parent));
              std::size_t count = 0;
              REQUIRE(cuGraphGetNodes(child, nullptr, &count) == CUDA_ERROR_INVALID_VALUE);
            }));
}

TEST(CudaGraphs, OneThatDoesNotFitIsNotLaunched) {
  const TemporaryWorld temporary("1x128MiB,context=0");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              const CUgraph graph = make_graph();
              const CUdeviceptr pointer = add_allocation(graph, 129 * kMiB);
              REQUIRE(cuGraphLaunch(instantiate(graph), nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
              REQUIRE(cuMemFree_v2(pointer) == CUDA_ERROR_INVALID_VALUE);
              REQUIRE(free_bytes() == 128 * kMiB);
            }));
}

TEST(CudaGraphs, WhatIsPutIntoACapturedStreamBecomesNodes) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              CUstream stream = nullptr;
              CUgraph graph = nullptr;
              CUdeviceptr pointer = 0;
              CUstreamCaptureStatus status{};
              REQUIRE_OK(cuStreamCreate(&stream, 1));
              REQUIRE(cuStreamEndCapture(stream, &graph) == CUDA_ERROR_ILLEGAL_STATE);
              REQUIRE_OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
              REQUIRE(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) ==
                      CUDA_ERROR_ILLEGAL_STATE);
              REQUIRE_OK(cuStreamIsCapturing(stream, &status));
              REQUIRE(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
              REQUIRE_OK(cuMemAllocAsync(&pointer, 1'000, stream));
              REQUIRE_OK(cuMemFreeAsync(pointer, stream));
              REQUIRE_OK(cuStreamEndCapture(stream, &graph));
              std::size_t count = 3;
              CUgraphNode nodes[3] = {};
              CUgraphNodeType type{};
              CUDA_MEM_ALLOC_NODE_PARAMS what{};
              REQUIRE_OK(cuGraphGetNodes(graph, nodes, &count));
              REQUIRE(count == 2 && nodes[2] == nullptr);
              REQUIRE_OK(cuGraphNodeGetType(nodes[1], &type));
              REQUIRE(type == CU_GRAPH_NODE_TYPE_MEM_FREE);
              REQUIRE_OK(cuGraphMemAllocNodeGetParams(nodes[0], &what));
              REQUIRE(what.bytesize == 1'000 && what.dptr == pointer);
              REQUIRE_OK(cuGraphDestroy(graph));
              REQUIRE(cuGraphDestroy(graph) == CUDA_ERROR_INVALID_VALUE);
              REQUIRE(cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL) ==
                      CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
              REQUIRE_OK(cuStreamBeginCapture_ptsz(nullptr));
              REQUIRE_OK(cuStreamEndCapture_ptsz(nullptr, &graph));
            }));
}

// What a call does while a stream is captured in this mode, and how the capture ends then.
template <class Call>
void during_capture(CUstreamCaptureMode mode, Call call, CUresult expected, CUresult end) {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  REQUIRE_OK(cuStreamCreate(&stream, 1));
  REQUIRE_OK(cuStreamBeginCapture_v2(stream, mode));
  REQUIRE(call(stream) == expected);
  REQUIRE(cuStreamEndCapture(stream, &graph) == end);
  REQUIRE((graph == nullptr) == (end != CUDA_SUCCESS));
}

TEST(CudaGraphs, WhatACaptureForbidsEndsIt) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              const auto allocate = [](CUstream) {
                CUdeviceptr pointer = 0;
                return cuMemAlloc_v2(&pointer, 1);
              };
              const auto relaxed = [&](CUstream stream) {
                CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
                REQUIRE_OK(cuThreadExchangeStreamCaptureMode(&mode));
                const CUresult result = allocate(stream);
                REQUIRE_OK(cuThreadExchangeStreamCaptureMode(&mode));
                REQUIRE(mode == CU_STREAM_CAPTURE_MODE_RELAXED);
                return result;
              };
              const auto elsewhere = [&](CUstream stream) {
                CUresult result = CUDA_SUCCESS;
                std::thread([&] {
                  use_device(0);
                  result = allocate(stream);
                }).join();
                return result;
              };
              const auto wait = [](CUstream stream) { return cuStreamSynchronize(stream); };
              const auto legacy = [](CUstream) {  // It waits for blocking streams only.
                return cuStreamSynchronize(nullptr);
              };
              constexpr auto kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;
              constexpr auto kLocal = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
              constexpr auto kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
              constexpr CUresult kRefused = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
              constexpr CUresult kSpoilt = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
              during_capture(kGlobal, allocate, kRefused, kSpoilt);
              during_capture(kLocal, allocate, kRefused, kSpoilt);
              during_capture(kRelaxed, allocate, CUDA_SUCCESS, CUDA_SUCCESS);
              during_capture(kGlobal, relaxed, CUDA_SUCCESS, CUDA_SUCCESS);
              during_capture(kGlobal, elsewhere, kRefused, kSpoilt);
              during_capture(kLocal, elsewhere, CUDA_SUCCESS, CUDA_SUCCESS);
              during_capture(kRelaxed, wait, kRefused, kSpoilt);
              during_capture(kGlobal, legacy, CUDA_SUCCESS, CUDA_SUCCESS);
            }));
}

TEST(CudaGraphs, TheLegacyStreamWaitsForBlockingOnes) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(
      0, in_child([] {
        use_device(0);
        CUstream stream = nullptr;
        CUgraph graph = nullptr;
        CUdeviceptr pointer = 0;
        CUstreamCaptureStatus status{};
        REQUIRE_OK(cuStreamCreate(&stream, 0));
        REQUIRE_OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        REQUIRE(cuStreamIsCapturing(nullptr, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
        REQUIRE_OK(cuStreamEndCapture(stream, &graph));
        REQUIRE_OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        REQUIRE(cuMemAllocAsync(&pointer, 1, nullptr) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
        REQUIRE(cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        REQUIRE_OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        std::thread([&] {
          use_device(0);
          REQUIRE(cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
        }).join();
      }));
}

TEST(CudaGraphs, AFunctionOfTheProgramsIsCalledOnceAndNotInACapture) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(
      0, in_child([] {
        use_device(0);
        int called = 0;
        const CUhostFn function = [](void* data) { ++*static_cast<int*>(data); };
        const CUstreamCallback callback = [](CUstream, CUresult result, void* data) {
          CUdeviceptr pointer = 0;
          REQUIRE_OK(result);
          REQUIRE_OK(cuMemAlloc_v2(&pointer, 1));  // The driver is not locked.
          ++*static_cast<int*>(data);
        };
        REQUIRE_OK(cuLaunchHostFunc(nullptr, function, &called));
        REQUIRE_OK(cuLaunchHostFunc_ptsz(nullptr, function, &called));
        REQUIRE_OK(cuStreamAddCallback(nullptr, callback, &called, 0));
        REQUIRE_OK(cuStreamAddCallback_ptsz(nullptr, callback, &called, 0));
        REQUIRE(called == 4);
        REQUIRE(cuLaunchHostFunc(nullptr, nullptr, &called) == CUDA_ERROR_INVALID_VALUE);
        REQUIRE(cuStreamAddCallback(nullptr, callback, &called, 1) == CUDA_ERROR_INVALID_VALUE);
        const auto launch = [&](CUstream stream) {
          return cuLaunchHostFunc(stream, function, &called);
        };
        during_capture(CU_STREAM_CAPTURE_MODE_RELAXED, launch,
                       CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                       CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        REQUIRE(called == 4);
      }));
}

TEST(CudaStreams, AreOfTheContextTheyWereMadeIn) {
  const TemporaryWorld temporary("2x1GiB,context=0");
  EXPECT_EQ(
      0, in_child([] {
        CUstream stream = nullptr;
        CUcontext first = nullptr;
        CUcontext second = nullptr;
        CUcontext its = nullptr;
        CUdeviceptr pointer = 0;
        int ordinal = -1;
        use_device(0);
        REQUIRE_OK(cuCtxGetCurrent(&first));
        REQUIRE_OK(cuStreamCreate(&stream, 0));
        use_device(1);
        REQUIRE_OK(cuCtxGetCurrent(&second));
        REQUIRE_OK(cuStreamGetCtx(stream, &its));
        REQUIRE(its == first);
        REQUIRE_OK(cuStreamGetCtx_ptsz(nullptr, &its));
        REQUIRE(its == second);
        REQUIRE_OK(cuMemAllocAsync(&pointer, 1, stream));
        REQUIRE_OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer));
        REQUIRE(ordinal == 0);
        REQUIRE_OK(cuMemFreeAsync(pointer, nullptr));
        REQUIRE_OK(cuMemAllocAsync(&pointer, 1, nullptr));
        REQUIRE_OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer));
        REQUIRE(ordinal == 1);
        REQUIRE_OK(cuStreamDestroy_v2(stream));
        REQUIRE(cuStreamGetCtx(stream, &its) == CUDA_ERROR_INVALID_HANDLE);
        REQUIRE(cuStreamGetCtx(nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
      }));
}

}  // namespace
}  // namespace berth::simgpu
