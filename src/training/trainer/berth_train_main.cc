// SPDX-License-Identifier: Apache-2.0
// `berth-train`: settings from a file and the command line, one run, its summary. Ctrl-C ends it
// after the step that is being made and saves it; a second one ends it at once. `berth-train
// generate` has a trained model write, `berth-train export` writes its weights to a file.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "base/quantity.h"
#include "config/document.h"
#include "config/problem.h"
#include "train/generate_words.h"
#include "train/settings.h"
#include "trainer/generate.h"
#include "trainer/lease.h"
#include "trainer/machine.h"
#include "trainer/run.h"
#include "trainer/tokenizer.h"

namespace berth::trainer {
namespace {

constexpr int kUsage = 64;
constexpr int kFailed = 1;
constexpr int kInterrupted = 130;
constexpr std::uint64_t kLinesWithoutTerminal = 20;

std::atomic<bool> stop = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int) {
  if (stop.exchange(true)) _exit(kInterrupted);
}

void watch_signals() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

std::string as_text(const config::Given& given) {
  if (const auto* text = std::get_if<std::string>(&given.value)) return *text;
  if (const auto* flag = std::get_if<bool>(&given.value)) return *flag ? "true" : "false";
  return given.shown();
}

Status set_from_file(train::Settings& settings, const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return Error{Errc::kNotFound, path + ": cannot be read"};
  const auto parsed = config::parse_toml(path, text.str());
  if (const auto* problem = std::get_if<config::Problem>(&parsed)) {
    return Error{Errc::kInvalid, config::to_text(*problem)};
  }
  for (const config::Entry& section : std::get<config::Given::Table>(parsed)) {
    const auto* entries = std::get_if<config::Given::Table>(&section.given.value);
    const config::Given::Table alone = {section};
    for (const config::Entry& entry : entries != nullptr ? *entries : alone) {
      const std::string key = entries != nullptr ? section.key + "." + entry.key : entry.key;
      const Status status = train::set(settings, key, as_text(entry.given));
      if (status.ok()) continue;
      return Error{status.error().code,
                   path + ":" + std::to_string(entry.at.line) + ": " + status.error().message};
    }
  }
  return Unit{};
}

Result<train::Settings> settings_of(const train::Arguments& arguments) {
  train::Settings settings;
  if (!arguments.file.empty()) TRY_STATUS(set_from_file(settings, arguments.file));
  for (const train::KeyAndValue& each : arguments.keys) {
    TRY_STATUS(train::set(settings, each.key, each.value));
  }
  TRY_STATUS(train::check(settings));
  return settings;
}

void show_help() {
  std::puts(
      "usage: berth-train [SETTINGS.toml] [--KEY VALUE]... [--resume]\n"
      "       berth-train tokenize TEXT FILE --ranks RANKS\n"
      "       berth-train generate FOLDER [--KEY VALUE]...\n"
      "       berth-train export FOLDER FILE\n"
      "Trains a GPT-2 on a text file, writes a text as tokens, has a model that was trained write, "
      "or writes its weights. Keys and their defaults:");
  const train::Settings defaults;
  for (const train::KeyAndValue& each : train::values_of(defaults)) {
    std::printf("  --%s %s\n", std::string(each.key).c_str(), each.value.c_str());
  }
}

void show(const Progress& progress, bool is_terminal) {
  const StepReport& report = progress.report;
  const std::uint64_t done = report.step + 1;
  const std::uint64_t every = std::max<std::uint64_t>(1, progress.steps / kLinesWithoutTerminal);
  if (!is_terminal && done % every != 0) return;
  std::fprintf(stderr, "%s%llu/%llu %-7s loss %.4f  %.0f tokens/s  %s  %s left%s",
               is_terminal ? "\r\033[K" : "", static_cast<unsigned long long>(done),
               static_cast<unsigned long long>(progress.steps),
               std::string(to_text(report.phase)).c_str(), report.loss, progress.tokens_per_second,
               to_text(progress.memory).c_str(), to_text(progress.left).c_str(),
               is_terminal ? "" : "\n");
}

void show(const Summary& summary) {
  std::printf(
      "%llu steps in %s: %llu real, %llu predicted (%llu of %llu jumps accepted)\n"
      "loss %.4f, validation loss %.4f, tensors %s (peak %s)\n",
      static_cast<unsigned long long>(summary.steps), to_text(summary.training).c_str(),
      static_cast<unsigned long long>(summary.totals.real_steps),
      static_cast<unsigned long long>(summary.totals.predicted_steps),
      static_cast<unsigned long long>(summary.totals.accepted),
      static_cast<unsigned long long>(summary.totals.trials), summary.loss, summary.validation_loss,
      to_text(summary.memory).c_str(), to_text(summary.memory_peak).c_str());
  if (summary.average_loss) {
    std::printf("validation loss of the mean of the weights %.4f\n", *summary.average_loss);
  }
  if (summary.stopped && !summary.checkpoint.empty()) {
    std::printf("saved in %s; --resume goes on from there\n", summary.checkpoint.c_str());
  }
}

int fail(int status, const std::string& message) {
  std::fprintf(stderr, "berth-train: %s\n", message.c_str());
  return status;
}

LeaseTerms terms_of(const train::Settings& settings) {
  const auto minutes_of = [](double count) {
    return count > 0 ? std::optional(Duration{static_cast<std::int64_t>(count * 60e9)})
                     : std::nullopt;
  };
  LeaseTerms terms{.vram = std::nullopt, .wait = minutes_of(settings.lease_wait)};
  const Result<Bytes> vram = parse_bytes(settings.lease_vram);
  if (vram.ok()) terms.vram = *vram;
  if (!settings.folder.empty()) terms.grace = minutes_of(settings.lease_grace);
  return terms;
}

std::optional<std::string> variable(std::string_view name) {
  const char* const value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

int run(const std::vector<std::string>& words) {
  const auto arguments = train::parse_arguments(words);
  if (!arguments.ok()) return fail(kUsage, arguments.error().message);
  if (arguments->help) {
    show_help();
    return 0;
  }
  const auto settings = settings_of(*arguments);
  if (!settings.ok()) return fail(kUsage, settings.error().message);
  const auto place = train::peer_place(&variable);
  if (!place.ok()) return fail(kUsage, place.error().message);
  const bool speaks = !place->has_value() || checked(*place).rank == 0;  // For all of them.
  const auto say = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); };
  const auto lease = open_lease(terms_of(*settings), say);
  if (!lease.ok()) return fail(kFailed, "there is no lease: " + lease.error().message);
  for (const std::string& trap : train::traps(this_machine(), *settings)) say("slow: " + trap);
  watch_signals();
  const bool is_terminal = isatty(STDERR_FILENO) == 1;
  RunControl control{.resume = arguments->resume,
                     .stop = &stop,
                     .say = say,
                     .coordination = lease->get(),
                     .place = *place};
  if (speaks) control.progress = [&](const Progress& step) { show(step, is_terminal); };
  const auto summary = run_training(*settings, control);
  if (speaks && is_terminal) std::fputs("\n", stderr);
  if (!summary.ok()) return fail(kFailed, summary.error().message);
  if (speaks) show(*summary);
  return summary->stopped ? kInterrupted : 0;
}

