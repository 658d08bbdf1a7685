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

Ending create(berth_session session, const berth_vram_options* options,
              berth_vram_manager* manager) {
  if (manager == nullptr) return fail(BERTH_INVALID, "manager is null");
  *manager = 0;
  TRY(read, read_optional(options, "options"));
  std::shared_ptr<Session> found;  // The manager may outlive its handle.
  if (!find_session(session, found)) return BERTH_STALE;
  TRY(made, VramManager::create(std::move(found), read));
  return hand_out(std::move(made), manager);
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

using berth::library::check_sized;
using berth::library::Ending;
using berth::library::fail;
using berth::library::read_optional;
using berth::library::VramManager;
using berth::library::with;
using berth::library::write_sized;

extern "C" {

berth_status berth_vram_manager_create(berth_session session, const berth_vram_options* options,
                                       berth_vram_manager* manager) {
  return berth::library::guarded([=] { return berth::library::create(session, options, manager); });
}

berth_status berth_vram_manager_destroy(berth_vram_manager manager) {
  return berth::library::close_handle<VramManager>(manager);
}

berth_status berth_vram_manager_set_provider(berth_vram_manager manager,
                                             const berth_provider* provider) {
  return with<VramManager>(manager, [=](VramManager& found) -> Ending {
    TRY(given, read_optional(provider, "provider"));
    found.set_provider(given);
    return BERTH_OK;
  });
}

berth_status berth_vram_manager_set_callbacks(berth_vram_manager manager,
                                              const berth_vram_callbacks* callbacks) {
  return with<VramManager>(manager, [=](VramManager& found) -> Ending {
    TRY(given, read_optional(callbacks, "callbacks"));
    found.set_callbacks(given);
    return BERTH_OK;
  });
}

berth_status berth_vram_manager_step(berth_vram_manager manager, berth_vram_report* report) {
  return with<VramManager>(manager, [=](VramManager& found) -> Ending {
    berth_vram_report out{};
    if (report == nullptr) return found.step(out);
    TRY_STATUS(check_sized(report, "report"));
    const berth_status status = found.step(out);
    write_sized(report, out);
    return status;
  });
}

berth_status berth_vram_manager_answer(berth_vram_manager manager, uint32_t action,
                                       int32_t outcome) {
  return with<VramManager>(manager,
                           [=](VramManager& found) { return found.answer(action, outcome); });
}

berth_status berth_vram_manager_cleanup(berth_vram_manager manager, uint64_t* freed_bytes) {
  return with<VramManager>(manager, [=](VramManager& found) {
    std::uint64_t freed = 0;
    const berth_status status = found.cleanup(freed);
    if (freed_bytes != nullptr) *freed_bytes = freed;
    return status;
  });
}

berth_status berth_vram_manager_measure(berth_vram_manager manager, uint64_t age_max_ns,
                                        berth_measurement* measurement) {
  return with<VramManager>(manager, [=](VramManager& found) -> Ending {
    TRY_STATUS(check_sized(measurement, "measurement"));
    return write_sized(measurement, found.measure(berth::library::age_of(age_max_ns)));
  });
}

berth_status berth_vram_manager_count_copy(berth_vram_manager manager, uint64_t bytes) {
  return with<VramManager>(manager, [=](VramManager& found) {
    found.count_copy({bytes});
    return BERTH_OK;
  });
}

berth_status berth_vram_manager_phase(berth_vram_manager manager, const char* name) {
  return with<VramManager>(manager, [=](VramManager& found) {
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
  return with<VramManager>(manager, [=](VramManager& found) {
    return berth::library::phases(found, marks, mark_size, capacity, count);
  });
}

berth_status berth_vram_manager_counts(berth_vram_manager manager, berth_vram_counts* counts) {
  return with<VramManager>(manager, [=](VramManager& found) -> Ending {
    TRY_STATUS(check_sized(counts, "counts"));
    return write_sized(counts, found.counts());
  });
}

berth_status berth_vram_manager_status_line(berth_vram_manager manager, char* text, size_t capacity,
                                            size_t* needed) {
  return with<VramManager>(manager, [=](VramManager& found) {
    return berth::library::status_line(found, text, capacity, needed);
  });
}

berth_status berth_vram_manager_next_event(berth_vram_manager manager, berth_event* event) {
  return with<VramManager>(manager, [=](VramManager& found) -> Ending {
    TRY_STATUS(check_sized(event, "event"));
    const auto next = found.next_event();
    if (!next) return fail(BERTH_NOT_FOUND, "there is no further event");
    return write_sized(event, berth::library::to_c(*next));
  });
}

}  // extern "C"
