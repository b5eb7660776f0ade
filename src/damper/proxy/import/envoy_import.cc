#include "damper/proxy/import/envoy_import.h"

#include <utility>

#include "damper/base/text/words.h"
#include "damper/proxy/config/proxy_schema.h"

namespace damper::proxy {

using policy::Fields;
using policy::ImportNotes;

EnvoyImport::EnvoyImport(ImportNotes& of_file)
    : notes(of_file), proxy(proxy_schema(), "the file", {1, 1}, of_file) {}

RouteDraft EnvoyImport::make_route(std::string name, config::SourceLocation place) const {
  return {PartDraft(route_schema(), std::move(name), place, notes), policy::Draft(notes)};
}

std::string EnvoyImport::unique_name(std::string_view kind, std::string_view name) {
  const std::string stem =
      policy::as_route_name(name.empty() ? kind : name).substr(0, policy::kLongestName - 8);
  std::string unique = stem;
  for (std::size_t number = 2; !names.insert(std::string(kind) + ' ' + unique).second; ++number) {
    unique = stem + ':' + std::to_string(number);
  }
  return unique;
}

namespace {

// 432, which is decimal, or 0660 as 0660.
std::string octal(std::string_view mode) {
  const auto number = text::find_number<unsigned>(mode);
  if (!number || mode.starts_with('0')) return std::string(mode);
  std::string text = "0";
  for (const unsigned digit : {64U, 8U, 1U}) {
    text += static_cast<char>('0' + static_cast<int>(*number / digit % 8));
  }
  return text;
}

std::optional<ImportedAddress> read_socket(const config::Tree& tree, ImportNotes& notes) {
  Fields fields(tree, "socket_address", notes);
  const std::string protocol = fields.text("protocol");
  const std::string address = fields.text("address");
  const auto port = fields.integer("port_value");
  fields.skip({"ipv4_compat"});
  fields.leave_rest();
  if (protocol == "UDP" || protocol == "1") {
    notes.left_out(tree.place, "an address of UDP has no equivalent: HTTP/3 is not served");
    return std::nullopt;
  }
  if (address.empty() || !port || port->value > 65535) {
    notes.left_out(tree.place, "socket_address has not both of address and port_value up to 65535");
    return std::nullopt;
  }
  const bool is_v6 = address.find(':') != std::string::npos;
  return ImportedAddress{
      (is_v6 ? '[' + address + ']' : address) + ':' + std::to_string(port->value), {}, tree.place};
}

}  // namespace

std::optional<ImportedAddress> read_address(const config::Tree& tree, ImportNotes& notes) {
  Fields fields(tree, "address", notes);
  std::optional<ImportedAddress> address;
  if (const config::Tree* socket = fields.take("socket_address")) {
    address = read_socket(*socket, notes);
  } else if (const config::Tree* pipe = fields.take("pipe")) {
    Fields inner(*pipe, "pipe", notes);
    const std::string path = inner.text("path");
    const std::string mode = inner.text("mode");
    inner.leave_rest();
    const bool is_abstract = path.starts_with('@');
    if (path.starts_with('/') || is_abstract) {
      address = ImportedAddress{"unix:" + path, is_abstract ? "" : octal(mode), pipe->place};
    } else {
      notes.left_out(pipe->place,
                     "the path of a pipe must begin with / or @, not " + text::in_quotes(path));
    }
  }
  fields.leave_rest();
  return address;
}

}  // namespace damper::proxy
