// SPDX-License-Identifier: Apache-2.0
#include "simgpu/simctl/commands.h"

#include <algorithm>
#include <cstdio>
#include <span>
#include <string_view>

#include "abi/nvml.h"
#include "base/number.h"
#include "base/quantity.h"
#include "simgpu/simctl/show.h"
#include "simgpu/world/clock.h"
#include "simgpu/world/fault.h"
#include "simgpu/world/gauges.h"

namespace berth::simgpu {
namespace {

using Words = std::span<const std::string>;

struct Command {
  const char* name;
  const char* arguments;
  const char* text;
  std::size_t words_min;
  std::size_t words_max;
  Result<std::string> (*run)(World& world, Words words);
};

template <class Number>
Result<Number> take_number(const std::string& text) {
  if (const auto number = parse_number<Number>(text)) return *number;
  return Error{Errc::kInvalid, "'" + text + "' is not a number"};
}

Result<std::uint32_t> parse_device(const World& world, const std::string& text) {
  TRY(number, take_number<std::uint32_t>(text));
  if (number >= world.device_count()) {
    return Error{Errc::kNotFound, "this machine has no device " + text + ": it has " +
                                      std::to_string(world.device_count())};
  }
  return number;
}

Result<bool> parse_switch(const std::string& text) {
  if (text == "on") return true;
  if (text == "off") return false;
  return Error{Errc::kInvalid, "'" + text + "' is neither on nor off"};
}

Result<std::uint32_t> parse_nvml_return(const std::string& text) {
  for (const nvml::ReturnText& known : nvml::kReturnTexts) {
    if (text == known.name || text == "NVML_" + std::string(known.name)) return known.value;
  }
  return take_number<std::uint32_t>(text);
}

struct CudaResult {
  std::string_view name;
  std::uint32_t value;
};
constexpr CudaResult kCudaResults[] = {
#define CUDA_RESULT(name, value, text) {#name, value},
#include "abi/cuda_results.def"
#undef CUDA_RESULT
};

Result<std::uint32_t> parse_cuda_result(const std::string& text) {
  for (const CudaResult& known : kCudaResults) {
    if (text == known.name || "CUDA_" + text == known.name) return known.value;
  }
  return take_number<std::uint32_t>(text);
}

// How many calls; all, if nothing is said.
Result<std::uint32_t> parse_count(Words words) {
  if (words.empty()) return kForEver;
  return take_number<std::uint32_t>(words[0]);
}

std::uint64_t blocks_up(Bytes bytes) {
  return (bytes.value + kBlockBytes - 1) / kBlockBytes;
}

Result<std::string> show(World& world, Words) {
  return show_text(world);
}

Result<std::string> events(World& world, Words) {
  return events_text(world);
}

Result<std::string> teardown(World& world, Words words) {
  TRY(time, parse_duration(words[0]));
  world.file().faults.teardown_us = time.ns / 1'000;
  return std::string();
}

Result<std::string> unmanaged_memory(World& world, Words words) {
  TRY(device, parse_device(world, words[0]));
  TRY(size, parse_bytes(words[1]));
  FaultState& faults = world.file().faults;
  std::int32_t pid = kUnmanagedPid;
  bool graphics = false;
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "graphics") {
      graphics = true;
    } else if (words[i] == "unlisted") {
      pid = 0;
    } else {
      TRY(given, take_number<std::int32_t>(words[i]));
      pid = given;
    }
  }
  if (!world.set_unmanaged(device, blocks_up(size))) {
    return Error{Errc::kFull, "device " + words[0] + " has " + to_text(world.figures(device).free) +
                                  " free, and unmanaged processes " +
                                  to_text(world.unmanaged_used(device)) + " already"};
  }
  faults.unmanaged_pid = pid;
  faults.unmanaged_is_graphics = graphics ? 1 : 0;
  return std::string();
}

Result<std::string> nvml_error(World& world, Words words) {
  TRY(code, parse_nvml_return(words[0]));
  TRY(left, parse_count(words.subspan(1)));
  set_error(world.file().faults.nvml_error, code, left);
  return std::string();
}

