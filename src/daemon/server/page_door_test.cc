// SPDX-License-Identifier: Apache-2.0
#include "server/page_door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "http/door_keeper.h"
#include "server/page_files.h"

namespace berth::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr wire::Guest kActs{.user = UserId{1000}, .may_act = true};
constexpr wire::Guest kLooks{.user = UserId{1001}, .may_act = false};

class PageClock final : public os::Clock {
 public:
  Instant now() const override { return {}; }
  UnixMs wall() const override { return at; }
  UnixMs at{1'700'000'000'000};
};

class BehindDoor final : public http::Handler {
 public:
  void opened(ConnectionId /*connection*/, const os::Peer& /*peer*/) override {}
  void requested(ConnectionId /*connection*/, http::Request request) override {
    requests.push_back(std::move(request));
  }
  void closed(ConnectionId /*connection*/) override {}
  std::vector<http::Request> requests;
};

class DoorAnswers final : public http::Transport {
 public:
  void answer(ConnectionId /*connection*/, const http::Answer& answer) override { last = answer; }
  void stream(ConnectionId /*connection*/, std::string_view /*text*/) override {}
  void end_stream(ConnectionId /*connection*/) override {}
  bool drained(ConnectionId /*connection*/) const override { return true; }
  http::Answer last;
};

class PageDoorTest : public ::testing::Test {
 protected:
  PageDoorTest() {
    programs_.connect(answers_);
    door_.connect(answers_);
  }
  using Headers = std::vector<http::Header>;
  /// Of status 0: it went on to what is behind.
  http::Answer ask(std::string method, std::string target, Headers headers = {},
                   std::string body = "") {
    answers_.last = {.status = 0};
    headers.emplace_back("Host", host_);
    door_.requested(ConnectionId{1}, {.method = std::move(method),
                                      .target = std::move(target),
                                      .headers = std::move(headers),
                                      .body = std::move(body)});
    return answers_.last;
  }
  http::Answer get(std::string target, Headers headers = {}) {
    return ask("GET", std::move(target), std::move(headers));
  }
  static std::string header(const http::Answer& answer, std::string_view name) {
    for (const auto& [key, value] : answer.headers) {
      if (key == name) return value;
    }
    return {};
  }
  /// The cookie and the key of a new session.
  std::pair<std::string, std::string> session(wire::Guest guest = kActs) {
    sessions_.add_code("K7QD", guest, clock_.at);
    const auto answer = ask("POST", "/open", {}, "code=K7QD");
    EXPECT_EQ(answer.status, 200);
    const std::string set = header(answer, "Set-Cookie");
    constexpr std::string_view kKey = R"(name="berth-key" content=")";
    const std::size_t key = answer.body.find(kKey) + kKey.size();
    return {set.substr(0, set.find(';')),
            answer.body.substr(key, answer.body.find('"', key) - key)};
  }
  Headers of(const std::pair<std::string, std::string>& session) {
    return {{"Cookie", session.first}, {"Berth-Key", session.second}};
  }

  std::string host_ = "127.0.0.1:7070";
  PageClock clock_;
  BehindDoor behind_;
  DoorAnswers answers_;
  wire::BrowserSessions sessions_;
  int kept_ = 0;
  const wire::Door facts_{.port = 7070, .token = "the-token"};
  http::DoorKeeper programs_{behind_, facts_};
  PageDoor door_{programs_,
                 {.behind = behind_,
                  .sessions = sessions_,
                  .sessions_changed = [this] { ++kept_; },
                  .clock = clock_},
                 facts_};
};

TEST_F(PageDoorTest, WithoutASessionThereIsAFormForTheCodeAndNothingElse) {
  for (const char* path : {"/", "/app.js", "/app.css", "/opened.js", "/licences.txt"}) {
    const auto answer = get(path);
    EXPECT_EQ(answer.status, 401) << path;
    EXPECT_THAT(answer.body, HasSubstr("action=\"/open\"")) << path;
    EXPECT_THAT(header(answer, "Content-Security-Policy"), HasSubstr("default-src 'none'"));
  }
  for (const char* path : {"/v1/status", "/v1/live", "/elsewhere"}) {
    EXPECT_EQ(get(path).status, 401) << path;
  }
  EXPECT_THAT(behind_.requests, IsEmpty());
}

