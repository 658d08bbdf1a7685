// SPDX-License-Identifier: Apache-2.0
#include "mcp/subscriptions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mcp/connection_for_test.h"

namespace berth::mcp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SubscriptionsTest : public ConnectionTest {
 protected:
  std::vector<std::string> changed(std::string_view uri) {
    return texts_of(connection_.resource_changed(uri));
  }
};

std::string listen(const std::string& id, const std::string& filter) {
  return modern(id, "subscriptions/listen", {R"("notifications":)" + filter});
}
std::string tagged(const std::string& id, const std::string& method, const std::string& params) {
  return R"({"jsonrpc":"2.0","method":"notifications/)" + method +
         R"(","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":)" + id + "}," + params +
         "}}";
}
const std::string kAll = R"({"resourceSubscriptions":["x://all"]})";

TEST_F(SubscriptionsTest, AreAcknowledgedFirst) {
  EXPECT_THAT(receive(listen(R"("l")", kAll)),
              ElementsAre(tagged(R"("l")", "subscriptions/acknowledged",
                                 R"("notifications":{"resourceSubscriptions":["x://all"]})")));
}

TEST_F(SubscriptionsTest, AreAcknowledgedWithoutWhatNeverChangesOrIsNotThere) {
  EXPECT_THAT(receive(listen("1", R"({"toolsListChanged":true,"promptsListChanged":true,)"
                                  R"("resourcesListChanged":true,"resourceSubscriptions":)"
                                  R"(["x://one/7","x://other","x://all","x://all"]})")),
              ElementsAre(tagged("1", "subscriptions/acknowledged",
                                 R"("notifications":{"resourceSubscriptions":)"
                                 R"(["x://all","x://one/7"]})")));
  EXPECT_THAT(receive(listen("2", "{}")),
              ElementsAre(tagged("2", "subscriptions/acknowledged", R"("notifications":{})")));
}

TEST_F(SubscriptionsTest, EachHearsOfWhatItAskedForUnderItsId) {
  receive(listen("1", kAll));
  receive(listen(R"("b")", R"({"resourceSubscriptions":["x://one/7","x://all"]})"));
  EXPECT_THAT(changed("x://all"),
              ElementsAre(tagged("1", "resources/updated", R"("uri":"x://all")"),
                          tagged(R"("b")", "resources/updated", R"("uri":"x://all")")));
  EXPECT_THAT(changed("x://one/7"),
              ElementsAre(tagged(R"("b")", "resources/updated", R"("uri":"x://one/7")")));
  EXPECT_THAT(changed("x://one/8"), IsEmpty());
}

TEST_F(SubscriptionsTest, ThatAreCancelledHearNothingMore) {
  receive(listen("1", kAll));
  EXPECT_THAT(receive(cancelled("1")), IsEmpty());
  EXPECT_THAT(changed("x://all"), IsEmpty());
  EXPECT_THAT(texts_of(connection_.close()), IsEmpty());
}

TEST_F(SubscriptionsTest, EndWithAnEmptyResult) {
  receive(listen("1", kAll));
  receive(listen("2", "{}"));
  const auto end = [](const std::string& id) {
    return R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{"resultType":"complete","_meta":)" +
           R"({"io.modelcontextprotocol/subscriptionId":)" + id +
           R"(,"io.modelcontextprotocol/serverInfo":{"name":"small","version":"1.2"}}}})";
  };
  EXPECT_THAT(texts_of(connection_.close()), ElementsAre(end("1"), end("2")));
  EXPECT_THAT(changed("x://all"), IsEmpty());
}

TEST_F(SubscriptionsTest, AreRequestsThatAreUnderWay) {
  receive(listen("1", kAll));
  EXPECT_EQ(error(listen("1", kAll)), kInvalidRequest);
  EXPECT_EQ(error(modern("1", "tools/list")), kInvalidRequest);
  receive(cancelled("1"));
  EXPECT_EQ(error(listen("1", kAll)), 0);
}

TEST_F(SubscriptionsTest, MustSayWhatTheyAreFor) {
  EXPECT_EQ(error(modern("1", "subscriptions/listen")), kInvalidParams);
  for (const std::string filter : {"[]", "true", R"({"resourceSubscriptions":"x://all"})",
                                   R"({"resourceSubscriptions":[7]})"}) {
    EXPECT_EQ(error(listen("1", filter)), kInvalidParams) << filter;
  }
}

TEST_F(SubscriptionsTest, HaveABound) {
  for (std::size_t i = 0; i < kListenersMax; ++i) {
    EXPECT_EQ(error(listen(std::to_string(i), kAll)), 0);
  }
  EXPECT_EQ(error(listen("100", kAll)), kInternal);
  receive(cancelled("3"));
  EXPECT_EQ(error(listen("100", kAll)), 0);
}

TEST_F(SubscriptionsTest, ToResourcesHaveABound) {
  std::string uris = R"("x://one/0")";
  for (std::size_t i = 1; i < kSubscribedMax; ++i) {
    uris += R"(,"x://one/)" + std::to_string(i) + '"';
  }
  EXPECT_EQ(error(listen("1", R"({"resourceSubscriptions":[)" + uris + "]}")), 0);
  uris += R"(,"x://all")";
  EXPECT_EQ(error(listen("2", R"({"resourceSubscriptions":[)" + uris + "]}")), kInvalidParams);

  receive(initialize());
  for (std::size_t i = 0; i < kSubscribedMax; ++i) {
    const Said one = {R"("uri":"x://one/)" + std::to_string(i) + '"'};
    EXPECT_EQ(error(legacy("3", "resources/subscribe", one)), 0);
  }
  EXPECT_EQ(error(legacy("3", "resources/subscribe", {R"("uri":"x://all")"})), kInternal);
  EXPECT_EQ(error(legacy("3", "resources/subscribe", {R"("uri":"x://one/5")"})), 0);
  receive(legacy("3", "resources/unsubscribe", {R"("uri":"x://one/5")"}));
  EXPECT_EQ(error(legacy("3", "resources/subscribe", {R"("uri":"x://all")"})), 0);
}

TEST_F(SubscriptionsTest, OfTheLegacyEraAreOneByOneAndWithoutATag) {
  receive(initialize());
  const Said all = {R"("uri":"x://all")"};
  const std::string done = R"({"jsonrpc":"2.0","id":1,"result":{}})";
  EXPECT_EQ(answer(legacy("1", "resources/subscribe", all)), done);
  EXPECT_EQ(answer(legacy("1", "resources/subscribe", all)), done);
  EXPECT_THAT(changed("x://all"),
              ElementsAre(R"({"jsonrpc":"2.0","method":"notifications/resources/updated",)"
                          R"("params":{"uri":"x://all"}})"));
  EXPECT_THAT(changed("x://one/7"), IsEmpty());
  EXPECT_EQ(answer(legacy("1", "resources/unsubscribe", all)), done);
  EXPECT_EQ(answer(legacy("1", "resources/unsubscribe", all)), done);
  EXPECT_THAT(changed("x://all"), IsEmpty());
}

TEST_F(SubscriptionsTest, OfTheLegacyEraAreToWhatIsThere) {
  receive(initialize());
  EXPECT_EQ(error(legacy("1", "resources/subscribe", {R"("uri":"x://other")"})), kResourceNotFound);
  EXPECT_EQ(error(legacy("1", "resources/subscribe")), kInvalidParams);
  EXPECT_EQ(error(legacy("1", "resources/unsubscribe")), kInvalidParams);
}

TEST_F(SubscriptionsTest, OfTheLegacyEraEndWithTheConnection) {
  receive(initialize());
  receive(legacy("1", "resources/subscribe", {R"("uri":"x://all")"}));
  EXPECT_THAT(texts_of(connection_.close()), IsEmpty());
  EXPECT_THAT(changed("x://all"), IsEmpty());
}

}  // namespace
}  // namespace berth::mcp