Result<std::string> hang(HangState& hang, const std::string& text) {
  TRY(time, parse_duration(text));
  set_hang(hang, time.ns == 0 ? 0 : now_ns() + time.ns);
  return std::string();
}

Result<std::string> nvml_hang(World& world, Words words) {
  return hang(world.file().faults.nvml_hang, words[0]);
}

Result<std::string> busy(World& world, Words words) {
  return hang(world.file().faults.busy, words[0]);
}

Result<std::string> checkpoint_hang(World& world, Words words) {
  return hang(world.file().faults.checkpoint_hang, words[0]);
}

Result<std::string> checkpoint_error(World& world, Words words) {
  const auto* call = std::ranges::find(kCheckpointCallNames, words[0]);
  if (call == std::end(kCheckpointCallNames)) {
    return Error{Errc::kInvalid,
                 "'" + words[0] + "' is neither lock nor checkpoint, restore or unlock"};
  }
  TRY(code, parse_cuda_result(words[1]));
  TRY(left, parse_count(words.subspan(2)));
  set_error(world.file().faults.checkpoint_errors[static_cast<std::size_t>(
                call - std::begin(kCheckpointCallNames))],
            code, left);
  return std::string();
}

Result<std::string> checkpoint_memory(World& world, Words words) {
  TRY(size, parse_bytes(words[0]));
  world.file().host_capacity_blocks = size.value / kBlockBytes;
  return std::string();
}

Result<std::string> mode(World& world, Words words) {
  TRY(device, parse_device(world, words[0]));
  const auto* known = std::ranges::find(kModeNames, words[1]);
  if (known == std::end(kModeNames))
    return Error{Errc::kInvalid, "'" + words[1] + "' is neither usual nor mig or mps"};
  world.file().devices[device].mode = static_cast<DeviceMode>(known - std::begin(kModeNames));
  return std::string();
}

Result<std::uint8_t> parse_percent(const std::string& text) {
  TRY(number, take_number<std::uint8_t>(text));
  if (number > 100) return Error{Errc::kInvalid, "'" + text + "' is more than 100 percent"};
  return number;
}

Result<std::string> utilization(World& world, Words words) {
  TRY(device, parse_device(world, words[0]));
  UtilizationRates rates;
  if (words[1] != "off") {
    TRY(computing, parse_percent(words[1]));
    TRY(copying, parse_percent(words.size() > 2 ? words[2] : words[1]));
    rates = {.computing = computing, .copying = copying, .is_told = true};
  }
  world.file().devices[device].utilization = rates;
  return std::string();
}

Result<std::string> gauge(World& world, Words words) {
  TRY(device, parse_device(world, words[0]));
  const auto* known = std::ranges::find(kGaugeNames, words[1]);
  if (known == std::end(kGaugeNames)) {
    std::string names;
    for (const std::string_view name : kGaugeNames) names.append(" ").append(name);
    return Error{Errc::kInvalid, "'" + words[1] + "' is none of" + names};
  }
  Told& figure = world.file()
                     .devices[device]
                     .gauges[static_cast<std::size_t>(known - std::begin(kGaugeNames))];
  if (words[2] == "off") {
    figure = 0;
    return std::string();
  }
  TRY(value, take_number<std::uint32_t>(words[2]));
  if (value == ~0U) return Error{Errc::kInvalid, "'" + words[2] + "' is too large"};
  figure = value + 1;
  return std::string();
}

Result<std::string> lose(World& world, Words words) {
  TRY(device, parse_device(world, words[0]));
  world.file().devices[device].lost = 1;
  return std::string();
}

Result<std::string> find(World& world, Words words) {
  TRY(device, parse_device(world, words[0]));
  world.file().devices[device].lost = 0;
  return std::string();
}

Result<std::string> no_process_figures(World& world, Words words) {
  TRY(on, parse_switch(words[0]));
  world.file().faults.no_process_figures = on ? 1 : 0;
  return std::string();
}

