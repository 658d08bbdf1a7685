// SPDX-License-Identifier: Apache-2.0
// `berth config`: shows what holds and where it was set, checks files, prints one to begin with.
#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/json_writer.h"
#include "cli/render/items.h"
#include "cli/render/output.h"
#include "cli/render/table.h"
#include "cli/verbs.h"
#include "client/client.h"
#include "client/configuration.h"
#include "config/load.h"
#include "config/print.h"
#include "os/files.h"
#include "os/paths.h"
#include "os/users.h"
#include "wire/daemon.h"

namespace berth::cli {
namespace {

struct ConfigArgs {
  std::string action;
  std::string file;
  bool origin = false;
  bool system = false;
  OutputChoice output;

  config::Mode mode() const { return system ? config::Mode::kSystem : config::Mode::kUser; }
};

std::string lines_of(const config::Problems& problems) {
  std::string lines;
  for (const config::Problem& problem : problems) lines += to_text(problem) + "\n";
  return lines;
}

// Loads it, or says what is wrong with it.
std::optional<config::Config> loaded(const config::Input& input) {
  auto result = config::load(input);
  if (const auto* problems = std::get_if<config::Problems>(&result)) {
    complain(lines_of(*problems));
    return std::nullopt;
  }
  config::Loaded& good = std::get<config::Loaded>(result);
  complain(lines_of(good.notes));
  return std::move(good.config);
}

Result<config::Input> found(const ConfigArgs& asked) {
  std::error_code error;
  const std::string directory = std::filesystem::current_path(error);  // Empty: it is gone.
  TRY(found,
      client::find_configuration(os::read_environment(), directory, client::ProjectFile::kRead));
  for (const std::string& sentence : found.passed_over) complain("berth: " + sentence + "\n");
  found.input.mode = asked.mode();
  return std::move(found.input);
}

std::string as_json(const std::vector<config::ShownValue>& values) {
  JsonWriter writer;
  writer.begin_object().key("schema").text("berth/config/v1").key("items").begin_array();
  for (const config::ShownValue& value : values) {
    writer.begin_object().key("key").text(value.key);
    writer.key("value").text_or_null(value.value).key("origin").text(to_text(value.origin));
    writer.end_object();
  }
  return writer.end_array().end_object().take();
}

std::string as_text(const std::vector<config::ShownValue>& values, const ConfigArgs& asked,
                    Charset charset) {
  Table table{.columns = {{}, {}, {}}, .header = false};
  for (const config::ShownValue& value : values) {
    const std::string text = value.value.empty() ? "(not set)" : value.value;
    const std::string origin = asked.origin ? "# " + to_text(value.origin) : "";
    table.rows.push_back({{escape_control(value.key, charset)},
                          {"= " + escape_control(text, charset)},
                          {escape_control(origin, charset), Colour::kDim}});
  }
  return render(std::move(table), std::nullopt, charset);
}

// The path of a webhook is a secret for most services: shown to its owner, not to onlookers.
void hide_webhooks(std::vector<config::ShownValue>& values) {
  if (os::own_user() == UserId{0}) return;
  for (config::ShownValue& value : values) {
    const bool own = value.origin.layer == config::Origin::Layer::kUser;
    if (own || !value.key.starts_with("alert.") || !value.key.ends_with(".webhook")) continue;
    const std::size_t scheme = value.value.find("://");
    if (scheme == std::string::npos) continue;
    const std::size_t path = value.value.find_first_of("/?#", scheme + 3);
    if (path != std::string::npos) value.value.replace(path, std::string::npos, "/...\"");
  }
}

// As the daemon has it that would be asked; where none answers, as the user's own would.
bool is_of_system() {
  auto client = client::Client::connect({.env = os::read_environment(),
                                         .autostart = client::Autostart::kNever,
                                         .version = BERTH_VERSION});
  if (!client.ok()) return false;
  const auto daemon =
      client::told(client->connection().ask({.route = wire::Route::kDaemon}), wire::decode_daemon);
  return daemon && daemon->mode == wire::DaemonView::Mode::kSystem;
}

int show(const Invocation& invocation, ConfigArgs asked) {
  asked.system = asked.system || is_of_system();
  const auto input = found(asked);
  if (!input.ok()) return invocation.fail(ExitCode::kConfig, input.error().message);
  const auto config = loaded(*input);
  if (!config) return to_status(ExitCode::kConfig);
  auto values = shown_values(*config);
  hide_webhooks(values);
  const Charset charset{.unicode = invocation.terminal.unicode};
  if (asked.output.is_for_people()) {
    print(as_text(values, asked, charset));
    return to_status(ExitCode::kOk);
  }
  const std::string json = as_json(values);
  const auto text = render_items(
      {.json = json, .items = "items", .on_terminal = invocation.terminal.output_is_terminal},
      asked.output, charset);
  if (!text.ok()) return invocation.fail(text.error());
  print(*text);
  return to_status(ExitCode::kOk);
}

// A file by its name: that of a project may set less.
Result<config::Input> file_alone(const ConfigArgs& asked) {
  using Kind = config::File::Kind;
  TRY(text, os::read_trusted_file(asked.file, config::kFileMax));
  const bool is_project = asked.file.ends_with(".berth.toml");
  config::Input input{.mode = asked.mode()};
  input.files.push_back({is_project ? Kind::kProject : Kind::kUser, asked.file, std::move(text)});
  return input;
}

int check(const Invocation& invocation, const ConfigArgs& asked) {
  const auto input = asked.file.empty() ? found(asked) : file_alone(asked);
  if (!input.ok()) {
    const bool missing = !asked.file.empty() && input.error().code == Errc::kNotFound;
    return invocation.fail(missing ? ExitCode::kNoInput : ExitCode::kConfig, input.error().message);
  }
  if (!loaded(*input)) return to_status(ExitCode::kConfig);
  if (input->files.empty()) print("no file is there; the built-in values hold\n");
  for (const config::File& file : input->files) print(file.path + ": in order\n");
  return to_status(ExitCode::kOk);
}

}  // namespace

int run_config(Invocation& invocation) {
  ConfigArgs asked;
  invocation.about =
      "  show [--origin]  every value that holds, and where it was set\n"
      "  check [FILE]     whether the files are in order; 78 with line and column if not\n"
      "  default          a file with every key, its meaning and its default, to begin with\n"
      "  schema           a JSON schema of that file, for editors";
  invocation.examples = {
      {"berth config show --origin", "what holds here"},
      {"berth config default > ~/.config/berth/config.toml", "a file of your own"},
      {"berth config check", "before berth daemon reload"}};
  invocation.options.operand("ACTION", store(asked.action), "what to do",
                             {"show", "check", "default", "schema"});
  invocation.options.operand("[FILE]", store(asked.file), "check: only this one");
  invocation.options.add("--origin", store(asked.origin), "show: where each value was set");
  invocation.options.add("--system", store(asked.system),
                         "as the daemon of the machine has it; show does so by itself where "
                         "that daemon is asked");
  declare_output(invocation.options, asked.output, Watching::kNo);
  if (const auto end = invocation.parse()) return *end;
  if (asked.action == "show") return show(invocation, asked);
  if (asked.output.format_given) {
    return invocation.usage_error(asked.action + " has one form of output; --json, --csv and -o " +
                                  "are for show");
  }
  if (asked.action == "check") return check(invocation, asked);
  print(asked.action == "default" ? config::default_file(asked.mode()) : config::json_schema());
  return to_status(ExitCode::kOk);
}

}  // namespace berth::cli
