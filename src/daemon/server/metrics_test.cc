// SPDX-License-Identifier: Apache-2.0
// GET /metrics, through the service, and what is counted for it.
#include "server/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "server/service_story_for_test.h"

namespace berth::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class MetricsTest : public ServiceTest {
 protected:
  std::string text() { return get("/metrics").body; }
  /// What stands behind the name and labels of a sample; "none": there is no such line.
  std::string value(const std::string& name) {
    const std::string all = "\n" + text();
    const std::size_t at = all.find("\n" + name + " ");
    if (at == std::string::npos) return "none";
    const std::size_t from = at + name.size() + 2;
    return all.substr(from, all.find('\n', from) - from);
  }
  void happens(LeaseId lease, core::LeaseEvent event) {
    metrics_.on_lease_event(service_.now(), engine_.coordinator(), {lease, event});
  }
  LeaseView view(LeaseId lease) { return *engine_.coordinator().lease(lease, service_.now()); }
  void sample_with(const DeviceFigures& figures, std::optional<std::uint32_t> busy) {
    Sample sample{.asked_at = clock_.now(), .answered_at = clock_.now()};
    sample.devices.push_back({.id = {0xd0, 1},
                              .model = "RTX 5080",
                              .pci_bus = "00000000:01:00.0",
                              .capacity = gib(16),
                              .used = gib(3),
                              .figures = figures,
                              .processes = std::vector<ProcessSample>{
                                  {.process = {101, 9}, .used = gib(3), .gpu_utilization = busy}}});
    engine_.sampled(service_.now(), sample);
  }
};
constexpr std::string_view kDevice =
    "{gpu=\"0\",uuid=\"GPU-00000000-0000-00d0-0000-000000000001\"}";

std::string of_device(std::string_view name) {
  return std::string(name) + std::string(kDevice);
}
std::string of_lease(std::string_view name) {
  std::string device(kDevice);
  device.pop_back();
  return std::string(name) + device + ",lease=\"1\",user=\"ana\",name=\"\"}";
}

