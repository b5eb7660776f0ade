#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/enum_names.h"
#include "damper/base/expected.h"
#include "damper/config/yaml_tree.h"
#include "damper/policy/file/policy_file.h"

namespace damper::policy {

// Configuration of other systems, as our policy.
//
// Why: existing systems are configured by Envoy, gRPC, Istio or Linkerd files. Checking or
// simulating such a file needs its meaning, including the other system's defaults, and a list of
// what is lost.
// Model: the file is read as YAML (JSON is YAML). An importer for each system walks it, sets each
// value that has a key here, and notes all others. A default of the other system is set too where
// ours differs, so that the policy behaves here as the file does there.

enum class From : std::uint8_t { envoy, grpc, istio, linkerd };

inline constexpr EnumNames<From::linkerd> kFromNames = {"envoy", "grpc", "istio", "linkerd"};
[[nodiscard]] constexpr std::string_view name(From from) noexcept { return kFromNames[from]; }

// Invariants:
//   (1) load(print(file)) and load(print_import(...)) give the same policies as `file` has.
//   (2) A field of the original either sets a value, or is an identifier, or has one note.
//   (3) Places are those of the original file.
struct Imported {
  PolicyFile file;                  // of the shape `routes`; its own notes are empty
  std::vector<config::Note> notes;  // in the order of the file
};

// The file's policies, or the first error. A value out of our bounds is held at the bound, with a
// note; a value of another kind is an error. No exception leaves it.
[[nodiscard]] Expected<Imported, config::Error> import_policy(From from, std::string_view text,
                                                              std::string_view file);

// Which system a document is of, by its shape; nothing when it is none of them.
[[nodiscard]] std::optional<From> guess(const config::Tree& document);

// The same for a text; else one sentence. The first document that is of one decides.
[[nodiscard]] Expected<From, config::Error> guess(std::string_view text, std::string_view file);

// The policy as a policy file that has only the values of the original and of its system's
// defaults, with the line of the original as a comment on each line.
[[nodiscard]] std::string print_import(const Imported& imported, From from);

}  // namespace damper::policy
