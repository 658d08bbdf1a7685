// SPDX-License-Identifier: Apache-2.0
// The state of the simulated CUDA driver within one process: its world, slot, heaps and contexts.
// One lock; the functions of the ABI (beside this file) take it for each call. What a process holds
// is given back by itself through these functions or, when it is dead, by others (world.h).
#pragma once

#include <array>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/barrier.h"
#include "simgpu/cuda/events.h"
#include "simgpu/cuda/globals.h"
#include "simgpu/cuda/graph.h"
#include "simgpu/cuda/handles.h"
#include "simgpu/cuda/heap.h"
#include "simgpu/cuda/host_pages.h"
#include "simgpu/cuda/pool_set.h"
#include "simgpu/cuda/process_slot.h"
#include "simgpu/cuda/stream.h"
#include "simgpu/cuda/virtual_memory.h"
#include "simgpu/world/fault.h"

namespace berth::simgpu {

/// What a CUcontext points to. Never freed, since a program may still hold the handle.
struct Context {
  std::uint32_t device = 0;  // As ProcessSlot counts them.
  CUdevice ordinal = 0;      // As this process numbers it.
  unsigned int flags = 0;
  bool alive = false;
  Context* parent = nullptr;  // A green context is only a view of its device's primary one.
  std::array<std::size_t, 3> limits = kLimits;  // By CUlimit.
  std::uint64_t limit_blocks = 0;               // What these take more than is usual.

  static constexpr std::array<std::size_t, 3> kLimits = {1024, std::size_t{1} << 20U,
                                                         std::size_t{8} << 20U};
};

class Driver {
 public:
  /// The process's driver, locked, or the result that a call made now must give.
  struct Locked {
    CUresult result;
    Driver* driver;
    std::unique_lock<std::mutex> lock;
  };
  static Locked lock_initialised();
  static CUresult initialise();

  /// For initialise().
  Driver(ProcessSlot process_slot, std::vector<std::uint32_t> visible);

  /// Whether this process has a driver. Never waits.
  static bool is_initialised();
  /// For a call that goes on when it has let go of the driver.
  static Barrier::Residency residency();

  ProcessSlot& process_slot() { return process_slot_; }
  std::size_t count() const { return visible_.size(); }
  /// A device of this process, as ProcessSlot counts them; CUDA_ERROR_INVALID_DEVICE is the
  /// caller's.
  std::optional<std::uint32_t> device(CUdevice ordinal) const;

  CUresult create_context(CUdevice ordinal, unsigned int flags, Context*& made);
  CUresult destroy_context(Context* context);
  CUresult retain_primary(CUdevice ordinal, Context*& retained);
  CUresult release_primary(CUdevice ordinal);
  CUresult reset_primary(CUdevice ordinal);
  CUresult set_primary_flags(CUdevice ordinal, unsigned int flags);
  struct PrimaryState {
    unsigned int flags;
    bool active;
  };
  PrimaryState primary_state(CUdevice ordinal) const;
  CUresult create_green(CUdevice ordinal, Context*& made);
  CUresult destroy_green(Context* context);

  /// The context of that handle, if it is one that lives.
  Context* living(CUcontext handle);
  /// The calling thread's context, or the result that a call which needs one must give.
  CUresult current(Context*& context);

