#include "damper/proxy/control/fleet_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "damper/base/text/json_reader.h"
#include "damper/base/text/utf8.h"

namespace damper::proxy {
namespace {

constexpr std::size_t kMostCopyBytes = 4 * kMostEtcdBytes;  // with escapes

// Whole, and on the disk.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return fsync(fd) == 0;
}

}  // namespace

std::string print_fleet(const Fleet& fleet) {
  std::string out = "{\"revision\":" + std::to_string(fleet.revision);
  if (fleet.policy) {
    out += ",\"policy\":";
    out += text::json_string(*fleet.policy);
  }
  out += ",\"switches\":[";
  const char* comma = "";
  for (const auto& [scope, text] : fleet.switches) {
    out += std::exchange(comma, ",");
    out += '[';
    out += text::json_string(scope);
    out += ',';
    out += text::json_string(text);
    out += ']';
  }
  return out + "]}\n";
}

Expected<Fleet> parse_fleet(std::string_view text) {
  const auto value =
      text::read_json(text, {.bytes = kMostCopyBytes, .depth = 4, .values = 4 * kMostEtcdKeys});
  if (!value) return unexpected(value.error());
  Fleet out;
  const text::JsonValue* const revision = value->find("revision");
  const text::JsonValue* const switches = value->find("switches");
  const auto number = revision != nullptr ? revision->as_integer() : std::nullopt;
  if (!number || switches == nullptr) return unexpected(std::string("it is no copy of a fleet"));
  out.revision = *number;
  if (const text::JsonValue* policy = value->find("policy")) {
    if (!policy->as_string()) return unexpected(std::string("its policy is no text"));
    out.policy = policy->text;
  }
  for (const text::JsonValue& one : switches->items) {
    if (one.items.size() != 2) return unexpected(std::string("its switches are no pairs"));
    out.switches[one.items[0].text] = one.items[1].text;
  }
  return out;
}

std::optional<std::string> save_fleet(const std::string& folder, const Fleet& fleet) {
  const auto failed = [&](const char* what) {
    return folder + ": the fleet's copy cannot be " + what + ": " + std::strerror(errno);
  };
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) (void)mkdir(folder.c_str(), 0750);
  const std::string file = folder + '/' + std::string(kFleetFile);
  // Of each process its own: one that drains may still write while its successor does.
  const std::string part = file + ".new." + std::to_string(getpid());
  const int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
  if (fd < 0) return failed("made");
  const bool written = write_all(fd, print_fleet(fleet));
  const int why = errno;
  close(fd);
  const bool placed = written && std::rename(part.c_str(), file.c_str()) == 0;
  if (!placed) {
    const int reason = written ? errno : why;
    (void)unlink(part.c_str());
    errno = reason;
    return failed(written ? "put in its place" : "written");
  }
  const int place = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (place >= 0) {
    (void)fsync(place);  // The rename, too.
    close(place);
  }
  return std::nullopt;
}

Expected<std::optional<Fleet>> load_fleet(const std::string& folder) {
  const std::string file = folder + '/' + std::string(kFleetFile);
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return std::optional<Fleet>();
  if (fd < 0) return unexpected(file + ": cannot be read: " + std::strerror(errno));
  std::string text;
  std::array<char, std::size_t{16} * 1024> bytes{};
  ssize_t n = 0;
  while (text.size() <= kMostCopyBytes && (n = read(fd, bytes.data(), bytes.size())) > 0) {
    text.append(bytes.data(), static_cast<std::size_t>(n));
  }
  close(fd);
  auto fleet = parse_fleet(text);
  if (!fleet) return unexpected(file + ": " + fleet.error() + "; remove it to start without it");
  return std::optional(*std::move(fleet));
}

}  // namespace damper::proxy
