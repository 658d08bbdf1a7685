// SPDX-License-Identifier: Apache-2.0
#include "cli/query/fields.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "cli/render/text.h"

namespace berth::cli {
namespace {

constexpr std::string_view kBlanks = " \t";

template <auto kMember, class Facts>
Figure told(const Facts& facts) {
  return facts.*kMember;
}

template <Figure (*kOf)(const GpuFacts&)>
Figure of_gpu(const ProgramFacts& program) {
  return kOf(program.gpu);
}

template <class Facts>
Figure nothing(const Facts& /*facts*/) {
  return {};
}

// "2026/11/25 23:15:27.123", by the local clock.
Figure timestamp(const GpuFacts& gpu) {
  const std::time_t seconds = gpu.asked_at.value / 1'000;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y/%m/%d %H:%M:%S", &local);
  const std::string rest = std::to_string(1'000 + gpu.asked_at.value % 1'000);
  return figure(std::string(text.data(), length) + "." + rest.substr(1));
}

Figure bus_id(const GpuFacts& gpu) {
  return gpu.pci_bus.empty() ? Figure{} : figure(gpu.pci_bus);
}

// A part of "00000000:01:00.0", as a number of so many digits.
Figure pci_part(const GpuFacts& gpu, std::size_t at, std::size_t digits) {
  if (gpu.pci_bus.size() < at + digits) return {};
  return figure("0x" + gpu.pci_bus.substr(at, digits));
}

using G = GpuFacts;
constexpr std::array kGpuFields = {
    Field<G>{"timestamp", "", "", "when this was asked: YYYY/MM/DD HH:MM:SS.msec", timestamp},
    Field<G>{"driver_version", "", "", "version of the driver",
             [](const G& gpu) { return figure(gpu.driver_version); }},
    Field<G>{"count", "", "", "how many GPUs there are",
             [](const G& gpu) { return figure(gpu.count); }},
    Field<G>{"name", "gpu_name", "", "product name", told<&G::name>},
    Field<G>{"serial", "gpu_serial", "", "number on the board", nothing},
    Field<G>{"uuid", "gpu_uuid", "", "what names this GPU and no other", told<&G::uuid>},
    Field<G>{"pci.bus_id", "gpu_bus_id", "", "PCI address, domain:bus:device.function", bus_id},
    Field<G>{"pci.domain", "", "", "PCI domain", [](const G& gpu) { return pci_part(gpu, 4, 4); }},
    Field<G>{"pci.bus", "", "", "PCI bus", [](const G& gpu) { return pci_part(gpu, 9, 2); }},
    Field<G>{"pci.device", "", "", "PCI device", [](const G& gpu) { return pci_part(gpu, 12, 2); }},
    Field<G>{"pci.device_id", "", "", "PCI vendor and device", nothing},
    Field<G>{"pci.sub_device_id", "", "", "PCI vendor and device of the board", nothing},
    Field<G>{"pcie.link.gen.current", "", "", "generation of the PCIe link",
             [](const G& gpu) { return gpu.pcie.generation; }},
    Field<G>{"pcie.link.gen.max", "", "", "the highest that it can have", nothing},
    Field<G>{"pcie.link.width.current", "", "", "lanes of the PCIe link",
             [](const G& gpu) { return gpu.pcie.lanes; }},
    Field<G>{"pcie.link.width.max", "", "", "the most that it can have", nothing},
    Field<G>{"index", "", "", "number of the GPU, from 0, in PCI order",
             [](const G& gpu) { return figure(gpu.index); }},
    Field<G>{"display_mode", "", "", "whether a display is connected", nothing},
    Field<G>{"display_active", "", "", "whether a display is used", nothing},
    Field<G>{"persistence_mode", "", "", "whether the driver stays when nobody uses it", nothing},
    Field<G>{"compute_mode", "", "", "how many may compute at once", nothing},
    Field<G>{"mig.mode.current", "", "", "whether the GPU is divided into instances", nothing},
    Field<G>{"ecc.mode.current", "", "", "whether errors of memory are mended", nothing},
    Field<G>{"vbios_version", "", "", "version of the firmware", nothing},
    Field<G>{"fan.speed", "", "%", "of the most that is meant for it", told<&G::fan>},
    Field<G>{"pstate", "", "", "state of performance, P0 to P12", nothing},
    Field<G>{"memory.total", "", "MiB", "memory of the GPU", told<&G::total>},
    Field<G>{"memory.reserved", "", "MiB", "what the driver keeps for itself", told<&G::reserved>},
    Field<G>{"memory.used", "", "MiB", "by contexts of programs", told<&G::used>},
    Field<G>{"memory.free", "", "MiB", "what nobody has", told<&G::free>},
    Field<G>{"utilization.gpu", "", "%", "of the time, something was computed",
             told<&G::utilization>},
    Field<G>{"utilization.memory", "", "%", "of the time, memory was read or written",
             told<&G::memory_utilization>},
    Field<G>{"utilization.encoder", "", "%", "of the time, video was encoded", nothing},
    Field<G>{"utilization.decoder", "", "%", "of the time, video was decoded", nothing},
    Field<G>{"temperature.gpu", "", "", "of the core, in degrees Celsius", told<&G::temperature>},
    Field<G>{"temperature.memory", "", "", "of the memory, in degrees Celsius", nothing},
    Field<G>{"power.draw", "", "W", "of the whole board", told<&G::power>},
    Field<G>{"power.limit", "", "W", "the most that it may draw", nothing},
    Field<G>{"enforced.power.limit", "", "W", "the limit that holds", told<&G::power_limit>},
    Field<G>{"clocks.current.graphics", "clocks.gr", "MHz", "of the shaders",
             [](const G& gpu) { return gpu.clocks.graphics; }},
    Field<G>{"clocks.current.sm", "clocks.sm", "MHz", "of the multiprocessors",
             [](const G& gpu) { return gpu.clocks.sm; }},
    Field<G>{"clocks.current.memory", "clocks.mem", "MHz", "of the memory",
             [](const G& gpu) { return gpu.clocks.memory; }},
    Field<G>{"clocks.max.graphics", "clocks.max.gr", "MHz", "the highest of the shaders", nothing},
    Field<G>{"clocks.max.sm", "", "MHz", "the highest of the multiprocessors", nothing},
    Field<G>{"clocks.max.memory", "clocks.max.mem", "MHz", "the highest of the memory", nothing},
};

using P = ProgramFacts;
constexpr std::array kProgramFields = {
    Field<P>{"timestamp", "", "", "when this was asked: YYYY/MM/DD HH:MM:SS.msec",
             of_gpu<timestamp>},
    Field<P>{"gpu_name", "", "", "product name of the GPU", of_gpu<told<&G::name>>},
    Field<P>{"gpu_bus_id", "", "", "PCI address of the GPU", of_gpu<bus_id>},
    Field<P>{"gpu_serial", "", "", "number on the board", nothing},
    Field<P>{"gpu_uuid", "", "", "what names the GPU and no other", of_gpu<told<&G::uuid>>},
    Field<P>{"pid", "", "", "of the program",
             [](const P& program) { return figure(static_cast<std::uint64_t>(program.pid)); }},
    Field<P>{"process_name", "name", "", "what the program was started as",
             [](const P& program) { return figure(program.name); }},
    Field<P>{"used_gpu_memory", "used_memory", "MiB", "of the program on that GPU", told<&P::used>},
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

Figure figure(std::string text) {
  return {.text = std::move(text), .known = true};
}
Figure figure(std::uint64_t number) {
  return figure(std::to_string(number));
}
Figure not_told(std::string_view why) {
  return {.text = "[" + std::string(why) + "]"};
}

std::span<const Field<GpuFacts>> gpu_fields() {
  return kGpuFields;
}
std::span<const Field<ProgramFacts>> program_fields() {
  return kProgramFields;
}

Result<CsvForm> parse_form(std::string_view text) {
  CsvForm form;
  bool csv = false;
  for (const std::string_view given : items_of(text)) {
    const std::string_view item = trimmed(given);
    if (item == "csv") {
      csv = true;
    } else if (item == "noheader") {
      form.header = false;
    } else if (item == "nounits") {
      form.units = false;
    } else {
      return Error{Errc::kInvalid, "--format is csv, with noheader and nounits after it, not \"" +
                                       std::string(item) + "\""};
    }
  }
  if (!csv) return Error{Errc::kInvalid, "--format begins with csv"};
  return form;
}

template <class Facts>
Result<std::vector<Field<Facts>>> choose(std::span<const Field<Facts>> fields,
                                         std::string_view names) {
  std::vector<Field<Facts>> chosen;
  for (const std::string_view given : items_of(names)) {
    const std::string_view name = trimmed(given);
    const auto found = std::ranges::find_if(fields, [&](const Field<Facts>& field) {
      return name == field.name || (!field.alias.empty() && name == field.alias);
    });
    if (found == fields.end()) {
      return Error{Errc::kInvalid,
                   "Field \"" + std::string(name) + "\" is not a valid field to query."};
    }
    chosen.push_back(*found);
  }
  return chosen;
}

template <class Facts>
std::string to_csv(const std::vector<Field<Facts>>& fields, const std::vector<Facts>& all,
                   CsvForm form) {
  std::string text;
  const auto write_line = [&](auto cell) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (i > 0) text += ", ";
      text += cell(fields[i]);
    }
    text += '\n';
  };
  if (form.header) {
    write_line([](const Field<Facts>& field) {
      const std::string unit(field.unit);
      return std::string(field.name) + (unit.empty() ? "" : " [" + unit + "]");
    });
  }
  for (const Facts& facts : all) {
    write_line([&](const Field<Facts>& field) {
      const Figure answer = field.of(facts);
      const bool has_unit = form.units && answer.known && !field.unit.empty();
      return answer.text + (has_unit ? " " + std::string(field.unit) : "");
    });
  }
  return text;
}

template <class Facts>
std::string list_of(std::span<const Field<Facts>> fields, std::string_view option) {
  std::string text =
      "List of valid properties to query for the switch \"--" + std::string(option) + "=\":\n";
  for (const Field<Facts>& field : fields) {
    text += "\n\"" + std::string(field.name) + "\"";
    if (!field.alias.empty()) text += " or \"" + std::string(field.alias) + "\"";
    text += "\n" + std::string(field.meaning) + "\n";
  }
  return text;
}

template Result<std::vector<Field<G>>> choose(std::span<const Field<G>>, std::string_view);
template Result<std::vector<Field<P>>> choose(std::span<const Field<P>>, std::string_view);
template std::string to_csv(const std::vector<Field<G>>&, const std::vector<G>&, CsvForm);
template std::string to_csv(const std::vector<Field<P>>&, const std::vector<P>&, CsvForm);
template std::string list_of(std::span<const Field<G>>, std::string_view);
template std::string list_of(std::span<const Field<P>>, std::string_view);

}  // namespace berth::cli