  CUresult allocate(const Context& context, std::uint64_t bytes, DevicePointer& pointer);
  CUresult free(DevicePointer pointer);
  /// Memory that the host reads and writes as well. It counts as the device's from the start.
  CUresult allocate_managed(const Context& context, std::uint64_t bytes, DevicePointer& pointer);
  /// Memory that only the device reads and writes, laid out as the driver likes.
  struct Array {
    std::uint64_t bytes;
    bool mipmapped;
    bool deferred;  // Its memory is brought by the program.
  };
  CUresult make_array(const Context& context, const Array& what, std::uint64_t& handle);
  CUresult destroy_array(std::uint64_t handle, bool mipmapped);
  /// The array of that handle and kind; null if there is none.
  const Array* array(std::uint64_t handle, bool mipmapped) const;
  VirtualMemory& virtual_memory() { return virtual_memory_; }
  CUresult create_memory(CUdevice ordinal, std::uint64_t bytes, VirtualMemory::Sharing sharing,
                         VirtualMemory::Handle& handle);
  /// Memory that is charged to others: a part of a file.
  CUresult map_foreign(int fd, std::uint64_t offset, std::uint64_t bytes, bool freeable,
                       DevicePointer& pointer);
  /// False: that is none, or it goes by being freed.
  bool unmap_foreign(DevicePointer pointer);
  std::map<std::uint64_t, os::UniqueFd>& foreign_handles() { return foreign_handles_; }
  PoolSet& pools() { return pools_; }
  CUresult default_pool(CUdevice ordinal, Pool*& pool);
  CUresult current_pool(CUdevice ordinal, Pool*& pool);
  CUresult set_current_pool(CUdevice ordinal, Pool& pool);
  CUresult create_pool(CUdevice ordinal, Pool*& made);
  CUresult allocate_from(Pool& pool, std::uint64_t bytes, DevicePointer& pointer);
  /// Code takes whole blocks. A library is no context's, and stays until it is unloaded.
  struct Code {
    std::uint64_t bytes = 0;
    std::vector<Global> globals = {};
  };
  CUresult load_image(const Context* context, const Code& code, bool library,
                      std::uint64_t& handle);
  CUresult unload_image(std::uint64_t handle, bool library);
  /// A variable of code.
  std::optional<Heap::Range> global(std::uint64_t handle, const std::string& name) const;
  CUresult set_limit(Context& context, CUlimit limit, std::size_t value);
  bool has_image(std::uint64_t handle) const { return images_.contains(handle); }
  Streams& streams() { return streams_; }
  Events& events() { return events_; }
  Handles& handles() { return handles_; }
  HostPages& host_pages() { return host_pages_; }
  Graphs& graphs() { return graphs_; }
  /// What is being linked.
  struct Link {
    std::vector<Global> globals;
    std::string cubin;
  };
  std::map<Handles::Handle, Link>& links() { return links_; }
  CUresult add_to_graph(Graphs::Handle graph, CUdevice ordinal, std::uint64_t bytes,
                        Graphs::Handle& node, DevicePointer& pointer);
  Graphs::Charge charger();

  /// The device whose memory lies at an address; nothing if none does.
  std::optional<std::uint32_t> device_at(DevicePointer pointer);

  /// The addresses of a device on which there is a context.
  Heap& heap(std::uint32_t device) { return *heaps_[device]; }
  std::uint64_t used(std::uint32_t device) { return process_slot_.used_bytes(device); }
  void give_back(std::uint32_t device, std::uint64_t blocks) {
    process_slot_.release(device, blocks);
  }
  std::byte* readable(DevicePointer pointer, std::uint64_t bytes);
  std::byte* writable(DevicePointer pointer, std::uint64_t bytes);

  /// Some of its memory was given to other processes by a handle.
  void note_given_away() { given_away_ = true; }

  // While the gate is closed, by the thread that serves checkpoints (suspend.cc).
  CUresult checkpoint();
  CUresult restore(const ProcessSlot::Moves& moves);

 private:
  struct Primary {
    Context context;
    std::uint32_t retained = 0;
  };

  /// body(device, heap) of what this process has as that device.
  template <class Body>
  CUresult with_heap(CUdevice ordinal, Body body) {
    const std::optional<std::uint32_t> device = this->device(ordinal);
    if (!device) return CUDA_ERROR_INVALID_DEVICE;
    const CUresult result = make_heap(*device);
    return result == CUDA_SUCCESS ? body(*device, *heaps_[*device]) : result;
  }
  bool can_be_saved() const;
  bool has_memory_of_several() const;

  std::byte* global_memory(DevicePointer pointer, std::uint64_t bytes);
  std::byte* unheaped(DevicePointer pointer, std::uint64_t bytes);
  CUresult make_heap(std::uint32_t device);
  CUresult enter_device(std::uint32_t device);
  void leave_device(std::uint32_t device);
  void close(Context& context);
  Context* unused_context();
  std::uint64_t drop_images(const Context& context);

