// SPDX-License-Identifier: Apache-2.0
// The C functions of VRAM managers. Any thread.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/berth.h"
#include "library/error.h"
#include "library/handles.h"
#include "library/session.h"
#include "library/vram_manager.h"

namespace berth::library {
namespace {

constexpr std::size_t kNameMax = sizeof(berth_phase_mark::name) - 1;

// Runs use(manager) for the manager of that handle.
template <class Use>
berth_status with(berth_vram_manager handle, Use use) {
  return guarded([&] {
    const auto manager = Handles::of_process().find<VramManager>(handle);
    return manager == nullptr ? berth_status{BERTH_STALE} : use(*manager);
  });
}

berth_status create(berth_session session, const berth_vram_options* options,
                    berth_vram_manager* manager) {
  if (manager == nullptr) return fail(BERTH_INVALID, "manager is null");
  *manager = 0;
  berth_vram_options read{};
  if (options != nullptr) {
    const auto given = read_sized(options, "options");
    if (!given.ok()) return fail(given.error());
    read = *given;
  }
  // The manager may outlive the session's handle.
  std::shared_ptr<Session> found;
  if (session != 0) {
    found = Handles::of_process().find<Session>(session);
    if (found == nullptr) return BERTH_STALE;
  }
  const auto made = VramManager::create(std::move(found), read);
  if (!made.ok()) return fail(made.error());
  const auto handle = Handles::of_process().add(*made);
  if (!handle.ok()) return fail(handle.error());
  *manager = *handle;
  return BERTH_OK;
}

// Of an output: its size is seen to before anything is done that cannot be told.
template <class T, class Fill>
berth_status fill(T* to, const char* name, Fill value) {
  if (const Status sized = check_sized(to, name); !sized.ok()) return fail(sized.error());
  write_sized(to, value());
  return BERTH_OK;
}

berth_phase_mark to_c(const vram::Phase& phase) {
  berth_phase_mark mark{};
  std::copy_n(phase.name.data(), std::min(phase.name.size(), kNameMax), mark.name);
  mark.step = phase.step;
  mark.time_unix_ms = static_cast<std::uint64_t>(phase.time.value);
  const auto figure = [](std::optional<Bytes> bytes, std::uint32_t source) {
    return bytes ? berth_figure{.bytes = bytes->value, .age_ns = 0, .source = source, .reserved = 0}
                 : berth_figure{};
  };
  mark.used = figure(phase.used, BERTH_FROM_DRIVER);
  mark.allocated = figure(phase.allocated, BERTH_FROM_PROVIDER);
  mark.copies = phase.copies;
  return mark;
}

// Marks of a later version are longer than ours; what they have more is 0.
berth_status phases(VramManager& manager, berth_phase_mark* marks, std::size_t mark_size,
                    std::uint32_t capacity, std::uint32_t* count) {
  if (count == nullptr) return fail(BERTH_INVALID, "count is null");
  *count = 0;
  if (marks == nullptr && capacity > 0) return fail(BERTH_INVALID, "marks is null");
  if (mark_size < sizeof(berth_phase_mark)) {
    return fail(BERTH_INVALID, "mark_size is not sizeof(berth_phase_mark)");
  }
  const std::vector<vram::Phase> all = manager.phases();
  const std::size_t out = std::min<std::size_t>(capacity, all.size());
  auto* at = reinterpret_cast<unsigned char*>(marks);
  for (std::size_t i = all.size() - out; i < all.size(); ++i, at += mark_size) {
    const berth_phase_mark mark = to_c(all[i]);
    std::memset(at, 0, mark_size);
    std::memcpy(at, &mark, sizeof mark);
  }
  *count = static_cast<std::uint32_t>(out);
  return BERTH_OK;
}

berth_status status_line(VramManager& manager, char* text, std::size_t capacity,
                         std::size_t* needed) {
  if (text == nullptr && capacity > 0) return fail(BERTH_INVALID, "text is null");
  const std::string line = manager.status_line();
  if (needed != nullptr) *needed = line.size();
  if (capacity > 0) {
    const std::size_t length = std::min(line.size(), capacity - 1);
    std::copy_n(line.data(), length, text);
    text[length] = '\0';
  }
  if (capacity > line.size()) return BERTH_OK;
  return fail(BERTH_FULL, "the status line needs " + std::to_string(line.size() + 1) + " bytes");
}

}  // namespace
}  // namespace berth::library

using berth::library::fail;
using berth::library::fill;
using berth::library::read_sized;
using berth::library::VramManager;
using berth::library::with;

