// SPDX-License-Identifier: Apache-2.0
// Opening and making a world's file. A file appears under its name complete or not at all, and one
// process at a time makes it; afterwards nobody locks anything.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "os/errors.h"
#include "os/machine.h"
#include "os/processes.h"
#include "os/unique_fd.h"
#include "simgpu/world/world.h"

namespace berth::simgpu {
namespace {

os::UniqueFd open_file(const std::string& path, int flags, mode_t mode = 0) {
  return os::UniqueFd(::open(path.c_str(), flags | O_CLOEXEC, mode));
}

std::array<char, 40> boot_id() {
  std::array<char, 40> id{};
  const Result<std::string> text = os::boot_id();
  if (text.ok()) (void)text->copy(id.data(), id.size() - 1);
  return id;
}

std::uint64_t blocks_down(Bytes bytes) {
  return bytes.value / kBlockBytes;
}
std::uint64_t blocks_up(Bytes bytes) {
  return (bytes.value + kBlockBytes - 1) / kBlockBytes;
}

Status fill(WorldFile& world, const WorldPlace& place) {
  world.magic = kMagic;
  world.layout = kLayout;
  world.device_count = static_cast<std::uint32_t>(place.spec.devices.size());
  world.boot_id = boot_id();
  world.pid_namespace = os::own_pid_namespace();
  if (place.spec_text.size() >= world.spec_text.size())
    return Error{Errc::kInvalid, "BERTH_SIM is longer than 1023 characters"};
  std::memcpy(world.spec_text.data(), place.spec_text.data(), place.spec_text.size());
  world.context_blocks = blocks_up(place.spec.context);
  world.host_capacity_blocks = blocks_down(place.spec.checkpoint_memory);
  world.slots_seen = kUnmanagedSlot + 1;
  for (std::size_t i = 0; i < place.spec.devices.size(); ++i) {
    DeviceState& device = world.devices[i];
    // Random, so that no two worlds ever share a device; the version bits make it a version 4 UUID.
    if (::getrandom(device.uuid.data(), device.uuid.size(), 0) != 16)
      return Error{Errc::kIo, "the kernel gives no random bytes"};
    device.uuid[6] = static_cast<std::uint8_t>((device.uuid[6] & 0x0fU) | 0x40U);
    device.uuid[8] = static_cast<std::uint8_t>((device.uuid[8] & 0x3fU) | 0x80U);
    const std::string& model = place.spec.devices[i].model;
    CHECK(model.size() < device.model.size());
    std::memcpy(device.model.data(), model.data(), model.size());
    device.capacity_blocks = blocks_down(place.spec.devices[i].capacity);
    device.reserved_blocks = blocks_up(place.spec.reserved);
  }
  return Unit{};
}

}  // namespace

void World::Unmap::operator()(WorldFile* file) const {
  ::munmap(file, sizeof(WorldFile));
}

struct World::Opened {
  enum class Found { kNone, kUsable, kOfEarlierBoot };
  Found found = Found::kNone;
  Mapping file;
  FileId id;
};

World::World(WorldPlace place, Opened opened)
    : place_(std::move(place)), file_(std::move(opened.file)), id_(opened.id) {}

Result<World::Opened> World::map(const os::UniqueFd& file, const std::string& path) {
  void* at = ::mmap(nullptr, sizeof(WorldFile), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) return os::system_error("cannot map " + path, errno);
  return Opened{.found = Opened::Found::kUsable,
                .file = Mapping(static_cast<WorldFile*>(at)),
                .id = file_behind(file.get())};
}

Result<World::Opened> World::open_existing(const WorldPlace& place, const std::string& path) {
  const os::UniqueFd file = open_file(path, O_RDWR);
  if (!file && errno == ENOENT) return Opened{};
  if (!file) return os::system_error("cannot open the simulated machine " + path, errno);
  struct stat size{};
  if (::fstat(file.get(), &size) != 0) return os::system_error("cannot look at " + path, errno);
  const auto not_ours = [&](const std::string& why) {
    return Error{Errc::kVersion, path + " " + why +
                                     ": end what uses it and remove it, or set "
                                     "another BERTH_SIM_NAME"};
  };
  if (size.st_size != static_cast<off_t>(sizeof(WorldFile)))
    return not_ours("is no simulated machine of this version of Berth");
  TRY(opened, map(file, path));
  const WorldFile& world = *opened.file;
  if (world.magic != kMagic || world.layout != kLayout || world.device_count < 1 ||
      world.device_count > kDevicesMax)
    return not_ours("is no simulated machine of this version of Berth");
  // Who has no /proc cannot tell, and leaves it as it is for those who have.
  if (const auto boot = boot_id(); boot[0] != 0 && world.boot_id[0] != 0 && boot != world.boot_id)
    return Opened{.found = Opened::Found::kOfEarlierBoot};
  const std::string spec(world.spec_text.data(),
                         ::strnlen(world.spec_text.data(), world.spec_text.size()));
  if (spec != place.spec_text)
    return not_ours("was made as '" + spec + "', and BERTH_SIM says '" + place.spec_text + "'");
  return opened;
}

Result<World::Opened> World::make(const WorldPlace& place, const std::string& path) {
  const std::string draft = path + ".new";
  ::unlink(draft.c_str());  // Left by one who was killed while making it; the lock is ours now.
  const mode_t mode = place.shared ? 0666 : 0600;
  const os::UniqueFd file = open_file(draft, O_RDWR | O_CREAT | O_EXCL, mode);
  if (!file) return os::system_error("cannot make the simulated machine " + draft, errno);
  if (::fchmod(file.get(), mode) != 0 || ::ftruncate(file.get(), sizeof(WorldFile)) != 0)
    return os::system_error("cannot make the simulated machine " + draft, errno);
  TRY(made, map(file, draft));
  TRY_STATUS(fill(*made.file, place));
  if (::rename(draft.c_str(), path.c_str()) != 0)
    return os::system_error("cannot name " + path, errno);
  return made;
}

Result<World> World::open_from_environment() {
  TRY(place, world_place_from_environment());
  return open(std::move(place));
}

std::string World::path() const {
  return place_.directory + "/gpu-world";
}

Result<World> World::open(WorldPlace place) {
  const std::string path = place.directory + "/gpu-world";
  TRY(quick, open_existing(place, path));
  if (quick.found == Opened::Found::kUsable) return World(std::move(place), std::move(quick));

  const mode_t mode = place.shared ? 0666 : 0600;
  const os::UniqueFd lock = open_file(path + ".lock", O_RDWR | O_CREAT, mode);
  if (!lock) return os::system_error("cannot make " + path + ".lock", errno);
  if (place.shared) (void)::fchmod(lock.get(), mode);  // Fails for all but who made it.
  while (::flock(lock.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return os::system_error("cannot lock " + path + ".lock", errno);
  }
  TRY(again, open_existing(place, path));
  if (again.found == Opened::Found::kUsable) return World(std::move(place), std::move(again));
  TRY(made, make(place, path));
  return World(std::move(place), std::move(made));
}

}  // namespace berth::simgpu