Result<std::string> capacity(World& world, Words words) {
  TRY(device, parse_device(world, words[0]));
  TRY(size, parse_bytes(words[1]));
  world.file().devices[device].capacity_blocks = size.value / kBlockBytes;
  return std::string();
}

Result<std::string> reserved(World& world, Words words) {
  TRY(device, parse_device(world, words[0]));
  TRY(size, parse_bytes(words[1]));
  world.file().devices[device].reserved_blocks = blocks_up(size);
  return std::string();
}

constexpr Command kCommands[] = {
    {"show", "", "what the driver counts, as JSON", 0, 0, &show},
    {"events", "", "each change of memory, a line of JSON each", 0, 0, &events},
    {"teardown", "TIME", "memory of a dead process stays used that long", 1, 1, &teardown},
    {"unmanaged", "DEVICE SIZE [PID|unlisted] [graphics]", "memory that no program of ours has", 2,
     4, &unmanaged_memory},
    {"nvml-error", "CODE [COUNT]", "what the next NVML calls return; 0 clears it", 1, 2,
     &nvml_error},
    {"nvml-hang", "TIME", "how long NVML calls hang from now on; 0 frees them", 1, 1, &nvml_hang},
    {"lose", "DEVICE", "the device falls off the bus", 1, 1, &lose},
    {"find", "DEVICE", "it is there again", 1, 1, &find},
    {"no-process-figures", "on|off", "the driver does not tell what a process uses", 1, 1,
     &no_process_figures},
    {"capacity", "DEVICE SIZE", "the device has that much memory", 2, 2, &capacity},
    {"busy", "TIME", "work on the devices takes that long from now on; 0: it is done", 1, 1, &busy},
    {"checkpoint-error", "CALL CODE [COUNT]",
     "what the next lock, checkpoint, restore or unlock returns; 0 clears it", 2, 3,
     &checkpoint_error},
    {"checkpoint-hang", "TIME", "how long checkpoint calls hang from now on; 0 frees them", 1, 1,
     &checkpoint_hang},
    {"checkpoint-memory", "SIZE", "the host has that much memory for what is saved", 1, 1,
     &checkpoint_memory},
    {"mode", "DEVICE usual|mig|mps", "how the device is shared", 2, 2, &mode},
    {"utilization", "DEVICE PERCENT|off [PERCENT]",
     "how busy the device is, and its memory; off: the driver does not tell", 2, 3, &utilization},
    {"gauge", "DEVICE NAME VALUE|off",
     "what NVML tells of temperature, power and the like; off: what follows from the load", 3, 3,
     &gauge},
    {"reserved", "DEVICE SIZE", "the driver keeps that much of it for itself", 2, 2, &reserved},
};

}  // namespace

std::string simctl_help() {
  std::string text =
      "usage: berth-simctl COMMAND [ARGUMENT...]\n"
      "Sets faults of the simulated driver on the machine that BERTH_SIM names.\n\n";
  for (const Command& command : kCommands) {
    std::string line = "  " + std::string(command.name) + " " + command.arguments;
    line.resize(std::max<std::size_t>(line.size() + 2, 28), ' ');
    text += line + command.text + "\n";
  }
  return text;
}

Result<std::string> run_simctl(World& world, const std::vector<std::string>& words) {
  std::string name = words.empty() ? "" : words[0];
  if (name == "stranger") {
    std::fputs("berth-simctl: stranger is called unmanaged now\n", stderr);
    name = "unmanaged";
  }
  const auto* command = std::ranges::find(kCommands, name, &Command::name);
  if (command == std::end(kCommands))
    return Error{Errc::kInvalid, "'" + name + "' is no command (try --help)"};
  const Words arguments = Words(words).subspan(1);
  if (arguments.size() < command->words_min || arguments.size() > command->words_max) {
    return Error{Errc::kInvalid,
                 "it is: berth-simctl " + name + " " + std::string(command->arguments)};
  }
  return command->run(world, arguments);
}

}  // namespace berth::simgpu
