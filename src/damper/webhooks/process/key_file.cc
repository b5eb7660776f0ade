#include "damper/webhooks/process/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <optional>
#include <system_error>

#include "damper/base/text/words.h"
#include "damper/store/postgres/postgres_url.h"
#include "damper/webhooks/key_material.h"

namespace damper::webhooks {
namespace {

constexpr std::size_t kMostKeyFileBytes = std::size_t{64} * 1024;

[[nodiscard]] bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}
[[nodiscard]] bool is_empty(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) != 0 || status.st_size == 0;
}

void sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  (void)::fsync(descriptor);
  (void)::close(descriptor);
}

[[nodiscard]] bool write_new(const std::string& path, std::string_view text) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return false;
  bool good = true;
  while (good && !text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    good = written > 0;
    if (good) text.remove_prefix(static_cast<std::size_t>(written));
  }
  good = good && ::fsync(descriptor) == 0;
  return ::close(descriptor) == 0 && good;
}

// The file appears whole, and one that exists stays.
[[nodiscard]] std::optional<std::string> create_key_file(const std::string& path) {
  const std::string fresh = path + ".new." + std::to_string(::getpid());
  (void)::unlink(fresh.c_str());
  std::string text = Sealer::make_key_file();
  const bool good =
      write_new(fresh, text) && (::link(fresh.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int error = errno;
  cleanse(text);
  (void)::unlink(fresh.c_str());
  if (!good) {
    return "the key file " + text::in_quotes(path) +
           " cannot be created: " + std::generic_category().message(error);
  }
  sync_folder_of(path);
  return std::nullopt;
}

[[nodiscard]] Expected<Sealer> read_key_file(const std::string& path) {
  const std::string name = "the key file " + text::in_quotes(path);
  std::ifstream in(path, std::ios::binary);
  if (!in) return unexpected(name + " cannot be read");
  std::string text(kMostKeyFileBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return unexpected(name + " cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMostKeyFileBytes) return unexpected(name + " is larger than 64 KiB");
  auto sealer = Sealer::parse(text);
  cleanse(text);
  if (!sealer) return unexpected(name + ": " + sealer.error());
  return sealer;
}

}  // namespace

Expected<Sealer> open_sealer(const ServeOptions& options) {
  if (!options.secret_key_file.empty()) return read_key_file(options.secret_key_file);
  if (store::is_postgres_url(options.store)) {
    return unexpected(
        std::string("secret_key_file is missing: the dispatchers of a fleet share the key of the "
                    "endpoints' secrets (damper webhooks key makes one)"));
  }
  const std::string path = options.store + ".key";
  if (!exists(path)) {
    if (!is_empty(options.store)) {
      return unexpected("the key file " + text::in_quotes(path) +
                        " does not exist, and without it the secrets in " +
                        text::in_quotes(options.store) +
                        " cannot be read: restore it, or set secret_key_file");
    }
    if (auto error = create_key_file(path)) return unexpected(*std::move(error));
  }
  return read_key_file(path);
}

}  // namespace damper::webhooks