TEST_F(MetricsTest, AreTextOfPrometheusOrOpenMetricsByWhatIsAccepted) {
  const auto type = [&](std::string accept) {
    sent_.last = {.status = 0};
    http::Request request{.method = "GET", .target = "/metrics"};
    if (!accept.empty()) request.headers.push_back({"Accept", std::move(accept)});
    service_.requested(connect(kAna), std::move(request));
    return sent_.last.headers.at(0).second + (sent_.last.body.ends_with("# EOF\n") ? " EOF" : "");
  };
  EXPECT_EQ(type(""), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(type("application/openmetrics-text;version=1.0.0;q=0.8,*/*;q=0.1"),
            "application/openmetrics-text; version=1.0.0; charset=utf-8 EOF");
}

TEST_F(MetricsTest, ADeviceIsToldAsItStandsAndWhatIsUnknownIsLeftOut) {
  (void)hold(gib(4));
  sample_with({.gpu_utilization = 87,
               .power_milliwatts = 238'500,
               .sm_clock_mhz = 1'980,
               .ecc_uncorrected = 2,
               .throttle = Throttle::kThermal},
              87);
  EXPECT_EQ(value(of_device("berth_gpu_memory_total_bytes")), std::to_string(gib(16).value));
  EXPECT_EQ(value(of_device("berth_gpu_memory_used_bytes")), std::to_string(gib(3).value));
  EXPECT_EQ(value(of_device("berth_gpu_memory_granted_bytes")), std::to_string(gib(4).value));
  EXPECT_EQ(value(of_device("berth_gpu_memory_grantable_bytes")), std::to_string(gib(12).value));
  EXPECT_EQ(value(of_device("berth_gpu_utilization_ratio")), "0.87");
  EXPECT_EQ(value(of_device("berth_gpu_power_watts")), "238.5");
  EXPECT_EQ(value(of_device("berth_gpu_sm_clock_hertz")), "1980000000");
  EXPECT_EQ(value(of_device("berth_gpu_ecc_uncorrected_errors_total")), "2");
  std::string labels(kDevice);
  labels.pop_back();
  EXPECT_EQ(value("berth_gpu_throttled" + labels + ",reason=\"thermal\"}"), "1");
  EXPECT_EQ(value("berth_gpu_throttled" + labels + ",reason=\"power\"}"), "0");
  EXPECT_EQ(value("berth_gpu_info" + labels + ",model=\"RTX 5080\",pci_bus=\"00000000:01:00.0\"}"),
            "1");
  EXPECT_EQ(value(of_device("berth_gpu_temperature_celsius")), "none");
}

TEST_F(MetricsTest, ALeaseHasSeriesWhileItHoldsAndNoLonger) {
  EXPECT_THAT(text(), Not(HasSubstr("lease=\"1\"")));
  const LeaseView lease = hold(gib(4));
  sample_with({}, 40);
  EXPECT_EQ(value(of_lease("berth_lease_memory_granted_bytes")), std::to_string(gib(4).value));
  EXPECT_EQ(value(of_lease("berth_lease_memory_used_bytes")), std::to_string(gib(3).value));
  EXPECT_EQ(value(of_lease("berth_lease_utilization_ratio")), "0.4");
  EXPECT_EQ(value("berth_lease_info{lease=\"1\",user=\"ana\",name=\"\",session=\"\",priority="
                  "\"normal\",state=\"held\"}"),
            "1");
  EXPECT_EQ(value("berth_leases{state=\"held\"}"), "1");
  end(lease);
  EXPECT_THAT(text(), Not(HasSubstr("lease=\"1\"")));
  EXPECT_EQ(value("berth_leases{state=\"held\"}"), "0");
}

TEST_F(MetricsTest, RequestsAreCountedAndHaveNoSeriesOfTheirOwn) {
  (void)hold(gib(14));
  const ConnectionId waiting = connect(kBen);
  (void)ask(waiting, "POST", "/v1/leases", request(gib(8)));
  clock_.at = clock_.at + seconds(30);
  EXPECT_EQ(value("berth_queue_requests{priority=\"normal\"}"), "1");
  EXPECT_EQ(value("berth_queue_longest_wait_seconds"), "30");
  EXPECT_THAT(text(), Not(HasSubstr("lease=\"2\"")));
}

TEST_F(MetricsTest, ForMoreLeasesThanThatOnlyTheirNumberIsTold) {
  const auto told = [](std::size_t leases) {
    wire::UserNames names;
    Metrics::Facts facts{.names = names};
    for (std::size_t i = 0; i < leases; ++i) {
      facts.leases.push_back({.id = {i + 1}, .state = LeaseState::kHeld});
    }
    return Metrics().text(facts, wire::ExpositionForm::kText);
  };
  const std::string last = "lease=\"" + std::to_string(Metrics::kLeasesMax) + "\"";
  EXPECT_THAT(told(Metrics::kLeasesMax), HasSubstr(last));
  EXPECT_THAT(told(Metrics::kLeasesMax), HasSubstr("\nberth_leases_left_out 0\n"));
  const std::string more = told(Metrics::kLeasesMax + 3);
  EXPECT_THAT(more, HasSubstr(last));
  EXPECT_THAT(more, HasSubstr("\nberth_leases_left_out 3\n"));
  EXPECT_THAT(more, Not(HasSubstr("lease=\"" + std::to_string(Metrics::kLeasesMax + 1) + "\"")));
}

TEST_F(MetricsTest, CountsWhatHappens) {
  const LeaseView lease = hold(gib(4));
  happens(lease.id, core::LeaseEvent::kGranted);
  metrics_.did({.verb = Verb::kRefuse, .lease = lease.id});
  metrics_.did({.verb = Verb::kRefuse, .lease = lease.id});
  end(lease);
  happens(lease.id, core::LeaseEvent::kEnded);
  EXPECT_EQ(value("berth_lease_events_total{event=\"granted\"}"), "1");
  EXPECT_EQ(value("berth_actions_total{verb=\"refuse\"}"), "2");
  EXPECT_EQ(value("berth_leases_ended_total{result=\"ok\"}"), "1");
  EXPECT_EQ(value("berth_leases_ended_total{result=\"failed\"}"), "0");
  EXPECT_EQ(value("berth_queue_wait_seconds_count"), "1");
  EXPECT_EQ(value("berth_handover_seconds_count"), "0");  // The GPU was free.
}

TEST_F(MetricsTest, AHandOverIsWhatOneWaitsAfterAnotherHasLeft) {
  const LeaseView first = hold(gib(14));
  const ConnectionId waiting = connect(kBen);
  (void)ask(waiting, "POST", "/v1/leases", request(gib(8)));
  clock_.at = clock_.at + seconds(30);
  metrics_.leaves(first.id, clock_.at);
  clock_.at = clock_.at + milliseconds(3);
  end(first);
  ASSERT_EQ(view({2}).state, LeaseState::kHeld);
  happens({2}, core::LeaseEvent::kGranted);
  happens(first.id, core::LeaseEvent::kEnded);
  EXPECT_EQ(value("berth_handover_seconds_count"), "1");
  EXPECT_EQ(value("berth_handover_seconds_bucket{le=\"0.0025\"}"), "0");
  EXPECT_EQ(value("berth_handover_seconds_bucket{le=\"0.005\"}"), "1");
  EXPECT_EQ(value("berth_queue_wait_seconds_bucket{le=\"10.0\"}"), "0");
  EXPECT_EQ(value("berth_queue_wait_seconds_bucket{le=\"60.0\"}"), "1");
  // Who came when it was free already was not handed it.
  metrics_.leaves(first.id, Instant{clock_.at.ns - seconds(40).ns});
  happens({2}, core::LeaseEvent::kGranted);
  EXPECT_EQ(value("berth_handover_seconds_count"), "1");
}

TEST_F(MetricsTest, TheDaemonTellsOfItself) {
  EXPECT_GT(std::stod(value("process_resident_memory_bytes")), 1e6);
  EXPECT_GT(std::stod(value("process_open_fds")), 2);
  EXPECT_NE(value("process_cpu_seconds_total"), "none");
  EXPECT_EQ(value("berth_journal_broken"), "0");
}

}  // namespace
}  // namespace berth::server
