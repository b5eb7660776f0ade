#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <istream>
#include <optional>
#include <utility>

#include "damper/config/yaml_tree.h"
#include "damper/policy/file/policy_file.h"
#include "damper/policy/file/schema.h"
#include "damper/policy/lint/amplification.h"

namespace damper::policy {
namespace {

using config::Error;
using config::Reader;
using config::Reading;
using config::Section;
using config::SourceLocation;
using config::Tree;
using Wrong = std::optional<Error>;

constexpr std::string_view kRetryOn = "retry_policy.retry_on";
constexpr std::string_view kStatuses = "retry_policy.retriable_status_codes";

// Whether a word or a status of retry_on is refused because it names an overload.
bool is_about_overload(std::string_view why) {
  return why == refusal(RetryOn::Token::envoy_ratelimited);
}

class Loader {
 public:
  Loader(std::string_view file, std::string_view name, const config::AnySchema* beside,
         std::vector<Reading>* readings)
      : name_(name), beside_(beside), readings_(readings) {
    result_.file = file;
    if (readings_ != nullptr) readings_->emplace_back(*beside_);
  }

  // Reads the top of the file, which begins at `start`.
  [[nodiscard]] Wrong load(const Tree& top, SourceLocation start) {
    if (top.kind == Tree::Kind::null) {
      return error(start, name_ + " is empty (expected: route, routes or dependencies)");
    }
    Reader reader(result_.file, &result_.notes, this);
    Reading reading(file_schema());
    const Reader::Target target{&file_schema(), &reading};
    if (auto wrong = reader.read({&target, 1}, top, top.place, name_)) return wrong;
    if (routes_ == nullptr) {
      return error(start, name_ + " has no route (expected: route, routes or dependencies)");
    }
    const Tree& word = *word_;
    Wrong wrong = result_.shape == "route"
                      ? add_route(reader, "", *routes_, word.place)
                      : reader.read_named(*section_, word, *routes_, kMostRoutes, kName,
                                          [&](const Tree& name, const Tree& block) {
                                            return add_route(reader, name.text, block, name.place);
                                          });
    return wrong ? wrong : check_calls(result_);
  }

  [[nodiscard]] PolicyFile take() { return std::move(result_); }

  // For file_schema(): `defaults` is read where it stands, the routes are read last.
  static Wrong read_defaults(Reader& reader, const Section&, const Tree& word, const Tree& value,
                             void*) {
    auto& self = reader.context<Loader>();
    self.defaults_.emplace(block_schema());
    Reading* beside = self.readings_ == nullptr ? nullptr : &self.readings_->front();
    return self.read_block(reader, value, word.place, "defaults", *self.defaults_, beside);
  }
  static Wrong keep_routes(Reader& reader, const Section& section, const Tree& word,
                           const Tree& value, void*) {
    auto& self = reader.context<Loader>();
    if (self.routes_ != nullptr) {
      return self.error(word.place, word.text + " cannot stand beside " + self.result_.shape +
                                        ": a file has one of route, routes and dependencies");
    }
    self.word_ = &word;
    self.routes_ = &value;
    self.section_ = &section;
    self.result_.shape = word.text;
    return std::nullopt;
  }

 private:
  [[nodiscard]] Error error(SourceLocation place, std::string sentence) const {
    return {result_.file, place, std::move(sentence)};
  }
  void note(SourceLocation place, std::string sentence, bool about_overload = false) {
    result_.notes.push_back(error(place, std::move(sentence)));
    result_.notes.back().about_overload = about_overload;
  }

  [[nodiscard]] Wrong read_block(Reader& reader, const Tree& tree, SourceLocation place,
                                 std::string_view name, Reading& block, Reading* beside) {
    std::vector<Reader::Target> targets;
    if (beside != nullptr) targets.push_back({beside_, beside});
    targets.push_back({&block_schema(), &block});
    if (auto wrong = reader.read(targets, tree, place, name)) return wrong;
    note_refusals(block);
    return std::nullopt;
  }