extern "C" {

berth_status berth_vram_manager_create(berth_session session, const berth_vram_options* options,
                                       berth_vram_manager* manager) {
  return berth::library::guarded([=] { return berth::library::create(session, options, manager); });
}

berth_status berth_vram_manager_destroy(berth_vram_manager manager) {
  return berth::library::guarded(
      [=] { return berth::library::Handles::of_process().close<VramManager>(manager); });
}

berth_status berth_vram_manager_set_provider(berth_vram_manager manager,
                                             const berth_provider* provider) {
  return with(manager, [=](VramManager& found) {
    if (provider == nullptr) {
      found.set_provider({});
      return berth_status{BERTH_OK};
    }
    const auto given = read_sized(provider, "provider");
    if (!given.ok()) return fail(given.error());
    found.set_provider(*given);
    return berth_status{BERTH_OK};
  });
}

berth_status berth_vram_manager_set_callbacks(berth_vram_manager manager,
                                              const berth_vram_callbacks* callbacks) {
  return with(manager, [=](VramManager& found) {
    if (callbacks == nullptr) {
      found.set_callbacks({});
      return berth_status{BERTH_OK};
    }
    const auto given = read_sized(callbacks, "callbacks");
    if (!given.ok()) return fail(given.error());
    found.set_callbacks(*given);
    return berth_status{BERTH_OK};
  });
}

berth_status berth_vram_manager_step(berth_vram_manager manager, berth_vram_report* report) {
  return with(manager, [=](VramManager& found) {
    berth_vram_report out{};
    if (report == nullptr) return found.step(out);
    if (const auto sized = berth::library::check_sized(report, "report"); !sized.ok()) {
      return fail(sized.error());
    }
    const berth_status status = found.step(out);
    berth::library::write_sized(report, out);
    return status;
  });
}

berth_status berth_vram_manager_answer(berth_vram_manager manager, uint32_t action,
                                       int32_t outcome) {
  return with(manager, [=](VramManager& found) { return found.answer(action, outcome); });
}

berth_status berth_vram_manager_cleanup(berth_vram_manager manager, uint64_t* freed_bytes) {
  return with(manager, [=](VramManager& found) {
    std::uint64_t freed = 0;
    const berth_status status = found.cleanup(freed);
    if (freed_bytes != nullptr) *freed_bytes = freed;
    return status;
  });
}

berth_status berth_vram_manager_measure(berth_vram_manager manager, uint64_t age_max_ns,
                                        berth_measurement* measurement) {
  return with(manager, [=](VramManager& found) {
    constexpr auto kLongest = static_cast<std::uint64_t>(berth::Duration::max().ns);
    const berth::Duration age_max = {static_cast<std::int64_t>(std::min(age_max_ns, kLongest))};
    return fill(measurement, "measurement", [&] { return found.measure(age_max); });
  });
}

berth_status berth_vram_manager_count_copy(berth_vram_manager manager, uint64_t bytes) {
  return with(manager, [=](VramManager& found) {
    found.count_copy({bytes});
    return berth_status{BERTH_OK};
  });
}

berth_status berth_vram_manager_phase(berth_vram_manager manager, const char* name) {
  return with(manager, [=](VramManager& found) {
    if (name == nullptr) return fail(BERTH_INVALID, "name is null");
    const std::string_view text = name;
    if (text.empty() || text.size() > berth::library::kNameMax) {
      return fail(BERTH_INVALID, "the name of a phase has 1 to 47 bytes");
    }
    return found.phase(std::string(text));
  });
}

berth_status berth_vram_manager_phases(berth_vram_manager manager, berth_phase_mark* marks,
                                       size_t mark_size, uint32_t capacity, uint32_t* count) {
  return with(manager, [=](VramManager& found) {
    return berth::library::phases(found, marks, mark_size, capacity, count);
  });
}

berth_status berth_vram_manager_counts(berth_vram_manager manager, berth_vram_counts* counts) {
  return with(manager, [=](VramManager& found) {
    return fill(counts, "counts", [&] { return found.counts(); });
  });
}

berth_status berth_vram_manager_status_line(berth_vram_manager manager, char* text, size_t capacity,
                                            size_t* needed) {
  return with(manager, [=](VramManager& found) {
    return berth::library::status_line(found, text, capacity, needed);
  });
}

berth_status berth_vram_manager_next_event(berth_vram_manager manager, berth_event* event) {
  return with(manager, [=](VramManager& found) {
    if (const auto sized = berth::library::check_sized(event, "event"); !sized.ok()) {
      return fail(sized.error());
    }
    const auto next = found.next_event();
    if (!next) return fail(BERTH_NOT_FOUND, "there is no further event");
    berth::library::write_sized(event, berth::library::to_c(*next));
    return berth_status{BERTH_OK};
  });
}

}  // extern "C"
