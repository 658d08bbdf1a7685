// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(CheckpointNames, ANameIsReadAsItIsWritten) {
  const FileName name{.number = 12, .step = 3'400, .slot = Slot::kEmergency};
  EXPECT_EQ(to_text(name), "emergency-00000012-step-3400.safetensors");
  EXPECT_EQ(parse_file_name(to_text(name)), name);
  const FileName large{.number = UINT64_MAX, .step = UINT64_MAX, .slot = Slot::kBest};
  EXPECT_EQ(parse_file_name(to_text(large)), large);
}

TEST(CheckpointNames, OtherFilesAreLeftAlone) {
  for (const char* text :
       {"", "LATEST", "model.safetensors", "regular-12-step-3.safetensors", "regular-00000012",
        "regular-00000012-step-.safetensors", "regular-00000012-step-03.safetensors",
        "regular-00000012-step-3.safetensors~", "worst-00000012-step-3.safetensors",
        "regular-000000012-step-3.safetensors",
        "regular-99999999999999999999-step-3.safetensors"}) {
    EXPECT_EQ(parse_file_name(text), std::nullopt) << text;
  }
  EXPECT_TRUE(is_temporary("regular-00000012-step-3.safetensors.tmp.7.9"));
  EXPECT_TRUE(is_temporary("LATEST.tmp.7.9"));
  EXPECT_FALSE(is_temporary("notes.tmp.txt"));
  EXPECT_FALSE(is_temporary("regular-00000012-step-3.safetensors"));
}

FileName regular(std::uint64_t number) {
  return {.number = number, .step = number * 10};
}

TEST(CheckpointNames, TheLastOfTheRegularOnesAreKept) {
  EXPECT_THAT(no_longer_kept({regular(3), regular(1), regular(4), regular(2)}, {.last = 2}),
              UnorderedElementsAre(regular(1), regular(2)));
  EXPECT_THAT(no_longer_kept({regular(1)}, {.last = 1}), IsEmpty());
  EXPECT_THAT(no_longer_kept({regular(1)}, {.last = 0}), IsEmpty());
}

TEST(CheckpointNames, BestAndEmergencyAreNoPartOfThat) {
  const FileName best{.number = 1, .step = 10, .slot = Slot::kBest};
  const FileName emergency{.number = 2, .step = 15, .slot = Slot::kEmergency};
  std::vector<FileName> names = {best, emergency};
  for (std::uint64_t number = 3; number < 100; ++number) names.push_back(regular(number));
  for (const FileName& gone : no_longer_kept(names, {.last = 1})) {
    EXPECT_EQ(gone.slot, Slot::kRegular);
  }
  const FileName better{.number = 100, .step = 900, .slot = Slot::kBest};
  EXPECT_THAT(no_longer_kept({best, emergency, better}, {.last = 1}), ElementsAre(best));
}

TEST(CheckpointNames, SomeStepsAreKeptForEver) {
  EXPECT_THAT(no_longer_kept({regular(1), regular(2), regular(3), regular(4), regular(5)},
                             {.last = 1, .every = 20}),
              UnorderedElementsAre(regular(1), regular(3)));
}

}  // namespace
}  // namespace berth::checkpoint
