// SPDX-License-Identifier: Apache-2.0
// `berth query`: the CSV that nvidia-smi prints for programs, with its names, its form and its
// statuses.
#include <optional>
#include <string>

#include "cli/query/fields.h"
#include "cli/query/gather.h"
#include "cli/terminal.h"
#include "cli/verbs.h"

namespace berth::cli {
namespace {

constexpr int kInvalidField = 2;

struct QueryArgs {
  std::optional<std::string> gpus;
  std::optional<std::string> programs;
  bool list = false;
  bool gpu_help = false;
  bool program_help = false;
  std::string form = "csv";
  std::string id;
};

int say(const std::string& sentence, int status) {
  print(sentence + "\n");
  return status;
}

// "GPU 0: RTX-5080 (UUID: GPU-…)".
std::string listed(const std::vector<GpuFacts>& gpus) {
  std::string text;
  for (const GpuFacts& gpu : gpus) {
    text += "GPU " + std::to_string(gpu.index) + ": " + gpu.name.text + " (UUID: " + gpu.uuid.text +
            ")\n";
  }
  return text;
}

// to_text(what was seen)
template <class ToText>
int show(const QueryArgs& asked, ToText to_text) {
  int status = 0;
  const Result<Seen> seen = gather(asked.id, status);
  if (!seen.ok()) return say(seen.error().message, status);
  print(to_text(*seen));
  return 0;
}

// Names are looked at before the driver is asked for anything.
template <class Facts>
int tell(std::span<const Field<Facts>> fields, const std::string& names, CsvForm form,
         const QueryArgs& asked, std::vector<Facts> Seen::* which) {
  const auto chosen = choose(fields, names);
  if (!chosen.ok()) return say(chosen.error().message + "\n", kInvalidField);
  return show(asked, [&](const Seen& seen) { return to_csv(*chosen, seen.*which, form); });
}

void declare(Invocation& invocation, QueryArgs& asked) {
  Options& options = invocation.options;
  options.add("--query-gpu=FIELDS", store(asked.gpus),
              "of each GPU these, with commas: index,memory.used");
  options.add("--query-compute-apps=FIELDS", store(asked.programs),
              "of each program on a GPU these: pid,used_memory");
  options.add("--format=FORM", store(asked.form),
              "csv, and after it noheader and nounits, with commas");
  options.add("-i,--id=GPUS", store(asked.id),
              "of these alone: numbers, UUIDs or PCI addresses, with commas");
  options.add("-L,--list-gpus", store(asked.list), "a line for each GPU: number, name and UUID");
  options.add("--help-query-gpu", store(asked.gpu_help), "the fields of --query-gpu");
  options.add("--help-query-compute-apps", store(asked.program_help),
              "the fields of --query-compute-apps");
}

}  // namespace

int run_query(Invocation& invocation) {
  QueryArgs asked;
  invocation.about =
      "Answers like nvidia-smi, for programs that ask it for CSV: the same names, the same form, "
      "and NVML's statuses (2 for a field that there is not, 6 for no such GPU, 9 without a "
      "driver). It asks NVML itself and needs no daemon. In a lease with report_nvml = \"budget\" "
      "it tells of the budget's card. A figure that is not known is [N/A].";
  invocation.examples = {
      {"berth query --query-gpu=index,memory.total --format=csv,noheader,nounits", "for a script"},
      {"berth query --query-compute-apps=pid,used_memory", "who has how much"},
      {"berth query -L", "the GPUs"},
  };
  declare(invocation, asked);
  if (const auto end = invocation.parse()) return *end;
  const auto form = parse_form(asked.form);
  if (!form.ok()) return invocation.usage_error(form.error().message);
  const int wanted = int{asked.gpus.has_value()} + int{asked.programs.has_value()} +
                     int{asked.list} + int{asked.gpu_help} + int{asked.program_help};
  if (wanted != 1) {
    return invocation.usage_error(
        "one of --query-gpu=FIELDS, --query-compute-apps=FIELDS, -L, --help-query-gpu and "
        "--help-query-compute-apps");
  }
  if (asked.gpus) return tell(gpu_fields(), *asked.gpus, *form, asked, &Seen::gpus);
  if (asked.programs) return tell(program_fields(), *asked.programs, *form, asked, &Seen::programs);
  if (asked.list) return show(asked, [](const Seen& seen) { return listed(seen.gpus); });
  print(asked.gpu_help ? list_of(gpu_fields(), "query-gpu")
                       : list_of(program_fields(), "query-compute-apps"));
  return 0;
}

}  // namespace berth::cli
