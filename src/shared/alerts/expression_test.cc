// SPDX-License-Identifier: Apache-2.0
#include "alerts/expression.h"

#include <gtest/gtest.h>

namespace berth::alerts {
namespace {

std::string again(std::string_view text) {
  const auto expression = parse_expression(text);
  return expression.ok() ? to_text(*expression) : expression.error().message;
}

TEST(Expression, ReadsWhatItWrites) {
  for (const std::string text : {"gpu.mem_used > 88% for 30s clear 80%",
                                 "gpu.unmanaged > 2GiB",
                                 "gpu.grantable < 512MiB",
                                 "gpu.pressure >= warn clear normal",
                                 "gpu.lost for 10s",
                                 "lease.mem_used >= 90%",
                                 "lease.pressure >= warn",
                                 "lease.waiting > 10m name=train*",
                                 "lease.over_budget for 1m",
                                 "lease.frozen for 30m",
                                 "lease.queued",
                                 "lease.granted name=train",
                                 "lease.ended result=failed",
                                 "lease.checkpointed outcome=timed_out",
                                 "lease.suspended",
                                 "lease.resumed",
                                 "lease.message",
                                 "gpu.utilization < 5% for 10m",
                                 "gpu.temperature > 85C clear 80C",
                                 "gpu.power > 250W",
                                 "gpu.power >= 95% clear 90%",
                                 "gpu.throttled for 1m",
                                 "gpu.ecc_errors",
                                 "lease.utilization < 5% name=train* for 30m"}) {
    EXPECT_EQ(again(text), text);
  }
}

TEST(Expression, TakesItsPartsWithoutBlanksAndInAnyOrder) {
  EXPECT_EQ(again("gpu.mem_used>88% clear 80% for 90s"), "gpu.mem_used > 88% for 90s clear 80%");
  EXPECT_EQ(again("  lease.ended   name = a  result=ok "), "lease.ended name=a result=ok");
}

TEST(Expression, SaysAtWhichColumnItIsWrong) {
  EXPECT_EQ(again(""), "column 1: it ends here, and must begin with a figure such as gpu.mem_used");
  EXPECT_EQ(again("gpu.mem_usd > 1G"),
            "column 1: 'gpu.mem_usd' is nothing to look at; did you mean 'gpu.mem_used'?");
  EXPECT_EQ(again("gpu.mem_used = 1G"), "column 14: '=' should be <, <=, > or >=");
  EXPECT_EQ(
      again("gpu.mem_used > 10"),
      "column 16: '10' should be a size with its unit, such as 8GiB, or a share, such as 88%");
  EXPECT_EQ(again("gpu.mem_used > 101%"),
            "column 16: '101%' should be a whole share from 0% to 100%");
  EXPECT_EQ(again("gpu.mem_used > 88% for x"),
            "column 24: 'x' should be a duration such as 30s or 10m");
  EXPECT_EQ(again("gpu.mem_used > 88% clear 90%"),
            "column 26: '90%' should not be above the threshold");
  EXPECT_EQ(again("gpu.mem_used > 88% clear 1G"),
            "column 26: '1G' should be a share if the threshold is one, and a size if not");
  EXPECT_EQ(again("gpu.utilization > 8GiB"),
            "column 19: '8GiB' should be a whole share from 0% to 100%");
  EXPECT_EQ(again("gpu.temperature > 85"),
            "column 19: '85' should be whole degrees Celsius, such as 85C");
  EXPECT_EQ(again("gpu.power > 250"),
            "column 13: '250' should be whole watts, such as 250W, or a share of the limit, such "
            "as 95%");
  EXPECT_EQ(again("gpu.power > 250W clear 90%"),
            "column 24: '90%' should be a share if the threshold is one, and watts if not");
  EXPECT_EQ(again("lease.pressure > bad"), "column 18: 'bad' should be normal, warn or critical");
  EXPECT_EQ(again("lease.ended for 3s"),
            "column 13: 'for' is not understood here; each of these may stand here once: "
            "name=NAME, result=RESULT");
  EXPECT_EQ(again("gpu.lost name=a"),
            "column 10: 'name' is not understood here; each of these may stand here once: "
            "for DURATION");
  EXPECT_EQ(again("lease.ended result=bad"),
            "column 20: 'bad' should be ok, failed, killed, cancelled, limit, refused, lost or "
            "over_budget");
  EXPECT_EQ(again(std::string(kExpressionMax + 1, 'a')), "column 257: it has more than 256 bytes");
}

}  // namespace
}  // namespace berth::alerts