  [[nodiscard]] Wrong add_route(Reader& reader, const std::string& name, const Tree& tree,
                                SourceLocation place) {
    Reading block(block_schema(), place);
    Reading* beside = readings_ == nullptr ? nullptr : &readings_->emplace_back(*beside_, place);
    const std::string called = name.empty() ? "route" : name;
    if (auto wrong = read_block(reader, tree, place, called, block, beside)) return wrong;
    Route route{.name = name, .place = place, .settings = {}, .origins = {}, .places = {}};
    if (defaults_) apply(*defaults_, Origin::defaults, route);
    apply(block, Origin::route, route);
    for (std::size_t i = 0; i < block_schema().keys().size(); ++i) {
      if (auto wrong = check_order(route, i)) return wrong;
    }
    if (const auto sentence = engine::find_error(route.settings.policy)) {
      return error(place, *sentence);
    }
    note_statuses(route, block);
    result_.routes.push_back(std::move(route));
    return std::nullopt;
  }

  // That a key which may not be under another one is not.
  [[nodiscard]] Wrong check_order(const Route& route, std::size_t position) const {
    const auto& schema = block_schema();
    const config::Key& key = schema.keys()[position];
    if (key.not_under.empty() || !schema.is_on(key, route.settings)) return std::nullopt;
    const config::Key& least = schema.key_at(key.not_under);
    const config::Value value = schema.value(key, route.settings);
    const bool is_off = key.form.off && value == config::Value(*key.form.off);
    if (is_off || value >= schema.value(least, route.settings)) return std::nullopt;
    const bool is_set = route.origins[position] != Origin::built_in;
    return error(place_of(route, is_set ? position : schema.position(key.not_under)),
                 std::string(config::leaf(key.path)) + " must be at least " +
                     std::string(config::leaf(least.path)) + " (" +
                     schema.write(least, route.settings) + "), not " +
                     schema.write(key, route.settings));
  }

  // Notes on the conditions of retry_on that are never retried.
  void note_refusals(const Reading& block) {
    if (const auto& entry = block.keys[block_schema().position(kRetryOn)]) {
      const auto tokens = std::get<std::int64_t>(entry->value);
      if (tokens == 0) note(entry->place, "retry_on is empty: nothing is retried");
      for (std::size_t i = 0; i < RetryOn::kNames.size(); ++i) {
        const std::string_view why = refusal(static_cast<RetryOn::Token>(i));
        if ((tokens >> i & 1) == 0 || why.empty()) continue;
        note(entry->place,
             "retry_on has " + std::string(RetryOn::kNames[i]) + ": " + std::string(why),
             is_about_overload(why));
      }
    }
    if (const auto& entry = block.keys[block_schema().position(kStatuses)]) {
      Settings settings;  // Sorted, each once.
      const config::Key& key = block_schema().key_at(kStatuses);
      block_schema().set(key, settings, entry->value);
      const config::Value sorted = block_schema().value(key, settings);
      for (const double status : std::get<std::vector<double>>(sorted)) {
        const std::string_view why = refusal_of_status(static_cast<int>(status));
        if (why.empty()) continue;
        note(entry->place,
             "retriable_status_codes has " + std::to_string(static_cast<int>(status)) + ": " +
                 std::string(why),
             is_about_overload(why));
      }
    }
  }

  void note_statuses(const Route& route, const Reading& block) {
    const RetryOn& retry_on = route.settings.retry_on;
    const bool token = retry_on.has(RetryOn::Token::retriable_status_codes);
    const auto& codes = block.keys[block_schema().position(kStatuses)];
    const auto& tokens = block.keys[block_schema().position(kRetryOn)];
    if (codes && !std::get<std::vector<double>>(codes->value).empty() && !token) {
      note(codes->place,
           "retriable_status_codes is not used: retry_on lacks retriable-status-codes");
    }
    if (tokens && token && retry_on.statuses().none()) {
      note(tokens->place,
           "retry_on has retriable-status-codes, but retriable_status_codes is empty");
    }
  }

