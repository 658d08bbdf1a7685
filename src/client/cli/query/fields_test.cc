// SPDX-License-Identifier: Apache-2.0
#include "cli/query/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using testing::HasSubstr;

GpuFacts gpu() {
  return {.count = 2,
          .index = 1,
          .driver_version = "575.00",
          .uuid = figure("GPU-1"),
          .name = figure("RTX"),
          .pci_bus = "00000000:0A:00.0",
          .total = figure(std::uint64_t{16384}),
          .used = figure(std::uint64_t{300}),
          .free = not_told("GPU is lost"),
          .power = figure("30.50")};
}

std::string csv_of(std::string_view names, CsvForm form = {}) {
  const auto chosen = choose(gpu_fields(), names);
  return chosen.ok() ? to_csv(*chosen, std::vector{gpu()}, form) : chosen.error().message;
}

TEST(QueryFields, FiguresHaveTheirUnitsAndSoHasTheHeader) {
  EXPECT_EQ(csv_of("index, memory.total,power.draw"),
            "index, memory.total [MiB], power.draw [W]\n1, 16384 MiB, 30.50 W\n");
  EXPECT_EQ(csv_of("memory.used", {.header = false}), "300 MiB\n");
  EXPECT_EQ(csv_of("memory.used,index", {.units = false}), "memory.used [MiB], index\n300, 1\n");
}

TEST(QueryFields, WhatIsNotKnownHasNoUnit) {
  EXPECT_EQ(csv_of("utilization.gpu,memory.free", {.header = false}), "[N/A], [GPU is lost]\n");
}

TEST(QueryFields, AnotherNameHasTheHeaderOfTheFirst) {
  EXPECT_EQ(csv_of("gpu_uuid,clocks.sm"), "uuid, clocks.current.sm [MHz]\nGPU-1, [N/A]\n");
  EXPECT_EQ(csv_of("pci.domain,pci.bus,pci.device,gpu_bus_id", {.header = false}),
            "0x0000, 0x0A, 0x00, 00000000:0A:00.0\n");
}

TEST(QueryFields, AFieldThatThereIsNotIsSaidInTheWordsThatProgramsKnow) {
  EXPECT_EQ(csv_of("index,speed"), "Field \"speed\" is not a valid field to query.");
  EXPECT_EQ(csv_of("index,"), "Field \"\" is not a valid field to query.");
}

TEST(QueryFields, TheListHasEachNameInQuotes) {
  const std::string list = list_of(gpu_fields(), "query-gpu");
  EXPECT_THAT(list, HasSubstr("\n\"name\" or \"gpu_name\"\n"));
  for (const auto& field : gpu_fields())
    EXPECT_THAT(list, HasSubstr("\"" + std::string(field.name) + "\""));
}

TEST(QueryFields, TheFormIsCsvAndWhatItLeavesOut) {
  EXPECT_TRUE(parse_form("csv")->header);
  EXPECT_FALSE(parse_form("csv, noheader,nounits")->header);
  EXPECT_FALSE(parse_form("csv,nounits")->units);
  EXPECT_FALSE(parse_form("noheader").ok());
  EXPECT_FALSE(parse_form("csv,xml").ok());
}

}  // namespace
}  // namespace berth::cli