// What would steer a terminal is not for it: a model writes anything.
void write_text(std::string_view text, bool is_terminal) {
  for (const char c : text) {
    const bool steers = (c >= 0 && c < ' ' && c != '\n' && c != '\t') || c == '\x7f';
    std::putchar(is_terminal && steers ? '?' : c);
  }
  if (is_terminal) (void)std::fflush(stdout);
}

int run_generate(const std::vector<std::string>& words) {
  const auto read = train::parse_generate(words);
  if (!read.ok()) return fail(kUsage, read.error().message);
  if (read->help) {
    std::printf(
        "usage: berth-train generate FOLDER [--KEY VALUE]...\n"
        "Has the newest checkpoint of the run in FOLDER write on. Keys, and their defaults:\n%s",
        train::generate_help().c_str());
    return 0;
  }
  watch_signals();
  const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  const auto generated = generate(
      *read, {.write = [&](std::string_view text) { write_text(text, is_terminal); },
              .say = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); },
              .stop = &stop});
  if (!generated.ok()) return fail(kFailed, generated.error().message);
  std::putchar('\n');
  if (std::fflush(stdout) != 0) return fail(kFailed, "what was written could not be put out");
  return stop ? kInterrupted : 0;
}

int run_export(const std::vector<std::string>& words) {
  if (words.size() != 3 || words[1].starts_with('-')) {
    return fail(kUsage,
                "usage: berth-train export FOLDER FILE: the weights of the newest checkpoint of "
                "the run in FOLDER, to FILE.safetensors or, for llm.c, FILE.bin");
  }
  const auto written = export_weights(words[1], words[2]);
  if (!written.ok()) return fail(kFailed, written.error().message);
  std::printf("%s holds the weights of %s\n", words[2].c_str(), written->c_str());
  return 0;
}

int run_tokenize(const std::vector<std::string>& words) {
  if (words.size() != 5 || words[3] != "--ranks" || words[1].starts_with('-')) {
    return fail(kUsage,
                "usage: berth-train tokenize TEXT FILE --ranks RANKS: the text as tokens, to FILE, "
                "by the ranks in a file as tiktoken has them (r50k_base.tiktoken: GPT-2's)");
  }
  const auto tokenizer = Tokenizer::open(words[4]);
  if (!tokenizer.ok()) return fail(kFailed, tokenizer.error().message);
  const auto count = tokenize(*tokenizer, words[1], words[2]);
  if (!count.ok()) return fail(kFailed, count.error().message);
  std::printf("%s holds %llu tokens\n", words[2].c_str(), static_cast<unsigned long long>(*count));
  return 0;
}

}  // namespace
}  // namespace berth::trainer

int main(int count, char** words) try {
  const std::vector<std::string> all(words + 1, words + count);
  if (!all.empty() && all.front() == "export") return berth::trainer::run_export(all);
  if (!all.empty() && all.front() == "tokenize") return berth::trainer::run_tokenize(all);
  if (!all.empty() && all.front() == "generate") {
    return berth::trainer::run_generate({all.begin() + 1, all.end()});
  }
  return berth::trainer::run(all);
} catch (const std::exception& exception) {
  // What libtorch throws where none of ours expects it.
  std::fprintf(stderr, "berth-train: %s\n", exception.what());
  return 1;
}