  std::string name_;
  const config::AnySchema* beside_;
  std::vector<Reading>* readings_;
  PolicyFile result_;
  std::optional<Reading> defaults_;
  const Tree* word_ = nullptr;  // The key and the value of the routes, once they are read.
  const Tree* routes_ = nullptr;
  const Section* section_ = nullptr;
};

std::optional<std::string> comment(Origin origin) {
  switch (origin) {
    case Origin::built_in: return "default";
    case Origin::defaults: return "from defaults";
    case Origin::route: return "";
  }
  return {};
}

}  // namespace

const config::AnySchema& file_schema() {
  static const config::Schema<PolicyFile> kSchema = [] {
    config::Schema<PolicyFile> schema("policy");
    const auto block = [] { return Section::Schemas{&block_schema()}; };
    schema.section({.path = "route",
                    .doc = "The only route.",
                    .items = Section::Items::one,
                    .element = block,
                    .read = Loader::keep_routes});
    for (const std::string_view word : {"routes", "dependencies"}) {
      schema.section({.path = word,
                      .doc = "Routes by name.",
                      .accepted = "a map from names to routes",
                      .items = Section::Items::named,
                      .element = block,
                      .read = Loader::keep_routes});
    }
    schema.section({.path = "defaults",
                    .doc = "Values of all routes that do not set them.",
                    .items = Section::Items::one,
                    .element = block,
                    .read = Loader::read_defaults});
    return schema;
  }();
  return kSchema;
}

SourceLocation place_of(const Route& route, std::size_t key) {
  const bool is_set = key < route.places.size() && route.places[key].line > 0;
  return is_set ? route.places[key] : route.place;
}

const Route* PolicyFile::find(std::string_view name) const {
  const auto found = std::find_if(routes.begin(), routes.end(),
                                  [&](const Route& route) { return route.name == name; });
  return found == routes.end() ? nullptr : &*found;
}

Expected<PolicyFile, Error> load(std::string_view text, std::string_view file) {
  const Expected<Tree, Error> tree = config::parse_yaml(text, file);
  if (!tree) return unexpected(tree.error());
  return load_part(*tree, {1, 1}, "the file", file);
}

Expected<PolicyFile, Error> load_part(const Tree& tree, SourceLocation place, std::string_view name,
                                      std::string_view file) {
  return load_part(tree, place, name, file, nullptr, nullptr);
}

Expected<PolicyFile, Error> load_part(const Tree& tree, SourceLocation place, std::string_view name,
                                      std::string_view file, const config::AnySchema* beside,
                                      std::vector<Reading>* readings) {
  Loader loader(file, name, beside, readings);
  if (Wrong wrong = loader.load(tree, place)) return unexpected(*std::move(wrong));
  return loader.take();
}

Expected<std::string, Error> read_stream(std::istream& in, std::string_view file) {
  std::string text(config::kMostBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return unexpected(Error{std::string(file), {}, "cannot be read"});
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

Expected<PolicyFile, Error> load_stream(std::istream& in, std::string_view file) {
  const Expected<std::string, Error> text = read_stream(in, file);
  if (!text) return unexpected(text.error());
  return load(*text, file);
}

Expected<PolicyFile, Error> load_file(const std::string& path) {
  const Expected<std::string, Error> text = read_file(path);
  if (!text) return unexpected(text.error());
  return load(*text, path);
}

Expected<std::string, Error> read_file(const std::string& path) {
  const auto cannot = [&](const std::string& why) {
    return unexpected(Error{path, {}, "cannot be read: " + why});
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return cannot("it is a directory");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) return cannot(errno != 0 ? std::strerror(errno) : "it cannot be opened");
  return read_stream(in, path);
}

std::string print(const PolicyFile& file) {
  std::string out = file.shape + ":\n";
  const bool is_only = file.shape == "route";
  for (const Route& route : file.routes) {
    if (!is_only) out += "  \"" + route.name + "\":\n";
    out += block_schema().print(route.settings, is_only ? 2 : 4, true,
                                [&](std::size_t key) { return comment(route.origins[key]); });
  }
  return out;
}

}  // namespace damper::policy