TEST_F(PageDoorTest, ACodeOpensASessionWithACookieAndAKey) {
  sessions_.add_code("K7QD-41MX", kActs, clock_.at);
  const auto answer = ask("POST", "/open", {}, "code=k7qd-41mx");
  EXPECT_EQ(answer.status, 200);
  const std::string cookie = header(answer, "Set-Cookie");
  EXPECT_THAT(cookie, HasSubstr("; HttpOnly; SameSite=Strict; Path=/"));
  EXPECT_THAT(answer.body, HasSubstr("berth-key"));
  EXPECT_THAT(answer.body, Not(HasSubstr("{{")));
  EXPECT_EQ(kept_, 1);
  const auto again = ask("POST", "/open", {}, "code=k7qd-41mx");
  EXPECT_EQ(again.status, 401);
  EXPECT_THAT(again.body, HasSubstr("That code is over"));
  EXPECT_EQ(header(again, "Set-Cookie"), "");
}

TEST_F(PageDoorTest, WithItsCookieABrowserHasThePage) {
  const auto [cookie, key] = session();
  const auto page = get("/", {{"Cookie", cookie}});
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, HasSubstr("/app.js"));
  EXPECT_THAT(header(page, "Content-Security-Policy"), HasSubstr("default-src 'self'"));
  EXPECT_EQ(header(page, "X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(header(page, "Referrer-Policy"), "no-referrer");
  EXPECT_THAT(header(get("/app.js", {{"Cookie", cookie}}), "Content-Type"),
              HasSubstr("text/javascript"));
  EXPECT_EQ(get("/", {{"Cookie", "berth=other"}}).status, 401);
}

TEST_F(PageDoorTest, WhoTakesGzipHasIt) {
  const auto [cookie, key] = session();
  const auto plain = get("/app.js", {{"Cookie", cookie}});
  const auto packed = get("/app.js", {{"Cookie", cookie}, {"Accept-Encoding", "br, gzip"}});
  EXPECT_EQ(header(plain, "Content-Encoding"), "");
  EXPECT_EQ(header(packed, "Content-Encoding"), "gzip");
  EXPECT_LT(packed.body.size(), plain.body.size() / 2);
  EXPECT_EQ(packed.body.substr(0, 2), "\x1f\x8b");
  for (const char* said : {"", "br", "gzip;q=0", "gzip; q=0.000, br", "identity, gzip;q=0"}) {
    EXPECT_EQ(
        header(get("/app.js", {{"Cookie", cookie}, {"Accept-Encoding", said}}), "Content-Encoding"),
        "")
        << said;
  }
}

// See Note [Two secrets of a session].
TEST_F(PageDoorTest, AQuestionNeedsCookieAndKey) {
  const auto anas = session();
  EXPECT_EQ(get("/v1/status", of(anas)).status, 0);
  ASSERT_EQ(behind_.requests.size(), 1U);
  EXPECT_EQ(behind_.requests[0].guest, kActs);
  EXPECT_EQ(get("/v1/status", {{"Cookie", anas.first}}).status, 401);
  EXPECT_EQ(get("/v1/status", {{"Berth-Key", anas.second}}).status, 401);
  EXPECT_EQ(get("/v1/status", {{"Cookie", anas.first}, {"Berth-Key", "other"}}).status, 401);
  EXPECT_EQ(behind_.requests.size(), 1U);
}

TEST_F(PageDoorTest, ASessionForLookingCannotAct) {
  const auto theirs = session(kLooks);
  EXPECT_EQ(get("/v1/status", of(theirs)).status, 0);
  EXPECT_EQ(behind_.requests.back().guest, kLooks);
  PageDoorTest::Headers headers = of(theirs);
  headers.emplace_back("Content-Type", "application/json");
  const auto answer = ask("POST", "/v1/leases/1/suspend", headers, "{}");
  EXPECT_EQ(answer.status, 403);
  EXPECT_THAT(answer.body, HasSubstr("may only look"));
  EXPECT_EQ(behind_.requests.size(), 1U);
}

TEST_F(PageDoorTest, PagesOfOthersAreRefusedWhateverTheyCarry) {
  const auto anas = session();
  for (const char* path : {"/", "/app.js", "/v1/status"}) {
    Headers headers = of(anas);
    headers.emplace_back("Origin", "http://evil.example");
    EXPECT_EQ(get(path, headers).status, 403) << path;
  }
  sessions_.add_code("K7QD", kActs, clock_.at);
  EXPECT_EQ(ask("POST", "/open", {{"Origin", "http://evil.example"}}, "code=K7QD").status, 403);
  EXPECT_EQ(ask("POST", "/open", {{"Origin", "http://127.0.0.1:8080"}}, "code=K7QD").status, 403);
  host_ = "evil.example:7070";  // DNS rebinding.
  EXPECT_EQ(get("/", of(anas)).status, 403);
  EXPECT_EQ(ask("POST", "/open", {}, "code=K7QD").status, 403);
  EXPECT_THAT(behind_.requests, IsEmpty());
}

TEST_F(PageDoorTest, AFileOfTheUsersMayPostTheCode) {
  sessions_.add_code("K7QD", kActs, clock_.at);
  EXPECT_EQ(ask("POST", "/open", {{"Origin", "null"}}, "code=K7QD").status, 200);
  const auto anas = session();
  Headers headers = of(anas);
  headers.emplace_back("Origin", "null");
  EXPECT_EQ(get("/v1/status", headers).status, 403) << "and do nothing else";
}

TEST_F(PageDoorTest, AFormCannotAct) {
  Headers headers = of(session());
  headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
  EXPECT_EQ(ask("POST", "/v1/leases/1/suspend", headers, "a=b").status, 415);
  EXPECT_THAT(behind_.requests, IsEmpty());
}

TEST_F(PageDoorTest, ProgramsComeInByTheToken) {
  EXPECT_EQ(get("/v1/status", {{"Authorization", "Bearer the-token"}}).status, 0);
  ASSERT_EQ(behind_.requests.size(), 1U);
  EXPECT_EQ(behind_.requests[0].guest, std::nullopt);
  EXPECT_EQ(get("/", {{"Authorization", "Bearer the-token"}}).status, 401) << "no page for them";
}

TEST_F(PageDoorTest, ASessionThatWasNotUsedForHalfADayIsOver) {
  const auto anas = session();
  clock_.at.value += std::int64_t{12} * 3600 * 1000;
  EXPECT_EQ(get("/", {{"Cookie", anas.first}}).status, 401);
  const auto answer = get("/v1/live", of(anas));
  EXPECT_EQ(answer.status, 401);
  EXPECT_THAT(answer.body, HasSubstr("berth dashboard"));
}

TEST(FormField, IsDecodedAsFormsAre) {
  EXPECT_EQ(form_field("code=K7QD-41MX", "code"), "K7QD-41MX");
  EXPECT_EQ(form_field("a=b&code=x+y%2Dz&c=d", "code"), "x y-z");
  EXPECT_EQ(form_field("code=%4", "code"), "%4");
  EXPECT_EQ(form_field("code=%zz%", "code"), "%zz%");
  EXPECT_EQ(form_field("code=a%41", "code"), "aA");
  for (const char* none : {"", "code", "code=", "xcode=a", "&&", "=code"}) {
    EXPECT_EQ(form_field(none, "code"), "") << none;
  }
}

TEST(PageFiles, AreThoseThatThePageAsksFor) {
  for (const PageFile& file : page_files()) {
    EXPECT_FALSE(file.text.empty()) << file.name;
    EXPECT_EQ(file.gzip.substr(0, 2), "\x1f\x8b") << file.name;
  }
}

}  // namespace
}  // namespace berth::server
