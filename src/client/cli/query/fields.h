// SPDX-License-Identifier: Apache-2.0
// Fields that `berth query` knows of GPUs and of programs on them, under the names that nvidia-smi
// gives to these figures, and how it writes them. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace berth::cli {

/// A figure in words, or the words for why there is none: "[N/A]".
struct Figure {
  std::string text = "[N/A]";
  bool known = false;
};
Figure figure(std::string text);
Figure figure(std::uint64_t number);
Figure not_told(std::string_view why);

struct GpuFacts {
  std::uint32_t count = 0;  // Of all GPUs.
  std::uint32_t index = 0;
  std::string driver_version;
  Figure uuid;
  Figure name;
  std::string pci_bus;  // "00000000:01:00.0"; blank: unknown.
  Figure total;         // In MiB, as are the next three.
  Figure used;
  Figure reserved;
  Figure free;
  Figure utilization;         // Percent.
  Figure memory_utilization;  // Percent.
  Figure temperature;         // Degrees Celsius.
  Figure power;               // Watt, with two decimals; so is the limit.
  Figure power_limit;
  struct Clocks {
    Figure graphics;
    Figure sm;
    Figure memory;
  };
  Clocks clocks;  // MHz.
  Figure fan;     // Percent.
  struct Link {
    Figure generation;
    Figure lanes;
  };
  Link pcie;  // As it is now.
  UnixMs asked_at;
};

struct ProgramFacts {
  GpuFacts gpu;
  std::int32_t pid = 0;
  std::string name;
  Figure used;  // In MiB.
};

template <class Facts>
struct Field {
  std::string_view name;
  std::string_view alias;  // Empty: none.
  std::string_view unit;   // Empty: none.
  std::string_view meaning;
  Figure (*of)(const Facts&);
};
std::span<const Field<GpuFacts>> gpu_fields();
std::span<const Field<ProgramFacts>> program_fields();

struct CsvForm {
  bool header = true;
  bool units = true;
};
/// Of "csv,noheader,nounits"; the error is a sentence.
Result<CsvForm> parse_form(std::string_view text);

/// Of "index,memory.used"; the error is the sentence that nvidia-smi has for it.
template <class Facts>
Result<std::vector<Field<Facts>>> choose(std::span<const Field<Facts>> fields,
                                         std::string_view names);

/// A line for each of them, below a header.
template <class Facts>
std::string to_csv(const std::vector<Field<Facts>>& fields, const std::vector<Facts>& all,
                   CsvForm form);

/// What --help-query-gpu says: each name in quotes, and what it means.
template <class Facts>
std::string list_of(std::span<const Field<Facts>> fields, std::string_view option);

}  // namespace berth::cli
