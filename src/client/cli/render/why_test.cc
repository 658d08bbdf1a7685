// SPDX-License-Identifier: Apache-2.0
#include "cli/render/why.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/render/halts.h"
#include "cli/render/sample_test.h"
#include "cli/render/waiting_line.h"

namespace berth::cli {
namespace {

using sample::in;
// As wide as it takes.
RenderContext wide_context() {
  RenderContext context = sample::context();
  context.width = std::nullopt;
  return context;
}

using testing::HasSubstr;
using testing::Not;

TEST(Why, SaysWhoUntilWhenAndWhatWouldHelp) {
  EXPECT_EQ(why_text(sample::waiting(), sample::why(), wide_context()),
            "14 me/sweep is waiting for 6.0 GiB on any GPU (normal priority, 4m12s).\n"
            "Not now: GPU 0 can grant 1.4 GiB (15.9 total − 0.5 held back − 14.0 charged).\n"
            "First chance: in ~14 min, when 12 (me/hybrid-train) is expected to end. "
            "Ahead of it: nobody.\n"
            "It would start sooner if: it asks for 1.4 GiB (-m 1433M) · "
            "13 (guest/self-hosted) is paused · "
            "12 (me/hybrid-train) shrinks to its peak of 10.2 GiB (berth resize 12 -m 10445M).\n");
}

TEST(Why, NamesThoseWithoutAnEnd) {
  WhyView why = sample::why();
  why.expected_start = std::nullopt;
  why.ahead = {{11}, {7}};
  why.ahead_count = 9;
  const std::string text = why_text(sample::waiting(), why, wide_context());
  EXPECT_THAT(text, HasSubstr("First chance: no end known: 13 (guest/self-hosted) was started "
                              "without --eta or --limit."));
  EXPECT_THAT(text, HasSubstr("Ahead of it: 11, 7 and 7 more."));
}

TEST(Why, CommandsAreToldOnlyToThoseWhoMayGiveThem) {
  RenderContext of_guest = wide_context();
  of_guest.me = sample::kGuest;
  const std::string text = why_text(sample::waiting(), sample::why(), of_guest);
  EXPECT_THAT(text, HasSubstr("13 (guest/self-hosted) is paused (berth pause 13)"));
  EXPECT_THAT(text, Not(HasSubstr("berth resize 12")));
}

TEST(Why, SaysWhatWaitsInALeaseThatIsFull) {
  LeaseView lease = sample::held();
  WhyView why{.id = lease.id, .state = LeaseState::kHeld};
  EXPECT_THAT(why_text(lease, why, wide_context()), Not(HasSubstr("waits")));
  lease.flags.full = true;
  lease.parts[0].ledger = sample::tenths_of_gib(105);
  lease.parts[0].wanted = gib(2);
  EXPECT_THAT(why_text(lease, why, wide_context()),
              HasSubstr("it is held,full with 11.0 GiB on GPU 0 (end: ~14 min).\n"
                        "Inside it an allocation waits for 2.0 GiB, and the budget is full (more: "
                        "berth resize 12 -m 12800M).\n"));
}

// Each reason has a sentence and a phrase of its own, and none is a bare no.
TEST(Why, OfAJobThatNobodyIsThereToStartTheCureIsNamed) {
  WhyView why = sample::why();
  why.reason = WhyView::Reason::kNotReconnected;
  LeaseView lease = sample::waiting();
  lease.job = true;
  EXPECT_THAT(why_text(lease, why, wide_context()),
              HasSubstr("no keeper of its user runs (any verb of that user's, such as berth ps, "
                        "starts one)"));
}

TEST(Why, OfASetItIsSaidHowFarItIs) {
  WhyView why = sample::why();
  why.reason = WhyView::Reason::kMembers;
  LeaseView lease = sample::waiting();
  lease.request.members = 60;
  lease.set = SetProgress{.begun = 15, .ended = 12, .failed = 1};
  const std::string text = why_text(lease, why, wide_context());
  EXPECT_THAT(text, HasSubstr("is a set of 60 jobs, each of which asks for "));
  EXPECT_THAT(text, HasSubstr("So far: of its 60 members 12 have ended (1 not well), 3 wait or "
                              "run, and 45 are still to come."));
  EXPECT_THAT(text, Not(HasSubstr("First chance")));
}

TEST(Why, EachReasonIsExplained) {
  std::set<std::string> sentences;
  std::set<std::string> phrases;
  int count = 0;
  for (int i = 0; i <= static_cast<int>(WhyView::Reason::kNotReturned); ++i, ++count) {
    WhyView why = sample::why();
    why.reason = static_cast<WhyView::Reason>(i);
    sentences.insert(why_text(sample::waiting(), why, wide_context()));
    phrases.insert(short_reason(why, wide_context()));
  }
  EXPECT_EQ(sentences.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(phrases.size(), static_cast<std::size_t>(count));
}

TEST(Why, SeveralGpusAreCountedAndThoseInTheWayNamed) {
  WhyView why = sample::why();
  why.devices_wanted = 3;
  why.devices_fitting = 1;
  why.shortages = {why.shortages[0], why.shortages[0], why.shortages[0]};
  why.shortages[0].index = 2;
  const std::string text = why_text(sample::waiting(), why, wide_context());
  EXPECT_THAT(text, HasSubstr("Not now: 1 of the 3 GPUs asked for could take it now; "
                              "GPU 0 can grant 1.4 GiB"));
  EXPECT_THAT(text, Not(HasSubstr("GPU 2 can grant")));
  EXPECT_THAT(waiting_line(sample::waiting().request, why, wide_context()),
              HasSubstr("1 of 3 GPUs free; GPU 0 has 1.4 GiB free"));
}

TEST(Why, ALeaseInTheWayOfAWholeGpuIsOnIt) {
  WhyView why = sample::why_on_two();
  why.reason = WhyView::Reason::kExclusive;
  EXPECT_THAT(why_text(sample::waiting(), why, wide_context()),
              HasSubstr("GPU 0 cannot be shared for it while 13 (guest/self-hosted) is there"));
}

TEST(Why, ALoweredLimitIsNamedWithItsValueAndNoChanceIsPromised) {
  WhyView why = sample::why();
  why.reason = WhyView::Reason::kAboveLimit;
  why.expected_start.reset();
  why.remedies.clear();
  why.limit = LoweredLimit{
      .kind = LoweredLimit::Kind::kVram, .allowed = gib(4).value, .asked = gib(6).value};
  const std::string text = why_text(sample::waiting(), why, wide_context());
  EXPECT_THAT(text, HasSubstr("it asks for 6.0 GiB, and its user may have 4.0 GiB by now "
                              "(vram in [users]); whoever configures the daemon can raise it."));
  EXPECT_THAT(text, Not(HasSubstr("First chance")));
  EXPECT_EQ(short_reason(why, wide_context()), "asks for more than its limit by now");
}

TEST(Why, ProgramsThatOutliveTheirLeaseAreNamedAndNoEndIs) {
  WhyView why = sample::why();
  why.expected_start.reset();
  why.holders[0].expected_end.reset();
  why.holders[0].has_ended = true;
  why.remedies = {{.kind = Remedy::Kind::kEndPrograms, .lease = {12}}};
  // Another lease is in the way, too.
  EXPECT_THAT(why_text(sample::waiting(), why, wide_context()),
              HasSubstr("First chance: no end known: 13 (guest/self-hosted) was started without "
                        "--eta or --limit; programs of 12 (me/hybrid-train), which has ended, "
                        "still use 11.0 GiB. Ahead of it: nobody.\n"));
  why.reason = WhyView::Reason::kOutlived;
  why.holders.pop_back();
  const std::string text = why_text(sample::waiting(), why, wide_context());
  EXPECT_THAT(text, HasSubstr("Not now: programs of 12 (me/hybrid-train), which has ended, still "
                              "use 11.0 GiB of GPU 0.\n"
                              "First chance: no end known. Ahead of it: nobody.\n"));
  EXPECT_THAT(text, HasSubstr("It would start sooner if: the programs of 12 (me/hybrid-train) end "
                              "(berth release --kill 12).\n"));
  EXPECT_EQ(short_reason(why, wide_context()),
            "waits for memory that programs of 12 still use; no end known");
  FitView fit{.holders = why.holders};
  EXPECT_THAT(fit_text(fit, wide_context()),
              HasSubstr("First chance: no end known: programs of 12 (me/hybrid-train), which has "
                        "ended, still use 11.0 GiB.\n"));
}

TEST(Why, CommandsNameAllThatHaveToGoTogether) {
  WhyView why = sample::why();
  why.holders[1].user = sample::kMe;
  why.remedies = {{.kind = Remedy::Kind::kCancelLease, .lease = {12}, .also = {{13}}}};
  EXPECT_THAT(why_text(sample::waiting(), why, wide_context()),
              HasSubstr("12 (me/hybrid-train) and 13 (me/self-hosted) end (berth cancel 12 13)"));
  why.holders[1].user = sample::kGuest;
  EXPECT_THAT(why_text(sample::waiting(), why, wide_context()), Not(HasSubstr("berth cancel")));
}

TEST(Why, ALeaseThatMadeRoomLearnsForWhom) {
  const LeaseView lease = sample::yielding();
  const WhyView why{.id = lease.id, .reason = WhyView::Reason::kYields};
  EXPECT_EQ(why_text(lease, why, wide_context()),
            "12 me/hybrid-train is suspended for lease 9 (guest/urgent, priority urgent) since "
            "12 s; it comes back when 9 ends.\n");
  EXPECT_EQ(halt_notice(lease, wide_context()),
            "is suspended for lease 9 (guest/urgent, priority urgent); its GPU memory is in host "
            "memory, and it comes back when 9 ends");
}

TEST(Why, APauseSaysByWhomAndUntilWhen) {
  LeaseView lease = sample::held();
  lease.state = LeaseState::kSuspended;
  lease.halt = Halt{.reason = Halt::Reason::kPaused, .since = sample::ago(seconds(12))};
  lease.pause = Pause{.since = sample::ago(seconds(12)), .reason = "lunch", .by = sample::kGuest};
  const WhyView why{.id = lease.id, .reason = WhyView::Reason::kPaused};
  EXPECT_EQ(why_text(lease, why, wide_context()),
            "12 me/hybrid-train is paused by guest since 12 s: lunch; it goes on with berth resume "
            "12.\n");
  lease.pause->until = in(minutes(5));
  EXPECT_THAT(why_text(lease, why, wide_context()), HasSubstr("; it goes on in ~5 min.\n"));
  EXPECT_EQ(halt_notice(lease, wide_context()),
            "is paused by guest: lunch; its GPU memory is in host memory, and it goes on in ~5 min "
            "(berth resume 12)");
}

TEST(Why, AMoveNamesWhereToAndByWhom) {
  LeaseView lease = sample::held();
  lease.state = LeaseState::kSuspended;
  lease.halt = Halt{.reason = Halt::Reason::kMoves, .since = sample::ago(seconds(12))};
  EXPECT_EQ(halt_notice(lease, wide_context()), "is being moved to GPU 0");
  lease.moved_by = sample::kGuest;
  EXPECT_EQ(halt_notice(lease, wide_context()), "is being moved to GPU 0 by guest");
  lease.moved_by = sample::kMe;
  EXPECT_EQ(halt_sentence(lease, {}, wide_context()),
            "12 me/hybrid-train is being moved to GPU 0 by you since 12 s; its GPU memory is in "
            "host memory until there is room");
}

TEST(Why, UnmanagedProcessesAreNamedAsTheCause) {
  WhyView why = sample::why();
  why.reason = WhyView::Reason::kUnmanaged;
  why.shortages[0].unmanaged = gib(5);
  EXPECT_THAT(why_text(sample::waiting(), why, wide_context()),
              HasSubstr("Not now: processes outside Berth use 5.0 GiB of GPU 0"));
}

TEST(Why, ALeaseThatDoesNotWaitSaysWhatItDoes) {
  EXPECT_EQ(why_text(sample::held(), {}, wide_context()),
            "12 me/hybrid-train is not waiting: it is held with 11.0 GiB on GPU 0 "
            "(end: ~14 min).\n");
  EXPECT_EQ(why_text(sample::ended(), {}, wide_context()),
            "9 me/old is not waiting: it ended 25m ago (failed with exit status 3).\n");
  LeaseView releasing = sample::held();
  releasing.state = LeaseState::kReleasing;
  EXPECT_EQ(why_text(releasing, {}, wide_context()),
            "12 me/hybrid-train is not waiting: it has ended, and what its processes still use of "
            "GPU 0 (9.8 GiB) stays charged until it is freed.\n"
            "To free it now: berth release --kill 12\n");
}

TEST(Why, TheGpuIsCalledSimulatedWhereItIs) {
  RenderContext simulated = wide_context();
  simulated.simulated = true;
  EXPECT_THAT(why_text(sample::waiting(), sample::why(), simulated), HasSubstr("simulated GPU"));
}

TEST(Why, LinesAreBrokenAtWords) {
  RenderContext narrow = wide_context();
  narrow.width = 40;
  const std::string text = why_text(sample::waiting(), sample::why(), narrow);
  EXPECT_THAT(text, HasSubstr("14 me/sweep is waiting for 6.0 GiB on\nany GPU (normal priority"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), 40U) << line;
}

TEST(Why, ASliceIsToldWhoseTurnItIsAndWhenTheNextOneComes) {
  LeaseView lease = sample::held();
  lease.state = LeaseState::kSuspended;
  lease.request.share = Share::kSlice;
  WhyView why = sample::why();
  why.reason = WhyView::Reason::kSlices;
  why.state = LeaseState::kSuspended;
  why.ahead_count = 0;
  why.ahead.clear();
  why.expected_start = in(minutes(2));
  const std::string text = why_text(lease, why, wide_context());
  EXPECT_THAT(text, HasSubstr("waits for its next turn on GPU 0"));
  EXPECT_THAT(text, HasSubstr("have memory there."));
  EXPECT_THAT(text, HasSubstr("Its turn: in ~2 min. Ahead of it: nobody.\n"));
  why.expected_start.reset();
  EXPECT_THAT(why_text(lease, why, wide_context()),
              HasSubstr("Its turn: after those ahead of it."));
}

TEST(Why, WithoutUnicodeAllIsAscii) {
  RenderContext ascii = wide_context();
  ascii.charset.unicode = false;
  for (const char c : why_text(sample::waiting(), sample::why(), ascii)) {
    EXPECT_LT(static_cast<unsigned char>(c), 0x80);
  }
}

TEST(WaitingLine, TellsPlaceRoomAndHolder) {
  WhyView why = sample::why();
  why.position = 2;
  EXPECT_EQ(waiting_line(sample::waiting().request, why, wide_context()),
            "waiting for 6.0 GiB on any GPU — 2nd in queue, GPU 0 has 1.4 GiB free "
            "(me/hybrid-train holds 11.0 GiB, ~14 min left)");
}

TEST(WaitingLine, PlacesAreCountedAsPeopleDo) {
  WhyView why = sample::why();
  why.reason = WhyView::Reason::kTurn;
  why.ahead_count = 3;
  const std::vector<std::pair<std::uint32_t, const char*>> paths = {
      {1, "1st"},   {2, "2nd"},   {3, "3rd"},   {4, "4th"},
      {11, "11th"}, {12, "12th"}, {21, "21st"}, {113, "113th"}};
  for (const auto& [position, word] : paths) {
    why.position = position;
    EXPECT_THAT(waiting_line(sample::waiting().request, why, wide_context()),
                HasSubstr("— " + std::string(word) + " in queue, waits for its turn, 3 ahead"));
  }
}

TEST(Fit, SaysWhatWouldBeGrantedAndWhen) {
  FitView fit{.expected_start = in(minutes(14)), .largest = sample::tenths_of_gib(14)};
  fit.shortages = sample::why().shortages;
  fit.ahead_count = 1;
  EXPECT_EQ(fit_text(fit, wide_context()),
            "It does not fit now. GPU 0 can grant 1.4 GiB (15.9 total − 0.5 held back − 14.0 "
            "charged).\n"
            "1 request would be ahead of it.\n"
            "First chance: ~14 min.\n"
            "The most that would be granted now: 1.4 GiB.\n");
  EXPECT_EQ(fit_text({.fits = true, .devices = {sample::kDevice}}, wide_context()),
            "It fits now on GPU-5a1c0d2e-0000-4000-8000-000000000001.\n");
  RenderContext simulated = wide_context();
  simulated.simulated = true;
  EXPECT_EQ(fit_text({.fits = true,
                      .devices = {sample::kDevice},
                      .shortages = {{.device = sample::kDevice, .index = 1}}},
                     simulated),
            "It fits now on GPU 1. (the GPU is simulated)\n");
}

}  // namespace
}  // namespace berth::cli
