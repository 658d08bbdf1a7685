// SPDX-License-Identifier: Apache-2.0
#include "library/batch.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/fnv1a.h"
#include "os/environment.h"
#include "os/files.h"

namespace berth::library {
namespace {

constexpr std::size_t kFileMax = 8U << 10U;
constexpr std::string_view kHead = "berth batch 1\n";  // With the version of what follows.
constexpr std::string_view kMicro = "micro ";

// 64 bits each of two FNV-1a: files are told apart by it, and believed only by their text.
std::string name_of(const std::string& fingerprint) {
  std::string name;
  for (const std::uint64_t seed : {kFnv1aBasis, std::rotl(kFnv1aBasis, 32)}) {
    const std::uint64_t hash = fnv1a(fingerprint, seed);
    char text[17];
    (void)std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    name += text;
  }
  return name;
}

}  // namespace

std::string default_batch_directory() {
  const std::string state = os::environment_variable("XDG_STATE_HOME");
  if (state.starts_with('/')) return state + "/berth/batches";
  const std::string home = os::environment_variable("HOME");
  return home.starts_with('/') ? home + "/.local/state/berth/batches" : "";
}

std::string remembered_text(const std::string& fingerprint, std::uint64_t micro) {
  return std::string(kHead) + std::string(kMicro) + std::to_string(micro) + "\n" + fingerprint +
         "\n";
}

std::optional<std::uint64_t> parse_remembered(const std::string& text,
                                              const std::string& fingerprint) {
  std::string_view rest = text;
  if (!rest.starts_with(kHead)) return std::nullopt;
  rest.remove_prefix(kHead.size());
  if (!rest.starts_with(kMicro)) return std::nullopt;
  rest.remove_prefix(kMicro.size());
  std::uint64_t micro = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), micro);
  if (error != std::errc()) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  const bool ours = rest == "\n" + fingerprint + "\n";
  return ours ? std::optional(micro) : std::nullopt;
}

Result<std::shared_ptr<Batch>> Batch::create(std::shared_ptr<Session> session,  // As said there.
                                             Options options) {
  std::optional<std::uint64_t> known;
  if (!options.fingerprint.empty()) {
    const SeenDevice* device = session == nullptr ? nullptr : session->device(options.device);
    options.fingerprint += device == nullptr ? "" : " on " + device->name;
    const std::string path = options.directory + "/" + name_of(options.fingerprint);
    // One that is not there or makes no sense is as good as none: it is only where to begin.
    const Result<std::string> text = os::read_trusted_file(path, kFileMax);
    if (text.ok()) known = parse_remembered(*text, options.fingerprint);
  }
  TRY(batch, vram::Batch::make(options.settings, known));
  const bool remembered = known && batch.plan().micro == *known;
  return std::make_shared<Batch>(std::move(session), std::move(options), batch, remembered);
}

Batch::Batch(std::shared_ptr<Session> session, Options options, vram::Batch batch,  // Likewise.
             bool remembered)
    : session_(std::move(session)),
      options_(std::move(options)),
      remembered_(remembered),
      batch_(batch),
      written_(remembered ? batch_.plan().micro : 0) {}

Batch::Plan Batch::plan() const {
  return {.plan = batch_.plan(), .remembered = remembered_, .failures = batch_.failures()};
}

Batch::Plan Batch::current() {
  const std::lock_guard lock(mutex_);
  return plan();
}

Result<Batch::Plan> Batch::out_of_memory() {
  const std::lock_guard lock(mutex_);
  TRY(next, batch_.out_of_memory());
  (void)next;
  return plan();
}

Status Batch::step_done() {
  const std::optional<Bytes> room = this->room();
  std::uint64_t worked = 0;
  {
    const std::lock_guard lock(mutex_);
    batch_.clean_step(room);
    worked = batch_.worked().value_or(0);
    if (options_.fingerprint.empty() || worked == 0 || worked == written_) return Unit{};
    written_ = worked;  // Tried once: a disk that is full is full at each step.
  }
  return remember(worked);
}

Status Batch::remember(std::uint64_t micro) const {
  TRY_STATUS(os::make_directories(options_.directory));
  const std::string path = options_.directory + "/" + name_of(options_.fingerprint);
  return os::write_file_atomically(path, remembered_text(options_.fingerprint, micro), 0600,
                                   os::Sync::kNone);
}

std::optional<Bytes> Batch::room() {
  if (session_ == nullptr || !options_.settings.bytes_per_sample) return std::nullopt;
  return free_for_us(*session_, options_.device);
}

std::optional<Bytes> free_for_us(Session& session, std::uint32_t device) {
  const Measured measured = session.measure(device, seconds(1));
  std::optional<Bytes> room = measured.free.bytes;
  const std::optional<Bytes> used =
      measured.lease_used.bytes ? measured.lease_used.bytes : measured.own.bytes;
  if (measured.budget.bytes && used) {
    const Bytes left = saturating_sub(*measured.budget.bytes, *used);
    room = room ? std::min(*room, left) : left;
  }
  return room;
}

}  // namespace berth::library