  ProcessSlot process_slot_;
  std::vector<std::uint32_t> visible_;  // Devices as ProcessSlot counts them, by ordinal.
  std::array<std::unique_ptr<Heap>, kDevicesMax> heaps_;
  std::array<std::uint32_t, kDevicesMax> contexts_{};  // Living ones, by device.
  struct Managed {
    HostMemory memory;
    std::uint64_t bytes;
    std::uint32_t device;
    const Context* owner;
  };
  std::map<DevicePointer, Managed> managed_;
  struct OwnedArray {
    Array what;
    DevicePointer memory;  // 0: none of its own.
    const Context* owner;
  };
  std::map<std::uint64_t, OwnedArray> arrays_;  // By handle.
  std::uint64_t last_array_ = 0;
  VirtualMemory virtual_memory_;
  struct Image {
    std::uint32_t device;
    std::uint64_t blocks;
    const Context* owner;
    bool library;
    // Its variables, one after the other: at what addresses, and the memory behind these.
    struct Place {
      std::uint64_t at;
      std::uint64_t bytes;
    };
    HostMemory addresses = {};
    HostMemory memory = {};
    std::uint64_t bytes = 0;
    std::map<std::string, Place> globals = {};

    DevicePointer first() const { return reinterpret_cast<DevicePointer>(addresses.get()); }
    bool holds(DevicePointer pointer, std::uint64_t size) const {
      const std::uint64_t into = pointer - first();
      return memory && into < bytes && size <= bytes - into;
    }
  };
  struct Foreign {
    HostMemory addresses;
    HostMemory memory;
    std::uint64_t bytes;
    std::uint64_t into;  // The memory begins with what lies before it in its first page.
    bool freeable;
  };
  std::map<DevicePointer, Foreign> foreign_;
  std::map<std::uint64_t, os::UniqueFd> foreign_handles_;  // Pools and memory that were imported.
  std::map<std::uint64_t, Image> images_;                  // By handle.
  std::uint64_t last_image_ = 0x3000'0000;
  Streams streams_;
  Events events_;
  Handles handles_;
  std::map<Handles::Handle, Link> links_;
  HostPages host_pages_;
  Graphs graphs_;
  PoolSet pools_{[this](std::uint32_t device, std::uint64_t blocks) { give_back(device, blocks); }};
  std::array<Primary, kDevicesMax> primaries_;  // By ordinal.
  bool given_away_ = false;
  bool ruined_ = false;          // A restore failed; for good.
  std::deque<Context> created_;  // Those of the dead are used again.
};

/// The calling thread's stack of contexts.
struct ContextStack {
  static constexpr std::size_t kDepthMax = 64;
  std::array<CUcontext, kDepthMax> contexts{};
  std::size_t depth = 0;

  CUcontext top() const { return depth == 0 ? nullptr : contexts[depth - 1]; }
};
ContextStack& context_stack();

inline CUcontext handle_of(Context* context) {
  return reinterpret_cast<CUcontext>(context);
}

/// body(driver), while the driver is locked; or the result that tells why there is none.
template <class Body>
CUresult with_driver(Body body) {
  auto [result, driver, lock] = Driver::lock_initialised();
  return result == CUDA_SUCCESS ? body(*driver) : result;
}

/// The result of body(driver). Where it is success, the call stays inside until the work is done
/// that was put into streams.
template <class Body>
CUresult with_work_done(Body body) {
  Barrier::Residency residency;
  HangState* work = nullptr;
  const CUresult result = with_driver([&](Driver& driver) {
    const CUresult got = body(driver);
    if (got != CUDA_SUCCESS) return got;
    residency = Driver::residency();
    work = &driver.process_slot().world().file().faults.busy;
    return got;
  });
  if (work != nullptr) wait_out(*work);
  return result;
}

/// body(driver, the context that is current).
template <class Body>
CUresult with_context(Body body) {
  return with_driver([&](Driver& driver) {
    Context* context = nullptr;
    const CUresult missing = driver.current(context);
    return missing == CUDA_SUCCESS ? body(driver, *context) : missing;
  });
}

/// The same for a call that may disturb what streams capture, and is forbidden then.
template <class Body>
CUresult with_safe_context(Body body) {
  return with_context([&](Driver& driver, Context& context) {
    const CUresult unsafe = driver.streams().check_safe();
    return unsafe == CUDA_SUCCESS ? body(driver, context) : unsafe;
  });
}

/// The result of work(), or success where the stream is captured: what a graph would do is not
/// kept.
template <class Work>
CUresult in_stream(CUstream stream, Work work) {
  Graphs::Handle graph = 0;
  const CUresult result = with_context([&](Driver& driver, Context&) {
    return driver.streams().enter(Streams::key_of(stream, Streams::Default::kLegacy), graph);
  });
  return result == CUDA_SUCCESS && graph == 0 ? work() : result;
}

}  // namespace berth::simgpu
