// SPDX-License-Identifier: Apache-2.0
// Lists of leases: which a user sees, how many at once, and with which rights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/service_story_for_test.h"
#include "wire/lease.h"

namespace berth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ServiceListsTest : public ServiceTest {
 protected:
  wire::LeaseList list(std::string target, UserId user = kAna) {
    auto read = wire::decode_leases(get(std::move(target), user).body);
    EXPECT_TRUE(read.ok());
    return read.ok() ? *std::move(read) : wire::LeaseList{};
  }
  static std::vector<std::uint64_t> numbers(const wire::LeaseList& list) {
    std::vector<std::uint64_t> found;
    for (const LeaseView& lease : list.items) found.push_back(lease.id.value);
    return found;
  }
};

TEST_F(ServiceListsTest, LeasesComePageByPageTheYoungestFirst) {
  const LeaseView first = hold(gib(1));
  const LeaseView second = hold(gib(1));
  for (int i = 0; i < 3; ++i) (void)hold(gib(1));
  end(second);
  const wire::LeaseList last = list("/v1/leases?all=1&limit=2");
  EXPECT_THAT(numbers(last), ElementsAre(4, 5));
  EXPECT_EQ(last.next, LeaseId{4});
  const wire::LeaseList middle = list("/v1/leases?all=1&limit=2&before=4");
  EXPECT_THAT(numbers(middle), ElementsAre(2, 3)) << "ended ones among the others";
  EXPECT_EQ(middle.next, LeaseId{2});
  const wire::LeaseList oldest = list("/v1/leases?all=1&limit=2&before=2");
  EXPECT_THAT(numbers(oldest), ElementsAre(1));
  EXPECT_EQ(oldest.next, std::nullopt);
  EXPECT_THAT(numbers(list("/v1/leases?before=4")), ElementsAre(1, 3));
  EXPECT_THAT(numbers(list("/v1/leases?limit=2")), ElementsAre(4, 5));
}

TEST_F(ServiceListsTest, ListWithEndedLeasesHasABoundOfItsOwn) {
  for (std::uint32_t i = 0; i < wire::kLeasePageMax + 5; ++i) end(hold(gib(1)));
  const wire::LeaseList page = list("/v1/leases?all=1");
  EXPECT_EQ(page.items.size(), wire::kLeasePageMax);
  EXPECT_EQ(page.next, LeaseId{6});
  EXPECT_THAT(numbers(list("/v1/leases?all=1&before=6")), ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(ServiceListsTest, ListThatWasWrittenDownIsToldAgainOnlyWhileItIsTrue) {
  const LeaseView held = hold(gib(4));
  const std::string before = get("/v1/leases").body;
  EXPECT_EQ(get("/v1/leases").body, before);
  EXPECT_THAT(get("/v1/leases", kBen).body, Not(HasSubstr("train.py"))) << "it is ana's";
  (void)hold(gib(4));
  EXPECT_THAT(numbers(list("/v1/leases")), ElementsAre(1, 2));
  end(held);
  EXPECT_THAT(numbers(list("/v1/leases")), ElementsAre(2));
}

TEST_F(ServiceListsTest, AUserWhoIsNoAdminAnyMoreIsNoneOverAnOldConnectionEither) {
  const LeaseView held = hold(gib(4));
  host_.admins.insert(kBen);
  const ConnectionId old = connect(kBen);
  EXPECT_THAT(ask(old, "GET", "/v1/leases").body, HasSubstr("train.py"));
  const ConnectionId follower = connect(kBen);
  (void)ask(follower, "GET", "/v1/events");
  host_.admins.erase(kBen);
  EXPECT_THAT(ask(old, "GET", "/v1/leases").body, Not(HasSubstr("train.py")));
  EXPECT_EQ(ask(old, "POST", "/v1/leases/1/cancel").status, 403);
  EXPECT_EQ(ask(old, "POST", "/v1/daemon/stop").status, 403);
  end(held);
  EXPECT_THAT(sent_.streams[follower], Not(HasSubstr(to_text(held.handle))));
}

TEST_F(ServiceListsTest, AUserWhoBecomesAdminIsOneOverAnOldConnectionToo) {
  (void)hold(gib(4));
  const ConnectionId old = connect(kBen);
  EXPECT_EQ(ask(old, "POST", "/v1/leases/1/cancel").status, 403);
  host_.admins.insert(kBen);
  EXPECT_EQ(ask(old, "POST", "/v1/leases/1/cancel").status, 200);
}

}  // namespace
}  // namespace berth::server
