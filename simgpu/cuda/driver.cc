// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/driver.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "simgpu/cuda/restore_thread.h"
#include "simgpu/cuda/visible.h"
#include "simgpu/world/device_text.h"
#include "simgpu/world/immortal.h"

namespace berth::simgpu {
namespace {

// CUDA does not work in a child of fork that did not exec. The child of a multi-threaded process
// may not even take the lock, so this stands beside it.
std::atomic<bool> forked = false;

// The driver is there. Told apart from it, because a caller of the checkpoint calls that is locked
// itself must not wait for its own driver.
std::atomic<bool> initialised = false;

constexpr std::size_t kContextsMax = 1024;

std::uint64_t blocks_of(std::uint64_t bytes) {
  return bytes / kBlockBytes + (bytes % kBlockBytes != 0 ? 1 : 0);
}

// What a process has of the driver.
struct Process {
  Barrier barrier;
  std::optional<Driver> driver;
};
Process& the_process() {
  static Immortal<Process> process;
  return process.value;
}

void forget_in_child() {
  forked.store(true);
  std::optional<Driver>& driver = the_process().driver;
  if (driver) driver->process_slot().world().leave_to_parent();
}

void complain_once(const std::string& why) {
  static std::once_flag said;
  std::call_once(said, [&] { std::fprintf(stderr, "libcuda (simulated): %s\n", why.c_str()); });
}

std::vector<std::uint32_t> visible_now(const World& world) {
  std::vector<PhysicalDevice> devices;
  for (std::uint32_t i = 0; i < world.device_count(); ++i) {
    const DeviceState& device = world.file().devices[i];
    devices.push_back({uuid_text(device), device.capacity_blocks.load()});
  }
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const char* order = std::getenv("CUDA_DEVICE_ORDER");
  return visible_devices(
      devices, visible == nullptr ? std::nullopt : std::optional<std::string_view>(visible),
      order != nullptr && std::strcmp(order, "PCI_BUS_ID") == 0);
}

}  // namespace

ContextStack& context_stack() {
  thread_local ContextStack stack;
  return stack;
}

CUresult Driver::initialise() {
  if (forked.load()) return CUDA_ERROR_NOT_INITIALIZED;
  Process& process = the_process();
  const std::unique_lock lock = process.barrier.enter();
  if (process.driver) return CUDA_SUCCESS;
  Result<World> world = World::open_from_environment();
  if (!world.ok()) {
    complain_once(world.error().message);
    return CUDA_ERROR_NO_DEVICE;
  }
  std::vector<std::uint32_t> visible = visible_now(*world);
  if (visible.empty()) return CUDA_ERROR_NO_DEVICE;
  const std::optional<std::uint32_t> slot = world->claim_slot();
  if (!slot) {
    complain_once("too many processes use this machine already, or its file cannot be locked");
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  process.driver.emplace(ProcessSlot(*std::move(world), *slot), std::move(visible));
  (void)::pthread_atfork(nullptr, nullptr, &forget_in_child);
  initialised.store(true);
  if (kDriverVersion >= kCheckpointsSince) serve_checkpoints(*process.driver, process.barrier);
  return CUDA_SUCCESS;
}

Driver::Driver(ProcessSlot process_slot, std::vector<std::uint32_t> visible)
    : process_slot_(std::move(process_slot)), visible_(std::move(visible)) {}

Driver::Locked Driver::lock_initialised() {
  if (forked.load()) return {CUDA_ERROR_NOT_INITIALIZED, nullptr, {}};
  Process& process = the_process();
  std::unique_lock lock = process.barrier.enter();
  if (!process.driver) return {CUDA_ERROR_NOT_INITIALIZED, nullptr, {}};
  Driver& driver = *process.driver;
  if (driver.ruined_) return {CUDA_ERROR_UNKNOWN, nullptr, {}};
  driver.virtual_memory_.drop_unheld(
      [&](VirtualMemory::Freed freed) { driver.give_back(freed.device, freed.blocks); });
  return {CUDA_SUCCESS, &driver, std::move(lock)};
}

Barrier::Residency Driver::residency() {
  return Barrier::Residency(the_process().barrier);
}

bool Driver::is_initialised() {
  return !forked.load() && initialised.load();
}

std::optional<std::uint32_t> Driver::device(CUdevice ordinal) const {
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= visible_.size()) return std::nullopt;
  return visible_[static_cast<std::size_t>(ordinal)];
}

CUresult Driver::make_heap(std::uint32_t device) {
  if (!heaps_[device])
    heaps_[device] = Heap::make(process_slot_.state(device).capacity_blocks.load() * kBlockBytes);
  return heaps_[device] ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

// The first context of the process on a device: it costs its overhead.
CUresult Driver::enter_device(std::uint32_t device) {
  if (process_slot_.is_lost(device)) return CUDA_ERROR_DEVICE_UNAVAILABLE;
  if (contexts_[device] > 0) {
    ++contexts_[device];
    return CUDA_SUCCESS;
  }
  if (const CUresult result = make_heap(device); result != CUDA_SUCCESS) return result;
  if (!process_slot_.charge(device, process_slot_.world().file().context_blocks))
    return CUDA_ERROR_OUT_OF_MEMORY;
  process_slot_.set_context(device, true);
  contexts_[device] = 1;
  return CUDA_SUCCESS;
}

void Driver::leave_device(std::uint32_t device) {
  if (--contexts_[device] > 0) return;
  pools_.drop(device, *heaps_[device]);
  give_back(device, graphs_.drop(device));
  process_slot_.release(device, process_slot_.world().file().context_blocks);
  process_slot_.set_context(device, false);
}

void Driver::close(Context& context) {
  context.alive = false;
  std::uint64_t blocks = heaps_[context.device]->free_all(&context);
  std::erase_if(managed_, [&](const auto& managed) {
    if (managed.second.owner != &context) return false;
    blocks += blocks_of(managed.second.bytes);
    return true;
  });
  std::erase_if(arrays_, [&](const auto& array) { return array.second.owner == &context; });
  blocks += drop_images(context) + std::exchange(context.limit_blocks, 0);
  context.limits = Context::kLimits;
  give_back(context.device, blocks);
  leave_device(context.device);
}

CUresult Driver::create_context(CUdevice ordinal, unsigned int flags, Context*& made) {
  const std::optional<std::uint32_t> device = this->device(ordinal);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  Context* context = unused_context();
  if (context == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  if (const CUresult result = enter_device(*device); result != CUDA_SUCCESS) return result;
  *context = {.device = *device, .ordinal = ordinal, .flags = flags, .alive = true};
  made = context;
  return CUDA_SUCCESS;
}

Context* Driver::unused_context() {
  const auto unused = std::ranges::find(created_, false, &Context::alive);
  if (unused != created_.end()) return &*unused;
  return created_.size() < kContextsMax ? &created_.emplace_back() : nullptr;
}

CUresult Driver::create_green(CUdevice ordinal, Context*& made) {
  Context* context = unused_context();
  if (context == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  Context* primary = nullptr;
  if (const CUresult result = retain_primary(ordinal, primary); result != CUDA_SUCCESS)
    return result;
  *context = {.device = primary->device, .ordinal = ordinal, .alive = true, .parent = primary};
  made = context;
  return CUDA_SUCCESS;
}

CUresult Driver::destroy_green(Context* context) {
  if (context->parent == nullptr) return CUDA_ERROR_INVALID_VALUE;
  context->alive = false;
  (void)release_primary(context->ordinal);  // It may have been reset meanwhile.
  return CUDA_SUCCESS;
}

CUresult Driver::destroy_context(Context* context) {
  const bool primary = std::ranges::any_of(
      primaries_, [&](const Primary& candidate) { return &candidate.context == context; });
  // They go by other functions.
  if (primary || context->parent != nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  close(*context);
  return CUDA_SUCCESS;
}

CUresult Driver::retain_primary(CUdevice ordinal, Context*& retained) {
  const std::optional<std::uint32_t> device = this->device(ordinal);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  Primary& primary = primaries_[static_cast<std::size_t>(ordinal)];
  if (!primary.context.alive) {
    if (const CUresult result = enter_device(*device); result != CUDA_SUCCESS) return result;
    primary.context.device = *device;
    primary.context.ordinal = ordinal;
    primary.context.alive = true;
    primary.retained = 0;
  }
  ++primary.retained;
  retained = &primary.context;
  return CUDA_SUCCESS;
}

CUresult Driver::release_primary(CUdevice ordinal) {
  if (!device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  Primary& primary = primaries_[static_cast<std::size_t>(ordinal)];
  if (!primary.context.alive) return CUDA_ERROR_INVALID_CONTEXT;
  if (--primary.retained == 0) close(primary.context);
  return CUDA_SUCCESS;
}

CUresult Driver::reset_primary(CUdevice ordinal) {
  if (!device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  Primary& primary = primaries_[static_cast<std::size_t>(ordinal)];
  if (primary.context.alive) close(primary.context);
  primary.retained = 0;
  return CUDA_SUCCESS;
}

CUresult Driver::set_primary_flags(CUdevice ordinal, unsigned int flags) {
  if (!device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  primaries_[static_cast<std::size_t>(ordinal)].context.flags = flags;
  return CUDA_SUCCESS;
}

Driver::PrimaryState Driver::primary_state(CUdevice ordinal) const {
  const Context& context = primaries_[static_cast<std::size_t>(ordinal)].context;
  return {.flags = context.flags, .active = context.alive};
}

Context* Driver::living(CUcontext handle) {
  auto* context = reinterpret_cast<Context*>(handle);
  for (Primary& primary : primaries_) {
    if (&primary.context == context) return context->alive ? context : nullptr;
  }
  for (const Context& candidate : created_) {
    if (&candidate == context) return context->alive ? context : nullptr;
  }
  return nullptr;
}

CUresult Driver::current(Context*& context) {
  const CUcontext top = context_stack().top();
  if (top == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  context = living(top);
  if (context != nullptr && context->parent != nullptr)
    context = context->parent->alive ? context->parent : nullptr;
  if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return process_slot_.is_lost(context->device) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

CUresult Driver::allocate(const Context& context, std::uint64_t bytes, DevicePointer& pointer) {
  const auto charge = [&](std::uint64_t blocks) {
    return process_slot_.charge(context.device, blocks);
  };
  const auto allocated = heaps_[context.device]->allocate(bytes, &context, charge);
  if (!allocated) return CUDA_ERROR_OUT_OF_MEMORY;
  pointer = *allocated;
  return CUDA_SUCCESS;
}

CUresult Driver::allocate_managed(const Context& context, std::uint64_t bytes,
                                  DevicePointer& pointer) {
  HostMemory memory = map_host_memory(bytes, Access::kReadWrite);
  if (!memory || !process_slot_.charge(context.device, blocks_of(bytes)))
    return CUDA_ERROR_OUT_OF_MEMORY;
  pointer = reinterpret_cast<DevicePointer>(memory.get());
  managed_.emplace(pointer, Managed{.memory = std::move(memory),
                                    .bytes = bytes,
                                    .device = context.device,
                                    .owner = &context});
  return CUDA_SUCCESS;
}

CUresult Driver::make_array(const Context& context, const Array& what, std::uint64_t& handle) {
  OwnedArray made{.what = what, .memory = 0, .owner = &context};
  if (!what.deferred) {
    const CUresult result = allocate(context, what.bytes, made.memory);
    if (result != CUDA_SUCCESS) return result;
  }
  handle = last_array_ += 16;  // As far apart as what is allocated; no address of memory.
  arrays_.emplace(handle, made);
  return CUDA_SUCCESS;
}

CUresult Driver::destroy_array(std::uint64_t handle, bool mipmapped) {
  if (array(handle, mipmapped) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const DevicePointer memory = arrays_.extract(handle).mapped().memory;
  return memory == 0 ? CUDA_SUCCESS : free(memory);
}

const Driver::Array* Driver::array(std::uint64_t handle, bool mipmapped) const {
  const auto found = arrays_.find(handle);
  const bool is_it = found != arrays_.end() && found->second.what.mipmapped == mipmapped;
  return is_it ? &found->second.what : nullptr;
}

CUresult Driver::create_memory(CUdevice ordinal, std::uint64_t bytes,
                               VirtualMemory::Sharing sharing, VirtualMemory::Handle& handle) {
  const std::optional<std::uint32_t> device = this->device(ordinal);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  const auto made = virtual_memory_.create(*device, bytes, sharing, [&](std::uint64_t blocks) {
    return process_slot_.charge(*device, blocks);
  });
  if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
  handle = *made;
  return CUDA_SUCCESS;
}

CUresult Driver::create_pool(CUdevice ordinal, Pool*& made) {
  return with_heap(ordinal, [&](std::uint32_t device, Heap& heap) {
    made = &pools_.create(device, heap);
    return CUDA_SUCCESS;
  });
}

CUresult Driver::default_pool(CUdevice ordinal, Pool*& pool) {
  return with_heap(ordinal, [&](std::uint32_t device, Heap& heap) {
    pool = &pools_.default_of(device, heap);
    return CUDA_SUCCESS;
  });
}

CUresult Driver::current_pool(CUdevice ordinal, Pool*& pool) {
  return with_heap(ordinal, [&](std::uint32_t device, Heap& heap) {
    pool = &pools_.current_of(device, heap);
    return CUDA_SUCCESS;
  });
}

CUresult Driver::set_current_pool(CUdevice ordinal, Pool& pool) {
  return with_heap(ordinal, [&](std::uint32_t device, Heap&) {
    if (device != pool.device()) return CUDA_ERROR_INVALID_VALUE;
    pools_.set_current(pool);
    return CUDA_SUCCESS;
  });
}

CUresult Driver::allocate_from(Pool& pool, std::uint64_t bytes, DevicePointer& pointer) {
  const auto charge = [&](std::uint64_t blocks) {
    return process_slot_.charge(pool.device(), blocks);
  };
  auto allocated = pool.allocate(bytes, charge);
  if (!allocated) {
    give_back(pool.device(), pool.trim(0));
    allocated = pool.allocate(bytes, charge);
  }
  if (!allocated) return CUDA_ERROR_OUT_OF_MEMORY;
  pointer = *allocated;
  return CUDA_SUCCESS;
}

CUresult Driver::add_to_graph(Graphs::Handle graph, CUdevice ordinal, std::uint64_t bytes,
                              Graphs::Handle& node, DevicePointer& pointer) {
  const std::optional<std::uint32_t> device = this->device(ordinal);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  node = graphs_.add_allocation(
      graph, {.device = *device, .ordinal = ordinal, .bytes = bytes, .addresses = {}, .memory = {}},
      pointer);
  return node == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

Graphs::Charge Driver::charger() {
  return [this](std::uint32_t device, std::uint64_t blocks) {
    return process_slot_.charge(device, blocks);
  };
}

std::optional<std::uint32_t> Driver::device_at(DevicePointer pointer) {
  auto managed = managed_.upper_bound(pointer);
  if (managed != managed_.begin()) {
    --managed;
    if (pointer - managed->first < managed->second.bytes) return managed->second.device;
  }
  for (std::uint32_t device = 0; device < kDevicesMax; ++device) {
    if (heaps_[device] && heaps_[device]->range(pointer)) return device;
  }
  for (const auto& [handle, image] : images_) {
    if (image.holds(pointer, 0)) return image.device;
  }
  return std::nullopt;
}

CUresult Driver::free(DevicePointer pointer) {
  const bool of_an_array = std::ranges::any_of(
      arrays_, [&](const auto& array) { return array.second.memory == pointer; });
  if (of_an_array) return CUDA_ERROR_INVALID_VALUE;
  if (graphs_.free(pointer)) return CUDA_SUCCESS;
  if (const auto foreign = foreign_.find(pointer);
      foreign != foreign_.end() && foreign->second.freeable) {
    foreign_.erase(foreign);
    return CUDA_SUCCESS;
  }
  if (const auto managed = managed_.find(pointer); managed != managed_.end()) {
    give_back(managed->second.device, blocks_of(managed->second.bytes));
    managed_.erase(managed);
    return CUDA_SUCCESS;
  }
  const PoolSet::Freed freed = pools_.free(pointer);
  if (freed == PoolSet::Freed::kYes) return CUDA_SUCCESS;
  if (freed == PoolSet::Freed::kBefore) return CUDA_ERROR_INVALID_VALUE;
  for (std::uint32_t device = 0; device < kDevicesMax; ++device) {
    if (!heaps_[device]) continue;
    const std::optional<std::uint64_t> blocks = heaps_[device]->free(pointer);
    if (!blocks) continue;
    process_slot_.release(device, *blocks);
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

std::byte* Driver::unheaped(DevicePointer pointer, std::uint64_t bytes) {
  auto managed = managed_.upper_bound(pointer);
  if (managed != managed_.begin()) {
    --managed;
    const std::uint64_t into = pointer - managed->first;
    const std::uint64_t length = managed->second.bytes;
    if (into < length && bytes <= length - into) return managed->second.memory.get() + into;
  }
  auto foreign = foreign_.upper_bound(pointer);
  if (foreign != foreign_.begin()) {
    --foreign;
    const Foreign& found = foreign->second;
    const std::uint64_t into = pointer - foreign->first;
    if (into < found.bytes && bytes <= found.bytes - into)
      return found.memory.get() + found.into + into;
  }
  if (std::byte* global = global_memory(pointer, bytes); global != nullptr) return global;
  if (std::byte* pinned = host_pages_.find(pointer, bytes); pinned != nullptr) return pinned;
  std::byte* of_a_graph = graphs_.find(pointer, bytes);
  return of_a_graph != nullptr ? of_a_graph : virtual_memory_.find(pointer, bytes);
}

std::byte* Driver::readable(DevicePointer pointer, std::uint64_t bytes) {
  for (const std::unique_ptr<Heap>& heap : heaps_) {
    if (std::byte* at = heap ? heap->read(pointer, bytes) : nullptr; at != nullptr) return at;
  }
  return unheaped(pointer, bytes);
}

std::byte* Driver::writable(DevicePointer pointer, std::uint64_t bytes) {
  for (const std::unique_ptr<Heap>& heap : heaps_) {
    if (std::byte* at = heap ? heap->write(pointer, bytes) : nullptr; at != nullptr) return at;
  }
  return unheaped(pointer, bytes);
}

}  // namespace berth::simgpu
