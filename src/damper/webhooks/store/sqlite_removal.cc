#include "damper/webhooks/store/sqlite_removal.h"

#include <array>
#include <optional>
#include <string>

namespace damper::webhooks {
namespace {

using RemovalRun = store::Statement::Run;

}  // namespace

SqliteRemoval::SqliteRemoval(store::Database& file)
    : file_(file),
      find_endpoint_(file, "SELECT 1 FROM removed_endpoint WHERE id = ?1"),
      find_application_(file, "SELECT 1 FROM removed_application WHERE name = ?1"),
      next_endpoint_(file, "SELECT id FROM removed_endpoint LIMIT 1"),
      next_application_(file, "SELECT name FROM removed_application LIMIT 1"),
      purge_deliveries_(file,
                        "DELETE FROM delivery WHERE (endpoint, behind, due, message) IN"
                        " (SELECT endpoint, behind, due, message FROM delivery"
                        " WHERE endpoint = ?1 LIMIT ?2)"),
      purge_dead_(file,
                  "DELETE FROM dead WHERE (endpoint, message) IN"
                  " (SELECT endpoint, message FROM dead WHERE endpoint = ?1 LIMIT ?2)"),
      purge_messages_(file,
                      "DELETE FROM message WHERE id IN"
                      " (SELECT id FROM message WHERE application = ?1 LIMIT ?2)"),
      forget_endpoint_(file, "DELETE FROM removed_endpoint WHERE id = ?1"),
      forget_application_(file, "DELETE FROM removed_application WHERE name = ?1") {}

bool SqliteRemoval::is_noted(Id endpoint) {
  RemovalRun run(find_endpoint_);
  return run.bind(number(endpoint)).step();
}

bool SqliteRemoval::is_noted(std::string_view application) {
  RemovalRun run(find_application_);
  return run.bind_text(application).step();
}

// The statements are prepared for each call: removals are rare.
bool SqliteRemoval::try_remove_endpoint(Id endpoint) {
  constexpr std::array kStatements = {
      "DELETE FROM endpoint_state WHERE endpoint = ?1",
      "INSERT INTO removed_endpoint SELECT id FROM endpoint WHERE id = ?1",
      "DELETE FROM endpoint WHERE id = ?1",
  };
  for (const char* sql : kStatements) {
    const store::Statement statement(file_, sql);
    RemovalRun run(statement);
    (void)run.bind(number(endpoint)).step();
  }
  return file_.changes() == 1;
}

bool SqliteRemoval::try_remove_application(std::string_view name) {
  constexpr std::array kStatements = {
      "DELETE FROM endpoint_state WHERE endpoint IN"
      " (SELECT id FROM endpoint WHERE application = ?1)",
      "INSERT INTO removed_endpoint SELECT id FROM endpoint WHERE application = ?1",
      "DELETE FROM endpoint WHERE application = ?1",
      "INSERT INTO removed_application SELECT name FROM application WHERE name = ?1",
      "DELETE FROM application WHERE name = ?1",
  };
  for (const char* sql : kStatements) {
    const store::Statement statement(file_, sql);
    RemovalRun run(statement);
    (void)run.bind_text(name).step();
  }
  return file_.changes() == 1;
}

std::int64_t SqliteRemoval::purge(std::int64_t most) {
  const std::int64_t rows = purge_endpoints(most);
  return rows < most ? rows + purge_applications(most - rows) : rows;
}

std::int64_t SqliteRemoval::purge_endpoints(std::int64_t most) {
  std::int64_t rows = 0;
  while (rows < most) {
    std::optional<std::int64_t> endpoint;
    {
      RemovalRun run(next_endpoint_);
      if (run.step()) endpoint = run.number(0);
    }
    if (!endpoint) return rows;
    for (const store::Statement* purge : {&purge_deliveries_, &purge_dead_}) {
      if (rows >= most) return rows;
      RemovalRun run(*purge);
      (void)run.bind(*endpoint).bind(most - rows).step();
      rows += file_.changes();
    }
    if (rows >= most) return rows;  // There may be more.
    RemovalRun run(forget_endpoint_);
    (void)run.bind(*endpoint).step();
    ++rows;
  }
  return rows;
}

std::int64_t SqliteRemoval::purge_applications(std::int64_t most) {
  std::int64_t rows = 0;
  while (rows < most) {
    std::optional<std::string> name;
    {
      RemovalRun run(next_application_);
      if (run.step()) name = run.bytes(0);
    }
    if (!name) return rows;
    {
      RemovalRun run(purge_messages_);
      (void)run.bind_text(*name).bind(most - rows).step();
      rows += file_.changes();
    }
    if (rows >= most) return rows;
    RemovalRun run(forget_application_);
    (void)run.bind_text(*name).step();
    ++rows;
  }
  return rows;
}

}  // namespace damper::webhooks
